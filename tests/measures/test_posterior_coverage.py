"""Whether the truth lies within two stated errors in at least 93 of 100 cases, for every estimator.

Those of I(Y; P) are in ``test_information.py``. The truth is exact here: closed forms, quadrature, sums.
"""

import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import information_metrics, losses
from ldpopt.measures.information_about_p import information_about_p
from ldpopt.measures.information_metrics import (
    asymptotic_utility,
    average_privacy,
    participation_factor,
    tally_utility,
)
from ldpopt.measures.losses import expected_loss
from ldpopt.measures.posterior import SampledPosterior
from ldpopt.measures.randomized_response_series import log_probability
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.mechanisms.encodings import SubsetSelection, UnaryEncoding
from ldpopt.models.priors import Dirichlet


def within(found, truth, error=None):
    return abs(found - truth) <= 2 * (found.error if error is None else error)


@pytest.mark.parametrize("k", [3, 30])
def test_where_control_variates_explain_all_the_error_is_that_of_rounding(k):
    """No draw tells anything new, so the standard error is 0, but floats are not exact."""
    prior = Dirichlet.jeffreys(k)
    for epsilon in (1.0, 3.0):
        m = randomized_response(k, epsilon)
        truth = asymptotic_utility(m, prior, method="exact")
        found = asymptotic_utility(m, prior, method="monte-carlo")
        assert abs(found - truth) <= found.error < 1e-11
        one = information_about_p(m.matrix, prior, 1, "exact", 100, 0)
        drawn = information_about_p(m.matrix, prior, 1, "monte-carlo", 100, 0)
        assert abs(drawn - one) <= drawn.error < 1e-11


@pytest.mark.parametrize("m", [UnaryEncoding.oue(4, 1.0), SubsetSelection(5, 2, 0.5)], ids=repr)
def test_asymptotic_utility(m):
    prior = Dirichlet(np.linspace(1.0, 2.0, m.k))
    truth = asymptotic_utility(m, prior, method="exact")
    found = [asymptotic_utility(m, prior, method="monte-carlo", seed=i) for i in range(100)]
    assert np.mean([within(x, truth) for x in found]) >= 0.93


@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize("alpha", [0.1, 0.5, 2.0])
def test_the_error_of_asymptotic_utility_holds_for_randomised_response_with_silence(k, alpha):
    """Reporting with probability λ only adds ½ log λ, and F_μ is e^(2U − 2C)."""
    prior = Dirichlet([alpha] * k)
    for epsilon in (1.0, 2.0, 3.0, 5.0, 7.0, 10.0):
        response = randomized_response(k, epsilon)
        for share in (0.3, 0.5, 0.7) if k < 4 else (0.7,):
            m = Mechanism(np.c_[share * response.matrix, np.full(k, 1 - share)])
            found, truth = asymptotic_utility(m, prior), asymptotic_utility(response, prior)
            assert abs(found - (truth + 0.5 * math.log(share))) <= found.error < 1e-4
            factor = participation_factor(m, prior)
            assert abs(factor - share * participation_factor(response, prior)) <= factor.error


@pytest.mark.parametrize(("k", "epsilon", "alpha"), [(5, 6.0, 0.5), (6, 8.0, 0.2), (5, 10.0, 1.0)])
def test_asymptotic_utility_where_quadrature_does_not_converge(k, epsilon, alpha):
    m, prior = SubsetSelection(k, 2, epsilon), Dirichlet([alpha] * k)
    with pytest.raises(InvalidInputError, match=f"at most 4 values or where.*not for {k} values"):
        asymptotic_utility(m, prior, method="exact")
    found = [asymptotic_utility(m, prior, method="monte-carlo", seed=i) for i in range(100)]
    truth = np.mean([float(x) for x in found])
    assert repr(asymptotic_utility(m, prior)) == repr(found[0])
    assert np.mean([within(x, truth) for x in found]) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("k", [12, 40])
def test_asymptotic_utility_of_many_values(k):
    """The truth is not known exactly: the mean of 200 estimates is fourteen times as close to it."""
    m, prior = UnaryEncoding.oue(k, 1.0), Dirichlet.jeffreys(k)
    found = [asymptotic_utility(m, prior, seed=i) for i in range(200)]
    truth = np.mean([float(x) for x in found])
    assert np.mean([within(x, truth) for x in found]) >= 0.93


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 50), (0.5, 20)])
def test_tally_utility(epsilon, n):
    m, prior = randomized_response(2, epsilon), Dirichlet.jeffreys(2)
    truth = tally_utility(m, prior, n, method="exact")
    found = [tally_utility(m, prior, n, method="monte-carlo", draws=100, seed=i) for i in range(200)]
    assert np.mean([within(x, truth) for x in found]) >= 0.93


def average_privacy_of_two_groups(m, prior, group):
    """Sum over how many of a set's values lie in the group: hypergeometric, given the set's size."""
    a, b = prior.alpha[0], prior.alpha[-1]
    own = m.own * math.log(m.high) + (1 - m.own) * math.log(m.low)
    for size, weight in enumerate(m.sizes):
        if weight > 1e-12:
            for inside in range(max(0, size - m.k + group), min(size, group) + 1):
                mass = inside * a + (size - inside) * b
                chance = hypergeom.pmf(inside, m.k, group, size)
                own -= weight * chance * information_metrics._ratio_entropy(m, mass, prior.total - mass)
    return 1 - own / prior.expected_entropy()


@pytest.mark.slow
@pytest.mark.parametrize("k", [20, 100])
def test_average_privacy_of_sets_under_an_uneven_prior(k):
    m = SubsetSelection(k, k // 4, 1.0)
    prior = Dirichlet([0.5] * (k // 2) + [2.0] * (k - k // 2))
    truth = average_privacy_of_two_groups(m, prior, k // 2)
    found = [average_privacy(m, prior, seed=i) for i in range(60)]
    assert found[0].method == "monte-carlo"
    assert np.mean([within(x, truth) for x in found]) >= 0.93


def test_expected_loss(monkeypatch):
    W, p = randomized_response(3, 1.0).matrix, [0.5, 0.3, 0.2]
    truth = expected_loss(W, p, 100, "mse", "ml")
    monkeypatch.setattr(losses, "MOST_COUNT_VECTORS", 0)
    found = [expected_loss(W, p, 100, "mse", "ml", samples=400, seed=i) for i in range(200)]
    assert np.mean([within(x, truth, x.error) for x in found]) >= 0.93


GRID = [(3, 1.0, 1000), (10, 1.0, 100_000), (30, 1.0, 1_000_000), (100, 3.0, 10_000)]


@pytest.mark.slow
def test_sampled_posteriors_and_their_evidence():
    """E P_x given y is (α_x/A) P(y; α + e_x)/P(y; α), and P(y) of randomised response is exact."""
    means, evidences = [], []
    for k, epsilon, n in GRID:
        m, prior, beta = randomized_response(k, epsilon), Dirichlet.jeffreys(k), math.expm1(epsilon)
        for seed in range(12):
            rng = np.random.default_rng(seed)
            q = prior.sample(1, rng)[0] @ m.matrix
            counts = rng.multinomial(n, q / q.sum())
            found = SampledPosterior(m.matrix, prior, counts, seed)
            truth = log_probability(prior, beta, counts.astype(float))
            for x in rng.choice(k, 3, replace=False):
                after = Dirichlet(prior.alpha + np.eye(k)[x])
                ratio = log_probability(after, beta, counts.astype(float)) - truth
                mean = prior.alpha[x] / prior.total * math.exp(ratio)
                means.append(within(found.mean()[x], mean, found.error[x]))
            evidences.append(within(found.log_integral, truth))
    assert np.mean(means) >= 0.93
    assert np.mean(evidences) >= 0.93
