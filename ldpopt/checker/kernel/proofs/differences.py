"""Differences left·w − e^c right·w of a column w: what polyhedral privacy is made of.

Nearly every notion of privacy says of each column w ≥ 0 of a mechanism that some differences are at most
0 (a *cone*), or of all columns together that a sum of largest differences is small (a *budget*). left
and right are rational and ≥ 0, so that a difference falls as e^c grows. Hence, c ≥ 0, with e^c enclosed:

Lemma (two sides). For w ≥ 0 and lower ≤ e^c ≤ upper: left·w − upper right·w ≤ left·w − e^c right·w ≤
left·w − lower right·w. A mechanism whose differences are small enough with ``lower`` satisfies the
constraint. What holds for all columns that satisfy it with ``upper`` holds for all private columns. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from ..arithmetic import exp_above, exp_below
from ..fixed_point import Vector
from ..reading import UnreadableError
from .private_rows import Rows, is_private


class Difference(NamedTuple):
    """The linear function left·w − e^level right·w of a column w."""

    left: Vector
    right: Vector
    level: Fraction = Fraction(0)

    def at_most(self, column: Sequence[Fraction]) -> Fraction:
        """Compute a rational that the difference does not exceed."""
        return sparse_dot(self.left, column) - _lower(self.level) * sparse_dot(self.right, column)

    def coefficients(self) -> dict[int, Fraction]:
        """Compute rational coefficients with which it is never larger: e^level is rounded up."""
        found = dict(self.left)
        for x, entry in self.right.items():
            found[x] = found.get(x, Fraction(0)) - _upper(self.level) * entry
        return found


class Budget(NamedTuple):
    """Σ_y max_l pieces_l(w_y) ≤ most · e^level; the largest piece of a column is never negative."""

    pieces: tuple[Difference, ...]
    most: Fraction
    level: Fraction = Fraction(0)

    def holds(self, columns: Sequence[Sequence[Fraction]]) -> bool:
        """Return whether the columns of a mechanism keep to the budget."""
        spent = sum(max(piece.at_most(column) for piece in self.pieces) for column in columns)
        return spent <= self.most * _lower(self.level)

    def limit(self) -> Fraction:
        """Compute a rational that the budget does not exceed."""
        return self.most * _upper(self.level)


Cone = tuple[Difference, ...]


@dataclass(frozen=True)
class Part:
    """One notion of privacy: every column lies in one of the cones, and the budgets are kept.

    Where it says that secrets are hidden from each other at the level ε, ``secrets`` and ``epsilon`` say
    so: there are as many rows as pairs of inputs, but a short test. Where it reads inputs as the pairs
    (s, u) of tables, ``widths`` says how many values u has in each.
    """

    words: str
    cones: Callable[[], Sequence[Cone]] = lambda: ((),)
    budgets: Sequence[Budget] = ()
    secrets: tuple[Any, ...] = ()
    epsilon: float = 0.0
    widths: Sequence[int] = ()

    def holds(self, matrix: Rows) -> bool | None:
        """Return whether a mechanism is private in this sense, exactly; None where that is open."""
        if self.secrets:
            return is_private(matrix, self.secrets, self.epsilon)
        columns = [list(map(Fraction, column)) for column in zip(*matrix, strict=True)]
        cones = self.cones()
        admitted = all(any(in_cone(cone, column) for cone in cones) for column in columns)
        return admitted and all(budget.holds(columns) for budget in self.budgets)

    def outer(self, cuts: Any, where: str) -> Part:
        """Return the part of more mechanisms, all private ones among them, that cuts of a file describe.

        Args:
            cuts: what the file says.
            where: its place in the file.
        """
        raise UnreadableError(
            f"{where} must be null: this notion is a list of inequalities, and needs no cuts"
        )

    def shown(self, plain: Any, where: str) -> Part:
        """Return the part with what a file brings to show that its mechanism is private.

        Args:
            plain: what the file says.
            where: its place in the file.
        """
        raise UnreadableError(f"{where} must be null: this notion is decided without help")


def sparse_dot(vector: Vector, column: Sequence[Fraction]) -> Fraction:
    """Compute vector·column."""
    return sum((entry * column[x] for x, entry in vector.items()), Fraction(0))


def in_cone(cone: Sequence[Difference], column: Sequence[Fraction]) -> bool:
    """Return whether all differences of a column are at most 0."""
    return all(difference.at_most(column) <= 0 for difference in cone)


@cache
def _lower(level: Fraction) -> Fraction:
    """Round e^level down, but not below 1: levels are at least 0."""
    return max(Fraction(1), exp_below(level)) if level else Fraction(1)


UNIT = Fraction(1, 2**80)


@cache
def _upper(level: Fraction) -> Fraction:
    """Round e^level up to few bits, as rays are made of products of it."""
    if not level:
        return Fraction(1)
    exact = exp_above(level)
    return -(-exact // UNIT) * UNIT
