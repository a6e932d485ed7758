"""The cone of all columns that are private against a convex set, by the members that cut it out.

As for the χ² set (:mod:`ldpopt.models.chi2_cone`): {w ≥ 0 : P(U|s)·w_s ≤ e^ε P(U|z)·w_z for all
P ∈ F, s ≠ z} is an intersection of half-spaces. The oracle climbs P(y|s) − e^ε P(y|z) over F.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpopt.core import certify
from ldpopt.core.exact import SetPrivacy, UncertaintySet, exact_columns, exp_below
from ldpopt.core.forms.cut_program import Cut, CutCone
from ldpopt.core.validate import Array
from ldpopt.models.chi2_cone import ROOM, WORST
from ldpopt.models.set_climb import Climb, Place


class ExcessClimb(Climb):
    """Climbs of P(y|s) − E P(y|z) over F, for one column and two secrets."""

    def __init__(self, F: UncertaintySet, column: Array, pair: tuple[int, int], factor: float) -> None:
        super().__init__(F, column, 0, pair)
        self.factor = factor

    def level(self, parts: Array) -> float:
        """Compute the difference."""
        mine, other_mass, mass, other = parts.tolist()
        return float(mine / mass - self.factor * other / other_mass)

    def slope(self, parts: Array) -> Array:
        """See :meth:`Climb.slope`."""
        mine, other_mass, mass, other = parts.tolist()
        factor = self.factor
        return np.array(
            [1 / mass, factor * other / other_mass**2, -mine / mass**2, -factor / other_mass]
        )

    def between(self, own: Array, rise: Array) -> list[float]:
        """See :meth:`Climb.between`: A/P_s² = B/P_z², linear after a root."""
        mine, other_mass, mass, other = own.tolist()
        d_mine, d_other_mass, d_mass, d_other = rise.tolist()
        A = d_mine * mass - mine * d_mass
        B = self.factor * (d_other * other_mass - other * d_other_mass)
        if A * B <= 0:
            return []
        root = math.sqrt(A / B)
        bottom = root * d_other_mass - d_mass
        return [t for t in [(mass - root * other_mass) / bottom] if 0 < t < 1] if bottom else []


@dataclass(frozen=True, eq=False)
class SetCone(CutCone):
    """All columns that are private against a convex set F at the level ε."""

    F: UncertaintySet
    epsilon: float

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`CutCone.shape`."""
        return self.F.shape

    def excess(self, columns: Array) -> tuple[Array, list[list[Place]]]:
        """Climb to the largest P(y|s) − e^ε P(y|z) over F for every column and pair; say where."""
        places = [[self._worst(column, pair) for pair in self.pairs] for column in columns.T]
        values = [
            [place.level * column.max() for place in own]
            for column, own in zip(columns.T, places, strict=True)
        ]
        return np.array(values).reshape(len(places), len(self.pairs)), places

    def _worst(self, column: Array, pair: tuple[int, int]) -> Place:
        return ExcessClimb(self.F, column / column.max(), pair, math.exp(self.epsilon)).best()

    def first_cut(self, column: Array, pair: tuple[int, int]) -> Cut:
        """See :meth:`CutCone.first_cut`."""
        return self._cut(self._worst(column, pair))

    def cuts(self, columns: Array, least: float) -> tuple[Array, list[list[Cut]]]:
        """Return the excess of every column and pair, and the cuts violated by more than ``least``."""
        excess, places = self.excess(columns)
        found = [
            [
                self._cut(place)
                for place, value in zip(own, values, strict=True)
                if value > max(least, WORST * values.max())
            ]
            for own, values in zip(places, excess, strict=True)
        ]
        return excess, found

    def _cut(self, place: Place) -> Cut:
        """Build the inequality of the member at a place; the cut keeps the witness of that member."""
        P = np.array(self.F.cells(place.witness.tolist())).reshape(self.F.shape)
        given = P / P.sum(axis=1, keepdims=True)
        row = np.zeros(self.F.shape)
        row[place.z], row[place.s] = math.exp(self.epsilon) * given[place.z], -given[place.s]
        return Cut(place.witness, (place.s, place.z), row.ravel())

    def inside(self, columns: Array, excess: Array) -> Array:
        """Move columns of a known excess towards the constant one until they are private.

        The excess is convex and homogeneous, and 1 − e^ε for the constant column 1. Raising single
        secrets instead (:func:`ldpopt.models.chi2_cone.moved_to_edge`) leaves more pairs without room;
        the proof that a column is private then took twice as long.
        """
        room = ROOM * columns.max(axis=0)
        most = np.maximum(excess.max(axis=1) + room, 0.0)
        return columns + most / math.expm1(self.epsilon)

    def repaired(self, matrix: Array) -> Array:
        """Round a mechanism and move columns into the cone until its privacy is proven.

        A climb of the search may have ended at a local maximum, so that its column lies outside. What is
        added to a column is constant, so that all rows still have the same sum.
        """
        proof = SetPrivacy(self.F, exp_below(Fraction(self.epsilon)))
        least = ROOM
        while True:
            rows = certify.rounded(matrix / matrix.sum(axis=1, keepdims=True))
            pairs = [proof.open_pairs(column) for column in exact_columns(rows.tolist())]
            if not any(pairs):
                return rows
            excess = [self._again(column, own) for column, own in zip(rows.T, pairs, strict=True)]
            tops = [max(e, least) * bool(own) for e, own in zip(excess, pairs, strict=True)]
            matrix = rows + rows.max(axis=0) * np.array(tops) / math.expm1(self.epsilon)
            least *= 10

    def _again(self, column: Array, pairs: list[tuple[int, int]]) -> float:
        """Search again for the largest excess of a column, over the pairs that are not proven."""
        factor = math.exp(self.epsilon)
        climbs = [ExcessClimb(self.F, column / column.max(), pair, factor) for pair in pairs]
        return max((place.level for climb in climbs for place in climb.again(factor)), default=0.0)

    def least_shares(self) -> Array:
        """Compute P^min_{u|s}, the least probability of u given s over F, as a matrix [s][u].

        It is rounded down, so that every P^min_s sums to less than 1.
        """
        found = np.zeros(self.dimension)
        for x, column in enumerate(np.eye(self.dimension)):
            own = x // self.F.shape[1]
            pair = ((own + 1) % self.F.shape[0], own)
            found[x] = max(Climb(self.F, column, 0, pair).lowest(), 0.0)
        # the relative amount by which P^min is rounded down
        return found.reshape(self.F.shape) * (1 - 1e-6)
