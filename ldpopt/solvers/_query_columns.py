"""Columns of mechanisms that answer queries, and a climb to good ones.

The gain of a column is Γ(T) = Σ_i (y_i·T)²/(p·T) = max_z (2 Σ_i z_i y_i − |z|² p)·T, attained at z_i =
y_i·T/(p·T). So a column that exceeds β is found by alternating: for a given z maximise the linear
function (2 Σ_i z_i y_i − |z|² p − β)·T over the cone, then set z. Every step improves; nothing is
listed, and nothing is proven. The climb starts from the columns of subset selection on each column of
the table that is asked for, which are private whatever the cone: even the first round has about the
error of a report about one such column of the table, drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ldpopt.core.forms.query_program import ClimbedCone
from ldpopt.core.validate import Array
from ldpopt.mechanisms.catalogue import randomized_response

KEPT = 1e-9
"""Weights below this share of the largest are rounding."""
BLEND = 1e-10
"""The share of randomised response in a mechanism whose reports alone would not determine all
frequencies."""


class Climbed:
    """Columns that a climb finds in each round.

    Args:
        cone: where they lie.
        p: the distribution of the inputs.
        queries: c, one per row.
        epsilon: the level; the columns of randomised response and of subset selection are taken first.
        rng: for the starts of climbs.
    """

    STARTS, STEPS, MOST = 120, 3, 500
    """Climbs of a round, their steps within the first part of the cone, and columns that are kept."""
    ENOUGH = 2e-3
    """The relative excess over β at which nothing more is sought."""

    def __init__(
        self, cone: ClimbedCone, p: Array, queries: Array, epsilon: float, rng: np.random.Generator
    ) -> None:
        self.cone, self.p, self.queries, self.rng = cone, p, queries, rng
        self.ratio = math.exp(epsilon)
        directions = (self._random(2 * self.STARTS) - 1.5) * p
        found = np.stack(list(cone.best(directions)))
        score = (found * directions).sum(axis=-1) / found.sum(axis=-1)
        nearest = found[score.argmax(axis=0), np.arange(len(directions))]
        known = [1 + (self.ratio - 1) * part for part in self._subsets()]
        self.taken = once(np.vstack([randomized_response(len(p), epsilon).matrix.T, *known, nearest]))

    def _subsets(self) -> Iterator[Array]:
        """Mark the inputs whose value is in a subset, one per row, for each column that is asked for.

        The subsets have the size that subset selection has; where they are too many, some are drawn,
        each with all its cyclic shifts, so that every value is in equally many.
        """
        for values in partitions(self.queries):
            r = len(values)
            size = max(1, round(r / (self.ratio + 1)))
            if math.comb(r, size) <= self.STARTS:
                chosen = np.array(list(combinations(range(r), size)))
            else:
                drawn = [self.rng.permutation(r)[:size] for _ in range(max(1, self.STARTS // r))]
                chosen = np.vstack([(subset + np.arange(r)[:, None]) % r for subset in drawn])
            yield values[chosen].sum(axis=1)

    def _random(self, count: int) -> Array:
        """Draw columns of the shape that good ones have: 0 off a query's inputs, 1 and e^ε on them.

        The query of a bin without rows, or with all of them, is the same on all inputs: it cuts none.
        """
        k, r = len(self.p), len(self.queries)
        columns = np.ones((count, k))
        for n in range(count):
            score = (self.rng.normal(size=r) * (self.rng.random(r) < self.rng.random())) @ self.queries
            columns[n, score > np.quantile(score, 1 - self.rng.uniform(0.1, 0.6))] = self.ratio
            if (i := self.rng.integers(2 * r)) < r and np.ptp(self.queries[i]) > 0:
                columns[n] *= self.queries[i] > self.queries[i].mean()
        return columns

    def extend(self, Y: Array, beta: Array, weights: Array) -> bool:
        """Climb from random columns; take the columns that are found and that β does not dominate.

        The climbs stay in the first part of the cone, which costs a fiftieth of all parts, until nothing
        is left to find there. Where there are too many columns, those of the least weights are dropped.

        Args:
            Y: the vectors y_i, one per row.
            beta: β.
            weights: θ of the columns taken so far.
        """
        used = np.sort(np.argsort(-weights)[: self.MOST - self.STARTS])
        taken = self.taken[used]
        least = self.ENOUGH * np.abs(taken @ beta / taken.sum(axis=1)).max()
        columns = self._random(self.STARTS)
        for _ in range(self.STEPS):
            columns = next(iter(self.cone.best(self._directions(columns, Y, beta))))
        if (self._excess(columns, Y, beta) <= least).all():
            found = np.stack(list(self.cone.best(self._directions(columns, Y, beta))))
            best = self._excess(found, Y, beta).argmax(axis=0)
            columns = found[best, np.arange(self.STARTS)]
        new = columns[self._excess(columns, Y, beta) > least]
        self.taken = once(np.vstack([taken, new]))
        return len(new) > 0

    def _directions(self, columns: Array, Y: Array, beta: Array) -> Array:
        """Compute the linear function that touches Γ(T) − β·T from below at each column."""
        z = columns @ Y.T / (columns @ self.p)[:, None]
        return 2 * z @ Y - (z**2).sum(axis=1)[:, None] * self.p - beta

    def _excess(self, columns: Array, Y: Array, beta: Array) -> Array:
        return (gains(columns, columns @ self.p, Y) - columns @ beta) / columns.sum(axis=-1)


def partitions(queries: Array) -> Iterator[Array]:
    """Yield consecutive queries that mark every input once: the frequencies of the values of a column.

    >>> [len(values) for values in partitions(np.array([[2, 0, 0], [1, 1, 0], [0, 0, 1]]))]
    [2]
    """
    rows: list[Array] = []
    for row in queries:
        marks = np.isin(row, (0, 1)).all()
        fits = marks and (np.sum([*rows, row], axis=0) <= 1).all()
        rows = [*rows, row] if fits else [row] if marks else []
        if rows and (np.sum(rows, axis=0) == 1).all():
            yield np.array(rows)
            rows = []


def gains(columns: Array, mass: Array, Y: Array) -> Array:
    """Compute Γ of each column, one per row; the rows of Y sum to 0.

    Args:
        columns: the columns T.
        mass: their p·T.
        Y: the vectors y_i, one per row.
    """
    apart = columns - columns.min(axis=-1, keepdims=True)
    return ((apart @ Y.T) ** 2).sum(axis=-1) / mass


def once(columns: Array) -> Array:
    """Scale columns to the largest entry 1, and keep each once, in order."""
    scaled = columns / columns.max(axis=1, keepdims=True)
    first = np.unique(scaled.round(12), axis=0, return_index=True)[1]
    return scaled[np.sort(first)]


def determining(columns: Array, weights: Array, p: Array, epsilon: float) -> Array:
    """Build the mechanism of weighted columns, with a touch of one whose reports leave nothing open.

    Args:
        columns: the columns, one per row.
        weights: their weights; those below :data:`KEPT` of the largest are left out.
        p: the distribution of the inputs.
        epsilon: the level of the randomised response that is mixed in where it is needed.
    """
    kept = weights > KEPT * weights.max()
    matrix = (columns[kept] * weights[kept, None]).T
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    spread = np.linalg.svd(matrix / np.sqrt(p @ matrix), compute_uv=False)
    other = randomized_response(len(p), min(epsilon, 1.0)).matrix  # no entry below the grid of floats
    narrow = np.linalg.svd(other / np.sqrt(p @ other), compute_uv=False)[-1]
    if len(spread) == len(p) and spread[-1] > math.sqrt(BLEND) * narrow:
        return matrix
    return np.hstack([(1 - BLEND) * matrix, BLEND * other])
