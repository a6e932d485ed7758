"""Randomised response with a Dirichlet prior, exactly: products of one-variable polynomials.

P(Y = y) is a coefficient of such a product (Lopuhaä-Zwakenberg et al. 2019, (D.17)), for any number of
values, at a cost that grows with the square of the number of reports.

log P(Y = y) of randomised response for any number of values and reports: one contour integral.

The likelihood Π_y ((1 + β p_y)/(k + β))^{s_y} is a product over the values, and so is a Dirichlet prior.
The integral over the simplex is therefore a k-fold convolution at 1, whose Laplace transform is the
product of F_y(z) = ∫_0^∞ p^{α_y − 1} (1 + β p)^{s_y} e^{−zp} dp:

    ∫ Π_y p_y^{α_y − 1} (1 + β p_y)^{s_y} dp = (1/2πi) ∫ e^z Π_y F_y(z) dz,

along a path from below to above that has 0 on its left. The path here goes through the saddle point of
the integrand on the real axis. Both integrands are analytic and fall off fast in the variables used, so
the trapezoidal rule finds the integrals up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

from ldpopt.core.validate import Array, InvalidInputError
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


Complex = NDArray[np.complexfloating[Any, Any]]

NEGLIGIBLE = 40.0
"""Terms below e^−40 of the largest do not change a float."""
MOST_NODES = 50_000
BLOCK = 64


def log_probability(prior: Dirichlet, beta: float, counts: Array) -> float:
    """Compute log P(Y = y) of one sequence of reports in which y occurs ``counts[y]`` times.

    Args:
        prior: the prior of P.
        beta: β = e^ε − 1 of the randomised response.
        counts: s_y ≥ 0, one per value.

    >>> round(math.exp(log_probability(Dirichlet([0.5, 1.0, 2.5]), 2.0, np.array([1.0, 0.0, 0.0]))), 12)
    0.25
    """
    rows = np.column_stack([prior.alpha, counts])
    kinds, times = np.unique(rows, axis=0, return_counts=True)
    transforms = Transforms(kinds[:, 0], kinds[:, 1], times.astype(np.float64), beta)
    # with a total A ≥ 20 and every α_y ≤ A/20, Π F is negligible along a vertical line before any single
    # wave e^{−iup} becomes too fast for the nodes
    steep = prior.total >= 20.0 * max(1.0, float(prior.alpha.max()))
    log_integral = transforms.inverted(steep)
    return log_integral - prior.log_beta - float(counts.sum()) * math.log(len(counts) + beta)


class Saddle(NamedTuple):
    """The point of the real axis where e^z Π F is stationary, and the spread of Σ p there."""

    at: float
    spread: float


class Nodes(NamedTuple):
    """Values p, their logarithms, and the logarithms of their weights d log p."""

    p: Array
    log_p: Array
    log_weight: Array


@dataclass(frozen=True, eq=False)
class Transforms:
    """F_y of every kind of value: its exponent α, its count s, and how many values are of this kind."""

    alpha: Array
    s: Array
    times: Array
    beta: float

    def inverted(self, steep: bool) -> float:
        """Compute log (1/2πi) ∫ e^z Π F dz."""
        c = self._saddle.at
        total = 0.0
        for first in range(0, MOST_NODES, BLOCK):
            steps = np.arange(first, first + BLOCK, dtype=np.float64)
            terms = self._on_line(steps) if steep else self._on_parabola(steps)
            if first == 0:
                terms[0] /= 2  # the lower half of the path mirrors the upper one, the start is in both
            total += float(terms.real.sum())
            if abs(terms[-1]) < math.exp(-NEGLIGIBLE) * total:
                return c + float(self.times @ self._log_real(c)) + math.log(total)
        raise InvalidInputError(f"the contour integral for prior exponents {self.alpha} does not settle")

    def _on_line(self, steps: Array) -> Complex:
        """Compute the terms of the rule on z = c + iu, relative to the integrand at c."""
        step = 0.25 / self._saddle.spread
        u = step * steps
        return step / math.pi * np.exp(1j * u) * np.exp(self.times @ self._log_along_line(u))

    def _on_parabola(self, steps: Array) -> Complex:
        """Compute the terms of the rule on z = c (1 + iu)², relative to the integrand at c."""
        c, spread = self._saddle
        step = 0.125 / (c * spread)
        turn = 1 + 1j * step * steps
        z = c * turn**2
        top = float(self.times @ self._log_real(c))
        exponent: Complex = z - c + self.times @ self._log_rotated(z) - top
        return 2 * c * step / math.pi * turn * np.exp(exponent)

    # ---------------------------------------------------------------- the nodes

    @cached_property
    def _rough_saddle(self) -> float:
        """c with Σ_y p_y(c) = 1, p_y(c) the mode of log p under p^α (1 + βp)^s e^{−cp} d log p."""
        most = float(self.times @ (self.alpha + self.s))
        least = float(self.times @ self.alpha)
        if most == least:
            return least
        return float(brentq(lambda c: float(self.times @ self._mode(c)) - 1, least, most))

    def _mode(self, c: float) -> Array:
        """Find the positive root of cβp² + (c − β(α + s)) p = α."""
        half = (c - self.beta * (self.alpha + self.s)) / 2
        root = np.sqrt(half**2 + c * self.beta * self.alpha)
        return np.where(half > 0, self.alpha / (root + np.abs(half)), (root - half) / (c * self.beta))

    @cached_property
    def _nodes(self) -> Nodes:
        """The rule for all F.

        √p = τ log(1 + e^v) for equidistant v: equal steps of √p, in which all peaks are at least so
        wide, and an exponential approach to 0, where p^α need not be smooth.
        """
        c = self._rough_saddle
        p = self._mode(c)
        curvature = self.alpha / p + self.s * self.beta**2 * p / (1 + self.beta * p) ** 2
        step, delta = 0.3 / (2 * math.sqrt(float(curvature.max()))), 0.5
        high, peak = float(p.max()), self._exponent(p, c)
        while (self._exponent(np.full_like(p, high), c) > peak - NEGLIGIBLE).any():
            high *= 1.1
        low, last = -NEGLIGIBLE / (2 * float(self.alpha.min())), math.sqrt(high) / step * delta
        count = (last - low) / delta
        if count > MOST_NODES:
            raise InvalidInputError(
                f"P(Y = y) needs {count:.2g} nodes for these reports and prior exponents down to "
                f"{self.alpha.min():.2g}; at most {MOST_NODES} are allowed"
            )
        v = low + delta * np.arange(math.ceil(count) + 1)
        log_soft = np.where(v < -30, v, np.log(np.logaddexp(0, np.maximum(v, -30))))
        log_p = 2 * (math.log(step / delta) + log_soft)
        return Nodes(np.exp(log_p), log_p, math.log(2 * delta) - log_soft - np.logaddexp(0, -v))

    def _exponent(self, p: Array, c: float) -> Array:
        """Compute the log of p^α (1 + βp)^s e^{−cp}."""
        return self.alpha * np.log(p) + self.s * np.log1p(self.beta * p) - c * p

    @cached_property
    def _terms(self) -> Array:
        """log of what every node (column) adds to F(0), for every kind (row)."""
        p, log_p, log_weight = self._nodes
        growth = self.s[:, None] * np.log1p(self.beta * p)
        return self.alpha[:, None] * log_p + growth + log_weight

    # ---------------------------------------------------------------- F

    def _log_real(self, c: float) -> Array:
        """Compute log F_y(c)."""
        terms = self._terms - c * self._nodes.p
        top = terms.max(axis=1)
        return top + np.log(np.exp(terms - top[:, None]).sum(axis=1))

    def _tilted(self, c: float) -> Array:
        """Compute the weight of every node under the density p^{α−1} (1 + βp)^s e^{−cp}/F(c)."""
        return np.exp(self._terms - c * self._nodes.p - self._log_real(c)[:, None])

    @cached_property
    def _saddle(self) -> Saddle:
        """Where E Σ p = 1 under the tilted densities, by Newton's method."""
        c, p = self._rough_saddle, self._nodes.p
        for _ in range(50):
            weights = self._tilted(c)
            mean = weights @ p
            variance = float(self.times @ (weights @ p**2 - mean**2))
            change = (float(self.times @ mean) - 1) / variance
            c = max(c + change, c / 2)
            if abs(change) < 1e-3 / math.sqrt(variance):
                break
        return Saddle(c, math.sqrt(variance))

    def _log_along_line(self, u: Array) -> Complex:
        """Compute log F_y(c + iu)/F_y(c): kinds in rows."""
        waves = np.exp(-1j * np.outer(self._nodes.p, u))
        return np.log(self._tilted(self._saddle.at) @ waves)

    def _log_rotated(self, z: Complex) -> Complex:
        """Compute log F_y(z) by integrating over real x = zp.

        F = z^{−α} ∫ x^{α−1} (1 + βx/z)^s e^{−x} dx.
        """
        p, log_p, log_weight = self._nodes
        x = self._saddle.at * p
        log_x, growth = math.log(self._saddle.at) + log_p, np.log1p(self.beta * x / z[:, None])
        result = np.empty((len(self.alpha), len(z)), dtype=np.complex128)
        for i, (alpha, s) in enumerate(zip(self.alpha, self.s, strict=True)):
            near = self._near[i]
            terms = alpha * log_x[near] + log_weight[near] - x[near] + s * growth[:, near]
            top = terms.real.max(axis=1)
            total = np.exp(terms - top[:, None]).sum(axis=1)
            result[i] = top + np.log(total) - alpha * np.log(z)
        return result

    @cached_property
    def _near(self) -> list[slice]:
        """The nodes around the single peak of each density; the others add nothing."""
        terms = self._terms - self._saddle.at * self._nodes.p
        seen = terms > terms.max(axis=1, keepdims=True) - 1.5 * NEGLIGIBLE
        return [slice(int(row.argmax()), len(row) - int(row[::-1].argmax())) for row in seen]
