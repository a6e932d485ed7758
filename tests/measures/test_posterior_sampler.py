"""Sampled posteriors: agreement with exact answers, large and small counts, diagnosis of chains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bayesian import ALPHA, Q_A, response
from matplotlib.figure import Figure
from scipy.stats import beta, chi2, norm

from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import posterior as module
from ldpopt.measures import posterior_sampler as posteriorsampler
from ldpopt.measures.estimators import covariance, maximum_likelihood
from ldpopt.measures.evidence import log_ratio
from ldpopt.measures.posterior import posterior
from ldpopt.mechanisms import UnaryEncoding
from ldpopt.models.priors import Dirichlet


def sampled(m: Mechanism, prior: Dirichlet, counts, seed: int = 0) -> module.SampledPosterior:
    found = module.SampledPosterior(m.matrix, prior, np.asarray(counts, dtype=np.int64), seed)
    assert found.converged
    assert found.rhat <= 1.01
    assert found.effective_size >= 1000
    assert found.method == "monte-carlo"
    return found


def assert_mean(chains, expected) -> None:
    """The mean over [chain, step] is as expected, within 5 standard errors."""
    values = chains[..., None] if chains.ndim == 2 else chains
    error = values.std(axis=(0, 1)) / np.sqrt(posteriorsampler.effective_sizes(values))
    assert (np.abs(values.mean(axis=(0, 1)) - expected) < 5 * error + 1e-12).all()


CHANCES = np.array([0.025, 0.25, 0.5, 0.75, 0.975])


def assert_quantiles(chains, quantiles) -> None:
    assert_mean((chains[..., None] <= np.asarray(quantiles)).astype(float), CHANCES)


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


def test_sampling_has_the_quantiles_of_enumeration():
    counts = [0, 30, 0]
    exact = posterior(Q_A, ALPHA, counts)
    assert exact.method == "exact-enumeration"
    found = sampled(Q_A, ALPHA, counts)
    assert (np.abs(found.mean() - exact.mean()) < 5 * found.error).all()
    for x in range(3):
        assert_quantiles(found.chains[..., x], [exact.marginal(x).quantile(c) for c in CHANCES])


def test_sampling_without_privacy_is_the_conjugate_posterior():
    """W = I: a Dirichlet posterior, with values never seen, seen once, and seen a million times."""
    prior = Dirichlet([0.5, 0.5, 1.0, 3.0, 0.5, 0.5])
    counts = np.array([0, 1, 3, 0, 1000, 10**6])
    found = sampled(Mechanism(np.eye(6)), prior, counts)
    a = prior.alpha + counts
    for x in range(6):
        assert_quantiles(found.chains[..., x], beta.ppf(CHANCES, a[x], a.sum() - a[x]))


@pytest.mark.parametrize(("share", "n"), [(0.0, 10**8), (0.0, 10**3)])
def test_sampling_at_the_boundary_against_quadrature(share, n):
    """Two values, ε = 0.5: the posterior of P_0 = u² is one-dimensional, and smooth in u for α = 1/2."""
    m = response(2, 0.5)
    counts = np.round(n * m.push([share, 1 - share])).astype(np.int64)
    u = np.linspace(0, min(1.0, math.sqrt(share + 12 / math.sqrt(n))), 200_001)
    q = m.matrix[1] + np.outer(u**2, m.matrix[0] - m.matrix[1])
    log_density = np.log(q / q[0]) @ counts - np.log1p(-(u**2).clip(max=1 - 1e-12)) / 2
    weight = np.exp(log_density - log_density.max())
    cdf = np.cumsum(weight) - weight / 2
    quantiles = np.interp(CHANCES, cdf / weight.sum(), u) ** 2
    found = sampled(m, Dirichlet.jeffreys(2), counts)
    assert_quantiles(found.chains[..., 0], quantiles)


def weak_and_sparse() -> tuple[Mechanism, np.ndarray]:
    """ε = 0.5, ten values of which seven never occur, a million reports."""
    m = response(10, 0.5)
    truth = np.array([0.5, 0.3, 0.2, 0, 0, 0, 0, 0, 0, 0])
    return m, np.random.default_rng(8).multinomial(10**6, m.push(truth))


def rank_deficient() -> tuple[Mechanism, np.ndarray]:
    """Eight values, four outputs, ten million reports: four directions that only the prior knows."""
    rng = np.random.default_rng(9)
    W = np.exp(rng.integers(0, 2, (8, 4)))
    m = Mechanism(W / W.sum(axis=1, keepdims=True))
    return m, rng.multinomial(10**7, m.push(rng.dirichlet(np.ones(8))))


@pytest.mark.parametrize("case", [weak_and_sparse, rank_deficient])
def test_sampling_satisfies_the_identities_that_characterise_the_posterior(case):
    """E u_x h + ∂h/∂z_x = 0 for the score u of z = log g and any h (Stein): here h = 1, P_x and log P_x.

    The first says that E P = (α + E t)/(A + n), t the expected tallies given P and the reports.
    """
    m, counts = case()
    prior = Dirichlet.jeffreys(len(m.inputs))
    p = sampled(m, prior, counts).chains
    ratio = (counts / (p @ m.matrix)) @ m.matrix.T
    score = prior.alpha - prior.total * p + p * (ratio - counts.sum())
    assert_mean(score, 0)
    assert_mean(score * p + p * (1 - p), 0)
    assert_mean(score * np.log(p) + 1 - p, 0)


def test_values_that_no_output_tells_apart_split_as_the_prior_says():
    """Two equal rows: the sum is learnt as one value, and the split stays Beta(α_0, α_1)."""
    alpha = np.array([0.5, 1.5, 0.5, 0.5])
    W = response(3, 1.0).matrix[[0, 0, 1, 2]]
    counts = np.random.default_rng(10).multinomial(10**6, Mechanism(W).push([0.1, 0.3, 0.6, 0.0]))
    p = sampled(Mechanism(W), Dirichlet(alpha), counts).chains
    assert_quantiles(p[..., 0] / (p[..., 0] + p[..., 1]), beta.ppf(CHANCES, 0.5, 1.5))
    merged = sampled(response(3, 1.0), Dirichlet([2.0, 0.5, 0.5]), counts, seed=1).chains
    for chance in (0.1, 0.5, 0.9):
        quantile = np.quantile(merged[..., 0], chance)
        assert (p[..., :2].sum(axis=-1) <= quantile).mean() == pytest.approx(chance, abs=0.06)


def test_normal_limit():
    """Bernstein–von Mises in the interior: the likelihood's centre and covariance."""
    k, n = 10, 10**8
    m = response(k, 0.5)
    truth = np.linspace(1, 3, k) / np.linspace(1, 3, k).sum()
    counts = np.random.default_rng(11).multinomial(n, m.push(truth))
    chains = sampled(m, Dirichlet.jeffreys(k), counts).chains
    centre = maximum_likelihood(m, counts)
    C = covariance(m, centre, n)
    spread = np.sqrt(np.diag(C))
    for x in range(k):
        assert_quantiles(chains[..., x], norm.ppf(CHANCES, centre[x], spread[x]))
    # every direction: whitened, the draws have covariance 1 on the k − 1 directions of the simplex
    values, vectors = np.linalg.eigh(C)
    white = (chains - centre) @ vectors[:, 1:] / np.sqrt(values[1:])
    assert_mean(white**2, 1)


@pytest.mark.slow
def test_simulation_based_calibration():
    """P from the prior, reports from P: the rank of P_x among the draws is uniform."""
    rng = np.random.default_rng(12)
    m, prior, repeats, bins = Q_A, Dirichlet.jeffreys(3), 200, 8
    ranks = np.zeros((3, bins))
    for _ in range(repeats):
        truth = prior.sample(1, rng)[0]
        counts = rng.multinomial(40, m.push(truth)).astype(float)
        target = posteriorsampler.Target(m.matrix, prior.alpha, counts)
        walk = posteriorsampler.Walk(target, 8, rng)
        walk.warm_up(60)
        drawn = walk.run(50, 10).reshape(-1, 3)
        below = (drawn < truth).sum(axis=0) + rng.random(3)
        ranks[np.arange(3), (below * bins / (len(drawn) + 1)).astype(int)] += 1
    statistic = ((ranks - repeats / bins) ** 2).sum(axis=1) / (repeats / bins)
    assert (statistic < chi2.ppf(0.999, bins - 1)).all()


# ---------------------------------------------------------------- large, small, unfinished


def test_large_numbers_of_reports_are_sampled():
    counts = np.array([4 * 10**7, 3 * 10**7, 3 * 10**7])
    found = posterior(response(3, 1.0), Dirichlet.jeffreys(3), counts)
    assert found.method == "monte-carlo"
    centre = maximum_likelihood(response(3, 1.0), counts)
    spread = math.sqrt(covariance(response(3, 1.0), centre, counts.sum())[0, 0])
    low, high = found.credible_interval(0)
    assert (low, high) == pytest.approx(
        (centre[0] - 1.96 * spread, centre[0] + 1.96 * spread), abs=spread / 4
    )


@pytest.mark.parametrize("n", [0, 1])
def test_many_values_and_hardly_a_report(n):
    k = 36
    counts = np.zeros(k)
    counts[3] = n
    W = response(k, 2.0).matrix[:, : k // 2]
    m = Mechanism(np.hstack([W, 1 - W.sum(axis=1, keepdims=True)]))
    found = posterior(m, Dirichlet.uniform(k), counts[: k // 2 + 1])
    assert found.method == "monte-carlo"
    assert found.mean() == pytest.approx(np.full(k, 1 / k), abs=0.006)


def test_unfinished_sampling_says_so(monkeypatch):
    monkeypatch.setattr(posteriorsampler, "STEPS", 100)
    monkeypatch.setattr(posteriorsampler, "WARM_UP", 20)
    monkeypatch.setattr(posteriorsampler, "FIRST_ROUND", 60)
    m, counts = rank_deficient()
    found = posterior(m, Dirichlet.jeffreys(8), counts)
    assert not found.converged
    assert found.method == "monte-carlo, not converged"
    assert found.rhat > 1.01
    assert "not converged" in found.plot(Figure().subplots()).get_title()


# ---------------------------------------------------------------- diagnosis


def test_diagnosis_of_known_chains():
    """Autoregressive chains x' = ρ x + ξ are worth (1 − ρ)/(1 + ρ) of independent draws."""
    rng = np.random.default_rng(13)
    rho = np.repeat([0.0, 0.9, -0.5], 10)
    noise = rng.standard_normal((8, 2000, len(rho)))
    chains = noise.copy()
    for i in range(1, 2000):
        chains[:, i] = rho * chains[:, i - 1] + np.sqrt(1 - rho**2) * noise[:, i]
    sizes = posteriorsampler.effective_sizes(chains)
    mean_sizes = sizes.reshape(3, 10).mean(axis=1)
    assert mean_sizes == pytest.approx([16_000, 16_000 / 19, 48_000], rel=0.1)
    assert (posteriorsampler.split_rhat(chains) < 1.04).all()
    apart = chains + np.arange(8)[:, None, None] / 4
    assert (posteriorsampler.split_rhat(apart) > 1.1).all()
    assert (posteriorsampler.effective_sizes(apart) < 200).all()
    drifting = chains + np.linspace(0, 2, 2000)[None, :, None]
    assert (posteriorsampler.split_rhat(drifting) > 1.05).all()


def test_ratio_of_normalisations():
    """f_0 = e^{−x²/2} and f_1 = e^{−x²}: the ratio is 1/√2."""
    rng = np.random.default_rng(14)
    x0, x1 = rng.standard_normal(50_000), rng.standard_normal(50_000) / math.sqrt(2)
    assert log_ratio(-(x0**2) / 2, -(x1**2) / 2) == pytest.approx(-math.log(2) / 2, abs=0.01)


def test_tiny_frequencies_keep_their_relative_precision():
    """For α = 0.05 a sixth of the mass of Beta(α, 1) lies below 1e-16."""
    m, counts = weak_and_sparse()
    target = posteriorsampler.Target(m.matrix, np.full(10, 0.05), counts.astype(float))
    theta = np.tile(target.origin, (2, 1))
    theta[1, 0] = 1e-30
    first, second = target.frequencies(theta)
    x = target.order[0]
    assert second[x] == pytest.approx(1e-30 * first[x], rel=0.01, abs=0)
    assert np.isfinite(target.log_density(theta, np.ones((2, target.loose)))).all()


def test_inputs_that_reports_do_not_tell_apart_share_as_the_prior_says():
    """One of two rows, three times: the shares are Dirichlet, their sum as if there were one."""
    rows, alpha = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), np.array([0.5, 1.0, 2.0, 0.5])
    counts = np.array([300_000, 200_000, 400_000])
    W = rows[[0, 0, 0, 1]]
    found = posterior(Mechanism(W), Dirichlet(alpha), counts)
    merged = posterior(Mechanism(rows), Dirichlet([3.5, 0.5]), counts)
    assert isinstance(found, module.SampledPosterior)
    assert found.converged
    whole = found.functional([1, 1, 1, 0])
    assert whole.mean() == pytest.approx(merged.mean()[0], abs=1e-4)
    draws = found.draws(4000, np.random.default_rng(0))
    shares = draws[:, :3] / draws[:, :3].sum(axis=1, keepdims=True)
    assert shares.mean(axis=0) == pytest.approx(alpha[:3] / 3.5, abs=0.02)
    assert shares.var(axis=0) == pytest.approx(Dirichlet(alpha[:3]).covariance().diagonal(), rel=0.1)
