"""What the aggregator believes about P after the reports (Lopuhaä-Zwakenberg et al. 2019, Section 9).

Under a Dirichlet prior the posterior is a mixture of Dirichlets Δ_{α+t} over the hidden tallies t,
(9.4). The mixture is summed exactly where it is small, through polynomials for randomised response with
more values (10.6), and P is sampled otherwise, at a cost that does not grow with the number of reports.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, xlogy

from ldpopt.core import notebook, validate
from ldpopt.core.mechanism import Channel, Mechanism
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import posterior_sampler
from ldpopt.measures.channel import mechanism_of
from ldpopt.measures.evidence import log_evidence
from ldpopt.measures.number_with_error import ROUNDING, Estimate
from ldpopt.measures.posterior_marginals import BetaMixture, Empirical, Marginal
from ldpopt.measures.randomized_response_series import ONE, ResponseSeries, Scaled, response_level
from ldpopt.measures.tallies import Tallies, expanded
from ldpopt.models.priors import Dirichlet, Prior, dirichlet_prior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWS = 4000
"""Draws for a linear functional of an exact posterior."""
SHOWN = 12


class Posterior(ABC):
    """The distribution of P given the reports.

    Attributes:
        prior: the belief before.
        counts: how often each output was reported.
        method: "closed-form", "exact-enumeration", "monte-carlo", or "monte-carlo, not converged".
    """

    prior: Dirichlet
    counts: Tallies
    method: str

    log_integral: Estimate
    """log E Π_y (columns[:, y]·P)^counts[y], with its error."""
    log_reference: float = 0.0
    """log of what each report's probability was divided by in ``columns``, summed over the reports."""

    def __init__(self, columns: Array, prior: Dirichlet, counts: Tallies) -> None:
        self.columns, self.prior, self.counts = columns, prior, counts

    @property
    def log_evidence(self) -> Estimate:
        """log P(Y = y) of the sequence of reports, with its error."""
        return self.log_integral.through(1.0, self.log_reference)

    def density(self, p: ArrayLike) -> Array:
        """Evaluate the posterior density at each row of p, (9.1)."""
        points = np.asarray(p, dtype=np.float64)
        likelihood = xlogy(self.counts, points @ self.columns).sum(axis=-1)
        return np.exp(self.prior.log_density(points) + likelihood - self.log_integral)

    @abstractmethod
    def marginal(self, x: int) -> Marginal:
        """Return the posterior of the frequency P_x alone."""

    @abstractmethod
    def draws(self, count: int, rng: np.random.Generator | int) -> Array:
        """Draw P from the posterior, one per row."""

    def mean(self) -> Array:
        """Compute E(P | reports)."""
        return np.array([self.marginal(x).mean() for x in range(self.prior.size)])

    def credible_interval(self, x: int, level: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed interval that contains P_x with probability ``level``."""
        return self.marginal(x).interval(level)

    def functional(self, weights: ArrayLike) -> Empirical:
        """Return the posterior of Σ_x weights[x] P_x, as draws.

        With weights 0 and 1 it is the probability of a set of values: a cell of a marginal table.
        """
        w = validate.array("weights", weights, 1)
        if len(w) != self.prior.size:
            raise InvalidInputError(
                f"there must be {self.prior.size} weights, one per value, not {len(w)}"
            )
        return Empirical(self._sample @ w, float(w.min()), float(w.max()))

    @cached_property
    def _sample(self) -> Array:
        return self.draws(DRAWS, np.random.default_rng(0))

    def plot(
        self, ax: Axes | None = None, level: float = 0.95, labels: Sequence[object] | None = None
    ) -> Axes:
        """Draw the mean and the credible interval of every frequency; of more than 12 the largest.

        The density of one frequency: ``posterior.marginal(x).plot()``.

        Args:
            ax: where to draw; a new figure if not given.
            level: the probability of the intervals.
            labels: the names of the values, else their numbers.
        """
        names = [f"value {x}" for x in range(self.prior.size)] if labels is None else list(labels)
        if len(names) != self.prior.size:
            raise InvalidInputError(
                f"there must be {self.prior.size} labels, one per value, not {len(names)}"
            )
        means = self.mean()
        chosen = np.sort(np.argsort(-means, kind="stable")[:SHOWN])
        axes = notebook.axes(ax, 6.4, 1.4 + 0.3 * len(chosen))
        ends = np.array([self.credible_interval(int(x), level) for x in chosen])
        axes.hlines(range(len(chosen)), *ends.T, color="C0", linewidth=8, alpha=0.5)
        axes.plot(means[chosen], range(len(chosen)), "|k", markersize=11)
        axes.set_yticks(range(len(chosen)), [str(names[x]) for x in chosen])
        axes.set(ylim=(len(chosen) - 0.4, -0.6), xlabel="frequency")
        largest = f"the {SHOWN} largest of {len(names)} frequencies"
        which = "each frequency" if len(names) <= SHOWN else largest
        doubt = "" if self.method != posterior_sampler.UNFINISHED else f" ({self.method})"
        axes.set_title(f"Posterior of {which}: mean and {level:.0%} interval{doubt}")
        return axes


class EnumeratedPosterior(Posterior):
    """The mixture (9.4) summed exactly over the hidden tallies t."""

    method = "exact-enumeration"

    def __init__(self, columns: Array, prior: Dirichlet, counts: Tallies) -> None:
        super().__init__(columns, prior, counts)
        n = int(counts.sum())
        coefficients, log_scale = expanded(columns, counts)
        free = np.array(np.nonzero(coefficients)).T
        t = np.hstack([free, n - free.sum(axis=1, keepdims=True)])
        log_w = np.log(coefficients[tuple(free.T)]) + gammaln(prior.alpha + t).sum(axis=1)
        log_w -= gammaln(prior.total + n) + prior.log_beta
        total = float(logsumexp(log_w))
        # the logarithm of (9.5) over B(α)
        self.log_integral = Estimate(total + log_scale, ROUNDING * max(n, 1), self.method)
        self._tallies, self._weights = t, np.exp(log_w - total)

    def draws(self, count: int, rng: np.random.Generator | int) -> Array:
        """Draw t, then P from Δ_{α+t}."""
        rng = np.random.default_rng(rng)
        chosen = rng.choice(len(self._weights), count, p=self._weights / self._weights.sum())
        return _dirichlets(self.prior.alpha + self._tallies[chosen], rng)

    def marginal(self, x: int) -> BetaMixture:
        """Mix n + 1 beta distributions: the mixture depends on t through t_x only."""
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
        log_p = series.log_probability(reduce(Scaled.times, self._factors, ONE))
        log_p += n * math.log(float(columns[0].sum()))  # 0, unless the columns have a common factor
        self.log_integral = Estimate(log_p, ROUNDING * max(n, 1), self.method)

    def draws(self, count: int, rng: np.random.Generator | int) -> Array:
        """Draw K, then share it out one value after the other, then P from Δ_{α+k}."""
        rng = np.random.default_rng(rng)
        products = list(accumulate(self._factors, Scaled.times, initial=ONE))
        whole = products[-1].values * self._weights[: len(products[-1].values)]
        left = rng.choice(len(whole), count, p=whole / whole.sum())
        k = np.zeros((count, self.prior.size), dtype=np.int64)
        for x in reversed(range(self.prior.size)):
            own, others = self._factors[x].values, products[x].values
            for total in np.unique(left):
                here = np.flatnonzero(left == total)
                low, high = max(0, total - len(others) + 1), min(total, len(own) - 1)
                share = own[low : high + 1] * others[total - high : total - low + 1][::-1]
                k[here, x] = low + rng.choice(high - low + 1, len(here), p=share / share.sum())
            left = left - k[:, x]
        return _dirichlets(self.prior.alpha + k, rng)

    def marginal(self, x: int) -> BetaMixture:
        """Mix Beta(α_x + k, A − α_x + K − k) over the pairs (k, K)."""
        x = _value(x, self.prior.size)
        own = self._factors[x].values
        others = reduce(Scaled.times, (f for y, f in enumerate(self._factors) if y != x), ONE).values
        k, rest = np.meshgrid(np.arange(len(own)), np.arange(len(others)), indexing="ij")
        weights = np.outer(own, others) * self._weights[k + rest]
        keep = weights > 1e-16 * weights.max()
        a = self.prior.alpha[x] + k[keep]
        b = self.prior.total - self.prior.alpha[x] + rest[keep]
        return BetaMixture(a, b, weights[keep] / weights[keep].sum())


class SampledPosterior(Posterior):
    """Draws of P by Hamiltonian Monte Carlo (:mod:`ldpopt.measures.posterior_sampler`), for any n.

    Attributes:
        converged: whether the chains agree; if not, ``method`` says so, too.
        rhat: the largest split R̂ of any frequency; 1.01 is asked for.
        effective_size: the least number of independent draws that any mean is worth; 1000 is asked for.
        chains: the draws, [chain, step, value].
        error: the standard error of every entry of the mean.
    """

    def __init__(self, columns: Array, prior: Dirichlet, counts: Tallies, seed: int) -> None:
        super().__init__(columns, prior, counts)
        self._seed = seed
        rng = np.random.default_rng(seed)
        # the different rows in the order in which they come, and which of them each input has
        _, first, sorted_group = np.unique(columns, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rows, group = columns[first[order]], np.argsort(order)[sorted_group]
        alpha = np.asarray(np.bincount(group, weights=prior.alpha), dtype=np.float64)
        found = posterior_sampler.sample(rows, alpha, counts.astype(np.float64), rng)
        self.converged, self.rhat = found.converged, found.rhat
        self.effective_size = found.effective_size
        self.chains = _shared_out(found.values, group, prior.alpha, rng)
        self.method = "monte-carlo" if found.converged else posterior_sampler.UNFINISHED
        sizes = posterior_sampler.effective_sizes(self.chains)
        self.error: Array = self._sample.std(axis=0) / np.sqrt(sizes)

    @cached_property
    def log_integral(self) -> Estimate:  # type: ignore[override]
        """log P(Y = y), when first asked for, by power posteriors (:mod:`ldpopt.measures.evidence`).

        That takes many sampling runs: about √k · log n.
        """
        rng = np.random.default_rng([self._seed, 1])
        return log_evidence(self.columns, self.prior, self.counts.astype(np.float64), rng, self.method)

    def marginal(self, x: int) -> Empirical:
        """Return the draws of P_x."""
        return Empirical(self._sample[:, _value(x, self.prior.size)], 0.0, 1.0)

    def draws(self, count: int, rng: np.random.Generator | int) -> Array:
        """Choose among the draws that were made, with repetition."""
        rng = np.random.default_rng(rng)
        return self._sample[rng.integers(len(self._sample), size=count)]

    @cached_property
    def _sample(self) -> Array:
        return self.chains.reshape(-1, self.prior.size)


def _shared_out(values: Array, group: NDArray[np.intp], alpha: Array, rng: np.random.Generator) -> Array:
    """Draw all frequencies, given draws of those of groups of inputs with the same row.

    The reports do not tell such inputs apart: their shares of the group are Dirichlet(α), as before.
    """
    if values.shape[2] == len(alpha):
        return values
    drawn = rng.standard_gamma(alpha, (*values.shape[:2], len(alpha)))
    weights = np.maximum(drawn, np.finfo(np.float64).tiny)  # a small α rounds to 0
    totals = weights @ (group[:, None] == np.arange(values.shape[2]))
    return values[..., group] * weights / totals[..., group]


def posterior(m: Channel | ArrayLike, prior: Prior, counts: ArrayLike, *, seed: int = 0) -> Posterior:
    """Compute the posterior of P when output y was reported ``counts[y]`` times.

    Args:
        m: the mechanism that made the reports.
        prior: the prior of P, a Dirichlet.
        counts: whole numbers, one per output.
        seed: the seed of the sampler, where the posterior is sampled.

    Raises:
        InvalidInputError: prior or counts do not fit the mechanism, or an output that it never gives was
            reported.

    >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> posterior(flip, Dirichlet.uniform(2), [8, 2]).mean().round(4)
    array([0.7876, 0.2124])
    """
    dense = mechanism_of(m).dense()
    prior = dirichlet_prior("the posterior", prior)
    columns, s = dense.matrix, _counts(counts, dense)
    prior.check_size(len(dense.inputs))
    return of_columns(columns, prior, s, seed)


def posterior_of_reports(
    m: Channel | ArrayLike, prior: Prior, reports: ArrayLike, *, seed: int = 0
) -> Posterior:
    """Compute the posterior of P given reports as ``m.sample`` draws them, for any number of values.

    Args:
        m: the mechanism that made the reports.
        prior: the prior of P, a Dirichlet.
        reports: one per user: output indices of a matrix; rows of a set-valued mechanism.
        seed: the seed of the sampler, where the posterior is sampled.

    >>> from ldpopt.mechanisms import UnaryEncoding
    >>> from ldpopt.models.priors import Dirichlet
    >>> reports = [[1, 0, 0], [1, 1, 0], [1, 0, 0]]
    >>> posterior_of_reports(UnaryEncoding.oue(3, 2.0), Dirichlet.jeffreys(3), reports).mean().round(4)
    array([0.6836, 0.1823, 0.134 ])
    """
    m = mechanism_of(m)
    prior = dirichlet_prior("the posterior", prior)
    prior.check_size(len(m.inputs))
    columns, counts, reference = m.reported(reports)
    found = of_columns(columns, prior, counts, seed)
    found.log_reference = reference
    return found


def of_columns(columns: Array, prior: Dirichlet, s: Tallies, seed: int) -> Posterior:
    """Choose the sharpest posterior that the numbers of values and reports allow.

    Args:
        columns: the likelihoods W[x, y], each column up to a factor.
        prior: the prior of P.
        s: how often each column was reported.
        seed: the seed of the sampler.

    Raises:
        InvalidInputError: a column that was reported is zero.
    """
    if (columns[:, s > 0].max(axis=0, initial=0.0) == 0).any():
        raise InvalidInputError("an output that was reported has probability zero under every input")
    n, beta = int(s.sum()), response_level(columns)
    # the polynomials of randomised response are multiplied up to n² k operations
    if beta is not None and float(n) ** 2 * prior.size <= 3e7:
        return ResponsePosterior(columns, prior, s, beta)
    few = prior.size <= 30  # with more values only n = 0 takes little work
    # the tallies are listed up to (n + 1)^(k − 1) · n k operations
    if few and (n + 1.0) ** (prior.size - 1) * n * prior.size <= 2e8:
        return EnumeratedPosterior(columns, prior, s)
    return SampledPosterior(columns, prior, s, seed)


def _counts(counts: ArrayLike, m: Mechanism) -> Tallies:
    s = validate.array("counts", counts, 1)
    if len(s) != len(m.outputs):
        raise InvalidInputError(f"there must be {len(m.outputs)} counts, one per output, not {len(s)}")
    if (s < 0).any() or (s != s.round()).any():
        raise InvalidInputError(f"counts must be whole numbers >= 0, not {s.tolist()}")
    return s.astype(np.int64)


def _value(x: int, size: int) -> int:
    if not 0 <= x < size:
        raise InvalidInputError(f"a value must be from 0 to {size - 1}, not {x}")
    return int(x)


def _dirichlets(alpha: Array, rng: np.random.Generator) -> Array:
    """Draw once from the Dirichlet distribution of every row."""
    gamma = rng.standard_gamma(alpha)
    return gamma / gamma.sum(axis=1, keepdims=True)
