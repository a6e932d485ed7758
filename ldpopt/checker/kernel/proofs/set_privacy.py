"""Privacy against every member of an uncertainty set of joint distributions.

Statement. A mechanism W on inputs (s, u) is private against F at the level log λ if for every P ∈ F,
every output y and s ≠ z, P(y|s) ≤ λ P(y|z). Write c for the column W[·, y], N_s = Σ_u P_su c_su and
P_s = Σ_u P_su > 0, so that P(y|s) = N_s/P_s. The condition is quadratic in P, not linear; two lemmas
reduce it to linear functions of P, of which ``uncertainty_sets.py`` bounds the least value over F.

Lemma 1 (:meth:`SetPrivacy.ends`). If h P_s − N_s ≥ 0 for every P ∈ F, then P(y|s) ≤ h; if N_z − l P_z ≥
0, then P(y|z) ≥ l. If h ≤ λ l, the pair is private. ∎

Lemma 2 (:meth:`SetPrivacy.pair_private`). Let λ l ≥ a₀ and h ≤ a₁ with l, h of Lemma 1, let ν(a) be any
function, and

    f_a(P) = λ N_z − a P_z − ν(a) (N_s − a P_s) ≥ 0    for every P ∈ F and a ∈ [a₀, a₁].

Then P(y|s) ≤ λ P(y|z) for every P ∈ F. Proof. Put a = P(y|s). If a < a₀ then a ≤ λ l ≤ λ P(y|z). Else
a ∈ [a₀, a₁], N_s − a P_s = 0, and f_a(P) ≥ 0 says λ P(y|z) ≥ a. ∎

Lemma 3 (the same method). Let ν be linear on [b, d]. For fixed P, f_a(P) is a quadratic polynomial in
a; it is ≥ 0 on [b, d] if its three Bernstein coefficients are: f_b(P), f_d(P), and

    λ N_z − (b + d)/2 P_z − (ν(b) + ν(d))/2 N_s + (ν(b) d + ν(d) b)/2 P_s.

Each is a linear function of P. ∎ If ν(b) = ν(d), f is linear in a, and the ends suffice. The pieces
[b, d] are halved until they are proven; ν is guessed at their ends: a multiplier of N_s ≥ a P_s in the
program min λ N_z − a P_z over F.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from ..arithmetic import exp_below
from ..budget import tick
from ..fixed_point import dot, units_down
from ..schema import Anything, List, Record, Whole
from .falling_roots import falling_root
from .uncertainty_sets import Table, UncertaintySet

MOST_HALVINGS = 60
MOST_WEIGHT, HALVINGS = 1e7, 40
"""The largest multiplier that is tried, and the steps of the search for a smaller one."""
FINE = 100
"""Bits of λ and of the ends of pieces, which are guesses: fewer than units have, to be fast."""
SPREADS = (1e-13, 1e-10, 1e-7)
"""Relative distances beyond its guess at which an end of Lemma 1 is proven: the first that can be."""

Column = list[list[Fraction]]
"""A column, one block per secret."""


class Knot(NamedTuple):
    """An end of a piece: a and ν(a)."""

    at: Fraction
    weight: Fraction


def is_set_private(columns: Iterable[Sequence[Fraction]], F: UncertaintySet, level: Fraction) -> bool:
    """Return whether P(y|s) ≤ e^level P(y|z) is proven for all outputs, s ≠ z and every P ∈ F.

    Args:
        columns: the entries of every output, one per input (s, u).
        F: the uncertainty set.
        level: the level, in nats.
    """
    proof = SetPrivacy(F, exp_below(level))
    return all(proof.holds(column) for column in columns)


class SetPrivacy:
    """Lemmas 1 to 3, for one set and one factor λ, rounded down."""

    def __init__(self, F: UncertaintySet, factor: Fraction) -> None:
        self.F, self.factor = F, _down(factor)

    def holds(self, column: Sequence[Fraction]) -> bool:
        """Return whether the privacy of one output is proven."""
        return not self.open_pairs(column)

    def open_pairs(self, column: Sequence[Fraction]) -> list[tuple[int, int]]:
        """List the pairs (s, z) of one output that are not proven private."""
        top = max(column)
        if not top:
            return []
        a1, a2 = self.F.shape
        blocks = [[c / top for c in column[s * a2 : (s + 1) * a2]] for s in range(a1)]
        ends = [self.ends(s, blocks[s]) for s in range(a1)]
        return [
            (s, z)
            for s, (_, high) in enumerate(ends)
            for z, (low, _) in enumerate(ends)
            if s != z
            and high > self.factor * low
            and not self.pair_private(blocks, (s, z), _down(self.factor * low), high)
        ]

    # ---- Lemma 1

    def ends(self, s: int, block: list[Fraction]) -> tuple[Fraction, Fraction]:
        """Bound P(y|s) over the set from below and above."""
        if min(block) == max(block):
            return block[0], block[0]
        high = self._most(s, block)
        bottom = min(block)
        spread = max(block) - bottom
        low = bottom + spread - self._most(s, [bottom + spread - c for c in block])
        return max(low, bottom), high

    def _most(self, s: int, block: list[Fraction]) -> Fraction:
        floats = [float(c) for c in block]
        guess = self._guess(s, floats)
        for spread in SPREADS:
            high = Fraction(guess + spread * max(floats))
            if self.F.least(self._placed({s: [high - c for c in block]})) >= 0:
                return min(high, max(block))
        return max(block)

    def _guess(self, s: int, block: list[float]) -> float:
        """Guess the largest P(y|s): Dinkelbach's method."""
        width = len(block)
        found, before = self._ratio(self.F.floats, s, block), -1.0
        while found > before:
            tick()
            cost = [0.0] * (self.F.shape[0] * width)
            cost[s * width : (s + 1) * width] = [found - c for c in block]
            before, found = found, self._ratio(self.F.cells(self.F.worst(cost)), s, block)
        return before

    def _ratio(self, P: list[float], s: int, block: list[float]) -> float:
        own = P[s * len(block) : (s + 1) * len(block)]
        return sum(map(float.__mul__, own, block)) / max(sum(own), 1e-300)

    # ---- Lemmas 2 and 3

    def pair_private(self, blocks: Column, pair: tuple[int, int], low: Fraction, high: Fraction) -> bool:
        """Prove a pair of secrets.

        Args:
            blocks: the column, scaled.
            pair: the secrets s and z.
            low: a₀.
            high: a₁.
        """
        first, last = self._knot(blocks, pair, low), self._knot(blocks, pair, high)
        if not all(self._proven(blocks, pair, knot, knot) for knot in (first, last)):
            return False
        pieces = [(first, last, 0)]
        while pieces:
            tick()
            left, right, halvings = pieces.pop()
            constant = (Knot(right.at, left.weight), Knot(left.at, right.weight))
            if self._proven(blocks, pair, left, right) or any(
                self._proven(blocks, pair, knot, knot) for knot in constant
            ):
                continue
            middle = self._knot(blocks, pair, _down((left.at + right.at) / 2))
            if halvings == MOST_HALVINGS or not self._proven(blocks, pair, middle, middle):
                return False
            pieces += [(left, middle, halvings + 1), (middle, right, halvings + 1)]
        return True

    def _proven(self, blocks: Column, pair: tuple[int, int], left: Knot, right: Knot) -> bool:
        """Decide whether the Bernstein coefficient of f between two knots is ≥ 0 for every P ∈ F."""
        s, z = pair
        middle, weight = (left.at + right.at) / 2, (left.weight + right.weight) / 2
        cross = (left.weight * right.at + right.weight * left.at) / 2
        cost = {
            z: [self.factor * c - middle for c in blocks[z]],
            s: [cross - weight * c for c in blocks[s]],
        }
        return self.F.least(self._placed(cost)) >= 0

    def _knot(self, blocks: Column, pair: tuple[int, int], at: Fraction) -> Knot:
        return Knot(at, Fraction(multiplier(self.F, blocks, pair, float(at), float(self.factor))))

    def _placed(self, parts: dict[int, list[Fraction]]) -> list[Fraction]:
        a1, a2 = self.F.shape
        zero = [Fraction(0)] * a2
        return [entry for s in range(a1) for entry in parts.get(s, zero)]


def multiplier(
    F: UncertaintySet, blocks: Column, pair: tuple[int, int], at: float, factor: float
) -> float:
    """Guess ν(a) ≥ 0: a multiplier of N_s ≥ a P_s in min λ N_z − a P_z over F, in floats.

    The best one grows without bound towards the largest a, where it is not needed: the smallest that is
    half as good keeps neighbouring multipliers close.

    Args:
        F: the set.
        blocks: the column.
        pair: the secrets s and z.
        at: a.
        factor: λ.
    """
    s, z = pair
    a1, a2 = F.shape
    gain = [float(c) - at for c in blocks[s]]
    loss = [factor * float(c) - at for c in blocks[z]]

    def value(weight: float) -> tuple[float, float]:
        """Compute the least f_a, and how short of a P_s the N_s of its member is."""
        cost = [0.0] * (a1 * a2)
        cost[z * a2 : (z + 1) * a2] = loss
        cost[s * a2 : (s + 1) * a2] = [-weight * g for g in gain]
        P = F.cells(F.worst(cost))
        return sum(map(float.__mul__, P, cost)), -sum(map(float.__mul__, P[s * a2 : (s + 1) * a2], gain))

    high = 1.0
    while value(high)[1] > 0 and high < MOST_WEIGHT:
        tick()
        high *= 4
    high = falling_root(lambda weight: value(weight)[1], 0.0, high)
    goal, low = value(high)[0] / 2, 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle)[0] < goal else (low, middle)
    return high


def _down(x: Fraction) -> Fraction:
    return Fraction(units_down(x, FINE), 1 << FINE)


PLACE = Whole(0, 10**9)
ANSWER = Record({"output": PLACE, "secrets": List(PLACE, 2, 2), "witness": Anything()})


class LevelStatement(NamedTuple):
    """Maximise log P(y|s)/P(y|z) over the members P of a set, outputs y and secrets s ≠ z."""

    columns: list[Table]
    F: UncertaintySet


class Comparison(NamedTuple):
    """What a file answers: an output, two secrets, and the distribution that its witness describes."""

    y: int
    s: int
    z: int
    P: Table
    inside: bool | None


def told_apart(question: LevelStatement, found: Comparison) -> tuple[Fraction, Fraction]:
    """Compute P(y|s) and P(y|z), exactly."""
    a2, column = question.F.shape[1], question.columns[found.y]

    def given(s: int) -> Fraction:
        own = found.P[s * a2 : (s + 1) * a2]
        return dot(own, column[s * a2 : (s + 1) * a2]) / sum(own, Fraction(0))

    return given(found.s), given(found.z)
