"""Let a column stand for its rotations within groups of nearly alike inputs: a smaller linear program.

The inputs fall into groups of one or of T members. The t-th rotation moves the entries of a column by t
places within each group; on average over all t, every member of a group has the mean entry of the group.
So columns v with weights θ make a mechanism of their rotations where Σ_v θ_v v̄ = 1, with v̄ the means:
one row a group. Its value is exact, Σ_v θ_v mean_t g(v turned by t), whatever the groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.forms.column_program import Columns
from ldpopt.core.highs import ColumnLP, Optimum
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array


class Rotations(NamedTuple):
    """The rotations as permutations of the inputs, the means of groups, and how prices are shared."""

    turns: NDArray[np.intp]
    means: Array
    shares: Array


def rotations(weights: Array, turns: int, single: int) -> Rotations:
    """Group inputs by weight.

    Args:
        weights: a number per input; those of a group are close, and share its price in proportion.
        turns: the number of rotations.
        single: how many of the heaviest inputs have a group of their own, at least.
    """
    k = len(weights)
    order = np.argsort(-weights, kind="stable")
    alone = single + (k - single) % turns
    groups = [*order[:alone, None], *order[alone:].reshape(-1, turns)]
    turned = np.tile(np.arange(k), (turns, 1))
    means, shares = np.zeros((2, len(groups), k))
    for number, group in enumerate(groups):
        ordered = group[:: (-1) ** number]  # every other group turns towards the heavier
        for t in range(turns):
            turned[t, ordered] = np.roll(ordered, t)
        means[number, group] = 1 / len(group)
        share = weights[group] + 1e-300  # equal where none has weight
        shares[number, group] = share / share.sum()
    return Rotations(turned, means, shares.T)


class RotatedLP(ColumnLP):
    """A program over columns that stand for their rotations."""

    def __init__(self, by: Rotations, gain: float) -> None:
        super().__init__(len(by.means), gain)
        self.by = by
        self.columns = np.zeros((by.means.shape[1], 0))

    def add(self, rays: Array, gains: Array) -> None:
        """Add columns with the mean gain of their rotations."""
        rows = self.by.means @ rays
        super().add(rows, gains)
        self.columns = np.hstack([self.columns, rays / rows.max(axis=0)])

    def solve(self, limits: Limits) -> Optimum | None:
        """Find the optimum over the columns so far, and return all rotations of its columns."""
        found = super().solve(limits)
        if found is None:
            return None
        chosen = self.columns[:, found.support]
        rays = np.hstack([chosen[turn] for turn in self.by.turns])
        weights = np.tile(found.point.weights / len(self.by.turns), len(self.by.turns))
        return found._replace(point=Columns(weights, rays), dual=self.by.shares @ found.dual)
