"""Find the level of PolyOpt's cone whose best mechanism is worth most among those private against F.

The cone is built on polytopes around F, so that its members have an exact level below ε, and the best
mechanism of a cone of a higher level may still be private. How its exact level depends on that of the
cone is neither monotone nor continuous: the optimum jumps from vertex to vertex. So levels are scanned,
and both sides of the best one are refined, a fixed number of times.

The best mechanism W of a cone that is not private is mixed with a constant release c,
W' = (1 − λ) W + λ c, with the least λ that makes it private: the exact level falls continuously to 0
as λ rises to 1, where it is finite.
"""

from __future__ import annotations

from collections.abc import Generator

from scipy.optimize import brentq

from ldpopt.core.validate import Array
from ldpopt.theory.robust.level import rldp_level
from ldpopt.theory.robust.uncertainty import Chi2Set

SCAN, ROUNDS = 6, 8
STEPS = SCAN + 2 * ROUNDS
"""Cones that are solved at most: so many at growing distances, then on both sides of the best."""
SLACK = 1e-9
"""How far below ε the exact level of a mixture is sought, relatively."""


def levels(lowest: float, highest: float, known: float) -> Generator[float, float, None]:
    """Yield the levels to try above the lowest one, more densely near it.

    The caller sends back what each is worth.

    Args:
        lowest: the level that is known.
        highest: the first one to try.
        known: what the lowest one is worth.

    >>> search, worth = levels(0.0, 8.0, -2.4), None
    >>> for _ in range(STEPS):
    ...     level = search.send(worth)
    ...     worth = -abs(level - 2.4) if level <= 2.4 else -9.0
    >>> abs(level - 2.4) < 0.1
    True
    """
    worth = {lowest: known}
    for step in range(SCAN, 0, -1):
        level = lowest + (highest - lowest) * (step / SCAN) ** 2
        worth[level] = yield level
    best = max(worth, key=lambda level: worth[level])
    below = max((level for level in worth if level < best), default=best)
    above = min((level for level in worth if level > best), default=best)
    for low, high in ((below, best), (best, above)):
        if low < high:
            yield from _climb(low, high, worth[low])


def _climb(best: float, above: float, known: float) -> Generator[float, float, None]:
    """Yield levels between two neighbours of the scan, upwards while they are worth more."""
    for _ in range(ROUNDS):
        middle = (best + above) / 2
        worth = yield middle
        if worth > known:
            best, known = middle, worth
        else:
            above = middle


def least_mixture(matrix: Array, F: Chi2Set, epsilon: float, value: float, least: float) -> Array | None:
    """Mix with a constant release until private against F; None if that is worth too little.

    Information is convex in the mechanism, so that a mixture is worth at most (1 − λ) times the value of
    the mechanism: a share λ above 1 − least/value is of no use, and nothing is sought if that one is not
    private either.

    Args:
        matrix: the mechanism.
        F: the confidence set.
        epsilon: the level.
        value: what the mechanism is worth.
        least: what the mixture must be worth.
    """
    constant, allowed = matrix.mean(axis=0), epsilon * (1 - SLACK)

    def mixed(share: float) -> Array:
        return (1 - share) * matrix + share * constant

    def excess(share: float) -> float:
        return min(rldp_level(mixed(share), F).level, 100.0) - allowed

    if excess(0.0) <= 0:
        return matrix
    most = 1 - least / value if value > least > 0 else 1 - 1e-9
    if value <= least or excess(most) > 0:
        return None
    root = float(brentq(excess, 0.0, most, xtol=1e-10))
    while root < most and excess(root) > 0:
        root = min(root + 1e-9, most)
    return mixed(root)
