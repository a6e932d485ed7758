"""The conformance suite: run it on your own problems and solvers.

::

    import pytest
    from ldpopt import testing

    @pytest.mark.parametrize("case", testing.cases(problems=[MyProblem]), ids=str)
    def test_conformance(case):
        testing.check(case)

Every example of every problem goes through every solver that accepts it: the known optimum is met, the
bound is on the right side, the answer is worth what is claimed, the result survives JSON, and the
independent checker agrees with every claim, if the problem has a statement. :func:`check_contract` tests
what a solver promises about options, deadlines, Ctrl-C, and what more time brings.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import check as check_document
from ldpopt.core.form import Form, FormSolution, Status
from ldpopt.core.limits import Limits
from ldpopt.core.problem import Example, Problem
from ldpopt.core.solver import Solver
from ldpopt.engine.result import Result, load
from ldpopt.engine.solving import solve
from ldpopt.engine.verifying import verify
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS


@dataclass(frozen=True)
class Case:
    """One example for one solver."""

    example: Example
    number: int
    solver: Solver[Any]

    def __str__(self) -> str:
        return f"{self.example.problem.kind}-{self.number}-{self.solver.name}"


def cases(
    problems: Iterable[type[Problem]] | None = None, solvers: Iterable[Solver[Any]] | None = None
) -> list[Case]:
    """List every example with every installed solver that accepts it; by default all registered ones."""
    problems = [PROBLEMS[name] for name in PROBLEMS] if problems is None else list(problems)
    if solvers is None:
        solvers = [SOLVERS[name]() for name in SOLVERS if not SOLVERS[name].missing()]
    solvers = list(solvers)
    found = []
    for kind in problems:
        for number, example in enumerate(kind.examples()):
            forms = list(example.problem.forms())
            taking = (s for s in solvers if any(s.takes(form) is True for form in forms))
            found += [Case(example, number, solver) for solver in taking]
    return found


def check(case: Case) -> Result:
    """Assert everything that a conforming problem and solver promise; returns the result."""
    problem, optimum, tolerance = case.example
    check_parameters(problem)
    result = solve(problem, case.solver)
    assert result.status in (Status.OPTIMAL, Status.GAP, Status.FEASIBLE), result.status
    assert result.value is not None
    assert result.value == problem.claim(result.answer)
    assert abs(result.value - problem.value(result.answer)) <= 1e-12 * max(1, abs(optimum))
    check_against_optimum(result, optimum, tolerance)
    check_file(result)
    return result


def check_contract(case: Case) -> None:
    """Assert what a solver promises about options, deadlines, Ctrl-C, and what more time brings."""
    check_options(type(case.solver))
    form = next(form for form in case.example.problem.forms() if case.solver.takes(form) is True)
    check_deadline(case.solver, form)
    for look in LOOKS:
        if not check_interruption(case.solver, form, look):
            break  # the solver was done before
    check_patience(case.solver, form, case.example.problem.sense)
    check_stopped(case, time_limit=1e-9)
    check_stopped(case, progress=_interrupt)


def check_options(solver: type[Solver[Any]]) -> None:
    """Check that an option that the constructor does not have raises an error that names it."""
    refusal = f"{solver.name} accepts an option that it does not have"
    try:
        solver.configured(no_such_option=1)
    except InvalidInputError as error:
        refusal = str(error)
    assert "no option 'no_such_option'" in refusal, refusal


def check_deadline(solver: Solver[Any], form: Form) -> None:
    """Check that a solver without time looks at the clock a few times and returns."""
    limits = Watched(deadline=0.0)
    check_legal(solver.attempt(form, limits))
    assert len(limits.looks) <= MOST_LOOKS, f"{solver.name} went on for {len(limits.looks)} looks"


def check_interruption(solver: Solver[Any], form: Form, look: int) -> bool:
    """Check that Ctrl-C at a look at the clock returns what was kept; return whether the look occurred.

    The interrupt is raised again only if nothing was kept.

    Args:
        solver: the solver.
        form: what it solves.
        look: at which look at the clock the user interrupts, from 1.
    """
    limits = Watched(interrupt_at=look)
    try:
        solution = solver.attempt(form, limits)
    except KeyboardInterrupt:
        assert limits.kept() is None
    else:
        check_legal(solution)
    return len(limits.looks) >= look


def check_patience(solver: Solver[Any], form: Form, sense: str) -> None:
    """Check that neither value nor bound gets worse with more time, or with a smaller gap asked for.

    The time is counted in looks at the clock, so that nothing depends on the machine.

    Args:
        solver: the solver.
        form: what it solves.
        sense: "maximise" or "minimise".
    """
    sign = 1 if sense == "maximise" else -1
    patient = [Limits(gap=gap) for gap in (0.1, 1e-9)]
    timed = [Limits(deadline=looks, start=0.0, clock=count(1.0).__next__) for looks in (30.0, 300.0)]
    for runs in (patient, timed):
        value = bound = -math.inf
        for limits in runs:
            found = solver.attempt(form, limits)
            now = -math.inf if found.value is None else sign * found.value
            proven = -math.inf if found.bound is None else -sign * found.bound
            slack = 1e-9 * max(1e-4, abs(now))
            assert now >= value - slack, f"{solver.name}: {now} is worse than {value} with less"
            assert proven >= bound - slack, f"{solver.name}: bound {-proven} is worse than {-bound}"
            value, bound = now, proven


def check_stopped(case: Case, **limits: Any) -> None:
    """Check that a result that was stopped is legal, and that what it claims is true."""
    try:
        result = solve(case.example.problem, case.solver, **limits)
    except KeyboardInterrupt:  # before anything was found
        return
    if result.value is None:
        assert result.status is Status.LIMIT, result.status
        json.dumps(result.to_json(), allow_nan=False)
        return
    check_against_optimum(result, case.example.optimum, case.example.tolerance)
    check_file(result)


def check_legal(solution: FormSolution) -> None:
    """Check that a solution has a point, or that its status says why not."""
    with_point = (Status.OPTIMAL, Status.GAP, Status.FEASIBLE)
    assert (solution.status in with_point) == (solution.point is not None), solution.status
    assert solution.point is None or solution.value is not None


LOOKS = (1, 2, 3, 5, 8, 13, 40)
MOST_LOOKS = 100


@dataclass(frozen=True)
class Watched(Limits):
    """Limits that count the looks at the clock, and interrupt at one of them."""

    interrupt_at: int | None = None
    looks: list[int] = field(default_factory=list)

    def remaining(self) -> float:
        """Return the seconds that are left.

        Raises:
            KeyboardInterrupt: this is the look to be interrupted.
        """
        self.looks.append(len(self.looks))
        if len(self.looks) == self.interrupt_at:
            raise KeyboardInterrupt
        return super().remaining()


def _interrupt(value: float, bound: float) -> None:
    raise KeyboardInterrupt


def check_parameters(problem: Problem) -> None:
    """Check that the parameters are plain JSON and build the same problem again."""
    params = problem.to_params()
    again = type(problem).from_params(**json.loads(json.dumps(params)))
    assert again.to_params() == params


def check_against_optimum(result: Result, optimum: float, tolerance: float) -> None:
    """Check that value and bound lie on the right sides of the known optimum; OPTIMAL means equality.

    Args:
        result: the result of an example.
        optimum: the known optimum.
        tolerance: relative to the optimum, or to 1 if that is larger.
    """
    sign = 1 if result.problem.sense == "maximise" else -1
    slack = tolerance * max(1, abs(optimum))
    assert result.value is not None
    assert sign * (result.value - optimum) <= slack, (result.value, optimum)
    if result.bound is not None:
        assert sign * (result.bound - optimum) >= -slack, (result.bound, optimum)
    if result.status is Status.OPTIMAL:
        assert abs(result.value - optimum) <= slack, (result.value, optimum)


def check_file(result: Result) -> None:
    """Check that the result survives its file, and that the checker confirms the file.

    A problem without a statement claims nothing that the checker could confirm.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "result.json"
        result.save(path)
        again = load(path)
        assert again.to_json() == result.to_json()
        assert again.answer == result.answer
        if result.problem.statement() is None:
            return
        verification = verify(path)
    assert verification, str(verification)


def tampered(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Forge a result file about a mechanism in several ways; the checker must refute each.

    The forgeries are a better value, a sharper bound, and a changed entry.
    """
    question = PROBLEMS[document["problem"]].from_params(**document["params"])
    sign = 1 if question.sense == "maximise" else -1
    size = max(abs(document["value"]), 1e-3)
    yield "a raised value", _with(document, value=document["value"] + sign * 1e-6 * size)
    yield "a lowered bound", _with(document, bound=document["value"] - sign * 1e-3 * size)
    matrix = [list(row) for row in document["mechanism"]["matrix"]]
    matrix[0][0] += 2.0**-40
    yield "a changed entry", _with(document, mechanism=document["mechanism"] | {"matrix": matrix})


def _with(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(document))
    return copy | changes


def refuted(document: dict[str, Any]) -> bool:
    """Return whether the checker refutes at least one claim of a document."""
    return not all(claim.holds for claim in check_document(document))
