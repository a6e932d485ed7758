"""The conformance suite: run it on your own problems and solvers.

::

    import pytest
    from ldpopt import testing

    @pytest.mark.parametrize("case", testing.cases(problems=[MyProblem]), ids=str)
    def test_conformance(case):
        testing.check(case)

Every example of every problem goes through every solver that accepts it: the known optimum is met, the
bound is on the right side, the answer is worth what is claimed, the result survives JSON, and the
independent checker agrees with every claim.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpopt.checker import frame as checker
from ldpopt.core.problem import Example, Problem
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
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
    solver: Solver

    def __str__(self) -> str:
        return f"{self.example.problem.kind}-{self.number}-{self.solver.name}"


def cases(
    problems: Iterable[type[Problem]] | None = None, solvers: Iterable[Solver] | None = None
) -> list[Case]:
    """Every example with every installed solver that accepts it; by default all registered ones."""
    problems = [PROBLEMS[name] for name in PROBLEMS] if problems is None else list(problems)
    if solvers is None:
        solvers = [SOLVERS[name]() for name in SOLVERS if not SOLVERS[name].missing()]
    solvers = list(solvers)
    return [
        Case(example, number, solver)
        for kind in problems
        for number, example in enumerate(kind.examples())
        for solver in solvers
        if any(solver.accepts(form) is True for form in example.problem.forms())
    ]


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


def check_parameters(problem: Problem) -> None:
    """The parameters are plain JSON and build the same problem again."""
    params = problem.to_params()
    again = type(problem).from_params(**json.loads(json.dumps(params)))
    assert again.to_params() == params


def check_against_optimum(result: Result, optimum: float, tolerance: float) -> None:
    """Value and bound lie on the right sides of the known optimum; OPTIMAL means equal to it."""
    sign = 1 if result.problem.sense == "maximise" else -1
    slack = tolerance * max(1, abs(optimum))
    assert result.value is not None
    assert sign * (result.value - optimum) <= slack, (result.value, optimum)
    if result.bound is not None:
        assert sign * (result.bound - optimum) >= -slack, (result.bound, optimum)
    if result.status is Status.OPTIMAL:
        assert abs(result.value - optimum) <= slack, (result.value, optimum)


def check_file(result: Result) -> None:
    """The result survives its file, and the checker confirms the file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "result.json"
        result.save(path)
        again = load(path)
        assert again.to_json() == result.to_json()
        assert again.answer == result.answer
        verification = verify(path)
    assert verification, str(verification)


def tampered(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Forgeries of a result file about a mechanism; the checker must refute each.

    A changed entry, a raised value, a lowered bound (raised, for minimisation a lowered value and a
    raised bound), and a dual vector that is a little too good.
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
    """Whether the checker refutes at least one claim of a document."""
    return not all(claim.holds for claim in checker.check(document))
