"""From a problem to a result: choose a solver, run it, certify what it found."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from ldpopt.core import validate
from ldpopt.core.errors import (
    InvalidInputError,
    LdpoptError,
    MissingDependencyError,
    NoSolverError,
    lacking,
)
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.limits import Limits, Progress
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.engine.result import Result, certified, uncertified
from ldpopt.engine.stages import run_stages
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS, solvers_of

REPAIR_SHARE = 0.1
"""The share of the time kept for repair, exact value and audit."""


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
    certify: bool = True,
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
        certify: False leaves out the repair to exact arithmetic, the exact value and the audit: the
            status is ``UNCERTIFIED``, there is no bound, and the result cannot be saved or verified.
        options: the parameters of the solver's constructor.

    Returns:
        The result; its ``stats`` say how many seconds went into the choice of the solver, the search,
        the proof, the repair, the exact value and the audit. After Ctrl-C it is the best so far, with
        ``stats["interrupted"]``.

    Raises:
        InvalidInputError: an argument is not of its kind, or the solver has no such option; the message
            names those that it has.
        NoSolverError: no solver accepts; the message lists every solver of the form with its reason.
        SolverError: a solver crashed.
        KeyboardInterrupt: the user interrupted before anything was found.

    >>> from ldpopt.problems import Staircase
    >>> result = solve(Staircase(epsilon=2, prior=[0.4, 0.3, 0.2, 0.1]))
    >>> result.status.value, round(result.value, 9)
    ('optimal', 0.429363219)
    """
    (result,) = solve_many(
        [problem],
        solver,
        gap=gap,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
        certify=certify,
        **options,
    )
    return result


def solve_many(
    problems: Iterable[Problem],
    solver: str | Solver[Any] = "auto",
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    certify: bool = True,
    **options: Any,
) -> list[Result]:
    """Answer problems one after the other, each as :func:`solve` does, with the same solver objects.

    A solver may start from what it found last: ``enumerate`` does so for problems of one cone, such as
    ``staircase`` problems of one level and many priors. Values and bounds are those of :func:`solve`;
    of several best mechanisms another one may be found.

    Args:
        problems: the questions.
        solver: as for :func:`solve`.
        gap: as for :func:`solve`.
        time_limit: seconds for each problem.
        seed: for solvers that draw random numbers, the same for each problem.
        progress: as for :func:`solve`.
        certify: as for :func:`solve`.
        options: the parameters of the solver's constructor.

    Returns:
        The results, in the order of the problems.

    >>> from ldpopt.problems import Staircase
    >>> priors = [[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]]
    >>> [round(found.value, 6) for found in solve_many(Staircase(1, prior) for prior in priors)]
    [0.11412, 0.121973]
    """
    seed = validate.whole_number("seed", seed, 0)
    used: dict[str, Solver[Any]] = {}
    searched = []
    for problem in problems:
        limits = Limits.within(time_limit, gap=gap, seed=seed, progress=progress)
        searched.append(_searched(problem, solver, options, limits, used))
    # search and proof in turn would put each other's code and data out of the processor's caches
    results = [_answered(found, certify) for found in searched]
    if (kept := _KEPT.get()) is not None and certify:
        kept += results
    return results


def _answered(found: _Searched, certify: bool) -> Result:
    limits = found.limits.resumed(found.seconds)
    fields = certified if certify else uncertified
    claims, clock = fields(found.problem, found.form, found.solution, limits)
    clock |= {
        "choice_seconds": found.choice_seconds,
        "search_seconds": found.seconds - found.choice_seconds - found.proof_seconds,
        "proof_seconds": found.proof_seconds,
    }
    return Result(
        problem=found.problem,
        **claims,
        solver=found.solver,
        seconds=sum(taken for name, taken in clock.items() if name.endswith("_seconds")),
        stats={**_finite(found.solution.stats or {}), **_of_children(limits), **clock},
        attempts=found.attempts,
        environment=environment(),
    )


def _of_children(limits: Limits) -> dict[str, float]:
    """Tell what other processes took, if any ran: the time of their start, their largest growth."""
    ran = limits.children
    if not ran:
        return {}
    growth = max(child.megabytes for child in ran)
    return {"process_starts": sum(child.start for child in ran), "process_megabytes": growth}


def _finite(counts: dict[str, float]) -> dict[str, float]:
    """Leave out counts that a file cannot hold, such as the level of a report that settles a secret."""
    return {name: count for name, count in counts.items() if math.isfinite(count)}


def answer_for(
    problem: Problem,
    solver: str | Solver[Any] = "auto",
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
) -> Any:
    """Answer a problem without a value: exactly private, and nothing is claimed.

    It is for callers that state no value; an exact evaluation may take longer than the search.

    Args:
        problem: the question.
        solver: a registered name, a solver object, or "auto", as for :func:`solve`.
        gap: the relative gap at which value and bound count as equal.
        time_limit: seconds after which the best answer is returned.

    Returns:
        The answer; None if none was found.
    """
    whole = Limits.within(time_limit, gap=gap)
    found = _searched(problem, solver, {}, whole, {})
    if found.solution.point is None:
        return None
    return problem.lift(found.form, found.solution)


class _Searched(NamedTuple):
    """What the search found: the solution of a form, by which solver, and where the time went."""

    problem: Problem
    limits: Limits
    form: Form
    solution: FormSolution
    solver: str
    attempts: dict[str, str]
    seconds: float
    choice_seconds: float
    proof_seconds: float


def _searched(
    problem: Problem,
    solver: str | Solver[Any],
    options: dict[str, Any],
    whole: Limits,
    used: dict[str, Solver[Any]],
) -> _Searched:
    """Search within the time that is not kept for repair, exact value and audit."""
    if not isinstance(problem, Problem):
        raise InvalidInputError(
            f"solve takes a problem, such as ldpopt.problem('staircase', …), not {problem!r:.80}"
        )
    limits = whole if whole.deadline is None else whole.part(1 - REPAIR_SHARE)
    form, chosen, attempts = _choose(problem, solver, options, used)
    chosen = used.setdefault(chosen.name, chosen)
    choice_seconds = whole.elapsed()
    form, solution = run_stages(problem, form, chosen, limits)
    if _WHOLE.get() and (solution.stats or {}).get("interrupted"):
        raise KeyboardInterrupt
    times = whole.elapsed(), choice_seconds, limits.proof_seconds()
    return _Searched(problem, whole, form, solution, chosen.name, attempts, *times)


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


_KEPT: ContextVar[list[Result] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_results() -> Iterator[list[Result]]:
    """Collect the certified results of every solve within."""
    found: list[Result] = []
    token = _KEPT.set(found)
    try:
        yield found
    finally:
        _KEPT.reset(token)


def accepting(problem: Problem) -> Iterator[tuple[str, Form]]:
    """List every registered solver that can run here and accepts a form of the problem."""
    seen: set[str] = set()
    for form in problem.forms():
        for name in solvers_of(type(form)):
            if name not in seen and _refusal(name, form, by_name=True) is None:
                seen.add(name)
                yield name, form


def chosen_solver(problem: Problem, solver: str | Solver[Any] = "auto") -> str:
    """Return the name of the solver that :func:`solve` would run.

    >>> chosen_solver(problem("staircase", epsilon=1, prior=[0.5, 0.5]))
    'enumerate'
    """
    return _choose(problem, solver, {}, {})[1].name


def environment() -> dict[str, str]:
    """List the versions of everything that influences a number."""
    return {name: _version(name) for name in ("python", "ldpopt", "numpy", "scipy", "highspy")}


@cache
def _version(name: str) -> str:
    return platform.python_version() if name == "python" else version(name)


def _choose(
    problem: Problem, solver: str | Solver[Any], options: dict[str, Any], used: dict[str, Solver[Any]]
) -> tuple[Form, Solver[Any], dict[str, str]]:
    forms = list(problem.forms())
    if isinstance(solver, Solver):
        if options:
            raise InvalidInputError(
                f"options of a solver object are given to its constructor, not to solve: {list(options)}"
            )
        return _named(problem, forms, solver)
    if not isinstance(solver, str):
        raise InvalidInputError(f"solver must be a name or a solver object, not {solver!r:.80}")
    if solver != "auto":
        return _named(problem, forms, _configured(solver, options))
    reasons: dict[str, str] = {}
    second_best: tuple[Form, str] | None = None
    for form in forms:
        for name in solvers_of(type(form)):
            if (same := used.get(name)) and same.takes(form) is True and same.suits(form) is True:
                return form, same, reasons
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
        return lacking(missing[0])
    reason = candidate().takes(form)
    return None if reason is True else reason


def _configured(name: str, options: dict[str, Any]) -> Solver[Any]:
    cls = SOLVERS[name]
    if missing := cls.missing():
        raise MissingDependencyError(f"the solver {name!r}", missing[0])
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
