"""HiGHS, set up alike everywhere: silent, one thread, tight tolerances, within the limits of a run.

The program over given columns is solved here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.column_program import Columns
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array

Setting = bool | int | float | str


def new_model(
    options: Mapping[str, Setting] | None = None, *, maximise: bool = False, tolerance: float = 1e-10
) -> highspy.Highs:
    """Return an empty model; ``options`` are HiGHS's own.

    Args:
        options: settings by HiGHS's own names; they override those chosen here.
        maximise: whether the objective is maximised.
        tolerance: how far constraints and reduced costs may be violated.
    """
    model = highspy.Highs()
    settings: dict[str, Setting] = {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        **(options or {}),
    }
    for option, setting in settings.items():
        model.setOptionValue(option, setting)
    if maximise:
        model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return model


ROUNDING = 2.0**-48
"""An error of the sums Σ θ_v v that the repair to exact arithmetic takes in with the rest."""
RESCUES: tuple[dict[str, str | int], ...] = (
    {"presolve": "on"},
    {"simplex_strategy": 1},
)
"""Settings tried one after the other where columns are so similar that a method breaks down."""


def run_within(model: highspy.Highs, limits: Limits) -> bool:
    """Solve; return False where the time was over before the optimum.

    Raises:
        SolverError: HiGHS ended in any other way.
    """
    limit_time(model, limits)
    model.run()
    status = model.getModelStatus()
    for options in RESCUES:
        if status not in (highspy.HighsModelStatus.kSolveError, highspy.HighsModelStatus.kUnknown):
            break
        model.clearSolver()
        for option, setting in options.items():
            model.setOptionValue(option, setting)
        model.run()
        status = model.getModelStatus()
    if status in (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt):
        return False
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"HiGHS ended with {model.modelStatusToString(status)}")
    return True


def limit_time(model: highspy.Highs, limits: Limits) -> None:
    """Let the next run of a model end with the limits; its clock goes on from run to run."""
    left = limits.left()
    end = highspy.kHighsInf if left is None else model.getRunTime() + left
    model.setOptionValue("time_limit", end)


def scipy_options(limits: Limits) -> dict[str, float]:
    """Return the limits as options of scipy's ``linprog`` and ``milp``."""
    left = limits.left()
    return {} if left is None else {"time_limit": left}


class Maximum(NamedTuple):
    """The optimum of a linear program: the point, its value, and the multipliers of all rows."""

    point: Array
    value: float
    equal: Array
    at_most: Array


def maximise(
    objective: Array, at_most: Any, limit: Array, equal: Any, total: Array, limits: Limits
) -> Maximum | None:
    """Maximise objective·x over x ≥ 0 with at_most x ≤ limit and equal x = total; None if infeasible.

    Args:
        objective: the objective; it is scaled, as HiGHS works with absolute tolerances.
        at_most: a matrix, dense or sparse.
        limit: a number for each of its rows.
        equal: a matrix, dense or sparse.
        total: a number for each of its rows.
        limits: the time.

    Raises:
        OutOfTime: the time is over before the optimum.
        SolverError: HiGHS ended in any other way.
    """
    limits.check()
    scale = float(np.abs(objective).max()) or 1.0
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    options: Any = {**tight, **scipy_options(limits)}
    rows = (at_most, limit, equal, total)
    found: Any = linprog(-objective / scale, *rows, method="highs", options=options)
    if found.status == 1:
        raise OutOfTime
    if found.status == 2:
        return None
    if found.status != 0:
        raise SolverError(f"HiGHS ended with: {found.message}")
    prices = -found.ineqlin.marginals * scale
    return Maximum(found.x, -found.fun * scale, -found.eqlin.marginals * scale, np.maximum(prices, 0))


class Optimum(NamedTuple):
    """An optimal basic solution: a mechanism's columns, its value, the dual vector; which columns."""

    point: Columns
    value: float
    dual: Array
    support: NDArray[np.intp]


class ColumnLP:
    """A HiGHS model that columns can be added to; it starts each solve from the last basis.

    Args:
        k: the number of rows.
        gain: the typical size of g(v)/v; utilities are divided by it, as HiGHS works with absolute
            tolerances.
        tuned: False leaves HiGHS its own choice of method (for comparison: much slower on wide LPs).
    """

    def __init__(self, k: int, gain: float = 1.0, *, tuned: bool = True) -> None:
        self.rays = np.zeros((k, 0))
        self.gains = np.zeros(0)
        self.sums = np.zeros(0)
        self._sizes = np.zeros(0)
        self._scale = gain if gain > 0 else 1.0
        # primal simplex: a new column keeps the old point feasible
        options: dict[str, str | int] = {"presolve": "off", "simplex_strategy": 4} if tuned else {}
        self._model = new_model(options, maximise=True)
        for _ in range(k):
            self._model.addRow(1.0, 1.0, 0, np.zeros(0, np.int32), np.zeros(0))

    def add(self, rays: Array, gains: Array) -> None:
        """Add columns (scaled to largest entry 1, which changes nothing but the conditioning)."""
        size = rays.max(axis=0)
        rays, gains = rays / size, gains / size
        k, m = rays.shape
        self.rays = np.hstack([self.rays, rays])
        self.gains = np.append(self.gains, gains)
        self.sums = np.append(self.sums, rays.sum(axis=0))
        self._sizes = np.append(self._sizes, size)
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

    def price(self, gains: Array) -> None:
        """Give all columns, in the order in which they were added, new gains g(v), and a new scale."""
        self.gains = gains / self._sizes
        self._scale = float(np.abs(self.gains).max()) or 1.0
        every = np.arange(len(gains), dtype=np.int32)
        self._model.changeColsCost(len(gains), every, self.gains / self._scale)

    def amounts(self) -> Array:
        """Return how much of every column the last optimum has, in the order of :meth:`add`."""
        return np.array(self._model.getSolution().col_value) / self._sizes

    def solve(self, limits: Limits) -> Optimum | None:
        """Find the optimum over the columns so far.

        If the time runs out, return the last feasible point, or None if there is none.
        """
        if not run_within(self._model, limits) and not self._feasible():
            return None
        solution = self._model.getSolution()
        weights = np.array(solution.col_value)
        (support,) = (weights > 0).nonzero()
        rays = self.rays[:, support]
        theta = _polished(rays, weights[support])
        value = float(self.gains[support] @ theta)
        dual = np.array(solution.row_dual) * self._scale
        return Optimum(Columns(theta, rays), value, dual, support)

    def _feasible(self) -> bool:
        status = self._model.getInfo().primal_solution_status
        return status == highspy.SolutionStatus.kSolutionStatusFeasible


def _polished(rays: Array, weights: Array) -> Array:
    """Correct the weights for the rounding error that the simplex method left in Σ θ_v v = 1."""
    for _ in range(2):
        error = 1 - rays @ weights
        if max(map(abs, error.tolist())) <= ROUNDING:
            break
        weights = weights + np.linalg.lstsq(rays, error, rcond=None)[0]
    return np.maximum(weights, 0.0)


def solve_listed(rays: Array, gains: Array, limits: Limits, lp: ColumnLP | None = None) -> FormSolution:
    """Solve the whole program over an explicit list of rays, with the dual that proves its bound.

    Raising every dual entry by δ raises β·v by δ Σ_x v_x, which repairs any remaining violation; so
    the duals of a run that was stopped prove a bound too.

    Args:
        rays: the columns v, side by side.
        gains: g(v) of each.
        limits: the limits of the run.
        lp: a model over these rays, which starts from its last basis; unless given, a new one.
    """
    k = len(rays)
    limits.check()
    if lp is None:
        lp = ColumnLP(k)
        lp.add(rays, gains)
    lp.price(gains)
    optimum = lp.solve(limits)
    if optimum is None:
        return FormSolution(Status.LIMIT)
    with limits.proving():
        dual = np.where(np.isfinite(optimum.dual), optimum.dual, 0.0)
        excess = float(((lp.gains - dual @ lp.rays) / lp.sums).max())
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
