"""Bound every private mechanism: prices, and for each s* a tree of parts of the cone.

If (μ(w) − β·w)/q ≤ δ for all private columns, β + δ p is a dual vector, and Σ_x β_x + δ a bound. The
parts with the greatest δ are cut where the vertices of a mixed column are farthest apart in what its
pairs of corners ask of them. The mixed columns, worth what their mixtures are, stand beside private
ones in a program of mechanisms; the prices move towards its duals. As these jump, they move only some
of the way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ldpopt.core.highs import ColumnLP
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array
from ldpopt.models.shared_slack_cone import ALL, Cut, SlackCone
from ldpopt.models.utilities import MutualInformation
from ldpopt.solvers._robust.slack_part import Part, PartBounds

STEP, CLOSE = 0.25, 5e-4
"""How far prices move towards new duals; the gap at which the search ends."""
MOST_PARTS = 800
"""The most parts: with more of them, files take too long to check."""
TRIED, RENEWED, BATCH = 2, 6, 16
"""How many cuts of a part are tried; how many parts, and one more for so many parts in all, get new
multipliers at new prices, or are cut."""
SPARE = 0.02
"""A side of a cut whose bound is below 0 by this share of the value gets no multipliers of its own."""
EDGE, PLAIN = 0.3, 0.2
"""A cut is at least this share of the way from what is known on both sides: on the scale of logarithms,
and for a cut of q_s·w_s."""


class Reached(NamedTuple):
    """What the vertices of a mixture reach, for every secret and share: A_s and B_s.

    Attributes:
        most: A_s of every vertex.
        mean_most, mean_fewest: on average.
        top, bottom: of the mean of the vertices.
    """

    most: Array
    mean_most: Array
    mean_fewest: Array
    top: Array
    bottom: Array


class Proposal(NamedTuple):
    """A cut, how promising it is, and between which ends its number lies."""

    score: float
    cut: Cut
    low: float
    high: float


class SlackSearch:
    """Prices and the parts that prove them.

    Args:
        cone: the corners; the search adds some.
        prior: p, positive.
        limits: the limits of the work.
    """

    def __init__(self, cone: SlackCone, prior: Array, limits: Limits) -> None:
        self.cone, self.prior, self.limits = cone, prior.reshape(cone.shape), limits
        self.information = MutualInformation(prior)
        self.lp, self.gains = ColumnLP(cone.dimension, 1.0), np.zeros(0)
        self.bounds = PartBounds(cone, prior)
        self.prices = self.best_prices = np.zeros(cone.dimension)
        self.best, self.least = math.inf, 0.0
        self.roots: list[Part] = []
        self.leaves: list[Part] = []
        self._mixed: dict[Part, list[int]] = {}
        self._mixtures: dict[int, Array] = {}

    def run(self, columns: Array, value: float, limits: Limits) -> None:
        """Cut parts and move prices until the time is over.

        Args:
            columns: private columns that are known.
            value: the best mechanism made of them.
            limits: the limits of this part of the work.

        Raises:
            OutOfTime: the time was over before there were parts.
        """
        self.limits, self.least = limits, value
        self._add(columns, self.information(columns))
        if not self.leaves:
            self._solve()
            self.prices = self.duals
            roots = [self._renew(Part(s), 4) for s in range(self.cone.shape[0])]
            self.roots, self.leaves = roots, list(roots)
        with suppress(OutOfTime):
            while len(self.leaves) < MOST_PARTS and self.best > self.least * (1 + CLOSE):
                self._advance()

    def columns(self) -> Array:
        """List a good column of every part, a product of vertices, at the prices."""
        prices = self.prices.reshape(self.cone.shape)
        return np.array([self.bounds.ascended(part, prices) for part in self.leaves]).T

    def _add(self, columns: Array, gains: Array) -> None:
        self.gains = np.append(self.gains, gains)
        self.lp.add(columns, gains)

    def _solve(self) -> None:
        found = self.lp.solve(self.limits)
        if found is None:
            raise OutOfTime
        self.duals = found.dual
        self.amounts = self.lp.amounts()

    def _advance(self) -> None:
        """Move the prices, bound all parts again, and cut the worst."""
        self._solve()
        self.prices = self.prices + STEP * (self.duals - self.prices)
        self.reprice()
        losses = sorted(((self._loss(part), i) for i, part in enumerate(self.leaves)), reverse=True)
        most = 1 + len(self.leaves) // BATCH
        chosen = {self.leaves[i] for loss, i in losses[:most] if loss > 0} | {self.leaves[0]}
        for part in chosen:
            self._cut(part)
        self.lp.price(self.gains)

    def reprice(self) -> None:
        """Bound all parts at the prices, and find better multipliers for the worst ones."""
        self.limits.check()
        for part in self.leaves:
            self.bounds.repriced(part, self.prices.reshape(self.cone.shape))
        fresh: set[Part] = set()
        most = RENEWED + len(self.leaves) // BATCH
        self.leaves.sort(key=lambda part: -part.excess)
        while self.leaves[0] not in fresh and len(fresh) < most:
            fresh.add(self._renew(self.leaves[0], 1))
            self.leaves.sort(key=lambda part: -part.excess)
        bound = float(self.prices.sum()) + self.leaves[0].excess
        if bound < self.best:
            self.best, self.best_prices = bound, self.prices

    def _loss(self, part: Part) -> float:
        """Return what the mixed columns of a part are worth beyond what columns are, in the program."""
        known = [j for j in self._mixed.get(part, []) if j < len(self.amounts)]
        return sum(self.amounts[j] * (self.gains[j] - self._plain(j)) for j in known)

    def _plain(self, j: int) -> float:
        """Compute μ of a mixed column."""
        return float(self.information(self._mixtures[j][:, None])[0])

    def _retire(self, part: Part) -> None:
        for j in self._mixed.pop(part, []):
            self.gains[j] = self._plain(j)

    def _renew(self, part: Part, rounds: int) -> Part:
        pairs = len(part.pairs)
        self.bounds.bounded(part, self.prices.reshape(self.cone.shape), rounds, self.limits)
        if len(part.pairs) > pairs:
            self._retire(part)
        if part.column is not None:
            self._mix(part, part.column)
        return part

    def _mix(self, part: Part, column: Array) -> None:
        """Add the mixed column of a part to the program."""
        self._mixed.setdefault(part, []).append(len(self.gains))
        self._mixtures[len(self.gains)] = column
        self._add(column[:, None], np.array([part.worth]))

    def _cut(self, part: Part) -> None:
        """Cut a part in two; its mixed columns are then worth no more than columns are."""
        tried: list[tuple[list[float], int, tuple[Part, ...]]] = []
        for cut in self._proposed(part)[:TRIED]:
            parts = tuple(self._side(part.child(cut._replace(far=far))) for far in (False, True))
            excess = sorted((max(side.excess, -1.0) for side in parts), reverse=True)
            tried.append((excess, len(tried), parts))
        part.parts = min(tried)[2]
        self.leaves.remove(part)
        self.leaves += part.parts
        self._retire(part)
        for side in part.parts:
            if side.column is not None:
                self._mix(side, side.column)

    def _side(self, part: Part) -> Part:
        """Bound a side of a cut; where the known multipliers are good enough, by these alone."""
        prices = self.prices.reshape(self.cone.shape)
        if self.bounds.repriced(part, prices) > -SPARE * self.least:
            self.bounds.bounded(part, prices, 1, self.limits)
        return part

    # ---- where to cut

    def _proposed(self, part: Part) -> list[Cut]:
        """List cuts of a part, the most promising first; if none promises anything, halve a mass."""
        found: list[Proposal] = []
        if part.column is not None:
            reached = self._reached(part)
            found = [*self._by_pairs(part, reached), *self._by_mass(part, reached)]
        best: dict[tuple[int, int, bool], Proposal] = {}
        for one in found:
            key = one.cut.secret, one.cut.share, one.cut.most
            wide = one.high > 1.003 * one.low  # a narrower cut is of no use
            if wide and one.score > (best[key].score if key in best else 0.0):
                best[key] = one
        if not best:
            s = int((part.high[:, 0] / part.low[:, 0]).argmax())
            return [Cut(s, 0, True, math.sqrt(float(part.low[s, 0] * part.high[s, 0])), False)]
        return [one.cut for one in sorted(best.values(), key=lambda one: -one.score)]

    def _reached(self, part: Part) -> Reached:
        """Compute what the vertices of a mixture reach, on average too, and what their mean reaches."""
        n, width = self.cone.shape[0], 1 + max(len(one) for one in part.shares)
        blocks = np.zeros((*self.cone.shape, width))
        for s, (points, shares) in enumerate(zip(part.points, part.shares, strict=True)):
            blocks[s, :, : len(shares)] = points
            blocks[s, :, len(shares) :] = (points @ shares)[:, None]
        most, fewest = self.cone.reach(blocks)
        means = np.zeros((2, n, ALL + 1))
        for s, shares in enumerate(part.shares):
            means[:, s] = [values[s, :, : len(shares)] @ shares for values in (most, fewest)]
        return Reached(most, means[0], means[1], most[:, :, -1], fewest[:, :, -1])

    def _by_pairs(self, part: Part, reached: Reached) -> Iterator[Proposal]:
        """Propose to cut what pairs of corners compare.

        A pair with the multiplier λ holds for the means of two mixtures, but not for their vertices:
        what A_s of the vertices is above that of their mean, and B_z below it, times λ, is how much the
        pair would ask of them one by one.
        """
        most, mean_most, mean_fewest, top, bottom = reached
        n, E = self.cone.shape[0], self.cone.E
        above, below = np.zeros((n, ALL + 1)), np.zeros((n, ALL + 1))
        for pair, weight in zip(part.pairs, part.weights, strict=True):
            rest = ALL - pair.share
            mine = weight * (mean_most[pair.s, pair.share] - top[pair.s, pair.share])
            theirs = weight * E * (bottom[pair.z, rest] - mean_fewest[pair.z, rest])
            above[pair.s, pair.share] += mine + EDGE * theirs
            below[pair.z, rest] += theirs + EDGE * mine
        far = np.maximum(1.5 * most.max(axis=2), 1.2 * mean_most)
        for s, share in np.argwhere(np.maximum(above, below)[:, 2:] > 0).tolist():
            at, others = share + 2 - share % 2, np.arange(n) != s  # cuts are made at every other share
            rest = ALL - at
            floors = np.where(part.low[:, rest] > 0, part.low[:, rest], mean_fewest[:, rest])
            low, high = E * float(floors[others].min()), float(min(part.high[s, at], far[s, at]))
            cut = Cut(
                s,
                at,
                True,
                _between((top[s, at] + E * bottom[others, rest].min()) / 2, low, high),
                False,
            )
            yield Proposal(float(above[s, share + 2]), cut, low, high)
            low = float(max(part.low[s, at], 0.8 * mean_fewest[s, at]))
            high = float(np.minimum(part.high[others, rest].max(), far[others, rest].max())) / E
            guess = (bottom[s, at] + top[others, rest].max() / E) / 2
            yield Proposal(
                float(below[s, share + 2]),
                Cut(s, at, False, _between(guess, low, high), False),
                low,
                high,
            )

    def _by_mass(self, part: Part, reached: Reached) -> Iterator[Proposal]:
        """Propose to cut q_s·w_s where the vertices of a mixture differ in it."""
        for s, (gap, shares) in enumerate(zip(self.bounds.gaps(part), part.shares, strict=True)):
            own, mean = reached.most[s, 0, : len(shares)], float(reached.top[s, 0])
            spread = math.sqrt(float(shares @ (own - mean) ** 2)) / mean
            if spread > 1e-3:
                low, high = float(part.low[s, 0]), float(part.high[s, 0])
                edge = PLAIN * (high - low)
                cut = Cut(s, 0, True, min(max(mean, low + edge), high - edge), False)
                yield Proposal(2 * max(gap, 0.0) * spread, cut, low, high)


def _between(guess: float, low: float, high: float) -> float:
    """Move a guess away from both ends, on the scale of logarithms."""
    first, last = math.log(max(low, 1e-9)), math.log(max(high, 1e-9))
    edge = EDGE * (last - first)
    return math.exp(max(min(math.log(guess), last - edge), first + edge))
