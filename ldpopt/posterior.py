"""What the aggregator believes about P after the reports (papers/000, Section 9).

Under a Dirichlet prior the posterior is a mixture of Dirichlets Δ_{α+t} over the hidden tallies t,
(9.4). The mixture is summed exactly where it is small, through polynomials for randomised response of
any size (10.6), and sampled otherwise.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc, betaln, gammaln, logsumexp, xlogy

from ldpopt import validate
from ldpopt.encodings import SetMechanism
from ldpopt.errors import InvalidInputError
from ldpopt.estimate import ROUNDING, Estimate
from ldpopt.mechanism import Mechanism
from ldpopt.priors import Dirichlet, Prior
from ldpopt.tallies import ONE, ResponseSeries, Scaled, Tallies, response_level
from ldpopt.validate import Array

EXACT_WORK = 2e8
CHAINS, BURN_IN, KEPT, THINNED = 200, 400, 40, 10


@dataclass(frozen=True, eq=False)
class BetaMixture:
    """A mixture of beta distributions: the posterior of one frequency."""

    a: Array
    b: Array
    weights: Array

    def pdf(self, z: ArrayLike) -> Array:
        """The density at z."""
        at = np.asarray(z, dtype=np.float64)[..., None]
        log_terms = xlogy(self.a - 1, at) + xlogy(self.b - 1, 1 - at) - betaln(self.a, self.b)
        result: Array = np.exp(log_terms) @ self.weights
        return result

    def cdf(self, z: ArrayLike) -> Array:
        """P(frequency ≤ z)."""
        at = np.asarray(z, dtype=np.float64)[..., None]
        result: Array = betainc(self.a, self.b, at) @ self.weights
        return result

    def mean(self) -> float:
        """The expected frequency."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def quantile(self, chance: float) -> float:
        """The z with P(frequency ≤ z) = chance."""
        return float(brentq(lambda z: float(self.cdf(z)) - chance, 0.0, 1.0, xtol=1e-12))


class Posterior(ABC):
    """The distribution of P given the reports.

    Attributes:
        prior: the belief before.
        counts: how often each output was reported.
        log_evidence: log P(Y = y) of the sequence of reports, with its error.
        method: "closed-form", "exact-enumeration" or "monte-carlo".
    """

    prior: Dirichlet
    counts: Tallies
    log_evidence: Estimate
    method: str

    def __init__(self, columns: Array, prior: Dirichlet, counts: Tallies) -> None:
        self.columns, self.prior, self.counts = columns, prior, counts

    @property
    def evidence(self) -> Estimate:
        """P(Y = y): the chance of these reports in this order."""
        value = math.exp(self.log_evidence)
        return Estimate(value, value * self.log_evidence.error, self.method)

    def density(self, p: ArrayLike) -> Array:
        """The posterior density at each row of p, (9.1)."""
        points = np.asarray(p, dtype=np.float64)
        likelihood = xlogy(self.counts, points @ self.columns).sum(axis=-1)
        result: Array = np.exp(self.prior.log_density(points) + likelihood - self.log_evidence)
        return result

    @abstractmethod
    def marginal(self, x: int) -> BetaMixture:
        """The posterior of the frequency P_x alone."""

    def mean(self) -> Array:
        """E(P | reports)."""
        return np.array([self.marginal(x).mean() for x in range(self.prior.size)])

    def credible_interval(self, x: int, level: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval that contains P_x with probability ``level``."""
        if not 0 < level < 1:
            raise InvalidInputError(f"level must lie between 0 and 1, not {level}")
        marginal, tail = self.marginal(x), (1 - level) / 2
        return marginal.quantile(tail), marginal.quantile(1 - tail)

    def plot(self, path: str | os.PathLike[str], level: float = 0.95) -> Path:
        """Draw the density of every frequency with its credible interval, as a PNG or SVG."""
        from matplotlib.figure import Figure

        shown = min(self.prior.size, 12)
        figure = Figure(figsize=(6.4, 1.0 + 0.9 * shown), layout="constrained")
        z = np.linspace(0.001, 0.999, 600)
        axes = figure.subplots(shown, 1, sharex=True, squeeze=False)[:, 0]
        for x, axis in enumerate(axes):
            marginal, (low, high) = self.marginal(x), self.credible_interval(x, level)
            inside = (z >= low) & (z <= high)
            axis.plot(z, marginal.pdf(z), color="C0")
            axis.fill_between(z[inside], marginal.pdf(z[inside]), alpha=0.3, color="C0", linewidth=0)
            axis.axvline(marginal.mean(), color="C1", linewidth=1)
            axis.set_ylabel(f"value {x}", rotation=0, ha="right", va="center")
            axis.set_yticks([])
        axes[-1].set_xlabel("frequency")
        axes[0].set_title(f"Posterior of each frequency, mean and {level:.0%} interval")
        figure.savefig(path, dpi=150)
        return Path(path)


class EnumeratedPosterior(Posterior):
    """The mixture (9.4) summed exactly over the hidden tallies t."""

    method = "exact-enumeration"

    def __init__(self, columns: Array, prior: Dirichlet, counts: Tallies) -> None:
        super().__init__(columns, prior, counts)
        n = int(counts.sum())
        coefficients, log_scale = _expanded(columns, counts)
        free = np.array(np.nonzero(coefficients)).T
        t = np.hstack([free, n - free.sum(axis=1, keepdims=True)])
        log_w = np.log(coefficients[tuple(free.T)]) + gammaln(prior.alpha + t).sum(axis=1)
        log_w -= gammaln(prior.total + n) + prior.log_beta
        total = float(logsumexp(log_w))
        self.log_evidence = Estimate(total + log_scale, ROUNDING * max(n, 1), self.method)
        self._tallies, self._weights = t, np.exp(log_w - total)

    def marginal(self, x: int) -> BetaMixture:
        """n + 1 beta distributions: the mixture depends on t through t_x only."""
        x, n = _value(x, self.prior.size), int(self.counts.sum())
        weights = np.asarray(np.bincount(self._tallies[:, x], self._weights, n + 1), np.float64)
        a = self.prior.alpha[x] + np.arange(n + 1)
        return BetaMixture(a, self.prior.total + n - a, weights)


class ResponsePosterior(Posterior):
    """Randomised response: (10.6) for any Dirichlet prior, any number of values.

    Expanding Π (1 + β p_x)^{s_x} gives Dirichlets Δ_{α+k}; the weight of all with given k_x and
    K = Σ k_y is a coefficient of a product of one-variable polynomials, so nothing is ever listed.
    """

    method = "closed-form"

    def __init__(self, columns: Array, prior: Dirichlet, counts: Tallies, beta: float) -> None:
        super().__init__(columns, prior, counts)
        own = columns.argmax(axis=0)
        self._support = np.zeros(prior.size, dtype=np.int64)
        np.add.at(self._support, own, counts)
        n = int(counts.sum())
        series = ResponseSeries(prior, beta, n)
        self._factors = [series.factor(y, int(s)) for y, s in enumerate(self._support)]
        self._weights, _ = series.weights()
        log_p = series.log_probability(_product(self._factors))
        self.log_evidence = Estimate(log_p, ROUNDING * max(n, 1), self.method)

    def marginal(self, x: int) -> BetaMixture:
        """Beta(α_x + k, A − α_x + K − k) over the pairs (k, K)."""
        x = _value(x, self.prior.size)
        own = self._factors[x].values
        others = _product([f for y, f in enumerate(self._factors) if y != x]).values
        k, rest = np.meshgrid(np.arange(len(own)), np.arange(len(others)), indexing="ij")
        weights = np.outer(own, others) * self._weights[k + rest]
        keep = weights > 1e-16 * weights.max()
        a = self.prior.alpha[x] + k[keep]
        b = self.prior.total - self.prior.alpha[x] + rest[keep]
        return BetaMixture(a, b, weights[keep] / weights[keep].sum())


class SampledPosterior(Posterior):
    """Gibbs sampling of the hidden tallies; the posterior is the average of Δ_{α+t} over the draws."""

    method = "monte-carlo"

    def __init__(self, columns: Array, prior: Dirichlet, counts: Tallies, seed: int) -> None:
        super().__init__(columns, prior, counts)
        self._tallies = _gibbs(columns, prior, counts, np.random.default_rng(seed))
        self.log_evidence = self._chib()

    def _chib(self) -> Estimate:
        """log P(y) = log prior + log likelihood − log posterior at one point (Chib 1995)."""
        p = (self.prior.alpha + self._tallies).mean(axis=0)
        p /= p.sum()
        alpha = self.prior.alpha + self._tallies
        log_beta = gammaln(alpha).sum(axis=1) - gammaln(alpha.sum(axis=1))
        terms = xlogy(alpha - 1, p).sum(axis=1) - log_beta
        log_posterior = float(logsumexp(terms)) - math.log(len(terms))
        likelihood = float(xlogy(self.counts, p @ self.columns).sum())
        per_chain = np.exp(terms - terms.max()).reshape(KEPT, CHAINS).mean(axis=0)
        error = float(per_chain.std() / per_chain.mean()) / math.sqrt(CHAINS)
        value = float(self.prior.log_density(p)) + likelihood - log_posterior
        return Estimate(value, error, self.method)

    def marginal(self, x: int) -> BetaMixture:
        """The average of beta distributions over the draws."""
        x, n = _value(x, self.prior.size), int(self.counts.sum())
        weights = np.bincount(self._tallies[:, x], minlength=n + 1) / len(self._tallies)
        a = self.prior.alpha[x] + np.arange(n + 1)
        return BetaMixture(a, self.prior.total + n - a, weights)


def posterior(
    m: Mechanism | SetMechanism, prior: Prior, counts: ArrayLike, *, seed: int = 0
) -> Posterior:
    """The posterior of P when output y was reported ``counts[y]`` times.

    >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> posterior(flip, Dirichlet.uniform(2), [8, 2]).mean().round(4)
    array([0.7876, 0.2124])
    """
    dense = m.dense() if isinstance(m, SetMechanism) else m
    if not isinstance(prior, Dirichlet):
        raise InvalidInputError("the posterior needs a Dirichlet prior")
    columns, s = dense.matrix, _counts(counts, dense)
    if len(dense.inputs) != prior.size:
        raise InvalidInputError(
            f"the prior is about {prior.size} values, the mechanism has {len(dense.inputs)} inputs"
        )
    if (columns[:, s > 0].max(axis=0, initial=0.0) == 0).any():
        raise InvalidInputError("an output that was reported has probability zero under every input")
    beta = response_level(columns)
    if beta is not None:
        return ResponsePosterior(columns, prior, s, beta)
    n = int(s.sum())
    if float(n + 1) ** (prior.size - 1) * n * prior.size <= EXACT_WORK:
        return EnumeratedPosterior(columns, prior, s)
    return SampledPosterior(columns, prior, s, seed)


def _counts(counts: ArrayLike, m: Mechanism) -> Tallies:
    s = validate.array("counts", counts, 1)
    if len(s) != len(m.outputs):
        raise InvalidInputError(f"{len(s)} counts for {len(m.outputs)} outputs")
    if (s < 0).any() or (s != s.round()).any():
        raise InvalidInputError(f"counts must be whole numbers >= 0, not {s.tolist()}")
    return s.astype(np.int64)


def _value(x: int, size: int) -> int:
    if not 0 <= x < size:
        raise InvalidInputError(f"value {x} is not in 0..{size - 1}")
    return int(x)


def _expanded(columns: Array, counts: Tallies) -> tuple[Array, float]:
    """The coefficients of Π_y (W[:, y]·p)^{s_y} over the first k − 1 exponents, and a log factor."""
    k, n = len(columns), int(counts.sum())
    result = np.zeros((n + 1,) * (k - 1))
    result[(0,) * (k - 1)] = 1.0
    log_scale = 0.0
    for form, times in zip(columns.T, counts, strict=True):
        for _ in range(times):
            result = _times_form(result, form / form.max())
            log_scale += math.log(form.max())
    return result, log_scale


def _times_form(f: Array, form: Array) -> Array:
    product: Array = form[-1] * f
    for x, q in enumerate(form[:-1]):
        up = tuple(slice(1, None) if z == x else slice(None) for z in range(f.ndim))
        down = tuple(slice(None, -1) if z == x else slice(None) for z in range(f.ndim))
        product[up] += q * f[down]
    return product


def _product(factors: list[Scaled]) -> Scaled:
    result = ONE
    for factor in factors:
        result = result.times(factor)
    return result


def _gibbs(columns: Array, prior: Dirichlet, counts: Tallies, rng: np.random.Generator) -> Tallies:
    """Alternate t | p (who holds what, given the reports) and p | t."""
    p = prior.sample(CHAINS, rng)
    reported = np.flatnonzero(counts)
    draws = []
    for step in range(BURN_IN + KEPT * THINNED):
        t = np.zeros((CHAINS, prior.size), dtype=np.int64)
        for y in reported:
            share = p * columns[:, y]
            t += rng.multinomial(counts[y], share / share.sum(axis=1, keepdims=True))
        gamma = rng.standard_gamma(prior.alpha + t)
        p = gamma / gamma.sum(axis=1, keepdims=True)
        if step >= BURN_IN and step % THINNED == 0:
            draws.append(t)
    return np.vstack(draws)
