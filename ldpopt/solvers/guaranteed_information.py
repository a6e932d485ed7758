"""Bracket the most information that a private mechanism guarantees for every distribution of a set.

Lopuhaä-Zwakenberg and Goseling 2021, Section IX, name it as future work: the private mechanism that
maximises min over P ∈ F of I_P(X; Y). Both ends of a bracket come from finitely many members of F. The
columns that are private against some members form a polyhedral cone with finitely many extreme rays,
and I_P adds up a convex, homogeneous function of the columns, so that mixtures of these rays are enough:
a linear program maximises the least of I_P over the members listed. More members can only lower it, so
it bounds the truth from above. Its mechanism is moved until it is private against all of F, and its
least information over F bounds the truth from below. The members that it is not private against, and the
one that gives it least information, are listed next.
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array
from ldpopt.measures.worst_information import worst_information
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.set_cone import SetCone

MOST_CELLS = 6
"""With more cells the extreme rays are too many to list."""
TIGHT = 1e-9
"""A ray with a slack of at most this (of entries of mean 1) lies on the facet."""
BOXES = 500
"""The most boxes that are cut to bound the least information of one mechanism."""


class MaxMin(NamedTuple):
    """The best guarantee lies between two numbers; the mechanism, proven private, reaches the lower."""

    low: float
    high: float
    mechanism: Mechanism


def max_min_information(uncertainty: ConvexSet, epsilon: float, *, gap: float = 1e-3) -> MaxMin:
    """Bracket the most of min over P ∈ F of I_P(X; Y) over all mechanisms that are private against F.

    Numbers are floats, up to rounding; no certificate is written. The privacy of the mechanism is
    decided exactly, as that of a design (:meth:`SetCone.repaired`).

    Args:
        uncertainty: the set F, of at most six cells.
        epsilon: the level, in nats.
        gap: the search ends when the bracket is this narrow, or after 40 rounds.

    Raises:
        InvalidInputError: the set has more cells.

    >>> F = ConvexSet("total-variation", p_hat=[[0.30, 0.20], [0.15, 0.35]], radius=0.02)
    >>> found = max_min_information(F, 1.0, gap=1e-4)
    >>> round(found.low, 4), round(found.high, 4)
    (0.7277, 0.7277)
    """
    level = validate.epsilon(epsilon)
    cone = SetCone(uncertainty.exact, level)
    if cone.dimension > MOST_CELLS:
        raise InvalidInputError(
            f"the set must have at most {MOST_CELLS} cells, not {cone.dimension}: the extreme rays of "
            "larger cones are too many to list"
        )
    rays = Rays(cone.dimension)
    rays.cut(np.array([cut.row for cut in cone.first_cuts()]))
    members = [np.array(cone.F.center, dtype=float)]
    low, high, best = -math.inf, math.inf, np.full((cone.dimension, 1), 1.0)
    for _ in range(40):
        bound, columns = _most(rays.listed, np.array(members))
        high = min(high, bound)
        excess, cuts = cone.cuts(columns, TIGHT)
        moved = cone.inside(columns, excess)
        moved = moved / moved.sum(axis=1, keepdims=True)
        least = worst_information(moved, uncertainty, gap=gap / 8, boxes=BOXES)
        if least.low > low:
            low, best = least.low, moved
        if high - low <= gap:
            break
        members.append(least.witness.ravel())
        rays.cut(np.array([cut.row for own in cuts for cut in own]).reshape(-1, cone.dimension))
    private = Mechanism(cone.repaired(best), product(*map(range, uncertainty.shape)))
    return MaxMin(worst_information(private, uncertainty, gap=gap / 8, boxes=BOXES).low, high, private)


def _most(rays: Array, members: Array) -> tuple[float, Array]:
    """Maximise the least information under listed members; return an upper bound and the columns.

    The multipliers λ of the members and β of the rows prove the bound: if Σ_j λ_j μ_j(r) ≤ β·r + δ for
    every ray r of mean 1, no mechanism is worth more than Σ β + δ.
    """
    seen = members @ rays
    gains = members @ xlogy(rays, rays) - xlogy(seen, seen)
    count, cells = len(members), len(rays)
    found = linprog(
        np.append(np.zeros(rays.shape[1]), -1.0),
        A_ub=np.hstack([-gains, np.ones((count, 1))]),
        b_ub=np.zeros(count),
        A_eq=np.hstack([rays, np.zeros((cells, 1))]),
        b_eq=np.ones(cells),
        bounds=[(0, None)] * rays.shape[1] + [(None, None)],
        method="highs-ds",
    )
    if found.x is None:
        raise SolverError(f"HiGHS found no optimum: {found.message}")
    shares = np.maximum(-found.ineqlin.marginals, 0.0)
    prices = -found.eqlin.marginals
    above = (shares / shares.sum()) @ gains - prices @ rays
    used = np.flatnonzero(found.x[:-1] > 1e-12)
    return float(prices.sum() + max(above.max(), 0.0)), rays[:, used] * found.x[used]


class Rays:
    """Rays of a polyhedral cone in the positive orthant, all extreme ones among them.

    The method is double description: a half-space keeps the rays inside, and every edge that crosses its
    border gives one more. Two extreme rays span an edge only if they share at least k − 2 facets; where
    they share more facets than an edge, the ray is listed although it is not extreme, which changes no
    optimum. Rays are scaled to mean 1.

    >>> cone = Rays(3)
    >>> cone.cut(np.array([[1.0, -1.0, 0.0]]))
    >>> sorted(cone.listed.T.tolist())
    [[0.0, 0.0, 3.0], [1.5, 1.5, 0.0], [3.0, 0.0, 0.0]]
    """

    def __init__(self, k: int) -> None:
        self.listed: Array = k * np.eye(k)
        self._facets: Array = np.eye(k)

    def cut(self, rows: Array) -> None:
        """Intersect the cone with the half-spaces row·r ≥ 0."""
        for row in rows / np.abs(rows).max(axis=1, keepdims=True):
            self._cut(row)

    def _cut(self, row: Array) -> None:
        slack = row @ self.listed
        out, inside = np.flatnonzero(slack < -TIGHT), np.flatnonzero(slack > TIGHT)
        if not len(out):
            return
        k = len(row)
        tight = (self._facets @ self.listed <= TIGHT).astype(np.int64)
        one, two = np.nonzero(tight[:, inside].T @ tight[:, out] >= k - 2)
        first, last = self.listed[:, inside[one]], self.listed[:, out[two]]
        share = slack[inside[one]] / (slack[inside[one]] - slack[out[two]])
        new = np.maximum(first + share * (last - first), 0.0)
        kept = np.hstack([np.delete(self.listed, out, axis=1), new])
        kept = kept / kept.mean(axis=0)
        _, places = np.unique(kept.round(10), axis=1, return_index=True)
        self.listed = kept[:, np.sort(places)]
        self._facets = np.vstack([self._facets, row])
        touched = (self._facets @ self.listed <= TIGHT).any(axis=1)
        self._facets = self._facets[touched]
