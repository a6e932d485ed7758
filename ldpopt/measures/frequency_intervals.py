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

Intervals that hold all at once, also for frequencies that the reports do not determine.

These have a range: of all c·P, P a distribution whose output law PW lies in a box of Clopper–Pearson
intervals around the shares of the reports.

Where no P has its law in the box, the confidence set is empty. Under the mechanism that is an event of
probability at most 1 − level, and whatever is answered then keeps the level. The answer is the range for
the nearest shares that some P gives: the box is moved to the law that misses it by the least multiple of
its widths. Only reports that have a probability below :data:`UNLIKELY` for all P are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ldpopt.core.quantiles import greatest_share, least_share, normal_quantile
from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.mechanisms.randomizer import Column, Marks, Moments, Randomizer, Tally, Unbiased

LEVEL = 0.95
"""The confidence level at which what is determined is told from what is not."""

Counts = Whole | Array


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


class Estimated(NamedTuple):
    """The moments and the estimates of columns, and whether data exist that explain the reports."""

    moments: list[Moments]
    estimates: list[Estimates]
    explained: bool


def estimated(
    of: Randomizer,
    tally: Tally,
    columns: Sequence[Column],
    level: float,
    *,
    wanted: Sequence[Marks] | None = None,
    registry: bool = False,
) -> Estimated:
    """Estimate the frequencies of columns; one that is not determined has the range that is left open.

    Args:
        of: the mechanism that made the reports.
        tally: how often each was made. Of weighted reports, intervals are normal, and there is no range.
        columns: the columns, of which every value has an input.
        level: the probability with which the interval of one frequency covers it.
        wanted: for each column, the values whose ranges are wanted; all unless given.
        registry: whether the rows are all people, not a sample of them.
    """
    n, moments = of.reported(tally), of.moments(tally, columns) if columns else []
    if tally.ndim == 2:
        return Estimated(moments, [_normal(part, level) for part in moments], True)
    found = [solved(part.estimates, n, level, registry) for part in moments]
    free, explained = [~part.determined for part in found], True
    if wanted is not None:
        free = [own & asked for own, asked in zip(free, wanted, strict=True)]
    if any(part.any() for part in free):
        *ends, explained = of.ranges(tally, columns, free, level)
        places = np.cumsum([part.sum() for part in free])[:-1]
        for part, own, low, high in zip(
            found, free, *(np.split(end, places) for end in ends), strict=True
        ):
            part.low[own], part.high[own] = low, high
    if registry:
        moments = [part.of_registry(n) for part in moments]
    return Estimated(moments, found, explained)


def _normal(of: Moments, level: float) -> Estimates:
    """Return the normal intervals of weighted estimates, whose squares have weights of their own."""
    mean, known = of.estimates.mean, of.estimates.known
    determined = known & np.isfinite(margins(of.spread, 1))
    half = np.where(determined, normal_quantile((1 - level) / 2) * np.sqrt(of.spread), np.inf)
    low, high = np.clip([mean - half, mean + half], 0, 1)
    return Estimates(mean, low, high, determined)


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


MOST_RANGES = 100
"""The most undetermined frequencies whose ranges are computed, by two linear programs each."""
UNLIKELY = 1e-9
"""Reports less likely than this were made by another mechanism."""
TOLERANCE = 1e-7
"""A box that is missed by less than this share of its widths is not missed: the linear program's."""

Box = tuple[Array, Array]


class Intervals(NamedTuple):
    """An interval per functional, whether the reports determine it, and whether data explain them."""

    low: Array
    high: Array
    determined: NDArray[np.bool_]
    explained: bool


def confidence_intervals(W: Array, counts: Whole, functionals: Array, level: float) -> Intervals:
    """Compute intervals that hold all at once with the given confidence, cut to [0, 1].

    What the reports determine has the intervals of
    :func:`ldpopt.measures.frequency_intervals.intervals_at_once`, which rest on an approximation; the
    rest has ranges, which hold for every number of reports. If there are more than :data:`MOST_RANGES`,
    these are [0, 1]. Each kind has half of 1 − level if both occur.

    Args:
        W: the mechanism W[x, y].
        counts: how often each report was made, an entry per output.
        functionals: c, one per row, of entries 0 and 1.
        level: the probability with which all intervals hold.

    Raises:
        InvalidInputError: there are no reports, or another mechanism made them.

    >>> W = np.array([[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]])
    >>> found = confidence_intervals(W, np.array([500, 500]), np.eye(3), 0.95)
    >>> found.determined.tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([True, False, False], [0.43, 0.0, 0.0], [0.57, 0.58, 0.58])
    """
    if not counts.any():
        raise InvalidInputError("there are no reports to estimate from")
    known = score_intervals(W, counts, functionals).determined
    alpha = (1 - level) / (1 if known.all() or not known.any() else 2)
    low, high, explained = np.zeros(len(functionals)), np.ones(len(functionals)), True
    if known.any():
        found = intervals_at_once(W, counts, functionals[known], 1 - alpha)
        low[known], high[known] = found.low, found.high
    free = np.flatnonzero(~known)
    if 0 < len(free) <= MOST_RANGES:
        laws, explained = _possible_box(W, counts, alpha)
        for i in free:
            low[i], high[i] = _range(W, functionals[i], laws)
    return Intervals(low, high, known, explained)


def _possible_box(W: Array, counts: Whole, alpha: float) -> tuple[Box, bool]:
    """Return the box of laws, moved to the nearest law of data if it has none, and whether it had."""
    laws = box(counts, alpha)
    missed, nearest = _missed(W, laws)
    if missed <= TOLERANCE:
        return laws, True
    if _missed(W, box(counts, UNLIKELY))[0] > TOLERANCE:
        raise InvalidInputError(
            "another mechanism made these reports: whatever the data, they have a probability below "
            f"{UNLIKELY:g} under this one"
        )
    shift = nearest @ W - counts / counts.sum()
    return (laws[0] + shift, laws[1] + shift), False


def _missed(W: Array, laws: Box) -> tuple[float, Array]:
    """Return by which multiple of its widths the box must grow to hold the law of a P, and that P."""
    (low, high), k = laws, len(W)
    width = (high - low)[:, None]
    rows = np.vstack([np.hstack([W.T, -width]), np.hstack([-W.T, -width])])
    goal, whole = np.append(np.zeros(k), 1.0), np.append(np.ones(k), 0.0)[None]
    found = linprog(goal, rows, np.concatenate([high, -low]), A_eq=whole, b_eq=[1.0])
    best = np.asarray(found.x)
    return float(best[k]), best[:k]


def _range(W: Array, functional: Array, laws: Box) -> tuple[float, float]:
    """Compute the least and the largest c·P over the distributions P whose output law is in the box."""
    rows, limits = np.vstack([W.T, -W.T]), np.concatenate([laws[1], -laws[0]])
    ends = []
    for sign, trivial in ((1.0, 0.0), (-1.0, 1.0)):
        found = linprog(sign * functional, rows, limits, A_eq=np.ones((1, len(W))), b_eq=[1.0])
        ends.append(trivial if found.fun is None else float(np.clip(sign * found.fun, 0, 1)))
    return ends[0], ends[1]
