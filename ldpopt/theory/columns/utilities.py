"""Utilities of a mechanism that are sums over its columns of a sublinear function g.

A utility ``U(W) = Σ_y g(W[:, y])`` with g convex and positively homogeneous of degree one: merging or
splitting outputs in proportion changes nothing, and an optimal mechanism uses extreme rays of the
privacy cone only (Kairouz, Oh and Viswanath 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, rel_entr, xlogy

from ldpopt.core import validate
from ldpopt.core.measure import INFORMATION, Measure
from ldpopt.core.validate import Array


def entropy(p: ArrayLike) -> float:
    """Compute H(X) = −Σ p log p in nats: the information of the data as they are.

    >>> round(entropy([[0.25, 0.25], [0.5, 0.0]]), 12)
    1.03972077084
    """
    return float(entr(validate.distribution("p", np.ravel(p))).sum())


@dataclass(frozen=True, eq=False)
class MutualInformation:
    """μ(T) = Σ_x P_x T_x log T_x − q log q, q = Σ_x P_x T_x.

    Lopuhaä-Zwakenberg and Goseling 2021, (103). Summed over the columns of a mechanism it is I(X; Y) in
    nats.

    >>> MutualInformation(np.array([0.5, 0.5]))(np.eye(2)).sum() == np.log(2)
    np.True_
    """

    measure: ClassVar[Measure] = INFORMATION
    prior: Array

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        q = self.prior @ columns
        return self.prior @ xlogy(columns, columns) - xlogy(q, q)


def _chi_squared(q0: Array, q1: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q0 == q1, 0.0, (q0 - q1) ** 2 / q1)


DIVERGENCES: dict[str, Callable[[Array, Array], Array]] = {
    "kl": rel_entr,
    "total-variation": lambda q0, q1: np.abs(q0 - q1) / 2,
    "chi-squared": _chi_squared,
}
"""The terms d(q0, q1) of a divergence Σ_y d(q0(y), q1(y)) of q0 from q1."""
DIVERGENCE_MEASURES = {
    "kl": Measure("Kullback–Leibler divergence", "nats"),
    "total-variation": Measure("total variation"),
    "chi-squared": Measure("χ² divergence"),
}
"""What each divergence is called."""


@dataclass(frozen=True, eq=False)
class Divergence:
    """g(T) = d(p0·T, p1·T): how well the released data tell two hypotheses apart.

    >>> tv = Divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0]), "total-variation")
    >>> float(tv(np.eye(2)).sum())
    1.0
    """

    p0: Array
    p1: Array
    name: str

    @property
    def measure(self) -> Measure:
        """The divergence by its usual name."""
        return DIVERGENCE_MEASURES[self.name]

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        return DIVERGENCES[self.name](self.p0 @ columns, self.p1 @ columns)
