"""Find the level of PolyOpt's cone whose best mechanism, once made private against F, is worth most.

The cone is built on polytopes around F. So the exact level of its mechanisms over F is at most ε and may
be lower, and the best mechanism of a cone of a higher level may still be private. Its exact level is
neither a monotone nor a continuous function of the level of the cone, as the optimum jumps from vertex
to vertex. So some levels of the cone are scanned, and then levels on both sides of the best one are
tried, at most a fixed number.

The best mechanism of a cone is made private against F by the exact audit, column by column
(:func:`tightened`): a column whose level is too high is mixed with a constant release; from a column
whose level is lower than allowed, a constant release is taken away.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from ldpopt.core.validate import Array
from ldpopt.models.chi2_cone import ExactCone
from ldpopt.models.uncertainty_sets import Chi2Set

SCAN, ROUNDS = 6, 8
STEPS = SCAN + 2 * ROUNDS
"""The most cones that are solved: SCAN in the scan, then up to ROUNDS on each side of the best one."""
SLACK = 1e-9
"""Columns are given a level this much below ε, relative to ε."""
NEAR = 1e-8
"""The search ends at an exact level this near to ε, relative to ε."""


class Tried(NamedTuple):
    """What the best mechanism of a cone is worth once it is private, and its exact level before."""

    worth: float
    exact: float


def levels(lowest: float, highest: float, epsilon: float, known: Tried) -> Generator[float, Tried, None]:
    """Yield the levels of the cone to try above the lowest one, more densely near it.

    The caller sends back a :class:`Tried` for each. Around the best level of the scan, the search looks
    for the level of the cone at which the exact level passes ε. Below it the mechanism is more private
    than it must be; above it the mechanism must be made more private.

    Args:
        lowest: the level of the cone whose result is known.
        highest: the first level to try.
        epsilon: the exact level that is allowed.
        known: the result of the lowest level.

    >>> search = levels(0.0, 8.0, 1.0, Tried(-2.4, 0.0))
    >>> level = next(search)
    >>> for _ in range(STEPS - 1):
    ...     worth = -abs(level - 2.4) if level <= 2.4 else -9.0
    ...     level = search.send(Tried(worth, (level / 2.4) ** 3))
    ...     if abs(level - 2.4) < 1e-6:
    ...         break
    >>> abs(level - 2.4) < 1e-6
    True
    """
    tried = {lowest: known}
    for step in range(SCAN, 0, -1):
        level = lowest + (highest - lowest) * (step / SCAN) ** 2
        tried[level] = yield level
    best = max(tried, key=lambda level: tried[level].worth)
    below = max((level for level in tried if level < best), default=best)
    above = min((level for level in tried if level > best), default=best)
    for low, high in ((below, best), (best, above)):
        if low < high:
            yield from _crossing(low, high, tried[low], tried[high], epsilon)


def _crossing(
    low: float, high: float, first: Tried, last: Tried, epsilon: float
) -> Generator[float, Tried, None]:
    """Yield levels between two neighbours of the scan, where the exact level passes ε.

    The method is false position with the Illinois rule. Where ε does not lie between the exact levels of
    the ends, the interval is halved: the upper half is kept if the mechanism in the middle is worth more
    than that at the lower end.
    """
    f, g = (min(one.exact, 4 * epsilon) - epsilon for one in (first, last))
    worth, side = first.worth, 0
    for _ in range(ROUNDS):
        crosses = f < 0 < g
        middle = (low * g - high * f) / (g - f) if crosses else (low + high) / 2
        found = yield middle
        passed = min(found.exact, 4 * epsilon) - epsilon
        if abs(passed) <= NEAR * epsilon:
            return
        if passed < 0 if crosses else found.worth > worth:
            low, f, worth = middle, passed, found.worth
            g, side = (g / 2 if side < 0 else g), -1
        else:
            high, g = middle, passed
            f, side = (f / 2 if side > 0 else f), 1


def tightened(matrix: Array, F: Chi2Set, epsilon: float) -> Array:
    """Give every column of a mechanism the level ε, where possible, by adding or removing a constant.

    A constant c that is added to a column T moves every P_{y|s} by c, so T + c is private against F if
    and only if c ≥ excess(T) / (e^ε − 1), see :meth:`ldpopt.models.chi2_cone.ExactCone.excess`. If
    c < 0, a share of a constant release is removed, and the information rises. Entries stay at least 0,
    so nothing can be removed from a column that has a zero.

    Args:
        matrix: the mechanism; its rows sum to 1.
        F: the confidence set.
        epsilon: the level, in nats.
    """
    allowed = epsilon * (1 - SLACK)
    excess = ExactCone(F, allowed).excess(matrix)[0].max(axis=1)
    added = np.maximum(excess / math.expm1(allowed), -matrix.min(axis=0))
    moved = matrix + added
    kept = moved.any(axis=0)
    return moved[:, kept] / moved[:, kept].sum(axis=1, keepdims=True)
