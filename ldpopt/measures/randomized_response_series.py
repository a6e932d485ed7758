"""Randomised response with a Dirichlet prior, exactly: products of one-variable polynomials.

P(Y = y) is a coefficient of such a product (Lopuhaä-Zwakenberg et al. 2019, (D.17)), for any number of
values, at a cost that grows with the square of the number of reports.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ldpopt.core.validate import Array
from ldpopt.models.priors import Dirichlet


def response_level(W: Array) -> float | None:
    """Find β = e^ε − 1 if the columns are those of randomised response, else None.

    These are (1 + β δ_xy)/(k + β).

    >>> response_level(np.array([[0.75, 0.25], [0.25, 0.75]]))
    2.0
    """
    k = len(W)
    if W.shape != (k, k) or k < 2:
        return None
    diagonal, rest = float(W[0].max()), float(W[0].min())
    if rest <= 0 or diagonal <= rest:
        return None
    hit = np.isclose(W, diagonal, rtol=1e-12, atol=0)
    miss = np.isclose(W, rest, rtol=1e-12, atol=0)
    latin = (hit.sum(axis=0) == 1).all() and (hit.sum(axis=1) == 1).all() and (hit | miss).all()
    return diagonal / rest - 1 if latin else None


class Scaled(NamedTuple):
    """The polynomial e^log · Σ_k values[k] x^k, its largest value being 1."""

    values: Array
    log: float

    def times(self, other: Scaled) -> Scaled:
        """Multiply by another scaled polynomial."""
        values = np.convolve(self.values, other.values)
        top = float(values.max())
        return Scaled(values / top, self.log + other.log + math.log(top))


ONE = Scaled(np.ones(1), 0.0)


@dataclass(frozen=True)
class ResponseSeries:
    """The expansion (D.17) of P(Y = y) for randomised response under a Dirichlet prior.

    Π_y (1 + β p_y)^{s_y} = Σ_k Π_y C(s_y, k_y) β^{k_y} p_y^{k_y}; its expectation needs, for every
    K = Σ k_y, a coefficient of Π_y f_y with f_y(x) = Σ_k C(s_y, k) β^k Γ(α_y + k)/Γ(α_y) (x/c)^k. The
    scale c is near the typical A + K, so that nothing over- or underflows where it matters.
    """

    prior: Dirichlet
    beta: float
    n: int

    @property
    def log_scale(self) -> float:
        """log c."""
        typical = self.n * self.beta / (self.prior.size + self.beta)
        return math.log(self.prior.total + typical)

    def factor(self, y: int, s: int) -> Scaled:
        """Compute f_y for the count s."""
        k, alpha = np.arange(s + 1), float(self.prior.alpha[y])
        log_f = gammaln(s + 1) - gammaln(k + 1) - gammaln(s - k + 1)
        log_f += gammaln(alpha + k) - gammaln(alpha) + k * (math.log(self.beta) - self.log_scale)
        top = float(log_f.max())
        return Scaled(np.exp(log_f - top), top)

    def weights(self) -> tuple[Array, float]:
        """Compute c^K Γ(A)/Γ(A + K) for K = 0 … n: values with largest 1, and a log factor."""
        K, A = np.arange(self.n + 1), self.prior.total
        log_w = gammaln(A) - gammaln(A + K) + K * self.log_scale
        top = float(log_w.max())
        return np.exp(log_w - top), top

    def log_probability(self, product: Scaled) -> float:
        """Compute log P(Y = y) from the product of the factors."""
        values, top = self.weights()
        mean = float(product.values @ values[: len(product.values)])
        return math.log(mean) + top + product.log - self.n * math.log(self.prior.size + self.beta)


def response_entropy(prior: Dirichlet, beta: float, n: int) -> float:
    """Compute H(Y) of n reports; for an exchangeable prior over sorted tallies only.

    Args:
        prior: the prior of P.
        beta: β = e^ε − 1 of the randomised response.
        n: the number of reports.
    """
    series = ResponseSeries(prior, beta, n)
    entropy = 0.0
    for counts, orderings, polynomial in _walk(series, prior.exchangeable):
        log_p = series.log_probability(polynomial)
        sequences = float(gammaln(n + 1) - gammaln(np.array(counts) + 1).sum())
        entropy -= orderings * math.exp(sequences + log_p) * log_p
    return entropy


Step = tuple[tuple[int, ...], int, Scaled]


def _walk(series: ResponseSeries, sorted_only: bool) -> Iterator[Step]:
    """List every tally with the number of tallies it stands for and its polynomial, sharing prefixes."""
    k, n = series.prior.size, series.n
    rows = [[series.factor(y, s) for s in range(n + 1)] for y in range(1 if sorted_only else k)]
    tables = rows * k if sorted_only else rows

    def extend(prefix: tuple[int, ...], left: int, polynomial: Scaled) -> Iterator[Step]:
        place = len(prefix)
        if place == k - 1:
            counts = (*prefix, left)
            orderings = _orderings(counts) if sorted_only else 1
            yield counts, orderings, polynomial.times(tables[place][left])
            return
        high = min(left, prefix[-1]) if sorted_only and prefix else left
        low = math.ceil(left / (k - place)) if sorted_only else 0
        for s in range(low, high + 1):
            yield from extend((*prefix, s), left - s, polynomial.times(tables[place][s]))

    yield from extend((), n, ONE)


def _orderings(counts: tuple[int, ...]) -> int:
    result = math.factorial(len(counts))
    for value in set(counts):
        result //= math.factorial(counts.count(value))
    return result
