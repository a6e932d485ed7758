"""What n reports tell, exactly: sums over tallies, with the unknown P integrated out.

Reports enter through their tallies s_y only. ``P(Y = y) = E Π_y (W[:, y]·P)^{s_y}`` is the expectation
of a polynomial of degree n, for which Gauss quadrature is exact; for randomised response it is a
coefficient of a product of one-variable polynomials (Lopuhaä-Zwakenberg et al. 2019, (D.17)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, xlogy

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.estimate import ROUNDING, Estimate
from ldpopt.core.validate import Array
from ldpopt.theory.bayes.priors import Dirichlet, Prior

EXACT_WORK = 3e8
"""Elementary operations beyond which exact enumeration is refused or replaced by sampling."""
DRAWS = 4000
CHUNK = 2_000_000

Tallies = NDArray[np.int64]


def merged(columns: Array) -> Array:
    """The columns with proportional ones added up and empty ones dropped: nothing is lost by it.

    >>> merged(np.array([[0.2, 0.4, 0.4, 0.0], [0.1, 0.2, 0.7, 0.0]]))
    array([[0.6, 0.4],
           [0.3, 0.7]])
    """
    used = columns[:, columns.any(axis=0)]
    direction = (used / used.sum(axis=0)).round(14)
    _, first, which = np.unique(direction, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    result = np.zeros((len(columns), len(first)))
    np.add.at(result.T, order[which.ravel()], used.T)
    return result


def tallies(n: int, parts: int) -> Tallies:
    """All ways to write n as an ordered sum of ``parts`` counts, one a row.

    >>> tallies(2, 2)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    if parts == 1:
        return np.array([[n]])
    blocks = []
    for first in range(n + 1):
        rest = tallies(n - first, parts - 1)
        blocks.append(np.hstack([np.full((len(rest), 1), first), rest]))
    return np.vstack(blocks)


def log_multinomial(counts: Tallies) -> Array:
    """log n! / Π s_y! of every row."""
    return gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)


def log_probabilities(counts: Tallies, columns: Array, points: Array, weights: Array) -> Array:
    """log P(Y = y) of one sequence with each of the given tallies, by quadrature."""
    log_q = np.log(np.maximum(points @ columns, 1e-300))
    log_w = np.log(weights)
    step = max(1, CHUNK // len(points))
    rows = counts.astype(np.float64)
    parts = [_log_sum(rows[i : i + step] @ log_q.T + log_w) for i in range(0, len(rows), step)]
    return np.concatenate(parts)


def _log_sum(terms: Array) -> Array:
    """log Σ e^terms along the rows, in place: this is where the time goes."""
    top = terms.max(axis=1)
    terms -= top[:, None]
    np.exp(terms, out=terms)
    return top + np.log(terms.sum(axis=1))


# ---------------------------------------------------------------- I(Y; P)


def information_about_p(columns: Array, prior: Prior, n: int, method: str, seed: int) -> Estimate:
    """I(Y; P) of n reports in nats."""
    if isinstance(prior, Dirichlet) and np.array_equal(columns, np.eye(prior.size)):
        return _unobfuscated(prior, n)
    W = merged(columns)
    given_p = -n * float(prior.expected_xlogx(W).sum())
    if isinstance(prior, Dirichlet) and (level := response_level(W)) is not None:
        count = math.comb(n + prior.size - 1, prior.size - 1)
        count = max(1, count // math.factorial(prior.size)) if prior.exchangeable else count
        if count * n * 20 <= EXACT_WORK and method != "monte-carlo":
            entropy = _response_entropy(prior, level, n)
            return Estimate(entropy - given_p, ROUNDING * n, "exact-enumeration")
    work = float(math.comb(n + W.shape[1] - 1, W.shape[1] - 1)) * prior.node_count(n)
    if _choose(method, work, "I(Y; P)") == "exact":
        counts = tallies(n, W.shape[1])
        log_p = log_probabilities(counts, W, *prior.nodes(n))
        entropy = -float(np.exp(log_multinomial(counts) + log_p) @ log_p)
        return Estimate(entropy - given_p, ROUNDING * n, "exact-enumeration")
    return _sampled_information(W, prior, n, seed)


def _choose(method: str, work: float, what: str) -> str:
    if method == "monte-carlo" or (method == "auto" and work > EXACT_WORK):
        return "monte-carlo"
    if work > EXACT_WORK:
        raise InvalidInputError(
            f"exact {what} would take about {work:.2g} operations, more than {EXACT_WORK:.2g}; "
            "use method='auto' or 'monte-carlo'"
        )
    return "exact"


def _sampled_information(W: Array, prior: Prior, n: int, seed: int) -> Estimate:
    """E log P(y | P)/P(y) over draws; P(y) by quadrature, or where that is too large by inner draws."""
    rng = np.random.default_rng(seed)
    points = prior.sample(DRAWS, rng)
    q = points @ W
    counts = rng.multinomial(n, q / q.sum(axis=1, keepdims=True))
    given = xlogy(counts, np.maximum(q, 1e-300)).sum(axis=1)
    inner = prior.node_count(n)
    if inner * DRAWS <= EXACT_WORK:
        values = given - log_probabilities(counts, W, *prior.nodes(n))
        return Estimate(values.mean(), values.std() / math.sqrt(DRAWS), "monte-carlo")
    size = int(EXACT_WORK / DRAWS / 4)
    outer = prior.sample(size, rng)
    whole = given - log_probabilities(counts, W, outer, np.full(size, 1 / size))
    half = given - log_probabilities(counts, W, outer[: size // 2], np.full(size // 2, 2 / size))
    bias = abs(half.mean() - whole.mean())  # the bias of a nested mean falls like 1/size
    return Estimate(whole.mean(), whole.std() / math.sqrt(DRAWS) + bias, "monte-carlo")


def _unobfuscated(prior: Dirichlet, n: int) -> Estimate:
    """I(X; P) = −E log B(α+T)/B(α) − n H(X|P), T Dirichlet-multinomial.

    (D.20) of Lopuhaä-Zwakenberg et al. 2019, corrected: it prints + n H(X|P).
    """
    value = -_expected_log_beta(prior, n) - n * prior.expected_entropy()
    return Estimate(value, ROUNDING * n, "closed-form")


def _expected_log_beta(prior: Dirichlet, n: int) -> float:
    """E log B(α + T)/B(α): the counts enter one by one, and each is beta-binomial."""
    start = float(gammaln(prior.total) - gammaln(prior.total + n) - gammaln(prior.alpha).sum())
    return start + _marginal_sum(prior, n, lambda alpha, t: gammaln(alpha + t))


def _marginal_sum(prior: Dirichlet, n: int, f: Any) -> float:
    """Σ_x E f(α_x, T_x), T_x beta-binomial."""
    t = np.arange(n + 1)
    total = 0.0
    for alpha in prior.alpha:
        log_pmf = (
            gammaln(n + 1)
            - gammaln(t + 1)
            - gammaln(n - t + 1)
            + betaln(alpha + t, prior.total - alpha + n - t)
            - betaln(alpha, prior.total - alpha)
        )
        total += float(np.exp(log_pmf) @ f(alpha, t))
    return total


# ---------------------------------------------------------------- randomised response


def response_level(W: Array) -> float | None:
    """β = e^ε − 1 if the columns are those of randomised response, (1 + β δ_xy)/(k + β), else None.

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
        """The product."""
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
        """f_y for the count s."""
        k, alpha = np.arange(s + 1), float(self.prior.alpha[y])
        log_f = gammaln(s + 1) - gammaln(k + 1) - gammaln(s - k + 1)
        log_f += gammaln(alpha + k) - gammaln(alpha) + k * (math.log(self.beta) - self.log_scale)
        top = float(log_f.max())
        return Scaled(np.exp(log_f - top), top)

    def weights(self) -> tuple[Array, float]:
        """c^K Γ(A)/Γ(A + K) for K = 0 … n: values with largest 1, and a log factor."""
        K, A = np.arange(self.n + 1), self.prior.total
        log_w = gammaln(A) - gammaln(A + K) + K * self.log_scale
        top = float(log_w.max())
        return np.exp(log_w - top), top

    def log_probability(self, product: Scaled) -> float:
        """log P(Y = y) from the product of the factors."""
        values, top = self.weights()
        mean = float(product.values @ values[: len(product.values)])
        return math.log(mean) + top + product.log - self.n * math.log(self.prior.size + self.beta)


def _response_entropy(prior: Dirichlet, beta: float, n: int) -> float:
    """H(Y) of n reports; for an exchangeable prior over sorted tallies only."""
    series = ResponseSeries(prior, beta, n)
    entropy = 0.0
    for counts, orderings, polynomial in _walk(series, prior.exchangeable):
        log_p = series.log_probability(polynomial)
        sequences = float(gammaln(n + 1) - gammaln(np.array(counts) + 1).sum())
        entropy -= orderings * math.exp(sequences + log_p) * log_p
    return entropy


Step = tuple[tuple[int, ...], int, Scaled]


def _walk(series: ResponseSeries, sorted_only: bool) -> Iterator[Step]:
    """Every tally with the number of tallies it stands for and its polynomial, sharing prefixes."""
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


# ---------------------------------------------------------------- I(Y; T)


def tally_entropy(prior: Prior, n: int) -> float:
    """H(T) of the tallies of n values."""
    if isinstance(prior, Dirichlet):
        choices = float(gammaln(n + 1)) - _marginal_sum(prior, n, lambda _, t: gammaln(t + 1))
        return -_expected_log_beta(prior, n) - choices
    _, log_p = _tally_distribution(prior, n)
    return -float(np.exp(log_p) @ log_p)


def information_about_tallies(columns: Array, prior: Prior, n: int, method: str, seed: int) -> Estimate:
    """I(Y; T) = H(S) − H(S | T), S the tallies of the reports."""
    W = merged(columns)
    k, b = W.shape
    grid = float(n + 1) ** (b - 1)
    work = (math.comb(n + k - 1, k - 1) + prior.node_count(n)) * grid * 20
    if _choose(method, work, "I(Y; T)") == "exact":
        counts, log_t = _tally_distribution(prior, n)
        given = sum(math.exp(lp) * _sum_entropy(W, t, n) for t, lp in zip(counts, log_t, strict=True))
        reports = tallies(n, b)
        log_s = log_multinomial(reports) + log_probabilities(reports, W, *prior.nodes(n))
        value = -float(np.exp(log_s) @ log_s) - given
        return Estimate(value, 10 * ROUNDING * n, "exact-enumeration")
    return _sampled_tally_information(W, prior, n, seed)


def _tally_distribution(prior: Prior, n: int) -> tuple[Tallies, Array]:
    counts = tallies(n, prior.size)
    if isinstance(prior, Dirichlet):
        up = gammaln(prior.alpha + counts).sum(axis=1) - gammaln(prior.total + n)
        return counts, log_multinomial(counts) + up - prior.log_beta
    eye = np.eye(prior.size)
    return counts, log_multinomial(counts) + log_probabilities(counts, eye, *prior.nodes(n))


def _sum_distribution(W: Array, t: Tallies, n: int) -> Array:
    """The distribution of S when t_x users hold x, on the grid of its first b − 1 counts, by FFT."""
    b = W.shape[1]
    corner = np.zeros((n + 1,) * (b - 1))
    spectrum = np.ones_like(corner, dtype=np.complex128)
    for row, count in zip(W, t, strict=True):
        one = corner.copy()
        one[(0,) * (b - 1)] = row[-1]
        for y in range(b - 1):
            one[tuple(int(z == y) for z in range(b - 1))] = row[y]
        spectrum *= np.fft.fftn(one) ** int(count)
    return np.maximum(np.fft.ifftn(spectrum).real, 0.0)


def _sum_entropy(W: Array, t: Tallies, n: int) -> float:
    q = _sum_distribution(W, t, n)
    return -float(xlogy(q, q).sum())


def _sampled_tally_information(W: Array, prior: Prior, n: int, seed: int) -> Estimate:
    """E log P(s | t)/P(s) over draws of P, T and S."""
    b, draws = W.shape[1], 300
    grid = float(n + 1) ** (b - 1)
    if grid * draws > EXACT_WORK or prior.node_count(n) * draws > EXACT_WORK:
        raise InvalidInputError(
            f"the tally utility of {n} reports with {b} outputs needs a grid of {grid:.2g} cells, "
            "which is too large even for sampling"
        )
    rng = np.random.default_rng(seed)
    p = prior.sample(draws, rng)
    t = rng.multinomial(n, p / p.sum(axis=1, keepdims=True))
    s = np.array([sum(rng.multinomial(c, w) for c, w in zip(row, W, strict=True)) for row in t])
    given = [
        math.log(max(float(_sum_distribution(W, row, n)[tuple(c[:-1])]), 1e-300))
        for row, c in zip(t, s, strict=True)
    ]
    marginal = log_multinomial(s) + log_probabilities(s, W, *prior.nodes(n))
    values = np.array(given) - marginal
    return Estimate(values.mean(), values.std() / math.sqrt(draws), "monte-carlo")
