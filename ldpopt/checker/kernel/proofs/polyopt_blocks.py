"""Decide whether a dual vector proves a bound over the PolyOpt cone.

Statement. The cone Γ is that of ``polyopt_cone.py``; μ(T) = Σ P T log T − q log q, q = P·T, P = p̂, which
is convex and homogeneous. If β·T ≥ μ(T) on Γ, then no mechanism with columns in Γ has an information
above Σ β. The generators of Γ suffice.

Lemma 1 (:meth:`BlockProof._point`). A vertex enclosed by q ∈ [q̲, q̄] and f ≤ f̄, f = Σ P T log T
− β·T, is replaced by the point (q̄, f̄ + 64 (q̄ − q̲)), which is at least as hard: h(x) = x log x
has a slope of at most 1 + log E² (1 + …) < 64 where Q ≤ E², and Q = P·T ≤ max y ≤ E². ∎ From there
on all points are exact, and those whose q are close are joined in the same way (:func:`_joined`).

Lemma 2 (:meth:`BlockProof._product_holds`). Σ f − h(Σ q) ≤ e^(λ−1) + Σ_s max (f − λ q) for every λ;
the excess of the right side over 0, less what a choice of points falls short of the maxima, bounds
that choice. ∎ So points that fall short by the excess or more cannot be part of a violation. The
others are combined block by block, and a partial sum is dropped if another is certainly no better
for every rest r ∈ [r̲, r̄]: as h is convex, that is decided at r̄ if the other has the larger q,
and at r̲ if the smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice

from ..arithmetic import above, exp
from ..budget import UndecidedError, reserve, tick
from ..fixed_point import BITS, UNIT, subset_sums, units_down
from ..fixed_point_log import STEEP, xlogx_above, xlogx_units
from .confidence_set import RobustStatement
from .polyopt_cone import Generators, Range

SLOPE_BITS = 64
CELL_BITS = BITS - 64
"""A cell is 2^−64. Vertices whose q are this close, as where lo = hi, are joined to one point."""
POINTS_PER_TICK = 1024
"""A look at the clock takes as long as some points."""
MOST_COMBINED = 2_000_000
"""Partial sums that one file may form."""

Point = tuple[int, int]
"""(q, f) of a vertex in units, exact."""


def dominates(dual: Sequence[float], question: RobustStatement, pairs: str) -> bool:
    """Return whether β·T ≥ μ(T) is proven for every T of the cone of the statement.

    Args:
        dual: β, an entry per input (s, u).
        question: p̂ and its uncertainty set, and the level.
        pairs: "distinct" constrains s ≠ z only; "all" also s = z.
    """
    return BlockProof(dual, question, pairs).holds()


class BlockProof:
    """β·T ≥ μ(T) for every T of the PolyOpt cone."""

    def __init__(self, dual: Sequence[float], question: RobustStatement, pairs: str) -> None:
        self.cone, self.pairs, self.combined = Generators(question), pairs, 0
        self.prior = [subset_sums([units_down(P) for P in row]) for row in question.p_hat]
        beta = iter([units_down(b) for b in dual])
        self.beta = [subset_sums(list(islice(beta, len(row)))) for row in question.p_hat]
        self._tables: dict[tuple[int, int, int], list[Point]] = {}
        self._hulls: dict[tuple[int, int, int], list[tuple[float, float]]] = {}
        self._decided: dict[tuple[Range, ...], bool] = {}

    def holds(self) -> bool:
        """Return whether the inequality is proven."""
        if self.pairs == "all":
            return self._product_holds([(UNIT, self.cone.E) for _ in self.prior])
        return self.cone.suffice(self._product_holds)

    def _table(self, s: int, low: int, high: int) -> list[Point]:
        key = (s, low, high)
        if key not in self._tables:
            points = (self._point(s, *vertex) for vertex in self.cone.vertices(*key))
            self._tables[key] = _joined(points)
            self._hulls[key] = _upper_hull([(q / UNIT, f / UNIT) for q, f in self._tables[key]])
        return self._tables[key]

    def _point(self, s: int, first: int, t: int, second: int, v: int) -> Point:
        """Compute the point of a vertex with T = t on one set, v on another, 0 elsewhere: Lemma 1."""
        q_low = q_high = f = 0
        for part, low in ((first, t), (second, v)):
            if part:
                P = self.prior[s][part]
                P_above, high = P + self.cone.width, low + 1
                q_low += P * low
                q_high += P_above * high
                own = xlogx_above(low) + STEEP  # T log T: Lemma 2 of fixed_point_log.py
                f += (P_above if own >= 0 else P) * own
                paid = self.beta[s][part]
                f -= paid * (low if paid >= 0 else high)
        q_least, q = q_low >> BITS, (q_high >> BITS) + 1
        return q, (f >> BITS) + 1 + 64 * (q - q_least)

    def _product_holds(self, ranges: list[Range], relaxed: bool = False) -> bool:
        """Apply Lemma 2 to the product of the blocks (relaxed: by the splitting bound alone).

        Its ends are moved outwards by less than a cell, so that at ρ = 1 it is that of every secret.
        """
        tick()
        ranges = [
            (low >> CELL_BITS << CELL_BITS, -(-high >> CELL_BITS) << CELL_BITS) for low, high in ranges
        ]
        tables = [self._table(s, *ends) for s, ends in enumerate(ranges)]
        hulls = [self._hulls[s, *ends] for s, ends in enumerate(ranges)]
        slope = int(_best_slope(hulls) * (1 << SLOPE_BITS))
        values = [[(f << SLOPE_BITS) - slope * q for q, f in table] for table in tables]
        tops = [max(column) for column in values]
        excess = sum(tops) + (above(exp(Fraction(slope, 1 << SLOPE_BITS) - 1)) << SLOPE_BITS)
        if excess <= 0:
            return True
        if relaxed:
            return False
        if (product := tuple(ranges)) not in self._decided:
            near = [
                [(q, f, top - v) for (q, f), v in zip(table, column, strict=True) if top - v < excess]
                for table, column, top in zip(tables, values, tops, strict=True)
            ]
            self._decided[product] = self._none_positive(near, excess)
        return self._decided[product]

    def _none_positive(self, near: list[list[tuple[int, int, int]]], excess: int) -> bool:
        found = [(0, 0, 0)]
        for i, table in enumerate(near):
            self.combined += len(found) * len(table)
            if self.combined > MOST_COMBINED:
                raise UndecidedError(f"not decided within {MOST_COMBINED} combinations of vertices")
            reserve(3 * len(found) * len(table), "the combinations of vertices")
            tick()
            found = [
                (q + dq, f + df, lost + more)
                for q, f, lost in found
                for dq, df, more in table
                if lost + more < excess
            ]
            rest = near[i + 1 :]
            low = sum(min(q for q, _, _ in other) for other in rest)
            high = sum(max(q for q, _, _ in other) for other in rest)
            found = _undominated(found, low, high)
        return all(f <= xlogx_units(q) for q, f, _ in found)


def _joined(points: Iterable[Point]) -> list[Point]:
    """Replace the points of a cell of q by one that is at least as hard: Lemma 1."""
    highest: dict[int, int] = {}
    for q, f in points:
        cell = q >> CELL_BITS
        highest[cell] = max(f, highest.get(cell, f))
    return [(cell + 1 << CELL_BITS, f + (64 << CELL_BITS)) for cell, f in highest.items()]


def _undominated(points: list[tuple[int, int, int]], low: int, high: int) -> list[tuple[int, int, int]]:
    """Select the points that may be best in f − h(q + r) for some rest r ∈ [low, high]: Lemma 2."""
    for rest, ascending in ((low, True), (high, False)):
        kept: list[tuple[int, int, int]] = []
        best: int | None = None
        ordered = sorted(points, key=lambda p: (p[0] if ascending else -p[0], -p[1]))
        for i, point in enumerate(ordered):
            if i % POINTS_PER_TICK == 0:
                tick()
            q, f, _ = point
            at = q + rest
            if best is None or f - xlogx_units(at) > best:
                kept.append(point)
            score = f - xlogx_above(at)
            best = score if best is None else max(best, score)
        points = kept
    return points


# ---------------------------------------------------------------- guesses


def _best_slope(hulls: list[list[tuple[float, float]]]) -> float:
    """Find the slope λ = 1 + log r with the least e^(λ−1) + Σ_s max (f − λ q): bisection in floats."""
    low = 1 + math.log(max(sum(hull[0][0] for hull in hulls), 1e-300))
    high = 1 + math.log(max(sum(hull[-1][0] for hull in hulls), 1e-300))
    for _ in range(60):
        middle = (low + high) / 2
        taken = sum(max(hull, key=lambda point: point[1] - middle * point[0])[0] for hull in hulls)
        low, high = (middle, high) if taken > math.exp(middle - 1) else (low, middle)
    return high


def _upper_hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    hull: list[tuple[float, float]] = []
    for q, f in sorted(points):
        while hull and (hull[-1][0] == q or _below(hull, q, f)):
            hull.pop()
        hull.append((q, f))
    return hull


def _below(hull: list[tuple[float, float]], q: float, f: float) -> bool:
    if len(hull) < 2:
        return False
    (q0, f0), (q1, f1) = hull[-2], hull[-1]
    return (f1 - f0) * (q - q0) <= (f - f0) * (q1 - q0)
