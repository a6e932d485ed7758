"""Posteriors in closed form and by enumeration: known values, agreement, integrals and pictures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bayesian import ALPHA, Q_A, response
from matplotlib.figure import Figure

from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import posterior as module
from ldpopt.measures.posterior import posterior
from ldpopt.models.priors import Dirichlet, PointMixture


def test_known_posterior():
    counts = np.bincount([0, 2, 1, 2], minlength=3)
    found = posterior(Q_A, ALPHA, counts)
    assert math.exp(found.log_evidence) == pytest.approx(0.012444119857, abs=1e-12)
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
    assert found.log_evidence == pytest.approx(0)


def test_plot():
    found, axes = posterior(Q_A, ALPHA, [10, 20, 30]), Figure().subplots(1, 2)
    assert found.plot(axes[0]) is axes[0]
    assert axes[0].lines[0].get_xdata() == pytest.approx(found.mean())
    assert found.marginal(1).plot(axes[1]) is axes[1]
    assert axes[1].lines[1].get_xdata()[0] == pytest.approx(found.mean()[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: posterior(Q_A, ALPHA, [1, 2]), "there must be 3 counts, one per output, not 2"),
        (lambda: posterior(Q_A, ALPHA, [1, 2, -1]), "whole numbers >= 0"),
        (lambda: posterior(Q_A, Dirichlet.jeffreys(4), [1, 2, 3]), "3 values, one per input, not 4"),
        (lambda: posterior(Q_A, PointMixture([[1, 0, 0]], [1.0]), [1, 2, 3]), "Dirichlet prior"),
        (lambda: posterior(Q_A, ALPHA, [1, 2, 3]).marginal(3), "a value must be from 0 to 2, not 3"),
        (lambda: posterior(Q_A, ALPHA, [1, 2, 3]).credible_interval(0, 1.5), "level"),
        (lambda: posterior(Mechanism([[1, 0]] * 2), Dirichlet.uniform(2), [0, 1]), "probability zero"),
        (
            lambda: posterior(Q_A, ALPHA, [1, 2, 3]).functional([1, 0]),
            "there must be 3 weights, one per value, not 2",
        ),
        (lambda: posterior(Q_A, ALPHA, [1, 2, 3]).functional([1, 0, math.nan]), "weights"),
        (
            lambda: posterior(Q_A, ALPHA, [1, 2, 3]).plot(labels=["a"]),
            "there must be 3 labels, one per value, not 1",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------- functionals and pictures


@pytest.mark.parametrize("m", [Q_A, response(3, 1.0)], ids=["enumerated", "closed"])
def test_draws_of_exact_posteriors_have_the_exact_marginals(m):
    found = posterior(m, ALPHA, [5, 9, 2])
    drawn = found.draws(20_000, np.random.default_rng(3))
    assert drawn.sum(axis=1) == pytest.approx(1)
    for x in range(3):
        for chance in (0.05, 0.5, 0.95):
            share = (drawn[:, x] <= found.marginal(x).quantile(chance)).mean()
            assert share == pytest.approx(chance, abs=5 * math.sqrt(chance * (1 - chance) / 20_000))
    pair = found.functional([1.0, 1.0, 0.0])
    rest = found.marginal(2)
    assert pair.mean() == pytest.approx(1 - rest.mean(), abs=0.02)
    assert pair.interval(0.9) == pytest.approx(
        (1 - rest.quantile(0.95), 1 - rest.quantile(0.05)), abs=0.03
    )


def test_empirical_marginal():
    draws = np.random.default_rng(4).beta(1.0, 5.0, 5000)  # the density is 5, not 0, at the left end
    found = module.Empirical(draws, 0.0, 1.0)
    z = np.linspace(0, 1, 501)
    assert np.trapezoid(found.pdf(z), z) == pytest.approx(1, abs=1e-3)
    assert found.pdf([-0.01, 1.01]) == pytest.approx([0, 0])
    assert found.pdf(0.01) == pytest.approx(5 * 0.99**4, rel=0.1)
    assert found.cdf([-1, 0.2, 2]) == pytest.approx([0, 1 - 0.8**5, 1], abs=0.02)
    assert found.quantile(float(found.cdf(0.2))) == pytest.approx(0.2, abs=1e-3)


def test_plot_at_any_number_of_reports():
    """Named values; of many only the largest; and the axes show where the mass is."""
    k = 20
    truth = np.linspace(1, 2, k) / np.linspace(1, 2, k).sum()
    m = response(k, 4.0)
    found = posterior(m, Dirichlet.jeffreys(k), np.round(1e7 * m.push(truth)))
    axes = found.plot(Figure().subplots(), labels=[f"street {x}" for x in range(k)])
    shown = [words.get_text() for words in axes.get_yticklabels()]
    assert shown == [f"street {x}" for x in range(8, 20)]
    assert "the 12 largest of 20" in axes.get_title()
    low, high = found.credible_interval(19)
    assert high - low < 1e-3
