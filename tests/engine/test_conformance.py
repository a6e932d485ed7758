"""Every example of every problem through every accepting solver, JSON round trip and checker."""

import json

import pytest

from ldpopt import solve, testing
from ldpopt.core.status import Status
from ldpopt.problems import PROBLEMS


@pytest.mark.parametrize("case", testing.cases(), ids=str)
def test_conformance(case):
    testing.check(case)


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_every_problem_is_well_described(kind):
    cls = PROBLEMS[kind]
    assert cls.kind == kind
    assert cls.__doc__
    assert list(cls.examples())


COLUMN_KINDS = ("staircase", "secret-staircase")


@pytest.mark.parametrize("kind", COLUMN_KINDS)
def test_all_solvers_agree(kind):
    for example in PROBLEMS[kind].examples():
        values = {
            name: solve(example.problem, name).value
            for name in ("enumerate", "column-generation", "cdd")
        }
        assert max(values.values()) - min(values.values()) <= 1e-9, values


@pytest.mark.parametrize("kind", COLUMN_KINDS)
def test_a_broken_solver_is_caught(kind):
    """The suite can fail: a solver that reports a bound below the optimum does not pass."""
    case = next(iter(testing.cases(problems=[PROBLEMS[kind]])))

    class Optimist(type(case.solver)):
        name = "optimist"

        def run(self, form, **options):
            solution = super().run(form, **options)
            lowered = [b * 0.99 for b in solution.proof["dual"]]
            object.__setattr__(solution, "proof", {"dual": lowered})
            object.__setattr__(solution, "bound", solution.bound * 0.99)
            return solution

    with pytest.raises(AssertionError):
        testing.check(testing.Case(case.example, case.number, Optimist()))


def test_results_are_json_without_nan():
    result = solve(next(iter(PROBLEMS["staircase"].examples())).problem)
    assert result.status is Status.OPTIMAL
    json.dumps(result.to_json(), allow_nan=False)
