"""Every example of every problem through every accepting solver, JSON round trip and checker."""

import json
import math
from dataclasses import replace

import pytest

from ldpopt import FormSolution, Limits, solve, testing
from ldpopt.core.form import Status
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import BY_FORM, SOLVERS, Enumerate

CASES = testing.cases()
ONE_EACH = {case.solver.name: case for case in reversed(CASES)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_conformance(case):
    testing.check(case)


@pytest.mark.parametrize("case", ONE_EACH.values(), ids=str)
def test_contract(case):
    testing.check_contract(case)


def test_every_solver_keeps_the_contract():
    """None is left out, and each stands in the table of the form that it declares."""
    assert set(ONE_EACH) == set(SOLVERS)
    for form, solvers in BY_FORM.items():
        for name in solvers:
            assert SOLVERS[name].name == name
            assert SOLVERS[name].form.name == form


def test_a_solver_that_breaks_the_contract_is_caught():
    """The contract can fail: one swallows options, one ignores the clock, one drops its point.

    The last is the worse the more it is asked.
    """
    case = ONE_EACH["enumerate"]
    form = next(iter(case.example.problem.forms()))

    class Swallows(Enumerate):
        @classmethod
        def configured(cls, **options):
            return cls()

    class Ignores(Enumerate):
        def run(self, form, limits):
            for _ in range(1000):
                limits.expired()
            return super().run(form, Limits())

    class Drops(Enumerate):
        def run(self, form, limits):
            return FormSolution(Status.GAP)

    class Tires(Enumerate):
        def run(self, form, limits):
            found = super().run(form, limits)
            return replace(found, bound=found.bound - math.log(limits.gap))

    with pytest.raises(AssertionError, match="is worse than"):
        testing.check_patience(Tires(), form, "maximise")
    with pytest.raises(AssertionError, match="accepts an option"):
        testing.check_options(Swallows)
    with pytest.raises(AssertionError, match="went on for"):
        testing.check_deadline(Ignores(), form)
    with pytest.raises(AssertionError):
        testing.check_deadline(Drops(), form)


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

        def run(self, form, limits):
            solution = super().run(form, limits)
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
