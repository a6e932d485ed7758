"""The cheapest mechanism within finitely many cuts of the leakage allowed: none within it costs less."""

from __future__ import annotations

import math
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csr_array

from ldpopt.core import highs
from ldpopt.core.forms.selections import LeakageProgram, SelectionProgram
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array
from ldpopt.measures import row_selection
from ldpopt.solvers._leakage.inner_program import Inner
from ldpopt.solvers._leakage.orbits import Orbits


class OuterLP:
    """Minimise max_θ Σ_y c W over stochastic W that satisfy the cuts found so far.

    Its variables are one entry of W for each orbit, the cost and, with a level, the least entry of each
    orbit of columns; its rows the cost and the sum of one row of each orbit, the ratios, and the cuts.

    Args:
        form: the program; its symmetries make this one smaller.
    """

    def __init__(self, form: LeakageProgram) -> None:
        self.form = form
        self.orbits = Orbits(form)
        self.cuts: list[tuple[row_selection.Selection, row_selection.Selection]] = []
        self._seen: set[bytes] = set()
        self._limit = math.exp(form.leakage)
        self._duals: Array | None = None
        self._model = highs.new_model()
        infinity, none = highspy.kHighsInf, np.zeros(0, np.int32)
        orbits, self._cost = self.orbits, len(self.orbits.sizes)
        size = self._cost + 1 + (0 if form.epsilon is None else int(orbits.column.max()) + 1)
        cost = np.zeros(size)
        cost[self._cost] = 1
        starts, free = np.zeros(size, np.int32), np.full(size, infinity)
        self._model.addCols(size, cost, np.zeros(size), free, 0, starts, none, np.zeros(0))
        for x in orbits.firsts:
            places, counts = np.unique(orbits.entry[x], return_counts=True)
            own = np.bincount(orbits.entry[x], form.costs[x], minlength=self._cost)[places]
            with_cost = np.append(places, self._cost).astype(np.int32)
            self._model.addRow(-infinity, 0.0, len(with_cost), with_cost, np.append(own, -1.0))
        for x in orbits.firsts:
            places, counts = np.unique(orbits.entry[x], return_counts=True)
            self._model.addRow(1.0, 1.0, len(places), places.astype(np.int32), counts.astype(float))
        if form.epsilon is not None:
            self._bound_ratios(form.epsilon)

    def _bound_ratios(self, epsilon: float) -> None:
        """Put every entry between the least of its output and e^ε times that."""
        flat, first = np.unique(self.orbits.entry, return_index=True)
        columns = self.orbits.column[first % self.form.counts.shape[1]]
        for place, column in zip(flat, columns, strict=True):
            pair = np.array([place, self._cost + 1 + column], np.int32)
            self._model.addRow(-highspy.kHighsInf, 0.0, 2, pair, np.array([1.0, -math.exp(epsilon)]))
            self._model.addRow(-highspy.kHighsInf, 0.0, 2, pair, np.array([-1.0, 1.0]))

    def solve(self, limits: Limits) -> tuple[Array, float]:
        """Find the cheapest mechanism within the cuts, and its cost.

        Raises:
            OutOfTime: the limits are over before the linear program is solved.
        """
        if not highs.run_within(self._model, limits):
            raise OutOfTime
        solution = self._model.getSolution()
        self._duals = np.array(solution.row_dual)
        point = np.maximum(np.array(solution.col_value), 0.0)
        return point[self.orbits.entry], float(point[self._cost])

    def draw(self, inner: Inner, rng: np.random.Generator) -> None:
        """Add cuts of selections drawn with the multipliers of the inner program.

        They are those that bound its mechanism, so that the first bound is already a fair one.
        """
        parts = [np.flatnonzero(self.form.groups == g) for g in range(int(self.form.groups.max()) + 1)]
        # selections, per row, that the first cuts are drawn from
        for _ in range(6 * len(inner.rows)):
            chosen = np.array([_drawn(part, inner.rows[part], rng) for part in parts])
            share = inner.entries[chosen]
            takers = (share * rng.random(share.shape)).argmax(axis=0)
            takers = np.where(share.any(axis=0), takers, inner.matrix[chosen].argmax(axis=0))
            self._add(chosen, takers)

    def cut(self, inner: Array, outer: Array, rng: np.random.Generator, limits: Limits) -> bool:
        """Add cuts that the outer mechanism violates; False if the search finds none in time.

        Args:
            inner: a mechanism within the budget.
            outer: the mechanism that the cuts are to rule out.
            rng: draws the selections from which the search starts.
            limits: when to stop.
        """
        found, inner = False, self.orbits.mean(inner)
        # cuts are sought first close to the inner mechanism: there they are deep
        for step in (0.001, 1.0):
            if found:
                break
            between = step * outer + (1 - step) * inner
            program = SelectionProgram(csr_array(between), self.form.groups)
            parts = row_selection.members(program)
            # local searches in a round
            for _ in range(24):
                if limits.expired():
                    return found
                start = np.array([rng.choice(part) for part in parts])
                chosen = row_selection.improve(program, start, limits)
                found |= self.rule_out(outer, chosen, between[chosen].argmax(axis=0))
        return found

    def rule_out(
        self, outer: Array, chosen: row_selection.Selection, takers: row_selection.Selection
    ) -> bool:
        """Add the cut of a selection if it is new and the outer mechanism violates it.

        Args:
            outer: the mechanism that the cut is to rule out.
            chosen: a row per group.
            takers: for each output, the group whose row counts.
        """
        covered = outer[chosen[takers], np.arange(len(takers))].sum()
        return bool(covered > self._limit + 1e-9) and self._add(chosen, takers)

    def _add(self, chosen: row_selection.Selection, takers: row_selection.Selection) -> bool:
        """Add a cut; return False if it, or an image of it, is already there."""
        taken = self.orbits.entry[chosen[takers], np.arange(len(takers))]
        places, counts = np.unique(taken, return_counts=True)
        key = places.tobytes() + counts.tobytes()
        if key in self._seen:
            return False
        self._seen.add(key)
        self.cuts.append((chosen, takers))
        row = places.astype(np.int32), counts.astype(float)
        self._model.addRow(-highspy.kHighsInf, self._limit, len(places), *row)
        return True

    def proof(self) -> dict[str, Any]:
        """Return the prior and the weights of the cuts, shared equally within orbits and images.

        They are the duals of the last solve, and zero before the first.
        """
        orbits, heads = self.orbits, len(self.orbits.firsts)
        first = 2 * heads + (0 if self.form.epsilon is None else 2 * self._cost)
        duals = np.maximum(-(np.zeros(first) if self._duals is None else self._duals), 0.0)
        prior = (duals[:heads] / np.bincount(orbits.row))[orbits.row]
        prior *= (1 - 1e-15) / max(prior.sum(), 1.0)
        weights = duals[first:]
        proof: dict[str, Any] = {
            "prior": prior.tolist(),
            "cuts": [
                {
                    "weight": float(w) / len(orbits.rows),
                    "selection": rows.tolist(),
                    "outputs": own.tolist(),
                }
                for w, (chosen, takers) in zip(weights, self.cuts[: len(weights)], strict=True)
                if w > 0
                for rows, own in orbits.images(chosen, takers)
            ],
        }
        if self.form.epsilon is not None:
            pairs = duals[2 * heads : first].reshape(-1, 2)
            shares = ((pairs[:, 0] - pairs[:, 1]) / orbits.sizes)[orbits.entry]
            proof["ratios"] = _allowed(shares, self.form.epsilon).tolist()
        return proof


def _drawn(part: row_selection.Selection, weights: Array, rng: np.random.Generator) -> int:
    """Draw a row of a group with the given weights; any row if there are none."""
    mass = float(weights.sum())
    return int(rng.choice(part, p=weights / mass if mass > 0 else None))


def _allowed(ratios: Array, epsilon: float) -> Array:
    """Shrink the positive parts of each output until the negative ones outweigh them e^ε times."""
    above, below = np.maximum(ratios, 0.0), np.maximum(-ratios, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = below.sum(axis=0) / (math.exp(epsilon) * above.sum(axis=0))
    factor = np.where(above.any(axis=0), np.minimum(share * (1 - 1e-12), 1.0), 1.0)
    return above * factor - below
