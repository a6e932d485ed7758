"""Tell two hypotheses apart under ε-LDP: sort the inputs, cut them into blocks, randomise the blocks.

Some optimal mechanism is randomised response on ℓ contiguous blocks of the inputs, sorted by p0/p1
(arXiv 2606.07443). With E = e^ε and blocks of the masses a_i, b_i under the hypotheses its value is
Σ_i d(1 + (E−1) a_i, 1 + (E−1) b_i)/(E + ℓ − 1). Dinkelbach's iteration makes the ratio a sum over the
blocks, less a price for each, which dynamic programming over their ends maximises.

That result is not relied on: the bound is proven by a dual vector β with β·v ≥ g(v) for every corner v.
It is sought in the form μ_c p0_x + ν_c p1_x with two numbers for each cell c of neighbouring inputs, the
blocks to begin with: a small linear program, with corners added where the excess g(v) − β·v peaks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from ldpopt.core.exact import GAP_FLOOR
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.highs import ColumnLP
from ldpopt.core.solver import Array, FormSolution, Limits, Solver
from ldpopt.models.cones import Indices, has_boxes
from ldpopt.models.pricing import DivergencePricer
from ldpopt.models.utilities import TwoHypotheses
from ldpopt.solvers.tangents import TangentSearch

MOST_INPUTS = 2000
"""The dynamic program looks at every pair of block ends, some ten times."""
MOST_ROUNDS = 30
MOST_CORNERS = 40
"""How many corners a round adds."""


class SortPartition(Solver[ColumnProgram]):
    """Randomised response on blocks of sorted inputs; where β has too few cells, tangents go on."""

    def accepts(self, form: ColumnProgram) -> Literal[True] | str:
        """Accept divergences of two hypotheses over the cone of ε-LDP."""
        if not has_boxes(form.cone):
            return "needs a cone made of boxes, and this one names none"
        low, high = form.cone.boxes[0]
        if len(form.cone.boxes) > 1 or np.ptp(low) > 0 or np.ptp(high) > 0:
            return "needs the cone of ε-LDP, where every two inputs are to be hidden from each other"
        if not isinstance(form.utility, TwoHypotheses):
            return "needs a divergence of two hypotheses as the utility"
        if form.cone.dimension > MOST_INPUTS:
            return f"there are {form.cone.dimension:,} inputs; at most {MOST_INPUTS:,} are tried"
        return True

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """Find the best blocks, then prove that nothing is better."""
        return PartitionSearch(form, limits).run()


class PartitionSearch(TangentSearch):
    """A search that begins with the best blocks, and solves over tangents only if the gap stays open."""

    def __init__(self, form: ColumnProgram, limits: Limits) -> None:
        super().__init__(form, limits)
        assert isinstance(self.utility, TwoHypotheses)
        assert isinstance(self.pricer, DivergencePricer)
        self.divergence, self.peaks = self.utility, self.pricer.peaks
        self.order = np.argsort(self.pricer.order, kind="stable")
        self.odds = float(self.boxes[0].high[0] / self.boxes[0].low[0])

    def run(self) -> FormSolution:
        """Partition, prove, and go on over tangents where the proof leaves a gap."""
        self._keep()
        ends = self._best_ends()
        corners = self._corners(ends)
        matrix = corners / corners.sum(axis=1, keepdims=True)
        value = float(self.utility(matrix).sum())
        if value > self.value:
            self.matrix, self.value = matrix, value
        self._keep()
        self._prove(ends, corners)
        if self._close():
            with self.limits.proving():
                return self.solution()
        return super().run()

    def _best_ends(self) -> Indices:
        """Find the ends of the best blocks of sorted inputs, 0 and k included."""
        masses = np.cumsum(self.divergence.functions[:, self.order], axis=1)
        a, b = (self.odds - 1) * np.hstack([np.zeros((2, 1)), masses])
        # Σ (q0 − q1) = 0, so a multiple of it may be taken off: terms near q0 = q1 keep their digits
        slope = float(self.divergence.tangents_at(np.ones((2, 1)))[0, 0])
        best, price, value = np.array([0, len(a) - 1]), 0.0, -np.inf
        while True:
            score, before = np.zeros(len(a)), np.zeros(len(a), np.intp)
            for end in range(1, len(a)):
                self.limits.check()
                q0, q1 = 1 + a[end] - a[:end], 1 + b[end] - b[:end]
                worth = score[:end] + self.divergence.terms(q0, q1) - slope * (q0 - q1) - price
                before[end] = worth.argmax()
                score[end] = worth[before[end]]
            ends = [len(a) - 1]
            while ends[-1] > 0:
                ends.append(int(before[ends[-1]]))
            found = np.array(ends[::-1])
            terms = self.divergence.terms(1 + np.diff(a[found]), 1 + np.diff(b[found]))
            price = float(terms.sum() / (self.odds + len(terms) - 1))
            if price <= value:
                return best
            best, value = found, price

    def _corners(self, ends: Indices) -> Array:
        """Build a column for each block: high on the block, low elsewhere."""
        low, high = self.boxes[0]
        corners = np.repeat(low[:, None], len(ends) - 1, axis=1)
        for block, (start, end) in enumerate(pairwise(ends)):
            inside = self.order[start:end]
            corners[inside, block] = high[inside]
        return corners

    def _prove(self, ends: Indices, corners: Array) -> None:
        """Improve the dual vector by corners and finer cells until it closes the gap or stays."""
        scale = max(abs(self.value), GAP_FLOOR)
        for self.rounds in range(1, MOST_ROUNDS + 1):
            rows = self._rows(ends)
            program = ColumnLP(len(rows), scale)
            program.add(rows @ corners, self.utility(corners))
            found = program.solve(self.limits)
            if found is None:
                return
            dual = np.nan_to_num(found.dual) @ rows
            lifted = self._lifted(dual)
            if lifted.sum() < self.bound:
                self.bound, self.dual = float(lifted.sum()), lifted
                self._keep()
            if self._close():
                return
            fresh = self.peaks(self.boxes[0], dual)
            excess = self.utility(fresh) - dual @ fresh
            corners = np.hstack([corners, fresh[:, np.argsort(-excess)[:MOST_CORNERS]]])
            relaxed = found.value - self.value
            if relaxed > self.limits.gap / 4 * scale and excess.max(initial=0.0) <= relaxed / 2:
                ends = self._halved(ends)
            elif not fresh.size:
                return

    def _rows(self, ends: Indices) -> Array:
        """Build the rows of the small program: each hypothesis given each cell, where it has mass."""
        rows = np.zeros((2, len(ends) - 1, len(self.order)))
        for cell, (start, end) in enumerate(pairwise(ends)):
            inside = self.order[start:end]
            rows[:, cell, inside] = self.divergence.functions[:, inside]
        flat = rows.reshape(-1, len(self.order))
        mass = flat.sum(axis=1, keepdims=True)
        return flat[mass[:, 0] > 0] / mass[mass[:, 0] > 0]

    def _halved(self, ends: Indices) -> Indices:
        """Cut every cell of two or more inputs into two of about the same mass."""
        mass = np.append(0.0, np.cumsum(self.divergence.functions.sum(axis=0)[self.order]))
        middles = np.searchsorted(mass, (mass[ends[:-1]] + mass[ends[1:]]) / 2)
        inner = np.minimum(np.maximum(middles, ends[:-1] + 1), ends[1:] - 1)
        return np.unique(np.append(ends, inner))
