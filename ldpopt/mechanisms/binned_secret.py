"""What quantisations share if their secret depends on the numbers of records in a few blocks."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.core.cleaned import Cleaned
from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms.histograms import Histogram, random_histogram


class BinnedSecret(Cleaned):
    """Release a uniform histogram among those with the middle secret of the data's bin.

    Wang et al. 2024, V-B. Every category of records belongs to a block; the secret is one of ``cells``
    numbered cells and depends on the blocks' record counts alone; ``interval`` neighbouring cells make a
    bin. A subclass says which cell the counts have, and draws counts of a given cell.
    """

    tau: int
    blocks: ArrayLike
    interval: int
    if TYPE_CHECKING:  # a property here would be the default value of a subclass's field

        @property
        def cells(self) -> int:
            """How many values the secret can take."""

    @abstractmethod
    def cell_of(self, sums: NDArray[np.int64]) -> int:
        """Return the secret of data with ``sums`` records in the blocks."""

    @abstractmethod
    def draw_counts(self, cell: int, rng: np.random.Generator) -> list[int]:
        """Draw the count of each block by how many histograms of the cell have these counts.

        Args:
            cell: the secret of the release.
            rng: the source of randomness.
        """

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return -(-self.cells // self.interval)

    def sml(self) -> float:
        """Compute log ⌈s/I⌉: the bins are released on disjoint sets of histograms."""
        return math.log(self.bins)

    def cell(self, histogram: ArrayLike) -> int:
        """Return the secret of a data set."""
        counts = np.asarray(histogram)
        if counts.shape != np.shape(self.blocks) or counts.min() < 0 or counts.sum() != self.tau:
            raise InvalidInputError(
                f"the histogram must be {np.size(self.blocks)} counts >= 0 that sum to {self.tau}, "
                f"not {counts.tolist()!r:.80}"
            )
        return self.cell_of(np.bincount(np.asarray(self.blocks), weights=counts).astype(np.int64))

    def released_cell(self, cell: int) -> int:
        """Return the middle cell of the bin of a cell, the last one where the bin is short."""
        return min(cell // self.interval * self.interval + self.interval // 2, self.cells - 1)

    def release(self, histogram: ArrayLike, rng: np.random.Generator) -> Histogram:
        """Draw a uniform histogram with the released cell: the blocks' counts, then each block."""
        return self.fill(self.draw_counts(self.released_cell(self.cell(histogram)), rng), rng)

    def fill(self, counts: list[int], rng: np.random.Generator) -> Histogram:
        """Spread the count of each block uniformly over its categories."""
        result = np.zeros(np.size(self.blocks), np.int64)
        for block, count in enumerate(counts):
            members = np.flatnonzero(np.asarray(self.blocks) == block)
            result[members] = random_histogram(count, len(members), rng)
        return result
