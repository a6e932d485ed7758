"""Selections of rows and of features, and the least distortion under a bound on what they leak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.form import Form
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array

if TYPE_CHECKING:  # only for the type: its import would slow down every command
    from scipy.sparse import csr_array

    from ldpopt.core.exact import SafeWeights


@dataclass(frozen=True, eq=False)
class SelectionProgram(Form):
    """Maximise log Σ_y max_g W[θ_g, y] over selections of one row θ_g from every group g.

    The exponential is a monotone submodular function over a partition matroid. For every v ≥ 0,
    Σ_y v_y + Σ_g max_{θ in g} Σ_y (W[θ, y] − v_y)⁺ bounds it; v are the *prices* of the outputs.

    Attributes:
        matrix: W ≥ 0, sparse, no stored zeros.
        groups: the group of each row: 0, 1, …; every group has a row.
    """

    matrix: csr_array
    groups: NDArray[np.int64]


Subset = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SubsetProgram(Form):
    """Maximise Σ_{j∈J} weights_j over the sets J with risk(J) ≤ budget.

    The risk is monotone: a superset is never less risky. So a set that is too risky (a *conflict*)
    rules out all its supersets, and a list of conflicts proves a set optimal if every heavier set
    contains one of them.
    """

    weights: tuple[Fraction, ...]
    """Exact, so that no rounding decides which set is the heavier."""
    risk: Callable[[Subset, Limits], float]
    """Raises :class:`OutOfTime` if the time is over before the risk is known."""
    budget: float
    safe: SafeWeights | None = None
    """What prices of exposure and of factors bound, where the risk is that of marginals."""

    def fits(self, subset: Subset, limits: Limits) -> bool:
        """Return whether the set is within the budget."""
        return not subset or self.risk(subset, limits) <= self.budget

    def weight(self, subset: Subset) -> Fraction:
        """Add up the weights."""
        return sum((self.weights[j] for j in subset), Fraction(0))


@dataclass(frozen=True, eq=False)
class LeakageProgram(Form):
    """Minimise max_θ Σ_y c[θ,y] W[θ,y] over mechanisms W that leak at most ``leakage`` nats.

    Σ_y max_g W[θ_g, y] ≤ e^leakage for every selection θ_g is a family of linear cuts on W, one per
    selection and assignment of the outputs to groups. With a level ε, W[θ, y] ≤ e^ε W[θ', y] holds, too.

    Attributes:
        counts: c ≥ 0 in whole multiples of 1/scale, so that proofs about it are exact.
        scale: the denominator of the costs.
        groups: the secret of each row: 0, 1, …
        leakage: the largest statistic maximal leakage, in nats.
        epsilon: the level of ε-LDP of the whole data; None for none.
        symmetries: a group of permutations, one per row of the array, that keep costs and secrets
            when they act on rows and columns alike; None if none is known.
    """

    counts: NDArray[np.int64]
    scale: int
    groups: NDArray[np.int64]
    leakage: float
    epsilon: float | None = None
    symmetries: NDArray[np.int64] | None = None

    @property
    def costs(self) -> Array:
        """c as floats."""
        return self.counts / self.scale
