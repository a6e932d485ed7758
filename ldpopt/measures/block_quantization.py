"""Quantisation of any secret that depends on a data set through the sizes of a few groups of records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.measures.leakage import LeakageBounds
from ldpopt.measures.missed_cover import cover_bounds, reach_matrix
from ldpopt.mechanisms.binned_secret import BinnedSecret
from ldpopt.mechanisms.compositions import compositions

MOST_SUMS = 5_000_000


@dataclass(frozen=True, eq=False)
class BlockQuantization(BinnedSecret):
    """Release a uniform histogram among those with the middle secret of the data's bin.

    Wang et al. 2024, V-B, for secrets other than the fraction of one category: every category belongs to
    a block, the secret is the cell of the value grid in which a function of the blocks' record counts
    falls, and ``interval`` neighbouring cells make a bin.

    Args:
        tau: the number of records.
        blocks: the block of each category: 0, 1, …, every one with a category.
        value: maps an array of block counts, one row per possibility, to the values of the secret.
        grid: the increasing borders between the cells of the secret.
        interval: how many cells make a bin.

    >>> share = BlockQuantization(10, [0, 0, 1], lambda sums: sums[:, 0] / 10, [0.25, 0.5, 0.75], 2)
    >>> share.cells, round(math.exp(share.sml()))
    (4, 2)
    """

    tau: int
    blocks: ArrayLike
    value: Callable[[NDArray[np.int64]], Array]
    grid: ArrayLike
    interval: int

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        blocks = np.asarray(self.blocks)
        if set(blocks.tolist()) != set(range(int(blocks.max()) + 1)):
            raise InvalidInputError(
                f"blocks must be numbered 0, 1, … without a gap, not {blocks.tolist()!r:.80}"
            )
        grid = validate.array("grid", self.grid, 1)
        if (np.diff(grid) <= 0).any():
            raise InvalidInputError(f"grid must increase, not be {grid.tolist()!r:.80}")
        if not isinstance(self.interval, int) or self.interval < 1:
            raise InvalidInputError(f"interval must be a whole number >= 1, not {self.interval!r}")
        return {"blocks": blocks, "grid": grid}

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many categories each block has."""
        return np.bincount(np.asarray(self.blocks))

    @cached_property
    def _sums(self) -> NDArray[np.int64]:
        count = math.comb(self.tau + len(self.sizes) - 1, len(self.sizes) - 1)
        if count > MOST_SUMS:
            raise InvalidInputError(
                f"{len(self.sizes)} blocks of {self.tau} records have {count} sums; "
                f"more than {MOST_SUMS} cannot be listed"
            )
        return compositions(self.tau, len(self.sizes))

    @cached_property
    def _cells(self) -> tuple[Array, NDArray[np.int64]]:
        """The occupied cells of the grid, and the number of the cell of every sum."""
        raw = np.searchsorted(np.asarray(self.grid), self.value(self._sums), side="right")
        return np.unique(raw, return_inverse=True)

    @property
    def cells(self) -> int:
        """How many values the secret can take."""
        return len(self._cells[0])

    def missed_bounds(self, missed: int) -> LeakageBounds:
        """Bound the SML if the holder misses ``missed`` feasible categories of block 0.

        Data whose records fall into missed categories are released over the known ones and those
        (Wang et al. 2024, Appendix H), which betrays them; see
        :mod:`ldpopt.measures.missed_cover`.
        """
        sizes = range(validate.whole_number("missed", missed, 0) + 1)
        low = high = 0.0
        most = [int(self._sums[self._cells[1] == c, 0].max()) for c in range(self.cells)]
        for first in range(0, self.cells, self.interval):
            sums = self._sums[self._cells[1] == self.released_cell(first)]
            others = _log_fillings(sums[:, 1:], self.sizes[1:]).sum(axis=1)
            inside, known = sums[:, 0], int(self.sizes[0])
            ways = [logsumexp(others + _log_reaching(inside, known, i)) for i in sizes]
            among = [logsumexp(others + _log_fillings(inside, known + b)) for b in sizes]
            reached = most[first : first + self.interval]
            free = sum(count >= missed for count in reached)
            least, most_covered = cover_bounds(reach_matrix(ways, among), len(reached), free=free)
            low, high = low + max(1.0, least), high + most_covered
        return LeakageBounds(math.log(low), math.log(high))

    def cell_of(self, sums: NDArray[np.int64]) -> int:
        """Find the value of the secret in the grid, and number the cells that occur."""
        raw = np.searchsorted(np.asarray(self.grid), self.value(sums[None, :]), side="right")[0]
        return int(np.searchsorted(self._cells[0], raw))

    def draw_counts(self, cell: int, rng: np.random.Generator) -> list[int]:
        """Draw the counts from the list of all that have the cell.

        Args:
            cell: the secret of the release.
            rng: the source of randomness.
        """
        sums = self._sums[self._cells[1] == cell]
        weights = _log_fillings(sums, self.sizes).sum(axis=1)
        chances = np.exp(weights - weights.max())
        return sums[rng.choice(len(sums), p=chances / chances.sum())].tolist()


def _log_fillings(records: Any, categories: Any) -> Array:
    """Compute the log of the number of histograms of ``records`` records over ``categories`` ≥ 1."""
    return gammaln(records + categories) - gammaln(categories) - gammaln(records + 1)


def _log_reaching(records: NDArray[np.int64], known: int, reached: int) -> Array:
    """Compute the log of the number of histograms in which no reached category is empty.

    The histograms are over known + reached categories; −inf for too few records.
    """
    rest = records - reached
    return np.where(rest >= 0, _log_fillings(np.maximum(rest, 0), known + reached), -np.inf)
