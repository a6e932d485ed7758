"""From a solver's floats to claims that hold in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

import numpy as np

from ldpopt.core.errors import SolverError
from ldpopt.core.exact import UndecidedError, is_private, printed
from ldpopt.core.form import FormSolution
from ldpopt.core.validate import Array


class Privacy(Protocol):
    """A privacy constraint on mechanisms, as far as the repair to exact arithmetic needs it."""

    @property
    def epsilon(self) -> float:
        """The level, in nats."""

    def admits(self, matrix: Array) -> bool:
        """Return whether the mechanism is private, decided in exact arithmetic."""


GRID = 2.0**-52
"""Entries become multiples of this: exact dyadic rationals that are also exact floats."""
SMALL = 1e-4
"""Below this value, rounding may break the proof of the bound."""
MOST_RAISED = 1e-6
"""The most by which the numbers of such a proof are raised."""
CANCELLING = 100.0
"""Where entries of a dual vector are this many times their sum, rounding may also break the proof."""
HALVED = 8
"""How many mixtures with a constant release are tried; each keeps half as much of the mechanism."""


def rising(first: float, most: float, factor: float = 2.0) -> Iterator[float]:
    """Yield the first amount, then ever larger ones below the most: the least change that helps is kept.

    Args:
        first: the first amount.
        most: no amount reaches it.
        factor: by how much each exceeds the one before.

    >>> list(rising(1.0, 10.0, 4.0))
    [1.0, 4.0]
    """
    while first < most:
        yield first
        first *= factor


def repair(matrix: Array, privacy: Privacy) -> Array:
    """Make a mechanism stochastic and private in exact arithmetic, changing it as little as needed.

    A touch of the uniform mechanism gives every privacy inequality some slack, then the entries are
    rounded to a dyadic grid such that every row sums to exactly 1. The touch is the smallest power of
    two, times the rounding error, that the exact test of the checker accepts; none, if the rows are
    multiples of the grid and private already.
    """
    rows = matrix / matrix.sum(axis=1, keepdims=True)
    on_grid = not np.any(rows % GRID) and np.array_equal(rounded(rows), rows)
    if on_grid and privacy.admits(rows):
        return rows
    return _touched(rows, privacy.epsilon, privacy.admits)


def _touched(rows: Array, epsilon: float, private: Callable[[Array], bool]) -> Array:
    """Mix rows with the uniform ones and round them: the smallest touch after which they are private."""
    outputs = rows.shape[1]
    for touch in rising(GRID * outputs / math.expm1(epsilon), 1e-3):
        candidate = rounded((1 - touch) * rows + touch / outputs)
        if private(candidate):
            return candidate
    raise SolverError("the solver's mechanism is too far from private to be repaired")


def repair_mixed(matrix: Array, privacy: Privacy) -> Array:
    """Repair a mechanism; where rounding left it outside of its cone, mix it with a constant release.

    That happens where P^min sums to 1 up to 1e-12 and ε is small: there floats do not tell the rays of
    the cone from what is outside of it.
    """
    constant = matrix.mean(axis=0)
    for kept in 0.5 ** np.arange(HALVED):
        try:
            return repair(kept * matrix + (1 - kept) * constant, privacy)
        except SolverError:
            continue
    raise SolverError("the solver's mechanism is too far from private to be repaired")


def repair_circulant(row: Array, epsilon: float) -> Array:
    """Repair a circulant mechanism, given by its first row, so that it stays exactly circulant."""
    secrets = range(len(row))
    found = _touched(
        row[None] / row.sum(), epsilon, lambda W: is_private(W.T.tolist(), secrets, epsilon)
    )
    return np.array([np.roll(found[0], x) for x in secrets])


def rounded(rows: Array) -> Array:
    """Round to the grid by largest remainders, so that every row sums to exactly 1."""
    units = rows / GRID
    floor = np.floor(units)
    missing = 2**52 - floor.astype(np.int64).sum(axis=1)
    raised = np.clip(missing, 0, rows.shape[1])
    rank = np.argsort(np.argsort(floor - units, axis=1), axis=1)
    floor += rank < raised[:, None]
    # what the float sum of the row was off by goes to its largest entry
    floor[np.arange(len(rows)), floor.argmax(axis=1)] += missing - raised
    return floor * GRID


def value_below(exact: Decimal | Fraction) -> float:
    """Round an exact number down to a float."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= Fraction(exact) else math.nextafter(nearest, -math.inf)


def value_above(exact: Decimal | Fraction) -> float:
    """Round an exact number up to a float."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= Fraction(exact) else math.nextafter(nearest, math.inf)


def printed_below(exact: Fraction) -> float:
    """Return the largest float whose printed decimal is at most an exact number.

    >>> printed_below(Fraction(1, 10)), printed_below(Fraction(2, 3))
    (0.1, 0.6666666666666666)
    """
    nearest = float(exact)
    return nearest if printed(nearest) <= exact else math.nextafter(nearest, -math.inf)


def printed_above(exact: Fraction) -> float:
    """Return the smallest float whose printed decimal is at least an exact number.

    >>> printed_above(Fraction(1, 10)), printed_above(Fraction(2, 3))
    (0.1, 0.6666666666666667)
    """
    nearest = float(exact)
    return nearest if printed(nearest) >= exact else math.nextafter(nearest, math.inf)


def dual_bound(dual: Array) -> float:
    """Compute Σ_x β_x, rounded up to a float; ``fsum`` rounds once, to the nearest."""
    listed = dual.tolist()
    nearest = math.fsum(listed)
    return nearest if math.fsum([*listed, -nearest]) <= 0 else math.nextafter(nearest, math.inf)


def prove_rounded(solution: FormSolution, holds: Callable[[list[float]], bool | None]) -> FormSolution:
    """Raise the dual vector of a value that is tiny beside rounding until the checker accepts it.

    A proof has room in proportion to the value. Below :data:`SMALL`, or where the entries of the dual
    vector are :data:`CANCELLING` times as large, that is less than the rounding of the floats in which
    it was found.

    Args:
        solution: the solution, whose proof has a dual vector.
        holds: whether a dual vector is proven.
    """
    if solution.proof is None or solution.value is None:
        return solution
    value, largest = abs(solution.value), max(map(abs, solution.proof["dual"]))
    if value > SMALL and largest <= CANCELLING * value:
        return solution
    dual = raised(np.array(solution.proof["dual"]), holds, GRID / 64 * max(largest, 1.0), MOST_RAISED)
    if dual is None:
        return solution
    return replace(solution, bound=dual_bound(dual), proof={**solution.proof, "dual": dual.tolist()})


def raised(
    dual: Array, holds: Callable[[list[float]], bool | None], first: float, most: float
) -> Array | None:
    """Raise all of a dual vector until it is proven; None if that takes more than rounding explains.

    Args:
        dual: the vector.
        holds: whether a vector is proven.
        first: by how much it is raised first.
        most: each amount by which it is raised is smaller.
    """
    try:
        for step in (0.0, *rising(first, most)):
            dual = dual + step
            if holds(dual.tolist()):
                return dual
    except UndecidedError:  # such as a divergence that is infinite on a ray
        pass
    return None
