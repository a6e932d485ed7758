"""Two hypotheses by sorted blocks: brute force, large instances, hard ones, refusals."""

import numpy as np
import pytest

from ldpopt import solve, verify
from ldpopt.core.errors import NoSolverError
from ldpopt.core.form import Status
from ldpopt.problems import SecretStaircase, Staircase

ORDERS = {"kl": None, "total-variation": None, "chi-squared": None, "hellinger": None, "renyi": 2.5}


def question(k, utility, epsilon, seed, concentration=0.5):
    rows = np.random.default_rng(seed).dirichlet(np.full(k, concentration), 2)
    return Staircase(epsilon, hypotheses=rows, utility=utility, order=ORDERS[utility])


@pytest.mark.parametrize("utility", ORDERS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0])
def test_it_meets_the_optimum_over_all_corners(utility, epsilon):
    for seed, k in enumerate((2, 3, 5, 8)):
        asked = question(k, utility, epsilon, seed)
        listed, found = solve(asked, "enumerate"), solve(asked, "sort-partition")
        assert found.status is Status.OPTIMAL
        assert found.value == pytest.approx(listed.value, rel=1e-9)
        assert verify(found)


@pytest.mark.parametrize("utility", ORDERS)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_many_inputs_need_few_outputs(utility, epsilon):
    asked = question(200, utility, epsilon, 7)
    compact, found = solve(asked, "tangents"), solve(asked)
    assert (found.solver, found.status) == ("sort-partition", Status.OPTIMAL)
    assert compact.value * (1 - 1e-9) <= found.value <= compact.bound
    assert found.mechanism.matrix.shape[1] <= min(compact.mechanism.matrix.shape[1], 6)
    assert verify(found)


@pytest.mark.parametrize("utility", ["kl", "chi-squared", "hellinger"])
def test_two_to_five_outputs_where_tangents_have_seven_and_more(utility):
    """The optimum of many columns is also that of few: randomised response on blocks has few."""
    asked = question(50, utility, 1.0, 50)
    compact, found = solve(asked, "tangents"), solve(asked)
    assert compact.mechanism.matrix.shape[1] >= 7
    assert 2 <= found.mechanism.matrix.shape[1] <= 5
    assert found.value == pytest.approx(compact.value, rel=1e-9)


@pytest.mark.parametrize("utility", ORDERS)
def test_where_few_cells_do_not_close_the_gap_tangents_do(utility):
    """For large ε, and for inputs that only one hypothesis knows, or none."""
    rows = np.random.default_rng(3).dirichlet(np.full(30, 0.3), 2)
    rows[0, :4] = rows[1, 2:6] = 0
    rows /= rows.sum(axis=1, keepdims=True)
    asked = Staircase(8.0, hypotheses=rows, utility=utility, order=ORDERS[utility])
    compact, found = solve(asked, "tangents"), solve(asked, "sort-partition")
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(compact.value, rel=1e-9)


def test_equal_hypotheses_are_worth_nothing():
    found = solve(Staircase(1.0, hypotheses=[[0.3, 0.7]] * 2, utility="kl"), "sort-partition")
    assert found.value == 0
    assert found.mechanism.matrix.shape[1] == 1
    assert verify(found)


def test_out_of_time_claims_no_bound_that_was_not_proven():
    found = solve(question(300, "kl", 1.0, 0), "sort-partition", time_limit=1e-9)
    assert found.status is not Status.OPTIMAL


def test_it_refuses_other_cones_and_utilities():
    rows = np.random.default_rng(0).dirichlet(np.ones(4), 2)
    table = SecretStaircase(epsilon=1.0, hypotheses=rows.reshape(2, 2, 2), utility="kl")
    with pytest.raises(NoSolverError, match="every two inputs are to be hidden"):
        solve(table, "sort-partition")
    with pytest.raises(NoSolverError, match="divergence of two hypotheses"):
        solve(Staircase(1.0, hypotheses=rows, utility="bayes"), "sort-partition")
    with pytest.raises(NoSolverError, match="divergence of two hypotheses"):
        solve(Staircase(1.0, prior=rows[0]), "sort-partition")
    many = np.full((2, 2001), 1 / 2001)
    with pytest.raises(NoSolverError, match="2,001 inputs"):
        solve(Staircase(1.0, hypotheses=many, utility="kl"), "sort-partition")
