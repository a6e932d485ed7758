"""Staircase mechanisms: theorems about the optimum, and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms import binary_mechanism, randomized_response
from ldpopt.problems import Staircase

priors = st.lists(st.floats(0.01, 1), min_size=2, max_size=6).map(lambda w: np.array(w) / sum(w))


@settings(max_examples=25)
@given(priors, st.floats(0.05, 5))
def test_optimum_beats_the_catalogue_and_grows_with_epsilon(prior, epsilon):
    question = Staircase(epsilon, prior=prior)
    optimum = solve(question)
    assert optimum.value >= question.value(randomized_response(len(prior), epsilon)) - 1e-12
    half = np.arange(len(prior)) < len(prior) / 2
    assert optimum.value >= question.value(binary_mechanism(half, epsilon)) - 1e-12
    assert solve(Staircase(1.1 * epsilon, prior=prior)).bound >= optimum.value
    assert optimum.bound <= -float(prior @ np.log(prior)) + 1e-9
    assert optimum.mechanism.epsilon() <= epsilon + 1e-15
    assert optimum.mechanism.shape[1] <= len(prior)


@settings(max_examples=8)
@given(priors, st.floats(0.1, 4), st.integers(0, 10**6))
def test_the_three_solvers_agree(prior, epsilon, seed):
    other = np.random.default_rng(seed).dirichlet(np.ones(len(prior)))
    for question in (
        Staircase(epsilon, prior=prior),
        Staircase(epsilon, hypotheses=[prior, other], utility="kl"),
        Staircase(epsilon, hypotheses=[prior, other], utility="total-variation"),
        Staircase(epsilon, hypotheses=[prior, other], utility="chi-squared"),
    ):
        results = [solve(question, name) for name in ("enumerate", "column-generation", "cdd")]
        values = [result.value for result in results]
        assert max(values) - min(values) <= 1e-9 * max(1, *values)
        assert all(verify(result) for result in results)


def test_total_variation_is_attained_by_the_binary_mechanism():
    """Kairouz, Oh & Viswanath, Theorem 6: for total variation {p0 > p1} is always optimal."""
    p0, p1 = np.array([0.5, 0.2, 0.2, 0.1]), np.array([0.1, 0.3, 0.25, 0.35])
    question = Staircase(0.7, hypotheses=[p0, p1], utility="total-variation")
    binary = question.value(binary_mechanism(p0 > p1, 0.7))
    assert solve(question).value == pytest.approx(binary, abs=1e-12)


def test_large_epsilon_is_randomised_response():
    question = Staircase(2.0, prior=[0.4, 0.3, 0.2, 0.1])
    assert solve(question).value == pytest.approx(question.value(randomized_response(4, 2.0)), abs=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-2, 8.0, 20.0])
def test_extreme_levels(epsilon):
    question = Staircase(epsilon, prior=[0.4, 0.3, 0.2, 0.1])
    for solver in ("enumerate", "column-generation"):
        result = solve(question, solver, gap=1e-6)
        assert verify(result)
        assert result.gap <= 1e-6


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"epsilon": 0, "prior": [0.5, 0.5]}, "epsilon must be a finite number > 0, not 0"),
        ({"epsilon": -1.5, "prior": [0.5, 0.5]}, "not -1.5"),
        ({"epsilon": math.nan, "prior": [0.5, 0.5]}, "not nan"),
        ({"epsilon": math.inf, "prior": [0.5, 0.5]}, "not inf"),
        ({"epsilon": "1", "prior": [0.5, 0.5]}, "not '1'"),
        ({"epsilon": True, "prior": [0.5, 0.5]}, "not True"),
        ({"epsilon": 31, "prior": [0.5, 0.5]}, "between 1e-06 and 30, not 31"),
        ({"epsilon": 1, "prior": [0.5, 0.4]}, "prior must sum to 1, but sums to 0.9"),
        ({"epsilon": 1, "prior": [1.5, -0.5]}, r"prior\[1\] must be at least 0, not -0.5"),
        ({"epsilon": 1, "prior": [math.nan, 1]}, r"prior\[0\] must be a finite number, not nan"),
        ({"epsilon": 1, "prior": []}, "empty"),
        ({"epsilon": 1, "prior": [1.0]}, "two or more inputs"),
        ({"epsilon": 1, "prior": [[0.5, 0.5]]}, "of 2 axes"),
        ({"epsilon": 1}, "either 'prior' or 'hypotheses'"),
        ({"epsilon": 1, "prior": [0.5, 0.5], "utility": "kl"}, "needs the utility mutual-information"),
        ({"epsilon": 1, "hypotheses": [[0.5, 0.5], [1, 0]]}, "need the utility kl"),
        (
            {"epsilon": 1, "hypotheses": [[0.5, 0.5]], "utility": "kl"},
            "2 or more .*not a list of 1",
        ),
        ({"epsilon": 1, "hypotheses": [[0.5, 0.5], [0.5]], "utility": "kl"}, "ragged"),
        ({"epsilon": 1, "hypotheses": [[0.5, 0.5], [0.5, 0.6]], "utility": "kl"}, r"hypotheses\[1\]"),
        ({"epsilon": 1, "prior": [0.5, 0.5], "size": 3}, "size must be 2, the number of inputs, not 3"),
        ({"epsilon": 1, "utility": abs}, "size must be a whole number"),
    ],
)
def test_bad_input(params, message):
    with pytest.raises(InvalidInputError, match=message):
        Staircase(**params)
