"""Quantisation of the difference of two rates: the secret of Wang et al. 2024, VI-D.

Some of the records inside a group are marked, and some of those outside; the secret is the difference
of the two shares. All counts of the four kinds cannot be listed (10¹³ for the census), but a uniform
histogram with a given secret can be drawn: the number of records inside first, then the marked ones
among them, then the marked ones among the others, whose weights within a window are differences of
prefix sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array, Cleaned
from ldpopt.mechanisms.histograms import Histogram, random_histogram

NEGLIGIBLE = 60.0
"""Sizes of the group whose weight is below e^−60 of the largest are left out of the draw."""
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RateQuantization(Cleaned):
    """Release a uniform histogram among those with the middle secret of the data's bin.

    Wang et al. 2024, V-B. The secret is the cell of a/(a+b) − c/(c+d) on a grid of [−1, 1], where a and
    b are the marked and the other records inside the group, c and d those outside; an empty part has
    rate 0.

    Args:
        tau: the number of records.
        blocks: the block of each category: 0 marked inside, 1 other inside, 2 marked outside, 3 other
            outside.
        cells: how many values the secret has, at most tau/2, so that each occurs.
        interval: how many cells make a bin.
    """

    tau: int
    blocks: ArrayLike
    cells: int
    interval: int

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        blocks = np.asarray(self.blocks)
        if set(blocks.tolist()) != {0, 1, 2, 3}:
            raise InvalidInputError(
                f"blocks must be the numbers 0 to 3, each at least once, not {blocks.tolist()!r:.80}"
            )
        validate.whole_number("cells", self.cells, 1)
        validate.whole_number("interval", self.interval, 1)
        if self.cells > self.tau / 2:
            raise InvalidInputError(f"cells must be at most tau/2 = {self.tau / 2:g}, not {self.cells}")
        return {"blocks": blocks}

    def sml(self) -> float:
        """Compute log ⌈s/I⌉: the bins are released on disjoint sets of histograms."""
        return math.log(-(-self.cells // self.interval))

    def cell(self, histogram: ArrayLike) -> int:
        """Return the secret of a data set, comparing the two rates in whole numbers."""
        counts = np.asarray(histogram)
        if counts.shape != np.shape(self.blocks) or counts.min() < 0 or counts.sum() != self.tau:
            raise InvalidInputError(
                f"the histogram must be {np.size(self.blocks)} counts >= 0 that sum to {self.tau}, "
                f"not {counts.tolist()!r:.80}"
            )
        a, b, c, d = np.bincount(np.asarray(self.blocks), weights=counts).astype(np.int64).tolist()
        inside, outside = max(1, a + b), max(1, c + d)
        share = (a * outside - c * inside + inside * outside) * self.cells
        return int(min(self.cells - 1, share // (2 * inside * outside)))

    def released_cell(self, cell: int) -> int:
        """Return the middle cell of the bin of a cell, the last one where the bin is short."""
        return min(cell // self.interval * self.interval + self.interval // 2, self.cells - 1)

    def release(self, histogram: ArrayLike, rng: np.random.Generator | int) -> Histogram:
        """Draw a uniform histogram with the released cell: the blocks' counts, then each block."""
        rng = np.random.default_rng(rng)
        counts = self.draw_counts(self.released_cell(self.cell(histogram)), rng)
        result = np.zeros(np.size(self.blocks), np.int64)
        for block, count in enumerate(counts):
            members = np.flatnonzero(np.asarray(self.blocks) == block)
            result[members] = random_histogram(count, len(members), rng)
        return result

    def draw_counts(self, cell: int, rng: np.random.Generator | int) -> list[int]:
        """Draw the four counts by how many histograms of the cell have them.

        Args:
            cell: the secret of the release.
            rng: the source of randomness.
        """
        rng = np.random.default_rng(rng)
        sizes, weights = self._group_sizes(cell)
        inside = int(sizes[_pick(weights, rng)])
        marked, windows = self._marked(inside, cell)
        a = _pick(marked, rng)
        first, last = (int(end[a]) for end in windows)
        outside = self.tau - inside
        c = first + _pick(self._others(outside)[first : last + 1], rng)
        return [a, inside - a, c, outside - c]

    # ---------------------------------------------------------------- weights, all as logarithms

    @cached_property
    def _ways(self) -> Array:
        """In row i the log of the number of histograms of 0, 1, …, τ records over block i."""
        records, sizes = np.arange(self.tau + 1), np.bincount(np.asarray(self.blocks))[:, None]
        return np.asarray(gammaln(records + sizes) - gammaln(sizes) - gammaln(records + 1))

    def _insiders(self, inside: int) -> Array:
        """Weigh 0, 1, … marked records among those inside."""
        return np.asarray(self._ways[0, : inside + 1] + self._ways[1, inside::-1])

    def _others(self, outside: int) -> Array:
        """Weigh 0, 1, … marked records among those outside."""
        return np.asarray(self._ways[2, : outside + 1] + self._ways[3, outside::-1])

    def _window(self, inside: int, cell: int) -> tuple[Whole, Whole]:
        """Compute between which c the secret is the cell, for a = 0, 1, …; empty if first > last."""
        outside = self.tau - inside
        in_, out = max(1, inside), max(1, outside)
        top = self.cells * (np.arange(inside + 1, dtype=np.int64) * out + in_ * out)
        last = (top - 2 * in_ * out * cell) // (self.cells * in_)
        first = (top - 2 * in_ * out * (cell + 1)) // (self.cells * in_) + 1
        if cell == self.cells - 1:
            first = np.zeros_like(last)
        return np.maximum(first, 0), np.minimum(last, outside)

    def _peak(self, inside: int, cell: int) -> float:
        """Find the largest weight of counts with ``inside`` records inside.

        The weights of c are log-concave, so the best of a window is the mode, or its end next to it.
        """
        others = self._others(self.tau - inside)
        first, last = self._window(inside, cell)
        there = np.flatnonzero(first <= last)
        if not len(there):
            return -math.inf
        best = np.clip(int(others.argmax()), first[there], last[there])
        return float((self._insiders(inside)[there] + others[best]).max())

    def _group_sizes(self, cell: int) -> tuple[Whole, Array]:
        """List the numbers of records inside that matter, and their weights."""
        known = self._cache
        if cell not in known:
            most = self._most()
            peaks, best = dict[int, float](), -math.inf
            coarse = range(0, self.tau + 1, max(1, self.tau // 64))
            for inside in [*coarse, *np.argsort(-most).tolist()]:
                if inside not in peaks and most[inside] + NEGLIGIBLE >= best:
                    peaks[inside] = self._peak(inside, cell)
                    best = max(best, peaks[inside])
            room = 2 * math.log(self.tau + 1) + NEGLIGIBLE
            sizes = np.array([i for i, peak in sorted(peaks.items()) if peak + room >= best])
            known[cell] = sizes, np.array([logsumexp(self._marked(int(i), cell)[0]) for i in sizes])
        return known[cell]

    def _most(self) -> Array:
        """Weigh all histograms with 0, 1, … records inside, whatever their secret."""
        sizes = np.bincount(np.asarray(self.blocks))
        records = np.arange(self.tau + 1)
        inside, outside = (
            gammaln(records + m) - gammaln(m) - gammaln(records + 1)
            for m in (sizes[0] + sizes[1], sizes[2] + sizes[3])
        )
        return np.asarray(inside + outside[::-1])

    @cached_property
    def _cache(self) -> dict[int, tuple[Whole, Array]]:
        return {}

    def _marked(self, inside: int, cell: int) -> tuple[Array, tuple[Whole, Whole]]:
        """Weigh a = 0, 1, … with all c of the cell, and return the windows of c."""
        others = self._others(self.tau - inside)
        first, last = self._window(inside, cell)
        mode = int(others.argmax())
        rising = np.logaddexp.accumulate(others)
        falling = np.logaddexp.accumulate(others[::-1])[::-1]
        below = _between(rising, first - 1, np.minimum(last, mode))
        above = _between(
            falling[::-1], len(others) - 2 - last, len(others) - 1 - np.maximum(first, mode + 1)
        )
        total = np.where(first <= last, np.logaddexp(below, above), -math.inf)
        return self._insiders(inside) + total, (first, last)


def _between(sums: Array, before: Whole, last: Whole) -> Array:
    """Compute the log of a sum from its log prefix sums: the terms after one place up to another."""
    low = np.where(before >= 0, sums[np.clip(before, 0, len(sums) - 1)], -math.inf)
    high = sums[np.clip(last, 0, len(sums) - 1)]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = high + np.log1p(-np.exp(np.minimum(low - high, 0.0)))
    return np.where(before < last, found, -math.inf)


def _pick(weights: Array, rng: np.random.Generator) -> int:
    """Draw a place by log weights."""
    chances = np.exp(weights - weights.max())
    return int(rng.choice(len(weights), p=chances / chances.sum()))
