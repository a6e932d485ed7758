"""Posteriors: known values, agreement of the three methods, integrals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpopt import posterior as module
from ldpopt.mechanism import Mechanism
from ldpopt.mechanisms import UnaryEncoding
from ldpopt.metrics import posterior
from ldpopt.priors import Dirichlet, PointMixture

Q_A = Mechanism(np.array([[0.6, 0.2, 0.1], [0.3, 0.5, 0.3], [0.1, 0.3, 0.6]]).T)
ALPHA = Dirichlet([0.5, 1.2, 2.0])


def response(k: int, epsilon: float) -> Mechanism:
    E = math.exp(epsilon)
    return Mechanism((np.ones((k, k)) + (E - 1) * np.eye(k)) / (E + k - 1))


def test_known_posterior():
    counts = np.bincount([0, 2, 1, 2], minlength=3)
    found = posterior(Q_A, ALPHA, counts)
    assert found.evidence == pytest.approx(0.012444119857, abs=1e-12)
    expected = (0.130338238525, 0.314601335364, 0.555060426112)
    assert found.mean() == pytest.approx(expected, abs=1e-12)


def test_density_integrates_to_one_and_to_the_mean():
    found = posterior(Q_A, ALPHA, [3, 1, 2])
    points, weights = ALPHA.fine_nodes(4)
    ratio = weights * found.density(points) / np.exp(ALPHA.log_density(points))
    assert ratio.sum() == pytest.approx(1, abs=1e-10)
    assert ratio @ points == pytest.approx(found.mean(), abs=1e-10)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_randomised_response_closed_form_equals_enumeration(order):
    """Also with the outputs renamed: which output stands for which value is read off the matrix."""
    m = Mechanism(response(3, 1.0).matrix[:, order])
    counts = np.array([5, 9, 2])
    closed = posterior(m, ALPHA, counts)
    listed = module.EnumeratedPosterior(m.matrix, ALPHA, counts)
    assert closed.method == "closed-form"
    assert closed.log_evidence == pytest.approx(float(listed.log_evidence), abs=1e-11)
    assert closed.mean() == pytest.approx(listed.mean(), abs=1e-12)
    z = np.linspace(0.01, 0.99, 7)
    for x in range(3):
        assert closed.marginal(x).pdf(z) == pytest.approx(listed.marginal(x).pdf(z), rel=1e-9)


def test_randomised_response_with_many_values_and_users():
    k, n = 12, 1500
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(k))
    m = response(k, 3.0)
    counts = rng.multinomial(n, m.push(truth))
    found = posterior(m, Dirichlet.jeffreys(k), counts)
    assert found.mean().sum() == pytest.approx(1, abs=1e-9)
    intervals = [found.credible_interval(x) for x in range(k)]
    covered = [low <= p <= high for p, (low, high) in zip(truth, intervals, strict=True)]
    assert np.mean(covered) > 0.7


def test_sampling_agrees_with_enumeration():
    counts = np.array([12, 7, 21])
    exact = posterior(Q_A, ALPHA, counts)
    drawn = module.SampledPosterior(Q_A.matrix, ALPHA, counts, seed=1)
    assert drawn.mean() == pytest.approx(exact.mean(), abs=0.01)
    assert abs(drawn.log_evidence - exact.log_evidence) < 5 * drawn.log_evidence.error + 1e-3
    assert drawn.credible_interval(0) == pytest.approx(exact.credible_interval(0), abs=0.03)


def test_large_work_is_sampled():
    m = UnaryEncoding.oue(5, 1.0).dense()
    counts = np.random.default_rng(0).multinomial(400, m.push(np.full(5, 0.2)))
    found = posterior(m, Dirichlet.uniform(5), counts)
    assert found.method == "monte-carlo"
    assert found.mean().sum() == pytest.approx(1)


def test_credible_interval_and_quantiles():
    found = posterior(Q_A, ALPHA, [1, 1, 2])
    low, high = found.credible_interval(2, 0.9)
    marginal = found.marginal(2)
    assert marginal.cdf(high) - marginal.cdf(low) == pytest.approx(0.9, abs=1e-9)
    z = np.linspace(0, 1, 4001)
    assert np.trapezoid(marginal.pdf(z[1:-1]), z[1:-1]) == pytest.approx(1, abs=1e-3)


def test_no_reports_leave_the_prior():
    found = posterior(Q_A, ALPHA, [0, 0, 0])
    assert found.mean() == pytest.approx(ALPHA.mean())
    assert found.evidence == pytest.approx(1)


def test_plot(tmp_path):
    path = posterior(Q_A, ALPHA, [10, 20, 30]).plot(tmp_path / "posterior.png")
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: posterior(Q_A, ALPHA, [1, 2]), "2 counts for 3 outputs"),
        (lambda: posterior(Q_A, ALPHA, [1, 2, -1]), "whole numbers >= 0"),
        (lambda: posterior(Q_A, Dirichlet.jeffreys(4), [1, 2, 3]), "4 values"),
        (lambda: posterior(Q_A, PointMixture([[1, 0, 0]], [1.0]), [1, 2, 3]), "Dirichlet prior"),
        (lambda: posterior(Q_A, ALPHA, [1, 2, 3]).marginal(3), "value 3 is not in 0..2"),
        (lambda: posterior(Q_A, ALPHA, [1, 2, 3]).credible_interval(0, 1.5), "level"),
        (lambda: posterior(Mechanism([[1, 0]] * 2), Dirichlet.uniform(2), [0, 1]), "probability zero"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
