"""Hiding a secret only: between plain LDP and the data, and bad input."""

from itertools import product

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
    question = SecretStaircase(4.0, PRIOR)
    response = question.value(secret_randomized_response(3, 3, 4.0))
    assert solve(question).value == pytest.approx(response, abs=1e-12)
    assert SecretStaircase(1.0, PRIOR).value(secret_randomized_response(3, 3, 1.0)) < 0.15


def dual_solution(prior, epsilon, *, printed=()):
    """α* of (113) with the coefficients (114)–(116), corrected except those ``printed``; v̂ and μ(v̂)."""
    (a1, a2), E = prior.shape, np.exp(epsilon)
    a = a1 * a2
    second = (a - a2 + 1) * (a2 - 2) if 114 in printed else -(a - a2 - 1) * (a2 - 2)
    below = (E - 1) * (E - a2 + 1) * (E + (a2 - 1) / E + a - a2)
    c1 = (-(a2 - 2) * (a2 - 1) + second * E + (a - 2 * a2 + 1) * E**2 + E**3) / (below * (E + 1))
    c2 = (a2 - 1 + (a - a2 + (1 if 115 in printed else -1)) * E) / (below * (E + 1))
    c3 = -(E**2 if 116 in printed else E) / below
    secret = np.arange(a) // a2
    same = secret[:, None] == secret
    tops = np.where(np.eye(a), E, np.where(same, 1 / E, 1.0))
    mu = information(prior, tops)
    return np.where(np.eye(a), c1, np.where(same, c2, c3)) @ mu, tops, mu


def information(prior, columns):
    """μ of (103), of every row of ``columns``."""
    p = prior.ravel()
    return (columns * np.log(columns)) @ p - (columns @ p) * np.log(columns @ p)


def test_errata_114_to_116_the_dual_solution_of_theorem_7():
    """v̂ · α* = μ(v̂), (118), holds with all three corrections and with none of the three as printed."""
    for prior, epsilon in ((PRIOR, 4.0), (np.array([[0.1, 0.2], [0.3, 0.1], [0.2, 0.1]]), 2.0)):
        alpha, tops, mu = dual_solution(prior, epsilon)
        assert tops @ alpha == pytest.approx(mu, abs=1e-12)
        for equation in (114, 115, 116):
            if equation == 114 and prior.shape[1] == 2:
                continue  # the coefficient is zero either way
            alpha, tops, mu = dual_solution(prior, epsilon, printed=(equation,))
            assert np.abs(tops @ alpha - mu).max() > 1e-3


def test_the_corrected_dual_gives_the_threshold_of_theorem_7():
    """A·α* ≥ μ over all generators (105) from ε₀ = 3.5033 on, for the 3 × 3 table."""

    def slack(epsilon):
        E = np.exp(epsilon)
        wide = [
            v for v in product((1.0, E), repeat=9) if np.any(np.reshape(v, (3, 3)) > 1, axis=1).sum() > 1
        ]
        single = []
        for s, block in product(range(3), product((1 / E, E), repeat=3)):
            v = np.ones((3, 3))
            v[s] = block
            single.append(v.ravel())
        generators = np.array([*wide, *single])
        alpha, _, _ = dual_solution(PRIOR, epsilon)
        return (generators @ alpha - information(PRIOR, generators)).min()

    assert slack(3.5023) < -1e-7
    assert slack(3.5043) > -1e-12


def test_plain_ldp_releases_less():
    plain = solve(Staircase(1.0, prior=PRIOR.ravel())).value
    assert plain == pytest.approx(0.123227415893, abs=1e-12)


@settings(max_examples=15)
@given(st.integers(2, 3), st.integers(1, 3), st.floats(0.1, 4), st.integers(0, 10**6))
def test_order_of_the_optima_and_agreement(a1, a2, epsilon, seed):
    prior = np.random.default_rng(seed).dirichlet(np.ones(a1 * a2)).reshape(a1, a2)
    question = SecretStaircase(epsilon, prior)
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
    assert solve(SecretStaircase(1.0, prior)).value == pytest.approx(0.121973473181, abs=1e-12)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([[0.5, 0.5]], "one secret"),
        ([[0.5, 0.2], [0.3]], "ragged"),
        ([0.5, 0.5], "of 1 axes"),
        ([[0.5, 0.2], [0.3, 0.1]], "sums to 1.1"),
        ([[0.5, 0.6], [-0.1, 0.0]], r"prior\[1\]\[0\] must be at least 0, not -0.1"),
    ],
)
def test_bad_input(prior, message):
    with pytest.raises(InvalidInputError, match=message):
        SecretStaircase(1.0, prior)
