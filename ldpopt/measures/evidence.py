"""log P(Y = y) of the reports where it has no closed form: a ladder of powers of the likelihood.

Between the prior (power 0) and the posterior (power 1) lie the densities prior · likelihood^τ, all of
the kind that :mod:`ldpopt.measures.posterior_sampler` draws from. Neighbours overlap, and the
ratio of their normalisations is found from draws of both (Bennett 1976).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr, stdtrit, xlogy

from ldpopt.core.validate import Array
from ldpopt.measures.number_with_error import Estimate
from ldpopt.measures.posterior_sampler import CHAINS, Target, Walk
from ldpopt.models.priors import Dirichlet

WARM_UP, STEPS = 200, 400
FEW_CHAINS = float(stdtrit(CHAINS - 1, ndtr(2))) / 2
"""The factor of the standard error. The spread of few chains is uncertain: by Student's law, two plain
standard errors of eight chains cover 91 %."""


def log_evidence(
    columns: Array, prior: Dirichlet, counts: Array, rng: np.random.Generator, method: str
) -> Estimate:
    """Compute log E Π_y (PW)_y^{s_y} over the prior, with an error from independent chains.

    Each rung takes a sampling run; their number grows like √k · log n.

    Args:
        columns: W[x, y]; every output that was reported has a positive entry.
        prior: the prior of P.
        counts: s_y, how often each output was reported.
        rng: the source of randomness.
        method: what the estimate states as its method.
    """
    power, total = 1.0, np.zeros(CHAINS)
    bottom = _log_likelihoods(columns, prior, counts, 0.0, rng)
    upper = _log_likelihoods(columns, prior, counts, power, rng)
    while power > 0:
        below = _next_power(power, float(upper.std()), float(bottom.std()))
        lower = _log_likelihoods(columns, prior, counts, below, rng) if below > 0 else bottom
        gap = power - below
        total += [log_ratio(gap * low, gap * high) for low, high in zip(lower, upper, strict=True)]
        power, upper = below, lower
    return Estimate(total.mean(), FEW_CHAINS * total.std(ddof=1) / math.sqrt(CHAINS), method)


def _next_power(power: float, spread: float, prior_spread: float) -> float:
    """Choose the next lower power, such that the log weights spread by about 1 under both.

    The spreads are those of the log likelihood.
    """
    if power * prior_spread <= 1:
        return 0.0
    return power * max(0.4, 1 - 1 / (power * spread))


def log_ratio(below: Array, above: Array) -> float:
    """Compute log Z₁/Z₀ from log f₁/f₀ at as many draws of f₀ as of f₁: Bennett's acceptance ratio."""

    def imbalance(shift: float) -> float:
        return float(expit(below - shift).sum() - expit(shift - above).sum())

    low, high = min(below.min(), above.min()), max(below.max(), above.max())
    return float(brentq(imbalance, low - 1, high + 1, xtol=1e-10))


def _log_likelihoods(
    columns: Array, prior: Dirichlet, counts: Array, power: float, rng: np.random.Generator
) -> Array:
    """Draw from prior · likelihood^power and return the log likelihoods, one chain a row."""
    if power == 0:
        p = prior.sample(CHAINS * STEPS, rng).reshape(CHAINS, STEPS, prior.size)
    else:
        walk = Walk(Target(columns, prior.alpha, power * counts), CHAINS, rng)
        walk.warm_up(WARM_UP)
        p = walk.run(STEPS, 1)
    return xlogy(counts, p @ columns).sum(axis=-1)
