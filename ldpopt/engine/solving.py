"""From a problem to a result: choose a solver, run it, certify what it found."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError, LdpoptError, MissingDependencyError, NoSolverError
from ldpopt.core.form import Form, FormSolution, Stage, Status
from ldpopt.core.limits import Limits, Progress
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.engine.result import Result, certified
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
    seed = validate.whole_number("seed", seed, 0)
    whole = Limits.within(time_limit, gap=gap, seed=seed, progress=progress)
    if not isinstance(problem, Problem):
        raise InvalidInputError(
            f"solve takes a problem, such as ldpopt.problem('staircase', …), not {problem!r:.80}"
        )
    found = _searched(problem, solver, options, whole)
    solved = whole.elapsed()
    claims, left_out = certified(problem, found.form, found.solution, whole)
    end = whole.elapsed()
    clock = {
        "search_seconds": solved - found.proof_seconds,
        "proof_seconds": found.proof_seconds,
        "repair_seconds": end - solved,
    }
    return Result(
        problem=problem,
        **claims,
        solver=found.solver,
        seconds=end,
        stats={**_finite(found.solution.stats or {}), **clock, **left_out},
        attempts=found.attempts,
        environment=environment(),
    )


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
    found = _searched(problem, solver, {}, whole)
    if found.solution.point is None:
        return None
    return problem.lift(found.form, found.solution)


class _Searched(NamedTuple):
    """What the search found: the solution of a form, by which solver, and the seconds of its proof."""

    form: Form
    solution: FormSolution
    solver: str
    attempts: dict[str, str]
    proof_seconds: float


def _searched(
    problem: Problem, solver: str | Solver[Any], options: dict[str, Any], whole: Limits
) -> _Searched:
    """Search within the time that is not kept for repair, exact value and audit."""
    limits = whole.part(1 - REPAIR_SHARE)
    form, chosen, attempts = _choose(problem, solver, options)
    form, solution = run_stages(problem, form, chosen, limits)
    if _WHOLE.get() and (solution.stats or {}).get("interrupted"):
        raise KeyboardInterrupt
    return _Searched(form, solution, chosen.name, attempts, limits.proof_seconds())


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
    if not isinstance(solver, str):
        raise InvalidInputError(f"solver must be a name or a solver object, not {solver!r:.80}")
    if solver != "auto":
        return _named(problem, forms, _configured(solver, options))
    reasons: dict[str, str] = {}
    second_best: tuple[Form, str] | None = None
    for form in forms:
        for name in solvers_of(type(form)):
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


def run_stages(
    problem: Problem, form: Form, solver: Solver[Any], limits: Limits
) -> tuple[Form, FormSolution]:
    """Solve what the problem declares for a form, and merge what the stages contribute.

    Once there is an answer and the time is over, no further stage is started.

    Args:
        problem: declares the stages.
        form: the form to begin with.
        solver: solves the form of every stage.
        limits: the limits of all stages together.

    Returns:
        The form whose point is the answer, and the solution with the best bound of all stages.

    Raises:
        KeyboardInterrupt: the user interrupted before there was an answer.
    """
    found = Contributions(problem.sense == "maximise", form)
    plan = problem.stages(form)
    stage = next(plan)
    while True:
        nothing = FormSolution(Status.LIMIT) if found.answered() else None  # it may end with nothing
        shown = None if stage.bound_only else found.progress(limits)
        part = replace(limits.part(stage.share, nothing), progress=shown)
        solution = solver.attempt(stage.form, part)
        with limits.proving():
            given = stage.contribution(solution)
        found.add(stage, given)
        if (solution.stats or {}).get("interrupted"):
            return found.form, found.interrupted()
        if limits.expired() and found.answered():
            return found.form, found.merged()
        try:
            stage = plan.send(given)
        except StopIteration:
            return found.form, found.merged()


class Contributions:
    """What the stages contributed so far: a point at most, and any number of proven bounds."""

    def __init__(self, upwards: bool, form: Form) -> None:
        self.sign = 1.0 if upwards else -1.0
        self.form = form
        self.answer: FormSolution | None = None
        self.proven: list[FormSolution] = []

    def add(self, stage: Stage, given: FormSolution) -> None:
        """Keep the bound, and the point if it is the best."""
        if given.bound is not None:
            self.proven.append(given)
        if not stage.bound_only and (self.answer is None or self._better(given, self.answer)):
            self.answer, self.form = given, stage.form

    def _better(self, given: FormSolution, known: FormSolution) -> bool:
        if given.point is None or known.point is None:
            return known.point is None
        assert given.value is not None
        assert known.value is not None
        return self.sign * given.value > self.sign * known.value

    def answered(self) -> bool:
        """Return whether there is a point already."""
        return self.answer is not None and self.answer.point is not None

    def merged(self) -> FormSolution:
        """Combine the best point with the best of the proven bounds (the least one for a maximum)."""
        answer = self.answer or FormSolution(Status.LIMIT)
        if not self.proven:
            return answer
        weakest_first = sorted(self.proven, key=self._strength)
        proofs = [s.proof for s in weakest_first if s.proof is not None]
        merged = {key: entry for proof in proofs for key, entry in proof.items()} if proofs else None
        return replace(answer, bound=weakest_first[-1].bound, proof=merged)

    def _strength(self, solution: FormSolution) -> float:
        assert solution.bound is not None
        return -self.sign * solution.bound

    def interrupted(self) -> FormSolution:
        """Combine what the stages found before Ctrl-C; without a point there is nothing to return."""
        solution = self.merged()
        if solution.point is None:
            raise KeyboardInterrupt
        return replace(solution, stats={**(solution.stats or {}), "interrupted": 1.0})

    def progress(self, limits: Limits) -> Progress | None:
        """Wrap the user's progress callback so that it receives the best bound of all stages so far."""
        if limits.progress is None or not self.proven:
            return limits.progress
        show, bound = limits.progress, self.merged().bound
        assert bound is not None
        best = min if self.sign > 0 else max
        return lambda value, own: show(value, best(own, bound))
