"""Sums over the tallies of n reports or values, with the unknown P integrated out.

Reports enter through their tallies s_y only. ``P(Y = y) = E Π_y (W[:, y]·P)^{s_y}`` is the expectation
of a polynomial of degree n, for which Gauss quadrature is exact.

Products of linear forms, Π_y (W[:, y]·u)^{s_y}, stand on the grid of the first k − 1 exponents.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln

from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.mechanisms.listings import compositions
from ldpopt.models.priors import Dirichlet, Prior

EXACT_WORK = 3e8
"""Elementary operations beyond which exact enumeration is refused or replaced by sampling."""
MOST_REPORTS = 10_000_000

Tallies = Whole


def merged(columns: Array) -> Array:
    """Add up proportional columns and drop empty ones: nothing is lost by it.

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


def log_multinomial(counts: Tallies) -> Array:
    """Compute log n! / Π s_y! of every row."""
    return gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)


def log_probabilities(counts: Tallies, columns: Array, points: Array, weights: Array) -> Array:
    """Compute log P(Y = y) of one sequence with each of the given tallies, by quadrature.

    Args:
        counts: the tallies s, one per row.
        columns: the mechanism W[x, y].
        points: the nodes p of the quadrature, one per row.
        weights: the weights of the nodes.
    """
    log_q = np.log(np.maximum(points @ columns, 1e-300))
    log_w = np.log(weights)
    step = max(1, 2_000_000 // len(points))
    rows = counts.astype(np.float64)
    parts = [_log_sum(rows[i : i + step] @ log_q.T + log_w) for i in range(0, len(rows), step)]
    return np.concatenate(parts)


def _log_sum(terms: Array) -> Array:
    """Compute log Σ e^terms along the rows, in place: this is where the time goes."""
    top = terms.max(axis=1)
    terms -= top[:, None]
    np.exp(terms, out=terms)
    return top + np.log(terms.sum(axis=1))


def chosen_method(method: str, log_work: float, what: str) -> str:
    """Choose "exact" or "monte-carlo", as asked for or as e^log_work operations allow.

    Args:
        method: "auto", "exact" or "monte-carlo".
        log_work: the logarithm of the operations that "exact" takes.
        what: the quantity, for the message.

    Raises:
        InvalidInputError: "exact" was asked for and takes too many operations.
    """
    if method == "monte-carlo" or (method == "auto" and log_work > math.log(EXACT_WORK)):
        return "monte-carlo"
    if log_work > math.log(EXACT_WORK):
        raise InvalidInputError(
            f"exact {what} would take about 10^{log_work / math.log(10):.1f} operations, more than "
            f"{EXACT_WORK:.2g}; use method='auto' or 'monte-carlo'"
        )
    return "exact"


def log_count(n: int, parts: int) -> float:
    """Compute the log of the number of tallies of n in ``parts`` parts."""
    return float(gammaln(n + parts) - gammaln(parts) - gammaln(n + 1))


# ---------------------------------------------------------------- tallies of values


def expected_log_beta(prior: Dirichlet, n: int) -> float:
    """Compute E log B(α + T)/B(α): the counts enter one by one, and each is beta-binomial."""
    start = float(gammaln(prior.total) - gammaln(prior.total + n) - gammaln(prior.alpha).sum())
    return start + _marginal_sum(prior, n, lambda alpha, t: gammaln(alpha + t))


def _marginal_sum(prior: Dirichlet, n: int, f: Any) -> float:
    """Compute Σ_x E f(α_x, T_x), T_x beta-binomial, for f near t log t − t.

    The mean n α_x/A of T_x is known: what is summed is f less a multiple of t, which is far smaller.
    """
    if n > MOST_REPORTS:
        raise InvalidInputError(f"n must be at most {MOST_REPORTS:,} for sums over tallies, not {n:,}")
    t, slope = np.arange(n + 1), math.log(n) - 1
    total = 0.0
    for alpha, times in zip(*np.unique(prior.alpha, return_counts=True), strict=True):
        log_pmf = (
            gammaln(n + 1)
            - gammaln(t + 1)
            - gammaln(n - t + 1)
            + betaln(alpha + t, prior.total - alpha + n - t)
            - betaln(alpha, prior.total - alpha)
        )
        pmf = np.exp(log_pmf - log_pmf.max())
        rest = float(pmf @ (f(alpha, t) - slope * t)) / float(pmf.sum())
        total += int(times) * (rest + slope * n * float(alpha) / prior.total)
    return total


def tally_entropy(prior: Prior, n: int) -> float:
    """Compute H(T) of the tallies of n values."""
    if isinstance(prior, Dirichlet):
        choices = float(gammaln(n + 1)) - _marginal_sum(prior, n, lambda _, t: gammaln(t + 1))
        return -expected_log_beta(prior, n) - choices
    _, log_p = tally_distribution(prior, n)
    return -float(np.exp(log_p) @ log_p)


def tally_distribution(prior: Prior, n: int) -> tuple[Tallies, Array]:
    """List the tallies of n values and the log of the probability of each."""
    counts = compositions(n, prior.size)
    if isinstance(prior, Dirichlet):
        up = gammaln(prior.alpha + counts).sum(axis=1) - gammaln(prior.total + n)
        return counts, log_multinomial(counts) + up - prior.log_beta
    eye = np.eye(prior.size)
    return counts, log_multinomial(counts) + log_probabilities(counts, eye, *prior.nodes(n))


def one(k: int, n: int) -> Array:
    """Return the polynomial 1 on the grid of exponents up to n."""
    result = np.zeros((n + 1,) * (k - 1))
    result[(0,) * (k - 1)] = 1.0
    return result


def times_form(f: Array, form: Array) -> Array:
    """Multiply a homogeneous polynomial by the linear form."""
    product: Array = form[-1] * f
    for x, q in enumerate(form[:-1]):
        up = tuple(slice(1, None) if z == x else slice(None) for z in range(f.ndim))
        down = tuple(slice(None, -1) if z == x else slice(None) for z in range(f.ndim))
        product[up] += q * f[down]
    return product


def expanded(columns: Array, counts: Tallies) -> tuple[Array, float]:
    """Expand Π_y (W[:, y]·u)^{s_y}: its coefficients, and the log of their common factor.

    Args:
        columns: the forms W[x, y].
        counts: the powers s.
    """
    result, log_scale = one(len(columns), int(counts.sum())), 0.0
    for form, times in zip(columns.T, counts, strict=True):
        for _ in range(times):
            result = times_form(result, form / form.max())
            log_scale += math.log(form.max())
    return result, log_scale
