"""Theorem 7's threshold, Lemma 13, secrets correlated with the data, and the least information."""

import math

import numpy as np
import pytest

from ldpopt import problem, solve
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.rldp_level import correlated_level, joint_distribution, on_pairs, rldp_level
from ldpopt.measures.worst_information import worst_information
from ldpopt.mechanisms import secret_randomized_response
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.polyhedron import Polyhedron
from ldpopt.models.utilities import MutualInformation
from ldpopt.solvers.response_threshold import (
    is_response_optimal,
    response_dual,
    response_threshold,
)

TABLE = np.array([[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]])


def gain(prior, epsilon):
    """How much more than secret randomised response the optimum tells."""
    response = secret_randomized_response(*prior.shape, epsilon)
    own = MutualInformation(prior.ravel())(response.matrix).sum()
    return solve(problem("secret-staircase", prior=prior, epsilon=epsilon)).value - own


def test_theorem_7_the_threshold_of_the_three_by_three_table():
    threshold = response_threshold(TABLE)
    assert threshold == pytest.approx(3.5033, abs=1e-4)
    assert gain(TABLE, threshold + 1e-3) == pytest.approx(0, abs=1e-9)
    assert gain(TABLE, threshold - 0.2) > 1e-5


def test_theorem_7_thresholds_of_other_tables():
    for seed in range(3):
        prior = np.random.default_rng(seed).dirichlet(np.full(6, 2.0)).reshape(2, 3)
        threshold = response_threshold(prior)
        assert gain(prior, threshold + 0.05) == pytest.approx(0, abs=1e-9)
        assert gain(prior, threshold - 0.2) > 1e-8
        assert is_response_optimal(prior, threshold + 3)


def test_theorem_7_the_dual_has_the_utility_of_the_mechanism():
    for epsilon in (2.0, 4.0):
        own = MutualInformation(TABLE.ravel())(secret_randomized_response(3, 3, epsilon).matrix).sum()
        assert response_dual(TABLE, epsilon).sum() == pytest.approx(own, abs=1e-12)
    with pytest.raises(InvalidInputError, match="16 cells"):
        response_threshold(np.full((5, 5), 0.04))


def test_lemma_13_simplices_have_the_level_of_polyopts_cone():
    p_min = np.array([[0.3, 0.1, 0.2], [0.2, 0.2, 0.1]])
    D = Polyhedron((2, 3), np.eye(6), -p_min.ravel())
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=6) * 0.7 + 0.1
    free = 1 - p_min.sum(axis=1)
    truth = -math.inf
    for column in rows.T.reshape(3, 2, 3):
        fixed = (p_min * column).sum(axis=1)
        high, low = fixed + free * column.max(axis=1), fixed + free * column.min(axis=1)
        truth = max(truth, math.log(high[0] / low[1]), math.log(high[1] / low[0]))
    level = D.level(rows)
    assert level == pytest.approx(truth, abs=1e-12)
    assert D.is_private(rows, level + 1e-9)
    assert not D.is_private(rows, level - 1e-9)


def test_errata_48_to_55_and_58_print_epsilon_for_its_exponential():
    """With ε = 0.5 for e^0.5, which is the level log 0.5, a constant release would not be private."""
    D, constant = Polyhedron((2, 2), np.eye(4), -0.25 * np.ones(4)), np.full((4, 2), 0.5)
    assert D.is_private(constant, 0.5)
    assert not D.is_private(constant, math.log(0.5))


def test_lemma_13_a_polyhedron_that_ties_the_secrets_is_smaller():
    """R[0][0] = R[1][0]: two inequalities that no product of sets has."""
    tie = np.array([[1.0, 0, -1.0, 0], [-1.0, 0, 1.0, 0]])
    D = Polyhedron((2, 2), tie, np.zeros(2))
    rows = np.array([[0.8, 0.2], [0.4, 0.6], [0.6, 0.4], [0.3, 0.7]])
    truth = max(
        abs(math.log((a * r + b * (1 - r)) / (c * r + d * (1 - r))))
        for a, b, c, d in rows.T
        for r in np.linspace(0, 1, 10001)
    )
    assert D.level(rows) == pytest.approx(truth, abs=1e-9)
    assert D.is_private(rows, truth + 1e-8)
    assert D.level(rows) < Polyhedron((2, 2), np.eye(4), np.zeros(4)).level(rows)
    with pytest.raises(InvalidInputError, match="empty"):
        Polyhedron((2, 2), np.eye(4), -np.ones(4))


def test_a_secret_that_the_data_tell_something_about():
    prior, channel = [0.5, 0.3, 0.2], [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]
    joint = joint_distribution(prior, channel)
    assert joint.sum(axis=0) == pytest.approx(prior)
    rows = np.array([[0.8, 0.2], [0.5, 0.5], [0.3, 0.7]])
    given = joint / joint.sum(axis=1, keepdims=True) @ rows
    known = ConvexSet("known", p=joint)
    truth = abs(np.log(given[0] / given[1])).max()
    assert correlated_level(rows, known).level == pytest.approx(truth, abs=1e-12)
    ball = ConvexSet("total-variation", p_hat=joint, radius=0.02)
    level = correlated_level(rows, ball).level
    assert truth < level == rldp_level(on_pairs(rows, 2), ball).level
    rng = np.random.default_rng(0)
    for _ in range(50):
        P = ball.sample(rng)
        seen = P / P.sum(axis=1, keepdims=True) @ rows
        assert abs(np.log(seen[0] / seen[1])).max() <= level + 1e-12
    # what is independent of the data is not told
    assert correlated_level(rows, ConvexSet("known", p=np.outer([0.5, 0.5], prior))).level == (
        pytest.approx(0, abs=1e-12)
    )
    with pytest.raises(InvalidInputError, match="3 rows"):
        joint_distribution(prior, channel[:2])


@pytest.mark.parametrize("kind", ["total-variation", "likelihood", "scenarios"])
def test_the_least_information_is_bracketed(kind):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(4, 3.0)).reshape(2, 2)
    described = {"p_hat": p, "radius": 0.05}
    if kind == "scenarios":
        described = {"members": [p, np.full((2, 2), 0.25), [[0.1, 0.4], [0.3, 0.2]]]}
    F = ConvexSet(kind, **described)
    rows = rng.dirichlet(np.ones(3), size=4)
    found = worst_information(rows, F, gap=1e-5)
    assert found.low <= found.high <= found.low + 1e-5
    assert F.contains(found.witness)
    assert MutualInformation(found.witness.ravel())(rows).sum() == pytest.approx(found.high, abs=1e-9)
    for _ in range(100):
        assert MutualInformation(F.sample(rng).ravel())(rows).sum() >= found.low - 1e-12
