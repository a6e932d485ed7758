"""From a problem to a result: choose a solver, run it, certify what it found."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

from ldpopt.checker.frame import is_optimal
from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError, LdpoptError, MissingDependencyError, NoSolverError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.limits import Limits, Overdue, Progress
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status, relative_gap
from ldpopt.engine.result import Certificate, Result
from ldpopt.engine.staging import run_stages
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS, solvers_of

REPAIR_SHARE, SLOW_SHARE = 0.1, 0.25
"""The share of the time kept for repair, exact value and audit, and the share where repairs are slow."""
AUDIT_GRACE = 1.0
"""Seconds after the time limit at which an audit that is not finished is left out."""


def problem(kind: str, **params: Any) -> Problem:
    """Build any registered problem from plain data.

    >>> problem("staircase", epsilon=1, prior=[0.5, 0.5]).kind
    'staircase'
    """
    return PROBLEMS[kind].from_params(**params)


def solve(
    problem: Problem,
    solver: str | Solver[Any] = "auto",
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
        time_limit: seconds after which the best proven answer is returned.
        seed: for solvers that draw random numbers.
        progress: called with (value, bound) during long work.
        options: the parameters of the solver's constructor.

    Returns:
        The result; its ``stats`` say how many seconds went into search, proof and repair. After
        Ctrl-C it is the best so far, with ``stats["interrupted"]``.

    Raises:
        InvalidInputError: the solver has no such option; the message names those that it has.
        NoSolverError: no solver accepts; the message lists every solver of the form with its reason.
        SolverError: a solver crashed.
        KeyboardInterrupt: the user interrupted before anything was found.

    >>> from ldpopt.problems import Staircase
    >>> result = solve(Staircase(epsilon=2, prior=[0.4, 0.3, 0.2, 0.1]))
    >>> result.status.value, round(result.value, 9)
    ('optimal', 0.429363219)
    """
    check_limits(gap, time_limit)
    start = time.perf_counter()
    seconds = None if time_limit is None else float(time_limit)
    whole = Limits.within(seconds, gap=gap, seed=seed, progress=progress)
    searching = whole.part(1 - SLOW_SHARE) if problem.slow_to_lift else whole
    limits = searching.leaving(REPAIR_SHARE)
    form, chosen, attempts = _choose(problem, solver, options)
    form, solution = run_stages(problem, form, chosen, limits)
    if _WHOLE.get() and (solution.stats or {}).get("interrupted"):
        raise KeyboardInterrupt
    solved = time.perf_counter()
    found = _certified(problem, form, solution, whole)
    end = time.perf_counter()
    clock = {
        "search_seconds": solved - start - limits.proof_seconds(),
        "proof_seconds": limits.proof_seconds(),
        "repair_seconds": end - solved,
    }
    return Result(
        problem=problem,
        **found,
        solver=chosen.name,
        seconds=end - start,
        stats={**(solution.stats or {}), **clock},
        attempts=attempts,
        environment=environment(),
    )


_WHOLE: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def whole_answers() -> Iterator[None]:
    """Let Ctrl-C end every solve within, instead of returning what it has so far.

    It is for callers that would mistake what an interrupted solve returns for the full answer.
    """
    token = _WHOLE.set(True)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def check_limits(gap: float, time_limit: float | None) -> None:
    """Check that the gap is between 0 and 1 and that the time limit is positive."""
    if not (isinstance(gap, (int, float)) and 0 < gap < 1):
        raise InvalidInputError(f"gap must lie between 0 and 1, not {gap}")
    if time_limit is not None:
        validate.positive_number("time_limit", time_limit)


def accepting(problem: Problem) -> Iterator[tuple[str, Form]]:
    """List every registered solver that can run here and accepts a form of the problem."""
    seen: set[str] = set()
    for form in problem.forms():
        for name in solvers_of(form):
            if name not in seen and _refusal(name, form, by_name=True) is None:
                seen.add(name)
                yield name, form


def chosen_solver(problem: Problem, solver: str | Solver[Any] = "auto") -> str:
    """Return the name of the solver that :func:`solve` would run.

    >>> chosen_solver(problem("staircase", epsilon=1, prior=[0.5, 0.5]))
    'enumerate'
    """
    return _choose(problem, solver, {})[1].name


def environment() -> dict[str, str]:
    """List the versions of everything that influences a number."""
    return {name: _version(name) for name in ("python", "ldpopt", "numpy", "scipy", "highspy")}


@cache
def _version(name: str) -> str:
    return platform.python_version() if name == "python" else version(name)


def _choose(
    problem: Problem, solver: str | Solver[Any], options: dict[str, Any]
) -> tuple[Form, Solver[Any], dict[str, str]]:
    forms = list(problem.forms())
    if isinstance(solver, Solver):
        if options:
            raise InvalidInputError(
                f"options of a solver object are given to its constructor, not to solve: {list(options)}"
            )
        return _named(problem, forms, solver)
    if solver != "auto":
        return _named(problem, forms, _configured(solver, options))
    reasons: dict[str, str] = {}
    second_best: tuple[Form, str] | None = None
    for form in forms:
        for name in solvers_of(form):
            reason = _refusal(name, form)
            if reason is None:
                second_best = second_best or (form, name)
                suited = SOLVERS[name]().suits(form)
                if suited is True:
                    return form, _configured(name, options), reasons
                reason = suited
            reasons[name] = reason
    if second_best is None:
        raise NoSolverError(problem.kind, reasons)
    form, name = second_best
    return form, _configured(name, options), {n: r for n, r in reasons.items() if n != name}


def _refusal(name: str, form: Form, by_name: bool = False) -> str | None:
    """Return why a solver cannot be chosen for a form, or None if it can.

    Args:
        name: the name of the solver; one that cannot be imported gives the reason.
        form: what is to be solved.
        by_name: whether it may be one that ``auto`` never takes.
    """
    try:
        candidate = SOLVERS[name]
    except LdpoptError as error:
        return str(error)
    if not candidate.automatic and not by_name:
        return "proves nothing, and is run by its name only"
    if missing := candidate.missing():
        return f"needs the package {missing[0]!r}"
    reason = candidate().takes(form)
    return None if reason is True else reason


def _configured(name: str, options: dict[str, Any]) -> Solver[Any]:
    cls = SOLVERS[name]
    if missing := cls.missing():
        raise MissingDependencyError(
            f"the solver {name!r} needs the package {missing[0]!r}; "
            f"install the extra: pip install 'ldpopt[{name}]'"
        )
    return cls.configured(**options)


def _named(
    problem: Problem, forms: list[Form], solver: Solver[Any]
) -> tuple[Form, Solver[Any], dict[str, str]]:
    reason = "the problem has no form"
    for form in forms:
        answer = solver.takes(form)
        if answer is True:
            return form, solver, {}
        reason = answer
    raise NoSolverError(problem.kind, {solver.name: reason})


def _not_better(value: float, bound: float | None, sense: str) -> float | None:
    """Return the bound, or the value where rounding has put the bound on its wrong side.

    That is a weaker bound, so it is proven too.
    """
    if bound is None:
        return None
    return max(bound, value) if sense == "maximise" else min(bound, value)


def _audited(problem: Problem, answer: Any, limits: Limits) -> dict[str, Any]:
    """Audit the answer; an audit that takes much longer than the time left is left out."""
    end = None if limits.deadline is None else limits.deadline + AUDIT_GRACE
    try:
        with replace(limits, alarm=end, answered=True).alarmed():
            return problem.audit(answer)
    except Overdue:
        return {}


def _lifted(problem: Problem, form: Form, solution: FormSolution, limits: Limits) -> Any:
    """Build the answer, or one that is proven quickly if that takes more than half the time left."""
    if not problem.slow_to_lift or limits.deadline is None:
        return problem.lift(form, solution)
    try:
        with replace(limits, alarm=limits.part(0.5).deadline, answered=True).alarmed():
            return problem.lift(form, solution)
    except Overdue:
        return problem.lift_quickly(form, solution)


def _certified(problem: Problem, form: Form, solution: FormSolution, limits: Limits) -> dict[str, Any]:
    """Compute the fields of the result that make claims: each holds in exact arithmetic.

    Args:
        problem: the question.
        form: the form that was solved.
        solution: what the solver found.
        limits: the limits of the whole run. Where the time is over, the answer is one that is proven
            quickly, and the audit may be left out.
    """
    gap = limits.gap
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
    answer = _lifted(problem, form, solution, limits)
    value = problem.claim(answer)
    loss = 0.0 if solution.value is None else abs(solution.value - value)
    bound = _not_better(value, solution.bound, problem.sense)
    measured = relative_gap(value, bound)
    status = Status.FEASIBLE
    if bound is not None:
        status = Status.OPTIMAL if is_optimal(value, bound, gap) else Status.GAP
    return {
        "status": status,
        "value": value,
        "bound": bound,
        "gap": measured,
        "answer": answer,
        "certificate": Certificate(solution.proof, gap, loss, _audited(problem, answer, limits)),
    }
