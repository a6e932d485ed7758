"""Bracket the least mutual information of a mechanism over an uncertainty set.

Lopuhaä-Zwakenberg and Goseling 2021, Section II: min over P ∈ F of I_P(X; Y), the second of their
utilities. I_P = Σ_x P_x h_x − Σ_y q_y log q_y with h_x = Σ_y W_xy log W_xy and q = P W is concave in P,
so its least value over F is a global problem. From above, a descent linearises I at a member and goes to
the member that is least for the slope; I never rises. From below, where q lies in a box, each −q log q
is at least its chord, which leaves a linear function of P, whose least value over F is known
(``ldpopt/checker/kernel/proofs/uncertainty_sets.py``). Boxes are cut in two where the chord lies
farthest below the curve.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from ldpopt.core.exact import UncertaintySet
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.channel import matrix_of
from ldpopt.models.convex_set import ConvexSet


class Bracket(NamedTuple):
    """min over P ∈ F of I_P(X; Y) lies between two numbers; the witness is a member at the upper."""

    low: float
    high: float
    witness: Array


def worst_information(
    mechanism: Any, uncertainty: ConvexSet, *, gap: float = 1e-6, boxes: int = 2000
) -> Bracket:
    """Bracket the least mutual information of a mechanism over a set.

    Args:
        mechanism: on the inputs (s, u).
        uncertainty: the set F.
        gap: the search ends when the bracket is this narrow.
        boxes: the search also ends after so many boxes were cut in two.

    >>> identity = np.eye(4)
    >>> F = ConvexSet("scenarios", members=[[[0.25, 0.25], [0.25, 0.25]], [[0.4, 0.1], [0.4, 0.1]]])
    >>> found = worst_information(identity, F)
    >>> round(found.low, 5), round(found.high, 5)
    (1.19355, 1.19355)
    """
    W = matrix_of(mechanism)
    F = uncertainty.exact
    if len(W) != len(F.center):
        raise InvalidInputError(f"the mechanism must have {len(F.center)} inputs, not {len(W)}")
    own = xlogy(W, W).sum(axis=1)
    high, best = min(_descents(W, own, F), key=lambda found: found[0])
    ends = np.array([[_least(F, column), -_least(F, -column)] for column in W.T])
    order = count()
    tree = [(*_chords(W, own, F, ends), next(order), ends)]
    for _ in range(boxes):
        if high - tree[0][0] <= gap:
            break
        _, (y, at), _, box = heapq.heappop(tree)
        for side in (0, 1):
            part = box.copy()
            part[y, 1 - side] = at
            heapq.heappush(tree, (*_chords(W, own, F, part), next(order), part))
    return Bracket(min(tree[0][0], high), high, best.reshape(uncertainty.shape))


def _information(W: Array, own: Array, P: Array) -> float:
    q = P @ W
    return float(P @ own - xlogy(q, q).sum())


def _descents(W: Array, own: Array, F: UncertaintySet) -> list[tuple[float, Array]]:
    """Descend from several members, by linear steps."""
    rng, found = np.random.default_rng(0), []
    # the number of random directions whose extreme members start a descent
    for _ in range(8):
        P = np.array(F.cells(F.worst(rng.normal(size=len(W)).tolist())))
        value = _information(W, own, P)
        while True:
            q = P @ W
            slope = own - W @ np.log(np.maximum(q, 1e-300))
            moved = np.array(F.cells(F.worst(slope.tolist())))
            below = _information(W, own, moved)
            if below >= value - 1e-15:
                break
            P, value = moved, below
        found.append((value, P))
    return found


def _least(F: UncertaintySet, cost: Array) -> float:
    return float(F.least([Fraction(c) for c in cost.tolist()]))


def _chords(W: Array, own: Array, F: UncertaintySet, box: Array) -> tuple[float, tuple[int, float]]:
    """Bound I_P from below for all P with q in a box; return also which output to cut, and where."""
    low, high = box.T
    width = high - low
    at_low, at_high = -xlogy(low, low), -xlogy(high, high)
    slope = np.divide(at_high - at_low, width, out=np.zeros_like(width), where=width > 0)
    cost = own + W @ slope
    bound = _least(F, cost) + float((at_low - slope * low).sum())
    q = np.clip(np.array(F.cells(F.worst(cost.tolist()))) @ W, low, high)
    short = -xlogy(q, q) - (at_low + slope * (q - low))
    y = int(short.argmax())
    at = float(np.clip(q[y], low[y] + 0.1 * width[y], high[y] - 0.1 * width[y]))
    return bound, (y, at)
