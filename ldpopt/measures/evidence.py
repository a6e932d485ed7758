"""log P(Y = y) of the reports, for any mechanism, where it has no closed form.

Of many tallies at once it is bounded, by annealed importance sampling. A simple density near the
posterior and the posterior itself are joined by the densities simple^(1 − τ) · posterior^τ. A chain
that moves through them, upwards from a draw of the simple one or downwards from a draw of the
posterior, collects Σ Δτ · log(posterior/simple), the posterior without its constant. Upwards the
expectation is at most the logarithm of that constant (Neal 2001), downwards at least (Grosse,
Ghahramani and Adams 2015): by Jensen's inequality, if every move keeps the density of its power. A draw
of the posterior costs nothing where the tallies are drawn: it is the P behind them.

Of one tally it is estimated, by a ladder of powers of the likelihood. Between the prior (power 0) and
the posterior (power 1) lie the densities prior · likelihood^τ, all of the kind that
:mod:`ldpopt.measures.posterior_sampler` draws from. Neighbours overlap, and the ratio of their
normalisations is found from draws of both (Bennett 1976).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, gammaln, ndtr, stdtrit, xlogy

from ldpopt.core.validate import Array
from ldpopt.measures.number_with_error import Estimate
from ldpopt.measures.posterior_sampler import CHAINS, Target, Walk
from ldpopt.measures.tallies import Tallies
from ldpopt.models.priors import Dirichlet

LEAP, LEAPS = 0.35, 4
TINY = 1e-300


class Bracket(NamedTuple):
    """In expectation log P(y) lies between these, one pair for every tally."""

    low: Array
    high: Array


def bracket(
    W: Array, prior: Dirichlet, points: Array, counts: Tallies, steps: int, rng: np.random.Generator
) -> Bracket:
    """Bound log P(y) for tallies ``counts`` (rows) that were drawn from the ``points`` (rows).

    Args:
        W: the mechanism W[x, y].
        prior: the prior of P.
        points: the P behind each tally, one per row.
        counts: the tallies, drawn from those P.
        steps: the number of densities on the way; more narrow the bracket.
        rng: moves the chains.
    """
    path = Path.towards(W, prior.alpha, counts.astype(np.float64))
    powers = np.sin(np.linspace(0, math.pi / 2, steps + 1)) ** 2  # small steps where chains start
    drawn = np.maximum(rng.standard_gamma(path.shape), TINY) / path.rate
    up = path.collected(drawn / drawn.sum(axis=1, keepdims=True), powers, rng)
    down = path.collected(points, powers[::-1], rng)
    return Bracket(up - prior.log_beta, -down - prior.log_beta)


@dataclass(frozen=True, eq=False)
class Path:
    """simple^(1 − τ) · posterior^τ for many tallies, one per row.

    The simple density is that of P = g/Σg for independent g_x ~ Gamma(shape_x)/rate_x:
    Γ(Σ shape) Π rate^shape p^{shape − 1}/Γ(shape) · (Σ rate p)^{−Σ shape}. It has the posterior's mode
    of log P, and the spread of every single log P_x at that mode; where the reports tell nothing about
    P_x, it is the prior. The walk is in log g, smooth and without constraints, with a new g from its
    distribution given P before every move.
    """

    W: Array
    alpha: Array
    counts: Array
    shape: Array
    rate: Array
    information: Array
    mode: Array

    @classmethod
    def towards(cls, W: Array, alpha: Array, counts: Array) -> Path:
        """Find the mode of Σ α log g + Σ s log gW − Σ g in log g by Newton's method, then the shapes.

        Args:
            W: the mechanism W[x, y].
            alpha: the parameters α of the Dirichlet prior.
            counts: the tallies s, one per row.
        """
        k, total = len(alpha), alpha.sum() + counts.sum(axis=1, keepdims=True)
        g = np.repeat(total / k, k, axis=1)
        for _ in range(100):
            q = g @ W
            gradient = alpha + g * ((counts / q) @ W.T) - g
            precision = _information(W, counts, g) + np.diag(alpha)
            change = np.linalg.solve(precision, gradient[..., None])[..., 0]
            g = g * np.exp(np.clip(change, -1, 1))
            if np.abs(change).max() < 1e-6:
                break
        information = _information(W, counts, g)
        spread = np.linalg.inv(information + np.diag(alpha))
        shape = 1 / np.diagonal(spread, axis1=1, axis2=2)
        return cls(W, alpha, counts, shape, shape / g, information, g)

    def collected(self, points: Array, powers: Array, rng: np.random.Generator) -> Array:
        """Compute Σ Δτ · log(posterior/simple) along the chains that start at ``points``.

        Args:
            points: where the chains start, one P per row.
            powers: the values of τ in the order of the walk, from 0 to 1 or from 1 to 0.
            rng: moves the chains.
        """
        total, p = np.zeros(len(points)), np.maximum(points, TINY)
        # how often the moves are fitted to the density along the way
        every = max(1, len(powers) // 8)
        for i, (power, following) in enumerate(pairwise(powers)):
            if i % every == 0:
                root = self._root(float(powers[min(i + every // 2, len(powers) - 1)]))
            if i > 0:
                p = self._moved(p, power, root, rng)
            total += (following - power) * self.log_ratio(np.log(p))
        return total

    def log_ratio(self, log_g: Array) -> Array:
        """Compute the log of Π p^{α − 1} Π (pW)^s over the simple density, at p = g/Σg."""
        log_p = log_g - log_g.max(axis=1, keepdims=True)
        log_p = log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))
        p, whole = np.exp(log_p), self.shape.sum(axis=1)
        constant = gammaln(whole) + (self.shape * np.log(self.rate) - gammaln(self.shape)).sum(axis=1)
        likelihood = xlogy(self.counts, np.maximum(p @ self.W, TINY)).sum(axis=1)
        value = ((self.alpha - self.shape) * log_p).sum(axis=1) + likelihood - constant
        return value + whole * np.log((self.rate * p).sum(axis=1))

    def _moved(self, p: Array, power: float, root: Array, rng: np.random.Generator) -> Array:
        """Make one step of Hamiltonian Monte Carlo from every row, with a new Σg."""
        size = rng.standard_gamma(self.shape.sum(axis=1)) / (self.rate * p).sum(axis=1)
        start = np.log(p) + np.log(size)[:, None]
        momentum = rng.standard_normal(p.shape)
        leap = LEAP * rng.uniform(0.7, 1.3, (len(p), 1))
        end, speed = start, momentum
        back = np.swapaxes(root, 1, 2)
        with np.errstate(all="ignore"):  # a trajectory that runs away is refused
            speed = speed + leap / 2 * _times(back, self._force(end, power))
            for i in range(LEAPS):
                end = end + leap * _times(root, speed)
                turn = leap if i < LEAPS - 1 else leap / 2
                speed = speed + turn * _times(back, self._force(end, power))
            gain = self._log_density(end, power) - self._log_density(start, power)
            gain += (momentum**2 - speed**2).sum(axis=1) / 2
            accepted = np.log(rng.random(len(p))) < np.nan_to_num(gain, nan=-np.inf)
        g = np.where(accepted[:, None], end, start)
        g = np.exp(g - g.max(axis=1, keepdims=True))
        return np.maximum(g / g.sum(axis=1, keepdims=True), TINY)

    def _log_density(self, log_g: Array, power: float) -> Array:
        simple = (self.shape * log_g - self.rate * np.exp(log_g)).sum(axis=1)
        return simple + power * self.log_ratio(log_g)

    def _force(self, log_g: Array, power: float) -> Array:
        """Compute the gradient of the logarithm of the density in log g."""
        g = np.exp(log_g)
        weighted = self.rate * g
        pull = self.shape - weighted
        likelihood = g * ((self.counts / (g @ self.W)) @ self.W.T)
        whole, total = self.shape.sum(axis=1, keepdims=True), self.alpha.sum() + self.counts.sum(axis=1)
        towards = self.alpha - self.shape + likelihood - (g.T / g.sum(axis=1) * total).T
        towards += whole * weighted / weighted.sum(axis=1, keepdims=True)
        return pull + power * towards

    def _root(self, power: float) -> Array:
        """Compute the M with covariance M Mᵀ of log g at the mode."""
        whole, n = self.shape.sum(axis=1), self.mode.sum(axis=1)
        direct = np.eye(len(self.alpha)) * self.shape[:, None, :]
        outer = self.mode[:, :, None] * (self.mode / n[:, None])[:, None, :]
        scale = self.shape[:, :, None] * (self.shape / whole[:, None])[:, None, :]
        final = self.information + np.diag(self.alpha) - outer + scale
        lower = np.linalg.cholesky((1 - power) * direct + power * final)
        return np.swapaxes(np.linalg.inv(lower), 1, 2)


def _information(W: Array, counts: Array, g: Array) -> Array:
    """Compute Σ_y s_y V_y V_yᵀ/q_y² about log g, V = g W_y, q = gW."""
    V = g[:, :, None] * (W * (np.sqrt(counts) / (g @ W))[:, None, :])
    return V @ np.swapaxes(V, 1, 2)


def _times(matrices: Array, vectors: Array) -> Array:
    return (matrices @ vectors[..., None])[..., 0]


# ---------------------------------------------------------------- of one tally

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
