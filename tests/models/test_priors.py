"""Priors: closed forms against sampling and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma
from scipy.stats import dirichlet

from ldpopt.core.mechanism import Mechanism
from ldpopt.models.priors import Dirichlet, PointMixture

ALPHA = [0.5, 1.2, 2.0]
COLUMNS = np.array([[0.6, 0.0, 2.0], [0.3, 1.0, 2.0], [0.1, 0.0, 5.0]])


def test_known_constructors():
    assert Dirichlet.jeffreys(3) == Dirichlet([0.5, 0.5, 0.5])
    assert Dirichlet.uniform(4) == Dirichlet(np.ones(4))


def test_entropies_agree_with_scipy_and_with_the_definition():
    prior = Dirichlet(ALPHA)
    assert prior.differential_entropy() == pytest.approx(dirichlet(ALPHA).entropy(), abs=1e-12)
    assert prior.expected_entropy() == pytest.approx(-prior.expected_xlogx(np.eye(3)).sum(), abs=1e-13)
    a = 7  # (10.2) of Lopuhaä-Zwakenberg et al. 2019
    assert Dirichlet.jeffreys(a).expected_entropy() == pytest.approx(digamma(a / 2 + 1) - digamma(1.5))


def test_expected_logarithms_agree_with_quadrature():
    prior = Dirichlet(ALPHA)
    points, weights = prior.fine_nodes(4)
    q = points @ COLUMNS
    assert prior.expected_log(COLUMNS) == pytest.approx(weights @ np.log(q), abs=1e-11)
    assert prior.expected_xlogx(COLUMNS) == pytest.approx(weights @ (q * np.log(q)), abs=1e-11)


def test_logarithm_of_one_frequency_is_a_digamma():
    prior = Dirichlet([0.01, 3.0, 40.0])
    expected = digamma(prior.alpha) - digamma(prior.total)
    assert prior.expected_log(np.eye(3)) == pytest.approx(expected, abs=1e-10)


@given(
    alpha=st.lists(st.floats(0.05, 20), min_size=2, max_size=4),
    powers=st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
@settings(max_examples=30)
def test_nodes_integrate_polynomials_exactly(alpha, powers):
    prior = Dirichlet(alpha)
    powers = powers[: prior.size]
    points, weights = prior.nodes(sum(powers))
    assert (weights > 0).all()
    assert len(points) == prior.node_count(sum(powers))
    assert weights @ np.prod(points**powers, axis=1) == pytest.approx(prior.moment(powers), rel=1e-9)


def test_moments_of_samples():
    rng = np.random.default_rng(3)
    flip = Mechanism([[0.7, 0.3], [0.1, 0.9], [0.5, 0.5]])
    for prior in (
        Dirichlet(ALPHA),
        PointMixture([[0.2, 0.3, 0.5], [1, 0, 0]], [0.25, 0.75]),
        Dirichlet(ALPHA).push(flip),
    ):
        draws = prior.sample(200_000, rng)
        assert draws.mean(axis=0) == pytest.approx(prior.mean(), abs=5e-3)
        assert np.cov(draws.T, ddof=0) == pytest.approx(prior.covariance(), abs=5e-3)


def test_point_mixture_is_a_finite_sum():
    prior = PointMixture([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], [0.25, 0.75])
    assert prior.expected_log(COLUMNS[:, :1])[0] == pytest.approx(
        0.25 * np.log(0.26) + 0.75 * np.log(0.44)
    )


def test_push_forward_composes():
    prior, flip = Dirichlet(ALPHA), Mechanism([[0.7, 0.3], [0.1, 0.9], [0.5, 0.5]])
    pushed = prior.push(flip)
    points, weights = pushed.nodes(2)
    assert weights @ points == pytest.approx(pushed.mean())
    assert pushed.expected_log(np.eye(2)) == pytest.approx(prior.expected_log(flip.matrix))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dirichlet([0.5, 0.0]), r"alpha\[1\] must be > 0, not 0.0"),
        (lambda: Dirichlet([1.0]), "at least two"),
        (lambda: Dirichlet.jeffreys(1), "whole number >= 2, not 1"),
        (
            lambda: PointMixture([[0.5, 0.5]], [0.5, 0.5]),
            "there must be 1 weights, one per point, not 2",
        ),
        (lambda: PointMixture([[0.5, 0.6]], [1.0]), "sums to 1.1"),
        (lambda: PointMixture([[0.5, 0.5]], [1.0]).differential_entropy(), "no density"),
        (
            lambda: Dirichlet([1, 1, 1]).push(Mechanism(np.eye(2))),
            "must have 3 inputs",
        ),
        (lambda: Dirichlet([1, 1]).moment([1, 2, 3]), "powers must be 2 numbers"),
        (lambda: Dirichlet([1, 1]).expected_log(np.zeros((2, 1))), "zero"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
