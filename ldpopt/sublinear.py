"""Utilities of a mechanism that are sums over its columns of a sublinear function g.

A utility ``U(W) = Σ_y g(W[:, y])`` with g convex and positively homogeneous of degree one: merging or
splitting outputs in proportion changes nothing, and an optimal mechanism uses extreme rays of the
privacy cone only (Kairouz, Oh & Viswanath; papers/001 [2]).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import rel_entr, xlogy

from ldpopt.validate import Array

if TYPE_CHECKING:
    from ldpopt.uncertainty import Chi2Ball


class Sublinear(Protocol):
    """g, evaluated on every column of a k × m matrix at once."""

    def __call__(self, columns: Array, /) -> Array:
        """The m values g(columns[:, j])."""


@dataclass(frozen=True, eq=False)
class MutualInformation:
    """μ(T) = Σ_x P_x T_x log T_x − q log q, q = Σ_x P_x T_x (papers/001, (103)).

    Summed over the columns of a mechanism it is I(X; Y) in nats.

    >>> MutualInformation(np.array([0.5, 0.5]))(np.eye(2)).sum() == np.log(2)
    np.True_
    """

    prior: Array

    def __call__(self, columns: Array) -> Array:
        """The value of every column."""
        q = self.prior @ columns
        result: Array = self.prior @ xlogy(columns, columns) - xlogy(q, q)
        return result


def _chi_squared(q0: Array, q1: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q0 == q1, 0.0, (q0 - q1) ** 2 / q1)


DIVERGENCES: dict[str, Callable[[Array, Array], Array]] = {
    "kl": rel_entr,
    "total-variation": lambda q0, q1: np.abs(q0 - q1) / 2,
    "chi-squared": _chi_squared,
}
"""The terms d(q0, q1) of a divergence Σ_y d(q0(y), q1(y)) of q0 from q1."""


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

    def __call__(self, columns: Array) -> Array:
        """The value of every column."""
        return DIVERGENCES[self.name](self.p0 @ columns, self.p1 @ columns)


@dataclass(frozen=True, eq=False)
class RobustInformation:
    """μ²(T) = min_{P∈F} μ_P(T) for a χ² ball F (papers/001, (46)); from below, within a small error.

    −q log q = min_λ e^(λ−1) − λ q, so μ² = min_λ e^(λ−1) + min_P P·(T log T − λ T). The inner minimum is
    concave in λ; on each of a number of intervals its chord is a lower bound, and the sum with
    e^(λ−1) has an explicit least value. No sublinear function (it is a minimum of such), but
    Σ_y μ²(W[:, y]) is a guarantee for every P ∈ F.

    >>> from ldpopt.uncertainty import Chi2Ball
    >>> round(float(RobustInformation(Chi2Ball([0.5, 0.5], 0.1))(np.eye(2)).sum()), 3)
    0.559
    """

    ball: Chi2Ball
    pieces: int = 32

    def __call__(self, columns: Array) -> Array:
        """The value of every column."""
        low, high = self.ball.minima(columns), -self.ball.minima(-columns)
        flat = ~(low < high)
        low, high = np.where(flat, 1.0, np.maximum(low, 1e-12 * high)), np.where(flat, 2.0, high)
        shares = np.linspace(0, 1, self.pieces + 1)[:, None]
        cuts = 1 + np.log(low) + shares * np.log(high / low)
        own = xlogy(columns, columns)
        ends = np.array([self.ball.minima(own - cut * columns) for cut in cuts])
        slopes = np.diff(ends, axis=0) / np.diff(cuts, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            stationary = np.where(slopes < 0, 1 + np.log(-slopes), -np.inf)
        best = np.clip(stationary, cuts[:-1], cuts[1:])
        least = (np.exp(best - 1) + ends[:-1] + slopes * (best - cuts[:-1])).min(axis=0)
        return np.where(flat, 0.0, least)
