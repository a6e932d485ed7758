"""Bound every column of an outer cone by a dual vector: a tree of boxes of ratios, one LP for each.

For prices β the excess of a column is (μ(w) − β·w)/q, q = p·w. If it is at most δ in the whole cone,
β + δ p is a dual vector, and Σ_x β_x + δ a bound. In a box l_x ≤ w_x/q ≤ h_x the convex t log t is at
most its chord, so that a linear program over the cuts bounds the excess; its multipliers are the proof
of the leaf, as ``ldpopt/checker/kernel/proofs/outer_cone.py`` reads it. The worst leaf is split where
its chords lie highest above the curve. Where the chords are close to the curve, splitting does not help.
The column of the leaf is then shown to the oracle: if the column is not private, new cuts exclude it; if
it is, it may improve the mechanism, and with it the prices.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.solvers._robust.chord_box import ChordBox
from ldpopt.solvers._robust.column_search import FINE, ColumnSearch

MOST_LEAVES = 20_000
"""The most leaves of the tree: files with larger trees take too long to check."""
MOST_SHOWN = 3
"""How often the column of one leaf is shown to the oracle at most: cuts that it violates by less than
the tolerance of the linear program do not move it."""
DIGITS = 11
"""The number of decimals of a multiplier in the proof."""


@dataclass(eq=False)
class Box(ChordBox):
    """A box of ratios, with its multipliers where it is a leaf.

    Attributes:
        used, weights, price: the cuts with λ > 0, their λ, and ν.
        pull: Σ_i λ_i a_i.
        excess: the bound on the excess.
        version: the version of the prices for which the multipliers were found.
        shown: how often its column was shown to the oracle; at most :data:`MOST_SHOWN` times.
    """

    used: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    weights: Array = field(default_factory=lambda: np.zeros(0))
    price: float = 0.0
    pull: Array = field(default_factory=lambda: np.zeros(0))
    excess: float = np.inf
    version: int = -1
    shown: int = 0


class BoundTree:
    """The tree of boxes over the cuts of a search; the search gets the cuts and columns it meets."""

    def __init__(self, search: ColumnSearch) -> None:
        self.search, self.prior = search, search.form.prior
        self.known = self.prior > 0
        self.dual = search.optimum.dual
        self.version = self.batches = 0
        self._order = count()
        self.root = Box(search.outer.low, np.where(self.known, search.outer.high, 0.0))
        self.leaves: list[tuple[float, int, Box]] = []

    @property
    def excess(self) -> float:
        """The largest bound on the excess of any leaf."""
        return -self.leaves[0][0] if self.leaves else np.inf

    @property
    def bound(self) -> float:
        """The bound on every mechanism that the tree proves."""
        return float(self.dual.sum()) + self.excess

    def open(self, limits: Limits) -> None:
        """Bound the root."""
        self._push(self._solved(self.root, limits))

    def step(self, target: float, limits: Limits) -> bool:
        """Work on the worst leaves; return False if none is above the target or there are too many."""
        batch: list[Box] = []
        try:
            self._take_worst(batch, target, limits)
            if not batch or len(self.leaves) + len(batch) > MOST_LEAVES:
                return False
            self.batches += 1
            # one batch in this many is shown to the oracle as a whole
            everything = self.batches % 8 == 0
            shown = [
                leaf for leaf in batch if (everything or self._close(leaf)) and leaf.shown < MOST_SHOWN
            ]
            split = [
                leaf
                for leaf in batch
                if (not self._close(leaf) or leaf.shown >= MOST_SHOWN) and self._wide(leaf)
            ]
            if not shown and not split:
                return False  # nothing is left that floats can improve
            if shown:
                self._show(shown, max(FINE, target / 10), limits)
            for leaf in split:
                self._split(leaf, limits)
        finally:  # also when time runs out, no leaf may be lost
            for box in batch:
                for leaf in box.parts or (box,):
                    self._push(leaf)
        if self.search.optimum.dual is not self.dual:
            self._reprice()
        return True

    def _take_worst(self, batch: list[Box], target: float, limits: Limits) -> None:
        """Move the worst leaves above the target, bounded at the present prices, into a batch."""
        while self.leaves and len(batch) < 16 and self.excess > target:
            leaf = heapq.heappop(self.leaves)[2]
            if leaf.version == self.version:
                batch.append(leaf)
                continue
            try:
                self._solved(leaf, limits)
            finally:
                self._push(leaf)

    @staticmethod
    def _close(leaf: Box) -> bool:
        # chords count as close to the curve if they make up less than this share of the excess
        return bool(leaf.gaps.sum() < 0.3 * leaf.excess)

    @staticmethod
    def _wide(leaf: Box) -> bool:
        x = int(leaf.gaps.argmax())
        # a box is not cut any narrower than this, relative to its upper end or to 1
        return bool(leaf.high[x] - leaf.low[x] > 1e-9 * max(leaf.high[x], 1.0))

    def _show(self, leaves: list[Box], least: float, limits: Limits) -> None:
        """Show the columns of leaves to the oracle, which adds cuts and columns to the search."""
        points = np.array([leaf.point for leaf in leaves]).T
        before = self.search.optimum.value
        excess = self.search.visit(points, least)
        for leaf, over in zip(leaves, excess, strict=True):
            leaf.shown = MOST_SHOWN if over <= least else leaf.shown + 1
            leaf.version = -1
        self.search.resolve(limits)
        if self.search.optimum.value <= before:  # other prices of the same mechanism are no better
            self.search.optimum = self.search.optimum._replace(dual=self.dual)

    def _split(self, leaf: Box, limits: Limits) -> None:
        cut = leaf.worst_cut()
        below, above = leaf.halves(*cut)
        parts = self._solved(below, limits), self._solved(above, limits)
        leaf.cut, leaf.parts = cut, parts

    def _solved(self, leaf: Box, limits: Limits) -> Box:
        """Bound the excess within a box by the chords, and keep the multipliers."""
        p, outer = self.prior, self.search.outer
        low, high = leaf.low, leaf.high
        width = high - low
        at_low, at_high = xlogy(low, low), xlogy(high, high)
        slope = np.divide(at_high - at_low, width, out=np.zeros_like(width), where=width > 0)
        ends = np.where(self.known, high, outer.high)
        found = outer.maximum(p * slope - self.dual, low, ends, limits)
        used = np.flatnonzero(found.weights > 10.0**-DIGITS).astype(np.int64)
        leaf.used, leaf.weights = used, found.weights[used].round(DIGITS)
        leaf.price, leaf.point = round(found.price, DIGITS), found.point
        leaf.pull = leaf.weights @ outer.rows(used)
        chord = at_low + slope * (found.point - low)
        leaf.gaps = p * (chord - xlogy(found.point, found.point))
        leaf.version = self.version
        leaf.excess = float(self._excess(self.dual, [leaf])[0])
        return leaf

    def _excess(self, dual: Array, leaves: list[Box]) -> Array:
        """Bound the excess within leaves by the multipliers found earlier.

        The bound is ν + Σ_x max over t ∈ {l_x, h_x} of p_x t log t + g_x t, g = Σ λ a − β − ν p.
        """
        p = self.prior
        low, high = (np.array([getattr(leaf, end) for leaf in leaves]) for end in ("low", "high"))
        price = np.array([leaf.price for leaf in leaves])
        g = np.array([leaf.pull for leaf in leaves]) - dual - price[:, None] * p
        ends = np.maximum(p * xlogy(low, low) + g * low, p * xlogy(high, high) + g * high)
        return price + ends.sum(axis=1)

    def _push(self, leaf: Box) -> None:
        heapq.heappush(self.leaves, (-leaf.excess, next(self._order), leaf))

    def _reprice(self) -> None:
        """Use the prices of the better mechanism; the multipliers of all leaves stay valid."""
        self.dual = self.search.optimum.dual
        self.version += 1
        leaves = [leaf for _, _, leaf in self.leaves]
        for leaf, excess in zip(leaves, self._excess(self.dual, leaves), strict=True):
            leaf.excess = float(excess)
            leaf.shown = 0
        self.leaves = []
        for leaf in leaves:
            self._push(leaf)

    # ---- the proof

    def proof(self, slack: float) -> dict[str, Any]:
        """Write the dual vector, the cuts and the tree as plain data.

        ``slack`` is what the bound is raised by, so that rounding does not break the proof.
        """
        leaves = [leaf for _, _, leaf in self.leaves]
        rise = self.excess + slack
        dual = self.dual + rise * self.prior
        pulls = np.array([leaf.pull for leaf in leaves])
        over = np.maximum((pulls - dual).max(axis=0), 0.0) + slack / len(dual)
        dual = dual + np.where(self.known, 0.0, over)
        used = sorted({int(i) for leaf in leaves for i in leaf.used})
        place = {i: new for new, i in enumerate(used)}
        nodes: list[dict[str, Any]] = []
        boxes = [self.root]
        while boxes:
            box = boxes.pop()
            if box.cut is not None:
                nodes.append({"input": box.cut[0], "at": box.cut[1]})
                boxes += reversed(box.parts)
                continue
            nodes.append(
                {
                    "price": box.price - rise,
                    "cuts": [place[int(i)] for i in box.used],
                    "weights": box.weights.tolist(),
                }
            )
        cuts = [self.search.outer.cuts[i] for i in used]
        return {
            "dual": dual.tolist(),
            "cuts": [{"member": cut.member, "secrets": list(cut.secrets)} for cut in cuts],
            "tree": nodes,
        }
