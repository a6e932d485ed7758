"""From a problem to a result: choose a solver, run it, certify what it found."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError, MissingDependencyError, NoSolverError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status, relative_gap
from ldpopt.engine.result import Certificate, Result
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS


def problem(kind: str, **params: Any) -> Problem:
    """Build any registered problem from plain data.

    >>> problem("staircase", epsilon=1, prior=[0.5, 0.5]).kind
    'staircase'
    """
    return PROBLEMS[kind].from_params(**params)


def solve(
    problem: Problem,
    solver: str | Solver = "auto",
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Answer a problem with a mechanism and a certificate.

    Args:
        problem: the question.
        solver: a registered name, a solver object, or "auto": the first in the order of the problem's
            forms and of the solver table that accepts and suits the problem. A named solver never
            falls back to another.
        gap: the relative gap at which value and bound count as equal.
        time_limit: seconds after which solvers stop with what they have.
        seed: for solvers that draw random numbers.
        progress: called with (value, bound) during long work.
        options: handed to the solver.

    Raises:
        NoSolverError: no solver accepts; the message lists every solver with its reason.
        SolverError: a solver crashed.

    >>> from ldpopt.problems import Staircase
    >>> result = solve(Staircase(epsilon=2, prior=[0.4, 0.3, 0.2, 0.1]))
    >>> result.status.value, round(result.value, 9)
    ('optimal', 0.429363219)
    """
    check_limits(gap, time_limit)
    time_limit = None if time_limit is None else float(time_limit)
    start = time.perf_counter()
    form, chosen, attempts = _choose(problem, solver)
    run = partial(chosen.run, gap=gap, time_limit=time_limit, seed=seed, progress=progress, **options)
    form, solution = problem.approach(form, run)
    found = _certified(problem, form, solution, gap)
    return Result(
        problem=problem,
        **found,
        solver=chosen.name,
        seconds=time.perf_counter() - start,
        stats=solution.stats or {},
        attempts=attempts,
        environment=environment(),
    )


def check_limits(gap: float, time_limit: float | None) -> None:
    """A gap is between 0 and 1, a time limit is positive."""
    if not (isinstance(gap, (int, float)) and 0 < gap < 1):
        raise InvalidInputError(f"gap must lie between 0 and 1, not {gap}")
    if time_limit is not None:
        validate.positive_number("time_limit", time_limit)


def accepting(problem: Problem) -> Iterator[tuple[str, Form]]:
    """Every registered solver that can run here and accepts a form of the problem."""
    for name in SOLVERS:
        cls = SOLVERS[name]
        form = next((form for form in problem.forms() if cls().accepts(form) is True), None)
        if form is not None and not cls.missing():
            yield name, form


def environment() -> dict[str, str]:
    """Versions of everything that influences a number."""
    return {name: _version(name) for name in ("python", "ldpopt", "numpy", "scipy", "highspy")}


@cache
def _version(name: str) -> str:
    return platform.python_version() if name == "python" else version(name)


def _choose(problem: Problem, solver: str | Solver) -> tuple[Form, Solver, dict[str, str]]:
    forms = list(problem.forms())
    if isinstance(solver, Solver) or solver != "auto":
        named = solver if isinstance(solver, Solver) else _instance(solver)
        return _named(problem, forms, named)
    reasons: dict[str, str] = {}
    second_best: tuple[Form, Solver] | None = None
    for form in forms:
        for name in SOLVERS:
            candidate = SOLVERS[name]
            if not candidate.automatic:
                reasons[name] = "proves nothing, and is run by its name only"
                continue
            if missing := candidate.missing():
                reasons[name] = f"needs the package {missing[0]!r}"
                continue
            instance = candidate()
            if (reason := instance.accepts(form)) is True:
                second_best = second_best or (form, instance)
                if (reason := instance.suits(form)) is True:
                    return form, instance, reasons
            reasons[name] = reason
    if second_best is None:
        raise NoSolverError(problem.kind, reasons)
    form, instance = second_best
    return form, instance, {n: r for n, r in reasons.items() if n != instance.name}


def _instance(name: str) -> Solver:
    cls = SOLVERS[name]
    if missing := cls.missing():
        raise MissingDependencyError(
            f"the solver {name!r} needs the package {missing[0]!r}; "
            f"install the extra: pip install 'ldpopt[{name}]'"
        )
    return cls()


def _named(problem: Problem, forms: list[Form], solver: Solver) -> tuple[Form, Solver, dict[str, str]]:
    reason = "the problem has no form"
    for form in forms:
        answer = solver.accepts(form)
        if answer is True:
            return form, solver, {}
        reason = answer
    raise NoSolverError(problem.kind, {solver.name: reason})


def _certified(problem: Problem, form: Form, solution: FormSolution, gap: float) -> dict[str, Any]:
    """The fields of the result that make claims: each holds in exact arithmetic."""
    if solution.point is None:
        nothing = Certificate(proof=None, gap=gap, repair_loss=0.0)
        return {
            "status": solution.status,
            "value": None,
            "bound": solution.bound,
            "gap": None,
            "answer": None,
            "certificate": nothing,
        }
    answer = problem.lift(form, solution)
    value = problem.claim(answer)
    loss = 0.0 if solution.value is None else abs(solution.value - value)
    measured = relative_gap(value, solution.bound)
    status = Status.FEASIBLE
    if measured is not None:
        status = Status.OPTIMAL if measured <= gap else Status.GAP
    return {
        "status": status,
        "value": value,
        "bound": solution.bound,
        "gap": measured,
        "answer": answer,
        "certificate": Certificate(solution.proof, gap, loss, problem.audit(answer)),
    }
