"""Bound what a mechanism of at most two reports gains: the vertices of a polytope.

Lemma. A mechanism of two reports has the columns w and 1 − w (of one report: 1 and 0). Let w lie in the
cone {D w ≤ 0} and 1 − w in {D' w ≤ 0}; let the budgets be h_j = max_l c_jl·w, spent up to b_j. These
mechanisms are the points with s = 1 of the polyhedral cone

    D w ≤ 0,  D'(s1 − w) ≤ 0,  0 ≤ w ≤ s1,  c_jl·w + c_jm·(s1 − w) ≤ b_j s for all j, l, m,

on which g(w) + g(s1 − w) − B s is convex and positively homogeneous. So it is at most 0 there, and the
gain at most B, if it is at most 0 on the rays (:mod:`.extreme_rays`). ∎ Each ray has s > 0, as s = 0
makes w = 0. e^ε is rounded up, which makes the cone larger. Where each column may lie in one of several
cones, all pairs of them are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import NamedTuple

from ..arithmetic import Interval
from ..budget import tick
from .differences import Budget, Difference
from .extreme_rays import extreme_rays
from .weak_duality import Question

Row = dict[int, Fraction]


class Vertex(NamedTuple):
    """The first column w of a mechanism of two reports, and the numbers of the cones of both columns."""

    column: list[Fraction]
    cones: tuple[int, int]


def vertices(asked: Question) -> Iterator[Vertex]:
    """List a set of mechanisms of two reports among which is a best one."""
    k, numbered = asked.objective.inputs, list(enumerate(asked.cones()))
    for (c, cone), (d, other) in combinations_with_replacement(numbered, 2):
        for ray in extreme_rays(list(_rows(cone, other, asked.budgets, k)), k + 1):
            yield Vertex([Fraction(entry, ray[k]) for entry in ray[:k]], (c, d))


def _rows(
    cone: Sequence[Difference], other: Sequence[Difference], budgets: Sequence[Budget], k: int
) -> Iterator[Row]:
    """List the rows a with a·(w, s) ≥ 0 of the lemma."""
    for x in range(k):
        yield {k: Fraction(1), x: Fraction(-1)}
    nothing: Row = {}
    for row in cone:
        yield _row(row.coefficients(), nothing, Fraction(0), k)
    for row in other:
        yield _row(nothing, row.coefficients(), Fraction(0), k)
    for budget in budgets:
        pieces = [piece.coefficients() for piece in budget.pieces]
        for first, second in product(pieces, repeat=2):
            yield _row(first, second, budget.limit(), k)


def _row(first: Row, second: Row, most: Fraction, k: int) -> Row:
    """Write first·w + second·(s1 − w) ≤ most·s as a row."""
    found = {k: most - sum(second.values(), Fraction(0))}
    for x in {*first, *second}:
        found[x] = second.get(x, Fraction(0)) - first.get(x, Fraction(0))
    return found


def gains(asked: Question) -> Iterator[Interval]:
    """Enclose what each of the listed mechanisms gains: none of two reports gains more than the best."""
    for column, _ in vertices(asked):
        tick()
        yield asked.objective.gain(column) + asked.objective.gain([1 - entry for entry in column])
