"""The linear program over a list of columns: maximise Σ θ_v g(v) with Σ θ_v v = 1, θ ≥ 0."""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.forms.column_program import Columns


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
        self._model = highspy.Highs()
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        }
        if tuned:  # primal simplex: a new column keeps the old point feasible
            options |= {"presolve": "off", "simplex_strategy": 4}
        for option, setting in options.items():
            self._model.setOptionValue(option, setting)
        self._model.changeObjectiveSense(highspy.ObjSense.kMaximize)
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

    def solve(self, time_limit: float | None = None) -> Optimum | None:
        """The optimum over the columns so far, or None if the time ran out first."""
        if time_limit is not None:
            self._model.setOptionValue("time_limit", self._model.getRunTime() + time_limit)
        self._model.run()
        status = self._model.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS ended with {self._model.modelStatusToString(status)}")
        solution = self._model.getSolution()
        weights = np.array(solution.col_value)
        support = np.flatnonzero(weights > 0)
        rays = self.rays[:, support]
        theta = _polished(rays, weights[support])
        value = float(self.gains[support] @ theta)
        return Optimum(Columns(theta, rays), value, np.array(solution.row_dual) * self._scale)


def _polished(rays: Array, weights: Array) -> Array:
    """Take the simplex method's rounding out of Σ θ_v v = 1."""
    for _ in range(2):
        weights = weights + np.linalg.lstsq(rays, 1 - rays @ weights, rcond=None)[0]
    return np.maximum(weights, 0.0)


def solve_listed(
    rays: Array, gains: Array, *, gap: float, time_limit: float | None, tuned: bool = True
) -> FormSolution:
    """The whole program over an explicit list of rays, with the dual that proves its bound.

    Raising every dual entry by δ raises β·v by δ Σ_x v_x, which repairs any remaining violation.
    """
    k = len(rays)
    lp = ColumnLP(k, float(np.abs(gains / rays.max(axis=0)).max()), tuned=tuned)
    lp.add(rays, gains)
    optimum = lp.solve(time_limit)
    if optimum is None:
        return FormSolution(Status.LIMIT)
    excess = float(((gains - optimum.dual @ rays) / rays.sum(axis=0)).max())
    dual = optimum.dual + max(excess, 0.0) + proof_slack(optimum.value, gap) / k
    return FormSolution(
        status=Status.OPTIMAL,
        point=optimum.point,
        value=optimum.value,
        bound=certify.dual_bound(dual),
        proof={"dual": dual.tolist()},
        stats={"columns": rays.shape[1], "iterations": 1},
    )


def proof_slack(value: float, gap: float) -> float:
    """How much the dual is raised so that the inequalities hold with room for an exact proof."""
    return gap / 4 * max(abs(value), 1e-4)
