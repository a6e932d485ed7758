"""The level of a mechanism over a convex set: members that tell two secrets apart most, and a proof.

log P(y|s)/P(y|z) is a difference of logarithms of four linear functions of P, so that its maximum over F
is not a linear program. A climb linearises it: each step finds the member that is best for the slope and
goes to the best point between it and one found before (Frank–Wolfe with exact line searches). A maximum
lies at a vertex or on an edge of the image of F: its level sets are doubly ruled surfaces, which their
tangent planes cut. A climb may end at a local maximum; the proof of
``ldpopt/checker/kernel/proofs/set_privacy.py`` notices, and says where to start again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from ldpopt.core.certify import value_below
from ldpopt.core.exact import (
    LevelStatement,
    SecretComparison,
    SetPrivacy,
    UncertaintySet,
    exp_below,
    log_below,
    set_multiplier,
    told_apart,
)
from ldpopt.core.form import FormSolution
from ldpopt.core.limits import Limits
from ldpopt.core.status import Status
from ldpopt.core.validate import Array

ROUNDS = 200
"""The most steps of one climb."""
KEPT = 6
"""The number of earlier members from which a climb tries its next step, besides the last two."""
STILL = 1e-14
"""A climb ends where its slope promises less than this."""
RISES = (2e-10, 2e-9, 2e-8, 5e-7, 1e-5, 1e-3, 0.1)
"""The proven bound lies above the level found by the first of these, relatively, that can be proven."""
GRID = 16
"""The number of values of P(y|s) at which a climb starts again where the proof fails."""
SMALL = 1e-4
"""Lower levels count as this large where something is relative to the level."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where two secrets are told apart: an output, two secrets, and the witness of a member."""

    level: float
    y: int
    s: int
    z: int
    witness: Array

    def plain(self) -> dict[str, Any]:
        """Return the place as plain data, as the checker reads it."""
        return {"output": self.y, "secrets": [self.s, self.z], "witness": self.witness.tolist()}


class Climb:
    """Climbs of log P(y|s)/P(y|z) over F, for one output and two secrets."""

    def __init__(self, F: UncertaintySet, column: Array, y: int, pair: tuple[int, int]) -> None:
        self.F, self.y, (self.s, self.z) = F, y, pair
        width, cells = F.shape[1], column.size
        own = np.arange(cells) // width
        mine, theirs = own == self.s, own == self.z
        # rows: N_s, P_z, P_s, N_z; the ratio is N_s P_z/(P_s N_z)
        self.rows = np.array([column * mine, 1.0 * theirs, 1.0 * mine, column * theirs])

    def parts(self, witness: Any) -> Array:
        """Compute N_s, P_z, P_s and N_z of a member."""
        return np.asarray(self.rows @ np.array(self.F.cells(witness)))

    def level(self, parts: Array) -> float:
        """Compute the logarithm of the ratio."""
        mine, other_mass, mass, other = parts.tolist()
        if mine <= 0:
            return -math.inf
        return math.inf if other <= 0 else math.log(mine / mass) - math.log(other / other_mass)

    def slope(self, parts: Array) -> Array:
        """Compute the gradient in the four parts."""
        return np.array([1, 1, -1, -1]) / parts

    def between(self, own: Array, rise: Array) -> list[float]:
        """List the stationary points of the level on the way from one member to another."""
        (t2, t1, t0), (b2, b1, b0) = (_product(own[i : i + 2], rise[i : i + 2]) for i in (0, 2))
        return _roots(t2 * b1 - t1 * b2, 2 * (t2 * b0 - t0 * b2), t1 * b0 - t0 * b1)

    def from_witness(self, start: Any) -> Place:
        """Climb from a member."""
        best = np.array(start)
        parts = self.parts(start)
        known = [(best, parts)]
        for _ in range(ROUNDS):
            before = self.level(parts)
            if math.isinf(before):
                break
            slope = self.slope(parts)
            far = np.array(self.F.worst((-(slope @ self.rows)).tolist()))
            ends = self.parts(far.tolist())
            if float(slope @ (ends - parts)) <= STILL:
                break
            best, parts = max(
                (self._step(near, far, own, ends) for near, own in known),
                key=lambda found: self.level(found[1]),
            )
            known = [*known[-KEPT:], (far, ends), (best, parts)]
            if self.level(parts) <= before + STILL:
                break
        return Place(self.level(parts), self.y, self.s, self.z, best)

    def _step(self, near: Array, far: Array, own: Array, ends: Array) -> tuple[Array, Array]:
        """Find the best point between two members."""
        rise = ends - own
        inner = self.between(own, rise)
        step = max((0.0, 1.0, *inner), key=lambda t: self.level(own + t * rise))
        return (1 - step) * near + step * far, own + step * rise

    def at_home(self) -> Place:
        """Return the center of the set as a place."""
        level = self.level(self.parts(self.F.home))
        return Place(level, self.y, self.s, self.z, np.array(self.F.home))

    def best(self) -> Place:
        """Climb from the center, and from the members that are worst for one secret alone."""
        starts = [self.F.home, self._extreme(0, 2, 1.0), self._extreme(3, 1, -1.0)]
        return max((self.from_witness(start) for start in starts), key=lambda place: place.level)

    def _extreme(self, top: int, bottom: int, sign: float) -> Any:
        """Find the member with the largest (sign 1) or least (sign −1) quotient of two of the parts."""
        witness, found = self.F.home, -math.inf
        while True:
            parts = self.parts(witness)
            quotient = sign * parts[top] / parts[bottom]
            if quotient <= found:
                return witness
            found = quotient
            slope = sign * self.rows[top] - found * self.rows[bottom]
            witness = self.F.worst((-slope).tolist())

    def lowest(self) -> float:
        """Compute the least P(y|z) over F."""
        parts = self.parts(self._extreme(3, 1, -1.0))
        return float(parts[3] / parts[1])

    def most(self) -> float:
        """Bound the log ratio by the extreme members of both secrets."""
        high, low = self.parts(self._extreme(0, 2, 1.0)), self.parts(self._extreme(3, 1, -1.0))
        if high[0] <= 0:
            return -math.inf
        return math.inf if low[3] <= 0 else math.log(high[0] / high[2] * low[1] / low[3])

    def again(self, factor: float) -> Iterator[Place]:
        """Climb from members that nearly break P(y|s) ≤ factor·P(y|z), for many values of P(y|s)."""
        low = self.parts(self._extreme(3, 1, -1.0))
        high = self.parts(self._extreme(0, 2, 1.0))
        first, last = factor * low[3] / low[1], high[0] / high[2]
        blocks = [list(map(Fraction, block)) for block in self._blocks()]
        for at in np.linspace(first, last, GRID).tolist():
            weight = set_multiplier(self.F, blocks, (self.s, self.z), at, factor)
            cost = factor * self.rows[3] - at * self.rows[1]
            cost = cost - weight * (self.rows[0] - at * self.rows[2])
            yield self.from_witness(self.F.worst(cost.tolist()))

    def _blocks(self) -> Array:
        return np.asarray((self.rows[0] + self.rows[3]).reshape(self.F.shape))


def _product(own: Array, rise: Array) -> tuple[float, float, float]:
    """Multiply two linear functions of t; return the coefficients, that of t² first."""
    (a, b), (c, d) = own.tolist(), rise.tolist()
    return c * d, a * d + b * c, a * b


def _roots(a: float, b: float, c: float) -> list[float]:
    """List the roots of a t² + b t + c between 0 and 1."""
    inner = b * b - 4 * a * c
    if inner < 0:
        return []
    q = -(b + math.copysign(math.sqrt(inner), b)) / 2
    found = [top / bottom for top, bottom in ((q, a), (c, q)) if bottom]
    return [t for t in found if 0 < t < 1]


def worst_place(
    columns: Array, F: UncertaintySet, limits: Limits, keep: Callable[[Place], None] | None = None
) -> Place:
    """Find where two secrets are told apart most, in floats.

    Args:
        columns: the mechanism, one row per input (s, u).
        F: the set.
        limits: the limits of the run.
        keep: called with the first place, and then with every place that is better than those before.
    """
    best: Place | None = None
    for y, pair in _ranked(columns, F):
        limits.check()
        column = columns[:, y]
        climb = Climb(F, column / column.max(), y, pair)
        if best is None and keep is not None:
            keep(climb.at_home())
        if best is not None and climb.most() <= best.level:
            continue
        found = climb.best()
        if best is None or found.level > best.level:
            best = found
            if keep is not None:
                keep(best)
        if best.level == math.inf:
            break
    assert best is not None
    return best


def _ranked(columns: Array, F: UncertaintySet) -> list[tuple[int, tuple[int, int]]]:
    """List all outputs and pairs of secrets, first those with the highest level at the center."""
    table = np.array(F.floats).reshape(F.shape)
    given = np.einsum(
        "su,suy->sy", table / table.sum(axis=1, keepdims=True), columns.reshape(*F.shape, -1)
    )
    pairs = [
        (y, pair)
        for y in range(columns.shape[1])
        for pair in permutations(range(F.shape[0]), 2)
        if columns[:, y].any()
    ]
    return sorted(pairs, key=lambda at: given[at[1][1], at[0]] / max(given[at[1][0], at[0]], 1e-300))


def product_level(columns: Array, F: UncertaintySet) -> float:
    """Compute the level over the product set {P : every P_{U|s} is that of some member}.

    Args:
        columns: the mechanism, one row per input (s, u).
        F: the set.
    """
    places = _ranked(columns, F)
    return max(Climb(F, columns[:, y] / columns[:, y].max(), y, pair).most() for y, pair in places)


def inside(witness: Array, F: UncertaintySet) -> Array:
    """Move a witness towards the center until it is a member in exact arithmetic."""
    home, step = np.array(F.home), 0.0
    while step < 1:
        moved = (1 - step) * witness + step * home
        moved = np.maximum(moved, 0.0)
        if F.member(moved.tolist(), "witness")[1]:
            return np.asarray(moved)
        step = 4 * step or 1e-16
    return home


def exact_level(place: Place, question: LevelStatement) -> float:
    """Evaluate the level of a place in exact arithmetic, rounded down."""
    member = question.F.member(place.witness.tolist(), "witness")
    top, bottom = told_apart(question, SecretComparison(place.y, place.s, place.z, *member))
    return value_below(log_below(top / bottom)) if top > bottom else 0.0


def proven_level(
    columns: Array, question: LevelStatement, limits: Limits
) -> tuple[Place, float, float | None]:
    """Find the place of the level, its value in exact arithmetic, and a proven bound of the level.

    The bound is None if none could be proven. If time runs out, the best place is kept without it.

    Args:
        columns: the mechanism in floats, one row per input (s, u).
        question: the mechanism in exact arithmetic, and the set.
        limits: the limits of the run.
    """
    F = question.F

    def keep(place: Place) -> None:
        if 0 < place.level < math.inf:
            limits.keep(place.level, math.inf, lambda: _kept(place, question))

    place = worst_place(columns, F, limits, keep)
    if place.level == math.inf:
        return place, math.inf, None
    place = Place(place.level, place.y, place.s, place.z, inside(place.witness, F))
    value = exact_level(place, question)
    for rise in RISES:
        while True:
            bound = value + rise * max(value, SMALL)
            better = _better(columns, question, bound, limits)
            if better is None:
                return place, value, bound
            moved = Place(better.level, better.y, better.s, better.z, inside(better.witness, F))
            found = exact_level(moved, question)
            if found <= bound:
                break
            place, value = moved, found
    return place, value, None


def _kept(place: Place, question: LevelStatement) -> FormSolution:
    """Return a place whose witness is exactly a member, and its level as a value without a bound."""
    moved = Place(place.level, place.y, place.s, place.z, inside(place.witness, question.F))
    return FormSolution(Status.FEASIBLE, moved.plain(), exact_level(moved, question))


def _better(columns: Array, question: LevelStatement, bound: float, limits: Limits) -> Place | None:
    """Prove a bound of the level; where that fails, return the best place of another search."""
    F = question.F
    proof = SetPrivacy(F, exp_below(Fraction(bound)))
    for y, column in enumerate(question.columns):
        limits.check()
        pairs = proof.open_pairs(column)
        if pairs:
            floats = columns[:, y] / columns[:, y].max()
            found = (p for pair in pairs for p in Climb(F, floats, y, pair).again(math.exp(bound)))
            return max(found, key=lambda place: place.level)
    return None


def level_question(matrix: Sequence[Sequence[float]], F: UncertaintySet) -> LevelStatement:
    """State the level question of a mechanism; rows that sum to nearly 1 are scaled to exactly 1."""
    rows = []
    for row in matrix:
        exact = [Fraction(entry) for entry in row]
        mass = sum(exact, Fraction(0))
        rows.append([entry / mass for entry in exact])
    return LevelStatement([list(column) for column in zip(*rows, strict=True)], F)
