"""The least mutual information over a χ² set, from below: Lopuhaä-Zwakenberg and Goseling 2021, (46).

Lemma (:func:`_least_column`; Theorem 12). μ_P(T) = Σ P T log T − Q log Q, Q = P·T, equals min_λ
e^(λ−1) + P·(T log T − λ T), attained at λ = 1 + log Q. Let m(λ) ≤ min_P P·(T log T − λ T) by
``linear_minimum.py`` for the whole table (r = B + 1). The minimum is concave in λ, so on [a, b] it is at
least the chord through m(a) and m(b); and e^(λ−1) plus a line is convex, hence at least its tangent at
any point. ∎ [a, b] runs over pieces of an interval that contains 1 + log Q for every member; where Q
may be 0, the column counts as 0, which is below every μ_P(T) by Jensen's inequality.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from ..arithmetic import NEAREST, ONE, UP, Interval, enclose, exp
from ..budget import tick
from .confidence_set import RobustStatement, size
from .linear_minimum import least, point


def robust_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Fraction:
    """Bound min_{P∈F} I_P(X; Y) ≥ Σ_y min_P μ_P(W[:, y]) from below."""
    r = size(question) + ONE
    q = [enclose(p) for row in question.p_hat for p in row]
    parts = (_least_column([Decimal(t) for t in T], q, r) for T in zip(*matrix, strict=True))
    return sum(map(Fraction, parts), Fraction(0))


MOST_PIECES, NEAR = 40, Decimal("1e-13")
"""Pieces of the range of λ, and how far a bound may be below what a single λ shows to be possible."""


def _least_column(T: list[Decimal], q: list[Interval], r: Interval) -> Decimal:
    """Bound min_P μ_P(T) from below; a piece is cut where its bound is attained."""
    lowest = least(T, q, r)[0]
    if min(T) == max(T) or lowest <= 0:
        return Decimal(0)
    first = Fraction((ONE + point(lowest).log()).low)
    last = Fraction((ONE + point(least([t.copy_negate() for t in T], q, r)[0].copy_negate()).log()).high)
    own = [point(t).xlogx() for t in T]

    def inner(cut: Fraction) -> Fraction:
        tick()
        slope = enclose(cut)
        return Fraction(least([o - slope * point(t) for o, t in zip(own, T, strict=True)], q, r)[0])

    pieces = [_Piece.between(first, last, inner(first), inner(last))]
    while len(pieces) < MOST_PIECES:
        bound, a, b, at_a, at_b, x = heapq.heappop(pieces)
        if not a < x < b:
            return max(bound, Decimal(0))  # the chord is the function there
        at_x = inner(x)
        heapq.heappush(pieces, _Piece.between(a, x, at_a, at_x))
        heapq.heappush(pieces, _Piece.between(x, b, at_x, at_b))
        if (exp(x - 1) + enclose(at_x)).low <= UP.add(pieces[0].bound, NEAR):
            break
    return max(pieces[0].bound, Decimal(0))


class _Piece(NamedTuple):
    """The range [a, b] of λ, m at its ends, a bound on it, and about where the chord attains it."""

    bound: Decimal
    a: Fraction
    b: Fraction
    at_a: Fraction
    at_b: Fraction
    x: Fraction

    @classmethod
    def between(cls, a: Fraction, b: Fraction, at_a: Fraction, at_b: Fraction) -> _Piece:
        """Bound e^(λ−1) + the chord from (a, at_a) to (b, at_b) over λ ∈ [a, b] from below.

        Args:
            a: the lower end.
            b: the upper end.
            at_a: m(a).
            at_b: m(b).
        """
        if b <= a:
            return cls((exp(a - 1) + enclose(min(at_a, at_b))).low, a, b, at_a, at_b, a)
        slope = (at_b - at_a) / (b - a)
        x = a if slope >= 0 else min(max(1 + _log_guess(-slope), a), b)
        power = exp(x - 1)
        rise = power + enclose(slope)
        tilt = min((rise * enclose(b - x)).low, (rise * enclose(a - x)).low, Decimal(0))
        bound = (power + enclose(at_a + slope * (x - a)) + point(tilt)).low
        return cls(bound, a, b, at_a, at_b, x)


def _log_guess(slope: Fraction) -> Fraction:
    """Guess log of a positive number, which may be below all floats."""
    return Fraction(float(NEAREST.ln(enclose(slope).high)))
