"""Randomised response by name, as a solver."""

import pytest
from known import TABLE

from ldpopt import Status, solve, verify
from ldpopt.core.errors import NoSolverError
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.mechanisms import randomized_response, secret_randomized_response
from ldpopt.models.cones import SecretCone
from ldpopt.problems import PolyOpt, SecretStaircase, Staircase
from ldpopt.solvers import RandomizedResponse


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_it_is_secret_randomised_response(epsilon):
    result = solve(SecretStaircase(epsilon, TABLE), "randomized-response")
    expected = secret_randomized_response(3, 3, epsilon).matrix
    assert result.mechanism.matrix == pytest.approx(expected, abs=1e-9)
    assert (result.status, result.bound) == (Status.FEASIBLE, None)
    assert verify(result)


def test_with_all_of_x_secret_it_is_the_plain_one():
    result = solve(Staircase(1.0, prior=[0.4, 0.3, 0.2, 0.1]), "randomized-response")
    assert result.mechanism.matrix == pytest.approx(randomized_response(4, 1.0).matrix, abs=1e-9)
    assert verify(result)


def test_it_is_never_chosen():
    result = solve(SecretStaircase(1.0, TABLE))
    assert result.solver != "randomized-response"
    with pytest.raises(
        NoSolverError, match="randomized-response: proves nothing, and is run by its name"
    ):
        solve(Staircase(1.0, utility=lambda columns: columns.max(axis=0), size=30))


def test_refusals():
    uneven = ColumnProgram(SecretCone(("a", "a", "b"), 1.0), None)
    assert "as many inputs for every secret" in RandomizedResponse().accepts(uneven)
    (form,) = PolyOpt(1.0, TABLE, 1000).forms()
    assert "private for every distribution" in RandomizedResponse().accepts(form)
