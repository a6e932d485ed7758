"""Linear programs over the outer cone that a growing list of cuts describes.

Points are columns w ≥ 0 with p·w = 1, so that w_x is the ratio w_x/q. Cuts and that equation are
elastic: a violation costs :data:`PENALTY`. Every box then has a finite optimum, with multipliers of at
most that size, and the multipliers of an empty box prove that it is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import highspy
import numpy as np

from ldpopt.core import highs
from ldpopt.core.forms.cut_program import Cut
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array

PENALTY = 1e3
TOLERANCE = 1e-10


class Maximum(NamedTuple):
    """The optimum of a linear function, the multipliers λ of the cuts, and the price ν of p·w = 1."""

    point: Array
    weights: Array
    price: float


class OuterCone:
    """A HiGHS model of {w : row·w ≥ 0 for every cut, p·w = 1, low ≤ w ≤ high}.

    Args:
        prior: p.
        cuts: the first cuts; they must bound the entries with p_x = 0.
    """

    def __init__(self, prior: Array, cuts: Iterable[Cut]) -> None:
        self.prior, self.cuts = prior, list(cuts)
        self.basic = len(self.cuts)
        self._active: set[int] = set()
        k = self.dimension = len(prior)
        inverse = np.divide(1.0, prior, out=np.full(k, highspy.kHighsInf), where=prior > 0)
        self.low, self.high = np.zeros(k), inverse
        self._inputs = np.arange(k, dtype=np.int32)
        options: dict[str, highs.Setting] = {"presolve": "off", "simplex_strategy": 1}
        self._model = highs.new_model(options, maximise=True, tolerance=TOLERANCE)
        self._model.addVars(k, self.low, self.high)
        for _ in range(3):  # violation of the cuts; p·w above and below 1
            self._model.addCol(-PENALTY, 0.0, highspy.kHighsInf, 0, np.zeros(0, np.int32), np.zeros(0))
        places = np.append(self._inputs, [k + 1, k + 2]).astype(np.int32)
        self._model.addRow(1.0, 1.0, k + 2, places, np.append(prior, [-1.0, 1.0]))
        for cut in self.cuts:
            self._add(cut)

    def add(self, cuts: Iterable[Cut]) -> None:
        """Add cuts."""
        for cut in cuts:
            self.cuts.append(cut)
            self._add(cut)

    def _add(self, cut: Cut) -> None:
        used = np.flatnonzero(cut.row)
        places = np.append(used, self.dimension).astype(np.int32)
        entries = np.append(cut.row[used], 1.0)
        self._model.addRow(0.0, highspy.kHighsInf, len(places), places, entries)

    def maximum(self, cost: Array, low: Array, high: Array, limits: Limits) -> Maximum:
        """Maximise a linear function over a box of ratios.

        Args:
            cost: the function.
            low: the lower ends of the box.
            high: the upper ends.
            limits: the limits of the run; an expired deadline raises :class:`OutOfTime`.
        """
        limits.check()
        k = self.dimension
        self._model.changeColsBounds(k, self._inputs, low, high)
        self._model.changeColsCost(k, self._inputs, cost)
        if not highs.run_within(self._model, limits):
            limits.check()
        found = self._model.getSolution()
        duals = np.array(found.row_dual)
        point = np.clip(np.array(found.col_value[:k]), low, high)
        weights = np.maximum(-duals[1:], 0.0)
        self._active.update(np.flatnonzero(weights).tolist())
        return Maximum(point, weights, float(duals[0]))

    def pruned(self) -> OuterCone:
        """Return the cone without the added cuts that no maximum has touched."""
        kept = OuterCone(self.prior, self.cuts[: self.basic])
        kept.add(cut for i, cut in enumerate(self.cuts) if i >= self.basic and i in self._active)
        return kept

    def rows(self, used: Iterable[int]) -> Array:
        """Return the rows of some cuts as a matrix."""
        return np.array([self.cuts[i].row for i in used]).reshape(-1, self.dimension)
