"""The level of a mechanism over a convex set: where two secrets are told apart most, and a proof.

The climbs of :mod:`ldpopt.models.set_climb` find the place; where the proof of
``ldpopt/checker/kernel/proofs/set_privacy.py`` fails, it says where to climb again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from ldpopt.core.certify import value_below
from ldpopt.core.exact import (
    LevelStatement,
    SecretComparison,
    SetPrivacy,
    UncertaintySet,
    exp_below,
    log_below,
    told_apart,
)
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.models.set_climb import Climb, Place, inside

RISES = (2e-10, 2e-9, 2e-8, 5e-7, 1e-5, 1e-3, 0.1)
"""The proven bound lies above the level found by the first of these, relatively, that can be proven."""


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
            # lower levels count as this large where something is relative to the level
            bound = value + rise * max(value, 1e-4)
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
