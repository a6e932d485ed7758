"""Boxes in which the convex t log t is bounded by its chords: the nodes of the trees that prove bounds.

:mod:`ldpopt.solvers._robust.outer_bound` covers an outer cone with them, and
:mod:`ldpopt.solvers._robust.half_proof` the blocks of a column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from ldpopt.core.validate import Array


@dataclass(eq=False)
class ChordBox:
    """A box of a tree: a leaf, or a box that is cut in two.

    Attributes:
        low, high: the ends.
        point: the column at which the chords are worth most.
        gaps: by how much each chord lies above the curve at that column.
        cut: the input that is cut, and where; None in a leaf.
        parts: the boxes below and above the cut.
    """

    low: Array
    high: Array
    point: Array = field(default_factory=lambda: np.zeros(0))
    gaps: Array = field(default_factory=lambda: np.zeros(0))
    cut: tuple[int, float] | None = None
    parts: tuple[Self, ...] = ()

    def worst_cut(self) -> tuple[int, float]:
        """Choose the input whose chord lies highest above the curve, and where to cut it."""
        x = int(self.gaps.argmax())
        low, high = self.low[x], self.high[x]
        # a box is cut at least this share of its width away from its ends
        edge = 0.1 * (high - low)
        return x, float(np.clip(self.point[x], low + edge, high - edge))

    def halves(self, x: int, at: float) -> tuple[Self, Self]:
        """Build the boxes below and above a cut."""
        below = type(self)(self.low, self.high.copy())
        above = type(self)(self.low.copy(), self.high)
        below.high[x] = above.low[x] = at
        return below, above
