"""Choose features: the heaviest set whose risk stays within a budget, for a risk that only grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ldpopt.core.form import Form
from ldpopt.core.limits import Limits

Subset = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SubsetProgram(Form):
    """Maximise Σ_{j∈J} weights_j over the sets J with risk(J) ≤ budget.

    The risk is monotone: a superset is never less risky. So a set that is too risky (a *conflict*)
    rules out all its supersets, and a list of conflicts proves a set optimal if every heavier set
    contains one of them.
    """

    name: ClassVar[str] = "subset-program"
    weights: tuple[Fraction, ...]
    """Exact, so that no rounding decides which set is the heavier."""
    risk: Callable[[Subset, Limits], float]
    """Raises :class:`OutOfTime` if the time is over before the risk is known."""
    budget: float

    def fits(self, subset: Subset, limits: Limits) -> bool:
        """Return whether the set is within the budget."""
        return not subset or self.risk(subset, limits) <= self.budget

    def weight(self, subset: Subset) -> Fraction:
        """Add up the weights."""
        return sum((self.weights[j] for j in subset), Fraction(0))
