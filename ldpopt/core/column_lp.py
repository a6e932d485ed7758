"""The linear program over a list of columns: maximise Σ θ_v g(v) with Σ θ_v v = 1, θ ≥ 0."""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np

from ldpopt.core import certify, highs
from ldpopt.core.form import FormSolution
from ldpopt.core.forms.column_program import Columns
from ldpopt.core.limits import Limits
from ldpopt.core.status import Status
from ldpopt.core.validate import Array


class Optimum(NamedTuple):
    """An optimal basic solution: a mechanism's columns, its value, and the dual vector."""

    point: Columns
    value: float
    dual: Array


class ColumnLP:
    """A HiGHS model that columns can be added to; it starts each solve from the last basis.

    Args:
        gain: the typical size of g(v)/v; utilities are divided by it, as HiGHS works with absolute
            tolerances.
        tuned: False leaves HiGHS its own choice of method (for comparison: much slower on wide LPs).
    """

    def __init__(self, k: int, gain: float, *, tuned: bool = True) -> None:
        self.rays = np.zeros((k, 0))
        self.gains = np.zeros(0)
        self._scale = gain if gain > 0 else 1.0
        # primal simplex: a new column keeps the old point feasible
        options: dict[str, str | int] = {"presolve": "off", "simplex_strategy": 4} if tuned else {}
        self._model = highs.new_model(options, maximise=True)
        for _ in range(k):
            self._model.addRow(1.0, 1.0, 0, np.zeros(0, np.int32), np.zeros(0))

    def add(self, rays: Array, gains: Array) -> None:
        """Add columns (scaled to largest entry 1, which changes nothing but the conditioning)."""
        size = rays.max(axis=0)
        rays, gains = rays / size, gains / size
        k, m = rays.shape
        self.rays = np.hstack([self.rays, rays])
        self.gains = np.append(self.gains, gains)
        self._model.addCols(
            m,
            gains / self._scale,
            np.zeros(m),
            np.full(m, highspy.kHighsInf),
            k * m,
            np.arange(m, dtype=np.int32) * k,
            np.tile(np.arange(k, dtype=np.int32), m),
            rays.T.ravel(),
        )

    def solve(self, limits: Limits) -> Optimum | None:
        """Find the optimum over the columns so far.

        If the time runs out, return the last feasible point, or None if there is none.
        """
        if not highs.run_within(self._model, limits) and not self._feasible():
            return None
        solution = self._model.getSolution()
        weights = np.array(solution.col_value)
        support = np.flatnonzero(weights > 0)
        rays = self.rays[:, support]
        theta = _polished(rays, weights[support])
        value = float(self.gains[support] @ theta)
        return Optimum(Columns(theta, rays), value, np.array(solution.row_dual) * self._scale)

    def _feasible(self) -> bool:
        status = self._model.getInfo().primal_solution_status
        return status == highspy.SolutionStatus.kSolutionStatusFeasible


def _polished(rays: Array, weights: Array) -> Array:
    """Correct the weights for the rounding error that the simplex method left in Σ θ_v v = 1."""
    for _ in range(2):
        weights = weights + np.linalg.lstsq(rays, 1 - rays @ weights, rcond=None)[0]
    return np.maximum(weights, 0.0)


def solve_listed(rays: Array, gains: Array, limits: Limits, *, tuned: bool = True) -> FormSolution:
    """Solve the whole program over an explicit list of rays, with the dual that proves its bound.

    Raising every dual entry by δ raises β·v by δ Σ_x v_x, which repairs any remaining violation; so
    the duals of a run that was stopped prove a bound too.

    Args:
        rays: the columns v, side by side.
        gains: g(v) of each.
        limits: the limits of the run.
        tuned: False leaves HiGHS its own choice of method.
    """
    k = len(rays)
    lp = ColumnLP(k, float(np.abs(gains / rays.max(axis=0)).max()), tuned=tuned)
    limits.check()
    lp.add(rays, gains)
    optimum = lp.solve(limits)
    if optimum is None:
        return FormSolution(Status.LIMIT)
    with limits.proving():
        dual = np.nan_to_num(optimum.dual)
        excess = float(((gains - dual @ rays) / rays.sum(axis=0)).max())
        dual = dual + max(excess, 0.0) + proof_slack(optimum.value, limits.gap) / k
        bound = certify.dual_bound(dual)
    found = FormSolution(
        status=Status.GAP,
        point=optimum.point,
        value=optimum.value,
        bound=bound,
        proof={"dual": dual.tolist()},
        stats={"columns": rays.shape[1], "iterations": 1},
    )
    limits.keep(optimum.value, bound, lambda: found)
    return found


def proof_slack(value: float, gap: float) -> float:
    """Compute by how much to raise the dual, so that the inequalities leave room for an exact proof."""
    return gap / 4 * max(abs(value), 1e-6)
