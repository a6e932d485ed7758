"""Unbiased estimates of frequencies from reports, and intervals for each by itself or for all at once.

A frequency c·P, c of entries 0 and 1, is estimated by the mean over the reports of an a with W a = c:
without bias, whatever P is, so it may lie below 0 or above 1. Of all such a it is the one of least
variance under the law of reports of a plain first estimate of P. With g = W(a ∘ a) the variance of one a
is Σ_x P_x g_x − v², v = c·P, and Σ_x P_x g_x = v g¹ + (1 − v) g⁰ with the means of g over the inputs
that have the value and over those that do not. The score interval holds the v in [0, 1] with

    (|m − v| − h)² ≤ z² (v g¹ + (1 − v) g⁰ − v²)/n  or  |m − v| ≤ h,    m = the mean of a,

quadratic inequalities, Wilson's where the data are released as they are. The variance is taken at v, not
at the estimate, so it does not vanish where a value was never seen. h is half of what one report can
change the mean by (the continuity correction): without it a value that less than one report in a hundred
tells of is missed by up to a tenth of the 95 % intervals. m − h and m + h are cut to [0, 1]: with a mean
below 0 uncut the interval would hold fewer v, at times none; a longer one covers as often or more.

n reports *determine* c·P if W a = c has a solution and the interval at :data:`LEVEL` is shorter than
[0, 1] when it is not cut: otherwise they say less than is known without them. So a mechanism that is
singular but for a little does not determine what it leaves to that little.

Of a registry, whose rows are all people that the frequencies are about, the reports alone are random,
and v g¹ + (1 − v) g⁰ − v takes the place of the variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.quantiles import greatest_share, least_share, normal_quantile
from ldpopt.core.validate import Array
from ldpopt.mechanisms.randomizer import Unbiased

LEVEL = 0.95
"""The confidence level at which what is determined is told from what is not."""

Counts = NDArray[np.int64] | Array


class Estimates(NamedTuple):
    """An estimate with its interval for each functional.

    Attributes:
        value: the unbiased estimate, also below 0 or above 1.
        low, high: the ends of the interval, cut to [0, 1].
        determined: whether the reports determine it; where not, value and interval say nothing.
    """

    value: Array
    low: Array
    high: Array
    determined: NDArray[np.bool_]


def unbiased_weights(W: Array, functionals: Array, law: Array) -> Array:
    """Find for each functional c the a of least variance under the law of the reports, with W a = c.

    Where no a has W a = c, it is the one that comes nearest.

    Args:
        W: the mechanism W[x, y].
        functionals: c, one per row.
        law: the probability of every report, all positive.
    """
    root = np.sqrt(law)
    left, values, right = np.linalg.svd(W / root, full_matrices=False)
    # singular values below this share of the largest are 0
    kept = values > 1e-11 * values[0]
    parts = (functionals @ left)[:, kept] / values[kept]  # before the large inverses are added up
    weights: Array = parts @ right[kept] / root
    return weights


def are_solved(W: Array, functionals: Array, weights: Array) -> NDArray[np.bool_]:
    """Return for each functional c whether W a = c.

    Args:
        W: the mechanism W[x, y].
        functionals: c, one per row.
        weights: a, one per row.
    """
    # how close W·a must be to c to count as equal
    found: NDArray[np.bool_] = np.abs(weights @ W.T - functionals).max(axis=1) < 1e-9
    return found


def margins(variances: Array, n: float, level: float = LEVEL) -> Array:
    """Compute the margin ± of each frequency from n reports, infinite where they do not determine it.

    Args:
        variances: n times the variance of each estimate.
        n: the number of reports.
        level: the probability with which the interval of each frequency by itself covers it.
    """
    deviation = np.sqrt(variances / n)
    known = normal_quantile((1 - LEVEL) / 2) * deviation < 0.5
    return np.where(known, normal_quantile((1 - level) / 2) * deviation, np.inf)


def score_intervals(W: Array, counts: Counts, functionals: Array, level: float = LEVEL) -> Estimates:
    """Estimate frequencies, each with an interval that holds by itself with about the given probability.

    Args:
        W: the mechanism W[x, y].
        counts: how often each report was made, an entry per output; not all 0.
        functionals: c, one per row, of entries 0 and 1.
        level: the probability with which the interval of one frequency covers it.

    >>> found = score_intervals(np.eye(2), np.array([0, 10]), np.eye(2), 0.95)  # Wilson's interval
    >>> found.low.round(3).tolist(), found.high.round(3).tolist()
    ([0.0, 0.655], [0.345, 1.0])
    """
    return solved(unbiased(W, counts, functionals)[0], float(counts.sum()), level)


def unbiased(W: Array, counts: Counts, functionals: Array) -> tuple[Unbiased, Array]:
    """Estimate frequencies without bias; the second answer is a, an entry per report.

    Args:
        W: the mechanism W[x, y].
        counts: how often each report was made, an entry per output; not all 0.
        functionals: c, one per row, of entries 0 and 1.
    """
    n, used = float(counts.sum()), W.any(axis=0)
    P = _first_estimate(W[:, used], counts[used] / n)
    a = np.zeros((len(functionals), len(counts)))
    a[:, used] = unbiased_weights(W[:, used], functionals, P @ W[:, used])
    inside = functionals > 0.5
    g = (a**2) @ W.T
    g1, g0 = _mean_over(g, P, inside), _mean_over(g, P, ~inside)
    span = a[:, used].max(axis=1) - a[:, used].min(axis=1)
    return Unbiased(a @ (counts / n), span, g1, g0, are_solved(W, functionals, a)), a


def solved(of: Unbiased, n: float, level: float, registry: bool = False) -> Estimates:
    """Solve the quadratic inequalities.

    Args:
        of: the unbiased estimates, with g¹ and g⁰.
        n: the number of reports.
        level: the probability with which the interval of one frequency covers it.
        registry: whether the rows are all people, not a sample of them.
    """
    mean, span, g1, g0, known = of
    g1 = g1 - registry
    squares = not registry
    (below, down), (above, up) = (
        _ends(np.clip(mean + side * span / (2 * n), 0, 1), g1, g0, n, level, squares) for side in (-1, 1)
    )
    low, high = np.clip([below - down, above + up], 0, 1)
    short = 2 * _ends(np.clip(mean, 0, 1), g1, g0, n, LEVEL, squares)[1] < 1
    return Estimates(mean, low, high, known & short)


def _ends(
    mean: Array, g1: Array, g0: Array, n: float, level: float, squares: bool
) -> tuple[Array, Array]:
    """Return the middle and half of the length of the intervals, not cut.

    Args:
        mean: m.
        g1: the variance is v g¹ + (1 − v) g⁰, less v² where that counts.
        g0: see g1.
        n: the number of reports.
        level: the probability with which one covers.
        squares: whether v² counts.
    """
    share = normal_quantile((1 - level) / 2) ** 2 / n
    whole = 1 + share * squares
    middle = (mean + share * (g1 - g0) / 2) / whole
    square = middle**2 - (mean**2 - share * g0) / whole
    return middle, np.sqrt(np.maximum(square, 0.0))


def intervals_at_once(W: Array, counts: Counts, functionals: Array, level: float) -> Estimates:
    """Estimate frequencies with intervals that hold all at once, at least with the given probability.

    They are normal intervals around the estimates, cut to [0, 1], with the largest variance that a box
    of Clopper–Pearson intervals allows, and Bonferroni's rule. Score intervals of the levels that this
    rule needs miss up to a tenth of the rare values: a normal tail is too short there.

    Args:
        W: the mechanism W[x, y].
        counts: how often each report was made, an entry per output; not all 0.
        functionals: c, one per row, of entries 0 and 1.
        level: the probability with which all intervals cover.
    """
    n, alpha = float(counts.sum()), 1 - level
    estimates, a = unbiased(W, counts, functionals)
    found = solved(estimates, n, LEVEL)
    variance = largest_means((a - found.value[:, None]) ** 2, box(counts, alpha))
    half = normal_quantile(alpha / 2 / len(a)) * np.sqrt(variance / n)
    centre = np.clip(found.value, 0, 1)
    return found._replace(low=np.clip(centre - half, 0, 1), high=np.clip(centre + half, 0, 1))


def box(counts: Counts, alpha: float) -> tuple[Array, Array]:
    """Compute Clopper–Pearson intervals for the probability of every report, all at once."""
    n, tail = counts.sum(), alpha / 2 / len(counts)
    return least_share(tail, counts, n), greatest_share(tail, counts, n)


def largest_means(values: Array, box: tuple[Array, Array]) -> Array:
    """Compute for each row of values its largest mean under a law in the box: large values first."""
    low, high = box
    order = np.argsort(-values, axis=1)
    room = (high - low)[order]
    left = 1 - low.sum() - np.cumsum(room, axis=1) + room
    law = low[order] + np.clip(left, 0.0, room)
    return (np.take_along_axis(values, order, axis=1) * law).sum(axis=1)


def _first_estimate(W: Array, shares: Array) -> Array:
    """Estimate P from the shares of the reports, and keep a touch of every input."""
    k = len(W)
    law = np.full(k, 1 / k) @ W
    plain = unbiased_weights(W, np.eye(k), law) @ shares
    positive = np.maximum(plain, 0.0)
    mass = positive.sum()
    found = positive / mass if mass > 0 else np.full(k, 1 / k)
    return 0.9 * found + 0.1 / k


def _mean_over(g: Array, P: Array, inside: NDArray[np.bool_]) -> Array:
    weights = np.where(inside, P, 0.0)
    mass = weights.sum(axis=1)
    mean: Array = (g * weights).sum(axis=1) / np.where(mass > 0, mass, 1.0)
    return mean
