"""From a solver's floats to a joint distribution that meets its marginals exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from ldpopt.core.exact import Marginals
from ldpopt.core.validate import Array

MOST_TRIES = 5000
MOST_SOLVED = 500
"""Cells whose masses are solved for in fractions: a second of work, at most."""
Cell = tuple[int, ...]


def exact_joint(
    marginals: Marginals,
    t: Fraction,
    cells: NDArray[Any],
    x: Array,
    small: float,
    *,
    strict: bool,
) -> dict[str, Any]:
    """Return the cells and whole masses, over one denominator, of a joint near ``x``.

    A vertex of the linear program with its set of small cells is known by which cells are empty and
    which lie at the threshold: the others follow from the marginals, in fractions. Where ``x`` is no
    vertex, or rounding hides which cells lie at the threshold, the masses are repaired one by one.

    Args:
        marginals: the exact marginals.
        t: the exact threshold.
        cells: a row of values per cell.
        x: the mass of every cell.
        small: up to which mass a cell is meant to be small.
        strict: whether a small cell must stay strictly below t.
    """
    unit = math.lcm(t.denominator, *(p.denominator for row in marginals for p in row))
    # masses are whole multiples of a unit; the threshold is at least this many units
    unit *= max(1, math.ceil(10**24 / (t * unit)))
    limit = int(t * unit) - strict
    # a float up to this many thresholds was meant to be a small cell; rounding made it larger
    positive = {
        tuple(cell): (mass, limit if mass <= small * (1 + 1e-7) else unit)
        for cell, mass in zip(cells.tolist(), x.tolist(), strict=True)
        if mass > 0
    }
    wanted = [[int(p * unit) for p in row] for row in marginals]
    found = _vertex(wanted, positive, limit, unit)
    if found is None:
        masses = {cell: min(int(Fraction(x) * unit), most) for cell, (x, most) in positive.items()}
        found = _repaired(wanted, masses, limit)
    scale = math.lcm(*(mass.denominator for mass in found.values()))
    whole = {cell: int(mass * scale) for cell, mass in sorted(found.items()) if mass}
    shared = math.gcd(unit * scale, *whole.values())
    return {
        "cells": [list(cell) for cell in whole],
        "masses": [str(mass // shared) for mass in whole.values()],
        "denominator": str(unit * scale // shared),
    }


def _vertex(
    wanted: list[list[int]], positive: dict[Cell, tuple[float, int]], limit: int, unit: int
) -> dict[Cell, Fraction] | None:
    """Put cells near 0 or the threshold there, and solve for the others.

    Args:
        wanted: the marginals, in units.
        positive: the mass of each cell, and the most that it may carry, in units.
        limit: the threshold, in units.
        unit: the units of the whole mass.

    Returns:
        The masses in units; None if there are too many other cells, if no masses of them meet the
        marginals, or if these are negative or make a small cell big.
    """
    # in thresholds: far above the tolerance of HiGHS, far below what a mass is worth
    near, threshold = 1e-6, limit / unit
    masses: dict[Cell, Fraction] = {}
    inner: list[tuple[float, Cell]] = []
    for cell, (x, most) in positive.items():
        if x < near * threshold:
            continue
        if most == limit and x > (1 - near) * threshold:
            masses[cell] = Fraction(limit)
        else:
            inner.append((x if most > limit else min(x, threshold - x), cell))
    if len(inner) > MOST_SOLVED:
        return None
    # cells far from a bound are solved for; of those that depend on them, the mass stays
    columns = [cell for _, cell in sorted(inner, reverse=True)]
    starts = list(itertools.accumulate((len(row) for row in wanted), initial=0))
    right = [Fraction(mass) for row in wanted for mass in row]
    for cell, mass in masses.items():
        for start, a in zip(starts, cell, strict=False):
            right[start + a] -= mass
    rows: list[dict[int, Fraction]] = [{} for _ in right]
    for k, cell in enumerate(columns):
        for start, a in zip(starts, cell, strict=False):
            rows[start + a][k] = Fraction(1)
    guess = [Fraction(int(Fraction(positive[cell][0]) * unit)) for cell in columns]
    solved = _solved(rows, right, guess)
    if solved is None:
        return None
    masses.update(zip(columns, solved, strict=True))
    return masses if all(0 <= mass <= positive[cell][1] for cell, mass in masses.items()) else None


def _solved(
    rows: list[dict[int, Fraction]], right: list[Fraction], guess: list[Fraction]
) -> list[Fraction] | None:
    """Solve linear equations exactly; None if they contradict each other.

    Args:
        rows: the entries of each equation; they are eliminated in place.
        right: the right-hand sides, eliminated likewise.
        guess: the unknowns, first those to solve for; where the equations leave one free, it stays.
    """
    pivots: dict[int, int] = {}
    left = set(range(len(rows)))
    for k in range(len(guess)):
        using = [i for i, row in enumerate(rows) if k in row]
        free = left.intersection(using)
        if not free:
            continue
        pivot = pivots[k] = min(free, key=lambda i: (len(rows[i]), i))
        left.discard(pivot)
        for i in using:
            if i == pivot:
                continue
            factor = rows[i][k] / rows[pivot][k]
            right[i] -= factor * right[pivot]
            changed = {j: rows[i].get(j, Fraction()) - factor * x for j, x in rows[pivot].items()}
            rows[i] = {j: x for j, x in (rows[i] | changed).items() if x}
    if any(right[i] for i in left):
        return None
    found = list(guess)
    for k, i in pivots.items():
        rest = sum((x * guess[j] for j, x in rows[i].items() if j != k), Fraction())
        found[k] = (right[i] - rest) / rows[i][k]
    return found


def _repaired(wanted: list[list[int]], masses: dict[Cell, int], limit: int) -> dict[Cell, Fraction]:
    """Change masses that rounding left off their marginals by some 1e-16.

    First, masses come off the largest cells of every value that has too much; a small cell then loses
    next to nothing, and a big one nothing. Then what is missing goes to cells that stay as small as
    they are, or that are big.

    Args:
        wanted: the marginals, in units.
        masses: the mass of every cell, in units.
        limit: up to how many units a cell is small.
    """
    joint = _Joint(wanted, masses, limit)
    joint.lower()
    joint.complete()
    return {cell: Fraction(mass) for cell, mass in joint.masses.items()}


class _Joint:
    """Masses in units, and what each value still misses."""

    def __init__(self, marginals: list[list[int]], masses: dict[Cell, int], limit: int) -> None:
        self.masses, self.limit = masses, limit
        self.missing = [list(row) for row in marginals]
        for cell, mass in masses.items():
            self._count(cell, -mass)

    def _count(self, cell: Cell, amount: int) -> None:
        for row, a in zip(self.missing, cell, strict=True):
            row[a] += amount

    def _add(self, cell: Cell, amount: int) -> None:
        self.masses[cell] = self.masses.get(cell, 0) + amount
        self._count(cell, -amount)

    def lower(self) -> None:
        """Take masses off until no value has too much."""
        for j, row in enumerate(self.missing):
            for a in range(len(row)):
                if row[a] < 0:
                    cells = [cell for cell in self.masses if cell[j] == a]
                    for cell in sorted(cells, key=lambda c: -self.masses[c]):
                        self._add(cell, -min(self.masses[cell], max(0, -row[a])))

    def _room(self, cell: Cell) -> int | None:
        """Return how much a cell can take and stay small; None for a big one, which can take all."""
        mass = self.masses.get(cell, 0)
        return None if mass > self.limit else self.limit - mass

    def complete(self) -> None:
        """Add what is missing."""
        while any(self.missing[0]):
            values = [[a for a, m in enumerate(row) if m > 0] for row in self.missing]
            target = tuple(v[0] for v in values)
            found = self._open_cell(values) or self._swap(target) or [(target, 1, self._least(target))]
            for cell, sign, amount in found:
                self._add(cell, sign * amount)

    def _least(self, cell: Cell) -> int:
        return min(row[a] for row, a in zip(self.missing, cell, strict=True))

    def _open_cell(self, values: Sequence[Sequence[int]]) -> list[tuple[Cell, int, int]]:
        """Find a cell whose values all miss mass and that can take some of it."""
        for cell in itertools.islice(itertools.product(*values), MOST_TRIES):
            room = self._room(cell)
            if room is None or room > 0:
                least = self._least(cell)
                return [(cell, 1, least if room is None else min(least, room))]
        return []

    def _swap(self, target: Cell) -> list[tuple[Cell, int, int]]:
        """Take mass off another cell; put it, and what is missing, on cells with a value exchanged."""
        for cell, mass in itertools.islice(self.masses.items(), MOST_TRIES):
            for j in range(len(target)):
                if not mass or cell[j] == target[j]:
                    continue
                one = (*cell[:j], target[j], *cell[j + 1 :])
                two = (*target[:j], cell[j], *target[j + 1 :])
                rooms = [self._room(one), self._room(two)]
                amount = min([self._least(target), mass, *(r for r in rooms if r is not None)])
                if one != target and amount > 0:
                    return [(cell, -1, amount), (one, 1, amount), (two, 1, amount)]
        return []
