"""I(Y; T): how much n reports tell about the tallies T of the data, in nats.

P(s | t), the law of the tallies s of the reports, has three forms; the cheapest is taken.
By reports: P(s | t) is the coefficient of u^t in Π_y (W[:, y]·u)^{s_y}, times multinomials: one product
of linear forms gives it for every t. By values: given t, s is a sum of multinomials, by FFT for every s.
Randomised response: Π_x (Z + β z_x)^{t_x}, Z = Σ z_x, expands as (D.13) of Lopuhaä-Zwakenberg et al.
2019 does, so one s and t take products of one-variable polynomials, for any number of values. They are
tilted, so that of each only some √n coefficients around the largest count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, xlogy

from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import randomized_response_series, tallies
from ldpopt.measures.number_with_error import ROUNDING, Estimate
from ldpopt.measures.randomized_response_series import response_level
from ldpopt.mechanisms.listings import compositions
from ldpopt.models.priors import Dirichlet, Prior

SAMPLED_WORK = 3e9
STEP = 2000.0
"""Operations that the call of an array function costs, whatever it does."""
SPREAD = 60.0
"""Operations a report for P(s | t) of randomised response: the products of some √n coefficients."""


def information_about_tallies(
    columns: Array, prior: Prior, n: int, method: str, draws: int, seed: int
) -> Estimate:
    """Compute I(Y; T) of n reports.

    Args:
        columns: the mechanism W[x, y].
        prior: the prior of P.
        n: the number of reports.
        method: "auto", "exact" or "monte-carlo".
        draws: how many draws of P and both tallies, where they are too many to list.
        seed: the seed of the draws.

    Raises:
        InvalidInputError: the method asked for takes too many operations.
    """
    W = tallies.merged(columns)
    k, b = W.shape
    if b == 1:
        return Estimate(0.0)
    by_reports = tallies.log_count(n, b + 1) + float(
        np.logaddexp(math.log(STEP), _log_grid(n, k) + math.log(k))
    )
    values = np.logaddexp(tallies.log_count(n, k), math.log(prior.node_count(n)))
    by_values = float(values) + _log_grid(n, b) + math.log(20)
    if tallies.chosen_method(method, min(by_reports, by_values), "I(Y; T)") == "exact":
        exact = _by_reports if by_reports <= by_values else _by_values
        return Estimate(max(exact(W, prior, n), 0.0), 10 * ROUNDING * n, "exact-enumeration")
    return _sampled(W, prior, n, draws, seed)


def _log_grid(n: int, parts: int) -> float:
    """Compute the log of the cells of a grid of all but one of the counts."""
    return (parts - 1) * math.log(n + 1)


# ---------------------------------------------------------------- exactly


class Hidden(NamedTuple):
    """What is known of T beforehand, on the grid of its first k − 1 counts."""

    log_tally: Array
    """log P(T = t); −inf off the simplex."""
    log_sequence: Array
    """log P(X = x) of one sequence with these tallies."""

    @classmethod
    def of(cls, prior: Prior, n: int) -> Hidden:
        """Tabulate the distribution of the tallies of n values."""
        counts, log_p = tallies.tally_distribution(prior, n)
        cells = tuple(counts[:, :-1].T)
        grids = [np.full((n + 1,) * (prior.size - 1), -math.inf) for _ in range(2)]
        grids[0][cells] = log_p
        grids[1][cells] = log_p - tallies.log_multinomial(counts)
        return cls(*grids)

    def learnt(self, coefficients: Array) -> tuple[float, float]:
        """Compute log E Π_y (W[:, y]·P)^{s_y} and D(P(T | s) ‖ P(T)) from the coefficients of u^t."""
        used = (coefficients > 0) & np.isfinite(self.log_sequence)
        log_joint = np.log(coefficients[used]) + self.log_sequence[used]
        top = float(log_joint.max())
        total = float(np.exp(log_joint - top).sum())
        log_chance = top + math.log(total)
        posterior = np.exp(log_joint - log_chance)
        return log_chance, float(posterior @ (log_joint - log_chance - self.log_tally[used]))


def _by_reports(W: Array, prior: Prior, n: int) -> float:
    """Compute Σ_s P(s) D(P(T | s) ‖ P(T))."""
    hidden = Hidden.of(prior, n)
    scale = W.max(axis=0)
    total = 0.0
    for counts, coefficients in _products(W / scale, n):
        log_chance, learnt = hidden.learnt(coefficients)
        s = np.array([counts])
        log_chance += float(tallies.log_multinomial(s)[0] + s[0] @ np.log(scale))
        total += math.exp(log_chance) * learnt
    return total


def _products(W: Array, n: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Expand Π_y (W[:, y]·u)^{s_y} for every tally s of n reports, sharing prefixes."""
    k, b = W.shape

    def extend(counts: tuple[int, ...], left: int, f: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
        if not left:
            yield counts, f
            return
        last = max((y for y in range(b) if counts[y]), default=0)
        for y in range(last, b):
            more = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
            yield from extend(more, left - 1, tallies.times_form(f, W[:, y]))

    yield from extend((0,) * b, n, tallies.one(k, n))


def _by_values(W: Array, prior: Prior, n: int) -> float:
    """Compute H(S) − H(S | T)."""
    counts, log_t = tallies.tally_distribution(prior, n)
    given = 0.0
    for t, log_p in zip(counts, log_t, strict=True):
        q = _sum_distribution(W, t, n)
        given -= math.exp(log_p) * float(xlogy(q, q).sum())
    reports = compositions(n, W.shape[1])
    log_s = tallies.log_multinomial(reports) + tallies.log_probabilities(reports, W, *prior.nodes(n))
    return -float(np.exp(log_s) @ log_s) - given


def _sum_distribution(W: Array, t: tallies.Tallies, n: int) -> Array:
    """Compute the distribution of S when t_x users hold x, by FFT.

    It lies on the grid of the first b − 1 counts of S.
    """
    b = W.shape[1]
    corner = np.zeros((n + 1,) * (b - 1))
    spectrum = np.ones_like(corner, dtype=np.complex128)
    for row, count in zip(W, t, strict=True):
        one_user = corner.copy()
        one_user[(0,) * (b - 1)] = row[-1]
        for y in range(b - 1):
            one_user[tuple(int(z == y) for z in range(b - 1))] = row[y]
        spectrum *= np.fft.fftn(one_user) ** int(count)
    return np.maximum(np.fft.ifftn(spectrum).real, 0.0)


# ---------------------------------------------------------------- by sampling


def _sampled(W: Array, prior: Prior, n: int, draws: int, seed: int) -> Estimate:
    """Average over draws of S: the divergence of T given S, or log P(s | t)/P(s) with T drawn, too."""
    k, b = W.shape
    beta = response_level(W) if isinstance(prior, Dirichlet) else None
    by_reports = math.log(n * k) + _log_grid(n, k)
    by_values = max(_log_grid(n, b) + math.log(20), math.log(prior.node_count(n)))
    response = math.log(SPREAD * n + STEP * k) if beta is not None else math.inf
    least = min(by_reports, by_values, response)
    if least + math.log(draws) > math.log(SAMPLED_WORK):
        raise InvalidInputError(
            f"I(Y; T) of {n} reports with {k} inputs and {b} outputs would take about "
            f"10^{least / math.log(10):.1f} operations for each of {draws} draws, more than "
            f"{SAMPLED_WORK:.2g} together"
        )
    rng = np.random.default_rng(seed)
    p = prior.sample(draws, rng)
    t = rng.multinomial(n, p / p.sum(axis=1, keepdims=True))
    s = np.array([sum(rng.multinomial(c, w) for c, w in zip(row, W, strict=True)) for row in t])
    if least == response and beta is not None and isinstance(prior, Dirichlet):
        values = _response_ratios(W, prior, beta, t, s)
    elif least == by_reports:
        hidden = Hidden.of(prior, n)
        values = np.array([hidden.learnt(tallies.expanded(W, row)[0])[1] for row in s])
    else:
        cells = [float(_sum_distribution(W, a, n)[tuple(c[:-1])]) for a, c in zip(t, s, strict=True)]
        marginal = tallies.log_multinomial(s) + tallies.log_probabilities(s, W, *prior.nodes(n))
        values = np.log(np.maximum(cells, 1e-300)) - marginal
    # the factor of the standard error. The values are skewed: for means of 100 of them, two standard
    # errors cover the truth in 92 of 100 cases.
    error = 1.2 * float(values.std(ddof=1)) / math.sqrt(draws)
    rounding = 10 * ROUNDING * n * math.log(n + 1)  # of logarithms of factorials
    return Estimate(values.mean(), error + rounding, "monte-carlo")


def _response_ratios(
    W: Array, prior: Dirichlet, beta: float, t: tallies.Tallies, s: tallies.Tallies
) -> Array:
    """Compute log P(s | t)/P(s) of each row of t and s, for randomised response."""
    aligned = s[:, np.argsort(W.argmax(axis=0))]  # the report that stands for each input
    given = [log_response(a, c, beta) for a, c in zip(t, aligned, strict=True)]
    marginal = [
        randomized_response_series.log_probability(prior, beta, c.astype(np.float64)) for c in aligned
    ]
    return np.array(given) - np.array(marginal) - tallies.log_multinomial(aligned)


def log_response(t: tallies.Tallies, s: tallies.Tallies, beta: float) -> float:
    """Compute log P(s | t) of randomised response: s_x reports of x from t_x users with x.

    Π_x (Z + β z_x)^{t_x} has at z^s the coefficient
    Σ_K (n − K)! [u^K] Π_x Σ_k C(t_x, k) β^k u^k/(s_x − k)!.

    Args:
        t: how many users hold each value.
        s: how many report it.
        beta: β = e^ε − 1.

    >>> one_user = log_response(np.array([1, 0]), np.array([1, 0]), 2.0)
    >>> round(math.exp(one_user), 12)
    0.75
    """
    n, a = int(t.sum()), len(t)
    # terms below e^−reach of the largest are left out; (n − K)! lifts them by a share β/(a + β) of that
    reach = min(700.0, 60 * (a + beta) / a)
    tilt = _tilt(t.astype(np.float64), s.astype(np.float64), beta)
    first, product, log = 0, np.ones(1), 0.0
    for users, reports in zip(t, s, strict=True):
        k = np.arange(min(users, reports) + 1)
        log_f = gammaln(users + 1) - gammaln(k + 1) - gammaln(users - k + 1) - gammaln(reports - k + 1)
        log_f += k * tilt
        top = float(log_f.max())
        near = np.flatnonzero(log_f > top - reach)
        product = np.convolve(product, np.exp(log_f[near] - top))
        most = float(product.max())
        kept = np.flatnonzero(product > most * math.exp(-reach))
        product = product[kept[0] : kept[-1] + 1] / most
        first, log = first + int(near[0]) + int(kept[0]), log + top + math.log(most)
    K = first + np.arange(len(product))
    log_terms = np.log(product) + gammaln(n - K + 1) + K * (math.log(beta) - tilt)
    top = float(log_terms.max())
    return top + math.log(float(np.exp(log_terms - top).sum())) + log - n * math.log(a + beta)


def _tilt(t: Array, s: Array, beta: float) -> float:
    """Find log r for which the largest terms of all factors, each times r^k, add up to the largest K.

    Those of C(t, k) r^k/(s − k)! are where (t − k)(s − k) r = k, those of (n − K)! (β/r)^K where
    (n − K) r = β. So the terms that count are the large ones of every factor.

    Args:
        t: how many users hold each value.
        s: how many report it.
        beta: β = e^ε − 1.
    """

    def lack(tilt: float) -> float:
        r = math.exp(tilt)
        half = r * (t + s) + 1
        modes = 2 * r * t * s / (half + np.sqrt(np.maximum(half**2 - 4 * r**2 * t * s, 0.0)))
        return float(t.sum() - modes.sum()) * r - beta

    low, high = math.log(beta / t.sum()) - 1, math.log(beta) + 1
    while lack(high) < 0:
        high += 5
    return float(brentq(lack, low, high))
