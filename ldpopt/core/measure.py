"""What the value of a problem measures."""

from __future__ import annotations

from typing import NamedTuple


class Measure(NamedTuple):
    """The name of a quantity, as a sentence uses it, and its unit ("" for a pure number).

    >>> str(Measure("statistic maximal leakage", "nats")), str(Measure("φ"))
    ('statistic maximal leakage (nats)', 'φ')
    """

    name: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


INFORMATION = Measure("information released, I(X; Y)", "nats")
"""I(X; Y) under the distribution of the problem's subject; its share of H(X) can be stated."""
