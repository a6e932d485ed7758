"""Compositions whose inputs fall into parts: each part is a question of its own."""

import math

import numpy as np
import pytest

from ldpopt import Program, objective, privacy, solve, verify

PRIOR = np.array([[0.3, 0.05], [0.1, 0.1], [0.1, 0.15], [0.05, 0.15]])
CELLS, EPSILON = np.eye(8), 0.5


def response(epsilon):
    """Randomised response on s, u told: entries [(s, u)][(u, report)]."""
    entries = np.ones((4, 4)) + np.eye(4) * (math.exp(epsilon) - 1)
    return np.kron(entries / entries.sum(axis=1, keepdims=True), np.eye(2))


def covariance(W, p):
    J = (W / (p @ W)) @ W.T
    return np.linalg.inv(J) - np.outer(p, p)


@pytest.fixture(scope="module")
def found():
    asked = Program(privacy.Given(EPSILON, (4, 2)), objective.Queries(CELLS, PRIOR.ravel()))
    return solve(asked, gap=1e-7)


def test_given_tells_the_public_value_and_is_proven_best(found):
    W = found.mechanism.matrix.reshape(4, 2, -1)
    assert not (W[:, 0].any(axis=0) & W[:, 1].any(axis=0)).any()  # each report has one u
    assert found.status.value == "optimal"
    assert verify(found).verdict is True


def test_given_is_better_than_randomised_response(found):
    p = PRIOR.ravel()
    by_hand = np.trace(covariance(response(EPSILON), p))
    assert found.value < 0.99 * by_hand
    assert found.value == pytest.approx(np.trace(covariance(found.mechanism.matrix, p)), rel=1e-9)


def test_the_exact_value_of_parts_is_that_of_the_whole(found):
    from ldpopt import Mechanism

    told = response(EPSILON)
    mixed = Mechanism((1 - 1e-9) * told + 1e-9 / 8)  # without a zero there is one part alone
    assert found.problem.value(Mechanism(told)) == pytest.approx(found.problem.value(mixed), rel=1e-6)


def test_parts_of_log_det_add_up():
    whole = solve(Program(privacy.Given(1.0, (2, 2)), objective.LogDet([0.1, 0.2, 0.3, 0.4])))
    assert verify(whole).verdict is True
    parts = [
        solve(Program(privacy.LDP(1.0), objective.LogDet([a / (a + b), b / (a + b)])))
        for a, b in ((0.1, 0.3), (0.2, 0.4))
    ]
    masses = 2 * math.log(0.4) + 2 * math.log(0.6)  # J of a part is 1/m times its own
    assert whole.value == pytest.approx(sum(part.value for part in parts) - masses, rel=1e-8)
