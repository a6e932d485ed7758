"""Hiding a secret only: between plain LDP and the data, and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known import TABLE

from ldpopt import solve, verify
from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms import randomized_response, secret_randomized_response
from ldpopt.problems import SecretStaircase, Staircase

PRIOR = np.array(TABLE)


def test_secret_randomised_response_is_optimal_for_large_epsilon():
    """Lopuhaä-Zwakenberg and Goseling 2021, Theorem 7."""
    question = SecretStaircase(PRIOR, 4.0)
    response = question.value(secret_randomized_response(3, 3, 4.0))
    assert solve(question).value == pytest.approx(response, abs=1e-12)
    assert SecretStaircase(PRIOR, 1.0).value(secret_randomized_response(3, 3, 1.0)) < 0.15


def test_plain_ldp_releases_less():
    plain = solve(Staircase(1.0, prior=PRIOR.ravel())).value
    assert plain == pytest.approx(0.123227415893, abs=1e-12)


@settings(max_examples=15)
@given(st.integers(2, 3), st.integers(1, 3), st.floats(0.1, 4), st.integers(0, 10**6))
def test_order_of_the_optima_and_agreement(a1, a2, epsilon, seed):
    prior = np.random.default_rng(seed).dirichlet(np.ones(a1 * a2)).reshape(a1, a2)
    question = SecretStaircase(prior, epsilon)
    optimum = solve(question)
    for weaker in (
        secret_randomized_response(a1, a2, epsilon),
        randomized_response(a1 * a2, epsilon),
    ):
        assert optimum.value >= question.value(weaker) - 1e-12
    assert optimum.bound >= solve(Staircase(epsilon, prior=prior.ravel())).value
    for solver in ("enumerate", "column-generation", "cdd"):
        result = solve(question, solver)
        assert result.value == pytest.approx(optimum.value, abs=1e-9)
        assert question.cone.level(result.mechanism.matrix) <= epsilon * (1 + 1e-12)
        assert verify(result)


def test_one_value_per_secret_is_plain_ldp():
    prior = np.array([[0.4], [0.3], [0.2], [0.1]])
    assert solve(SecretStaircase(prior, 1.0)).value == pytest.approx(0.121973473181, abs=1e-12)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([[0.5, 0.5]], "one secret"),
        ([[0.5, 0.2], [0.3]], "ragged"),
        ([0.5, 0.5], "of 1 axes"),
        ([[0.5, 0.2], [0.3, 0.1]], "sums to 1.1"),
        ([[0.5, 0.6], [-0.1, 0.0]], r"prior\[1\]\[0\] is negative: -0.1"),
    ],
)
def test_bad_input(prior, message):
    with pytest.raises(InvalidInputError, match=message):
        SecretStaircase(prior, 1.0)
