"""Numbers as JSON can hold them."""

from __future__ import annotations

import math


def plain_number(number: float | None) -> float | str | None:
    """Write a number for the JSON that a command prints: JSON has no infinity, so "inf" stands for it.

    Null keeps its meaning: there is no such number.

    >>> plain_number(math.inf), plain_number(-math.inf), plain_number(0.5), plain_number(None)
    ('inf', '-inf', 0.5, None)
    """
    return str(number) if number is not None and math.isinf(number) else number
