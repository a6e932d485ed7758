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

    Rounding leaves a joint off its marginals by some 1e-16. First, masses come off the largest cells of
    every value that has too much; a small cell then loses next to nothing, and a big one nothing. Then
    what is missing goes to cells that stay as small as they are, or that are big.

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
    masses = {
        tuple(cell): min(int(Fraction(mass) * unit), limit if mass <= small * (1 + 1e-7) else unit)
        for cell, mass in zip(cells.tolist(), x.tolist(), strict=True)
        if mass > 0
    }
    joint = _Joint([[int(p * unit) for p in row] for row in marginals], masses, limit)
    joint.lower()
    joint.complete()
    found = {cell: mass for cell, mass in sorted(joint.masses.items()) if mass}
    shared = math.gcd(unit, *found.values())
    return {
        "cells": [list(cell) for cell in found],
        "masses": [str(mass // shared) for mass in found.values()],
        "denominator": str(unit // shared),
    }


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
