"""HiGHS, set up alike everywhere: silent, one thread, tight tolerances, within the limits of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy.optimize import linprog

from ldpopt.core.errors import SolverError
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
