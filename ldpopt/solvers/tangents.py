"""Solve column programs whose utility has few tangents as one compact linear program.

A utility g(w) = G(A w) that sees a column through few linear functions is the largest of its tangents
(:mod:`ldpopt.models.utilities`). Over a list of tangents the best mechanism is a linear program
of polynomial size (:mod:`ldpopt.solvers._columns.compact_program`), with one output per tangent; no
column is ever listed. If G is piecewise linear, one program is exact. Otherwise the list starts with
tangents that are spread over the reachable ratios, all are kept, and each round adds those where the
excess g(v) − β·v of the dual vector β has a local maximum: each round has a proven bound, and three to
five rounds suffice.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ldpopt.core import certify
from ldpopt.core.exact import GAP_FLOOR
from ldpopt.core.forms.column_program import ColumnProgram, Columns
from ldpopt.core.highs import proof_slack
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.models.cones import SecretCone, has_boxes
from ldpopt.models.pricing import DivergencePricer, pricer
from ldpopt.models.utilities import has_tangents
from ldpopt.solvers._columns.compact_program import solve_compact

MOST_ENTRIES = 10_000_000
"""Inputs × tangents × boxes; an interior point keeps some twenty arrays of this size."""
MOST_ROUNDS = 30


class Tangents(Solver[ColumnProgram]):
    """The compact linear program over tangents: its size is polynomial in the number of inputs."""

    def accepts(self, form: ColumnProgram) -> Literal[True] | str:
        """Accept utilities of few linear functions over a cone of boxes."""
        if not has_boxes(form.cone):
            return "needs a cone made of boxes, and this one names none"
        if not has_tangents(form.utility):
            return "needs a utility with few tangents: a divergence, bayes or guessing"
        tangents = form.utility.tangents(_span(form.cone)).shape[1]
        entries = form.cone.dimension * tangents * len(form.cone.boxes)
        if entries > MOST_ENTRIES:
            return f"the compact program has {entries:,} entries; at most {MOST_ENTRIES:,} are tried"
        return True

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """Add tangents until the gap is proven or the time is over."""
        return TangentSearch(form, limits).run()


class TangentSearch:
    """The state of one run: the tangents so far, the best mechanism and the best proven dual vector."""

    def __init__(self, form: ColumnProgram, limits: Limits) -> None:
        assert has_boxes(form.cone)
        assert has_tangents(form.utility)
        found = pricer(form.utility)
        assert found is not None
        self.utility, self.pricer, self.boxes, self.limits = form.utility, found, form.cone.boxes, limits
        self.reference = (self.pricer.reference + 1 / form.cone.dimension) / 2
        self.tangents = self.utility.tangents(_span(form.cone))
        self.matrix = np.ones((form.cone.dimension, 1))
        self.value = float(self.utility(self.matrix).sum())
        self.bound = np.inf
        self.dual: Array | None = None
        self.rounds = self.steps = 0

    def run(self) -> FormSolution:
        """Alternate between the compact program and the pricing of its dual."""
        self._keep()
        for self.rounds in range(1, MOST_ROUNDS + 1):
            dual = self._improve()
            self._keep()
            if self._close() or not self._add(dual):
                break
        with self.limits.proving():
            return self.solution()

    def _improve(self) -> Array:
        """Solve over the tangents so far; return the new dual vector."""
        accuracy = max(self.limits.gap / 10, 1e-13)
        found = solve_compact(
            self.boxes, self.utility.functions.T @ self.tangents, accuracy, self.limits
        )
        self.steps += found.steps
        matrix = merged(found.matrix, self.limits.gap / 1000)
        value = float(self.utility(matrix).sum())
        if value > self.value:
            self.matrix, self.value = matrix, value
        dual = self._lifted(found.dual)
        bound = float(dual.sum())
        if bound < self.bound:
            self.bound, self.dual = bound, dual
        return found.dual

    def _lifted(self, dual: Array) -> Array:
        """Raise a dual vector until β·v ≥ g(v) for every v, by multiples of the reference π.

        The multiple is max_v (g(v) − β·v)/(π·v), approached by Newton's (Dinkelbach's) iteration;
        whatever excess is left, π times it covers it, as every entry of v is at least 1.
        """
        for _ in range(5):
            self.limits.check()
            found = [self.pricer.price(box, dual, 0.0, 1) for box in self.boxes]
            worst = max(found, key=lambda priced: priced.upper)
            if worst.upper <= self.limits.gap / 100 * max(abs(self.value), GAP_FLOOR):
                break
            size = max(float(self.reference @ worst.rays[:, 0]), 1.0)
            dual = dual + worst.upper / size * self.reference
        excess = max(self.pricer.price(box, dual, 0.0, 1).upper for box in self.boxes)
        return dual + max(excess, 0.0) * self.reference

    def _close(self) -> bool:
        return self.bound - self.value <= self.limits.gap / 2 * max(abs(self.value), GAP_FLOOR)

    def _add(self, dual: Array) -> bool:
        """Add the tangents of the largest excess; return whether there are new ones."""
        if self.utility.finite:
            return False
        assert isinstance(self.pricer, DivergencePricer)
        peaks = np.hstack([self.pricer.peaks(box, dual) for box in self.boxes])
        fresh = self.utility.tangents_at(self.utility.functions @ peaks)
        known = np.hstack([self.tangents, fresh])
        _, first = np.unique(known.round(14), axis=1, return_index=True)
        count, self.tangents = self.tangents.shape[1], known[:, np.sort(first)]
        return self.tangents.shape[1] > count

    def _keep(self) -> None:
        self.limits.keep(self.value, self.bound, self.solution)

    def solution(self) -> FormSolution:
        """Return what was found and what is proven about it."""
        stats = {"iterations": self.rounds, "tangents": self.tangents.shape[1], "steps": self.steps}
        point = Columns(np.ones(self.matrix.shape[1]), self.matrix)
        if self.dual is None:
            return FormSolution(Status.FEASIBLE, point=point, value=self.value, stats=stats)
        dual = self.dual + proof_slack(self.value, self.limits.gap) * self.reference
        return FormSolution(
            status=Status.GAP,
            point=point,
            value=self.value,
            bound=certify.dual_bound(dual),
            proof={"dual": dual.tolist()},
            stats=stats,
        )


def _span(cone: SecretCone) -> float:
    """Compute the largest log-ratio of two entries of a column in the boxes of the cone."""
    return float(max(np.log(box.high.max() / box.low.min()) for box in cone.boxes))


def merged(matrix: Array, least: float) -> Array:
    """Make rows sum to 1, and add columns that are used less often than ``least`` to the largest one.

    The cone is convex, so the sum of two columns stays in it.
    """
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    use = matrix.mean(axis=0)
    kept = use >= least
    result = matrix[:, kept]
    result[:, use[kept].argmax()] += matrix[:, ~kept].sum(axis=1)
    return result
