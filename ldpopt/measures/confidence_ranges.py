"""Intervals that hold all at once, also for frequencies that the reports do not determine.

These have a range: of all c·P, P a distribution whose output law PW lies in a box of Clopper–Pearson
intervals around the shares of the reports.

Where no P has its law in the box, the confidence set is empty. Under the mechanism that is an event of
probability at most 1 − level, and whatever is answered then keeps the level. The answer is the range for
the nearest shares that some P gives: the box is moved to the law that misses it by the least multiple of
its widths. Only reports that have a probability below :data:`UNLIKELY` for all P are refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.measures.frequency_intervals import box, intervals_at_once, score_intervals

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


def confidence_intervals(
    W: Array, counts: NDArray[np.int64], functionals: Array, level: float
) -> Intervals:
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


def _possible_box(W: Array, counts: NDArray[np.int64], alpha: float) -> tuple[Box, bool]:
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
