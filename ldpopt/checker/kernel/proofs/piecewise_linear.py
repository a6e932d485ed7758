"""Piecewise linear utilities: β·v ≥ g(v) for g(v) = max_i a_i·v, decided without a search.

Lemma 4. Over the corners of a box, a_i·v − β·v = Σ_x (a_ix − β_x) v_x is largest entry by entry: v_x is
high where a_ix > β_x, else low. So β·v ≥ g(v) on all corners if and only if this sum is at most 0 for
every i. With c_ix = a_ix − β_x rational and v_x a power of E, it is C_0 + C_1 E + C_2 E² with rational
C_j: exact sums, and E is enclosed once. ∎

A piece a_i is kept as its entries that are not 0: guessing has k pieces of one entry each.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..arithmetic import ZERO, Interval, enclose, total
from ..budget import tick
from ..claims import all_of
from ..fixed_point import Vector
from .private_cone import Box


def pieces_within(
    pieces: Sequence[Vector], beta: Sequence[Fraction], box: Box, powers: list[Interval]
) -> bool | None:
    """Decide by Lemma 4 whether β·v ≥ a·v for every piece and corner; None if E is too coarse to tell.

    Args:
        pieces: the a_i.
        beta: β.
        box: the corners v, as powers of E.
        powers: enclosures of 1, E and E².
    """
    without = [Fraction(0)] * 3  # the coefficients C_j of the piece 0
    for x, b in enumerate(beta):
        _add(without, -b, box, x)

    def holds(piece: Vector) -> bool | None:
        tick()
        most = list(without)
        for x, a in piece.items():
            _add(most, -beta[x], box, x, -1)
            _add(most, a - beta[x], box, x)
        return total(enclose(c) * power for c, power in zip(most, powers, strict=True)).at_most(ZERO)

    return all_of(map(holds, pieces))


def _add(coefficients: list[Fraction], c: Fraction, box: Box, x: int, sign: int = 1) -> None:
    """Add the largest of c low and c high to the coefficients of the powers of E."""
    coefficients[box.high[x] if c > 0 else box.low[x]] += sign * c
