"""Formulas of Lopuhaä-Zwakenberg et al. 2019 as they are printed, against what is computed."""

import math

import numpy as np
import pytest
from bayesian import ALPHA, Q_A, response
from scipy.integrate import quad
from scipy.special import digamma, xlogy
from scipy.stats import beta as beta_law

from ldpopt.core.mechanism import Mechanism
from ldpopt.measures.asymptotics import HALF_LOG_2PIE, unobfuscated_utility
from ldpopt.measures.information_decomposition import information_split
from ldpopt.measures.information_metrics import (
    asymptotic_utility,
    average_privacy,
    digit_utility,
    is_faithful,
    participation_factor,
)
from ldpopt.measures.randomized_response_series import ONE, ResponseSeries
from ldpopt.measures.tallies import log_probabilities
from ldpopt.mechanisms import UnaryEncoding
from ldpopt.models.priors import Dirichlet


def expected(f, a, b):
    """E f of a beta variable, by an integral over its quantiles."""
    return quad(lambda u: f(beta_law.ppf(u, a, b)), 0, 1, limit=400)[0]


def test_lemma_4_2_average_privacy_does_not_depend_on_the_users():
    for n in (1, 2, 3):
        split = information_split(Q_A, ALPHA, n)
        leaked = split.aggregator.private / split.users.private
        assert 1 - leaked == pytest.approx(average_privacy(Q_A, ALPHA), abs=1e-11)


def test_proposition_6_2_unfaithful_means_that_two_laws_look_alike():
    W = np.array([[0.5, 0.5], [0.25, 0.75], [0.375, 0.625]])
    assert not is_faithful(Mechanism(W))
    direction = np.array([1.0, 1.0, -2.0])
    p = np.full(3, 1 / 3)
    assert p @ W == pytest.approx((p + 0.1 * direction) @ W)
    assert is_faithful(Q_A)
    assert np.linalg.svd(Q_A.matrix, compute_uv=False).min() > 0.05


def test_proposition_6_11_reports_are_worth_fewer_plain_ones():
    """For many users, digits of n reports are those of F n plain values; unfaithful ones fall behind."""
    prior, m = Dirichlet([3.0, 3.0]), response(2, 2.0)
    plain = Mechanism(np.eye(2))
    apart = []
    for n in (100, 400):
        worth = math.ceil(participation_factor(m, prior) * n)
        apart.append(abs(digit_utility(m, prior, n) - digit_utility(plain, prior, worth)))
    assert apart[1] < 0.5 * apart[0] < 0.01
    flat = Mechanism([[0.5, 0.5], [0.5, 0.5]])
    assert digit_utility(flat, prior, 400) < digit_utility(plain, prior, 4)


def test_10_1_and_10_2_under_jeffreys_prior():
    a = 4
    c = -HALF_LOG_2PIE + a / (2 * a - 2) * (digamma(a / 2) - digamma(0.5))
    assert unobfuscated_utility(Dirichlet.jeffreys(a)) == pytest.approx(c)
    entropy = digamma((a + 2) / 2) - digamma(1.5)
    assert Dirichlet.jeffreys(a).expected_entropy() == pytest.approx(entropy)


@pytest.mark.parametrize(("a", "epsilon"), [(3, 1.0), (5, 2.0)])
def test_proposition_10_1(a, epsilon):
    beta, prior = math.expm1(epsilon), Dirichlet.jeffreys(a)
    law = (0.5, (a - 1) / 2)
    mixed = expected(lambda p: (1 + beta * p) * math.log1p(beta * p), *law)
    printed = 1 - (epsilon * math.exp(epsilon) - a * mixed) / ((a + beta) * prior.expected_entropy())
    assert average_privacy(response(a, epsilon), prior) == pytest.approx(printed, abs=1e-6)
    logs = expected(lambda p: math.log1p(beta * p), *law)
    utility = -HALF_LOG_2PIE + math.log(beta) - (a - 2) / (2 * a - 2) * math.log(a + beta)
    utility -= a / (2 * a - 2) * logs
    assert asymptotic_utility(response(a, epsilon), prior) == pytest.approx(utility, abs=1e-6)


def test_proposition_10_3():
    a, kappa, lam = 3, 0.75, 0.3

    def r(b, g):
        return lam ** (g - 1) * (1 - lam) ** (a - g - 1) * (lam * (1 - kappa) + (kappa - lam) * b)

    def entropy(p):
        return -xlogy(p, p) - xlogy(1 - p, 1 - p)

    total = xlogy(r(0, 0), r(0, 0)) + xlogy(r(1, a), r(1, a))
    for g in range(1, a):
        total += math.comb(a, g) * expected(lambda b, g=g: xlogy(r(b, g), r(b, g)), g / 2, (a - g) / 2)
    prior = Dirichlet.jeffreys(a)
    printed = 1 - (-(a - 1) * entropy(lam) - entropy(kappa) - total) / prior.expected_entropy()
    assert average_privacy(UnaryEncoding(a, kappa, lam), prior) == pytest.approx(printed, abs=1e-6)


def test_lemma_d_8_the_polynomial():
    """The product of one-variable polynomials is E Π ((1 + β P_x)/(a + β))^s."""
    counts, epsilon = np.array([3, 1, 2]), 1.3
    series = ResponseSeries(ALPHA, math.expm1(epsilon), 6)
    product = ONE
    for y, s in enumerate(counts):
        product = product.times(series.factor(y, int(s)))
    W = response(3, epsilon).matrix
    by_quadrature = log_probabilities(counts[None, :], W, *ALPHA.nodes(6))[0]
    assert series.log_probability(product) == pytest.approx(by_quadrature, abs=1e-12)
