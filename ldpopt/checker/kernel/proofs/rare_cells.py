"""How much mass rare cells can have: one joint from below, a proof tree from above. In whole numbers.

**From below.** A joint distribution lists cells (one index per marginal, among its values of positive
probability), whole masses and one denominator. It must meet every marginal exactly; then the mass of its
rare cells is reached. Where cells of exactly t count, a cell is rare if it has at most t; else it is
rare if it has less than t.

**From above** (:func:`tree_bound`): no joint has more than this in cells of *at most* t, and so none has
more strictly below. Let cell v carry x_v, 0 ≤ x_v ≤ U_v, the least of its marginal probabilities. It is
*small* (x_v ≤ t, and counts) or *big* (t < x_v ≤ U_v, which needs U_v > t). A tree splits on that for
one cell after another: every joint belongs to a leaf. Let a leaf have numbers λ, one per marginal value,
and numbers μ_k ≥ 0. With Λ_v = the sum of λ over the values of v, Σ_v Λ_v x_v = Σ λ·p.

Lemma (cut). For numbers c, one per marginal value, w_v = max(0, Σ c over the values of v) and
ρ = Σ c·p − Σ_v w_v min(t, U_v) > 0 every joint has Σ_{v big} α_v ≥ 1 if α_v ≥ min(1, w_v (U_v − t)/ρ).
Proof: Σ c·p = Σ_v (Σ c) x_v ≤ Σ_v w_v x_v ≤ Σ_v w_v min(t, U_v) + Σ_{v big} w_v (U_v − t).

Lemma (leaf). The exposure of every joint of the leaf is at most

    Σ λ·p − Σ_k μ_k + Σ_v best_v,   small: max(0, (1 − Λ_v) min(t, U_v)),
                                    big: max(−Λ_v t, −Λ_v U_v) + Σ_k μ_k α_kv,

best_v the one that the leaf says, or the larger of those that are possible. Proof: the exposure is
Σ_{small} x_v ≤ Σ_{small} x_v + Σ_k μ_k (Σ_{big} α_kv − 1) + Σ λ·p − Σ Λ_v x_v, cell by cell.

Both hold for *any* c, λ and μ ≥ 0. So each is first rounded down to a multiple of 2^-BITS, and α up: no
number of the file, however large, is ever rounded in a sum, and all sums are sums of whole numbers over
unit · 2^(2 BITS), where unit is the common denominator of the marginals and t.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..budget import reserve, tick
from ..fixed_point import ratio_up, units_down
from ..printed_numbers import Digits
from ..reading import UnreadableError
from ..schema import Anything, List, Number, Object, Record, Whole
from .exposure_rules import Marginals

BITS = 96
"""The numbers of a proof are rounded down to multiples of 2^−BITS, coefficients of cuts up."""
SMALL, BIG = "small", "big"


def most_cells(marginals: Marginals) -> int:
    """Count all cells."""
    return math.prod(map(len, marginals))


# ---------------------------------------------------------------- from below


JOINT = Record({"cells": List(Anything()), "masses": List(Digits()), "denominator": Digits()})


def rare_mass(
    marginals: Marginals, t: Fraction, plain: Any, where: str, *, strict: bool
) -> Fraction | None:
    """Compute the mass of the rare cells of a joint; None if it does not meet the marginals exactly.

    Args:
        marginals: exact, all probabilities positive.
        t: the threshold.
        plain: cells, masses and denominator of the joint, as plain data.
        where: its place in the file, for messages.
        strict: whether a cell must lie strictly below t to be rare.
    """
    joint = JOINT.read(plain, where)
    cells, masses, whole = joint["cells"], joint["masses"], joint["denominator"]
    indices = [Whole(0, len(p) - 1) for p in marginals]
    places = [_cell(cell, indices, f"{where}.cells[{i}]") for i, cell in enumerate(cells)]
    if not _count_different(places) == len(places) == len(masses) or whole == 0:
        raise UnreadableError(f"{where} must have different cells, one mass for each, a denominator > 0")
    for j, p in enumerate(marginals):
        met = [0] * len(p)
        for cell, mass in zip(places, masses, strict=True):
            tick()
            met[cell[j]] += mass
        if any(x.denominator * mass != x.numerator * whole for x, mass in zip(p, met, strict=True)):
            return None
    limit = t * whole
    return Fraction(sum(m for m in masses if m < limit or (m == limit and not strict)), whole)


def _count_different(places: list[tuple[int, ...]]) -> int:
    """Count the different cells one by one, as a file can choose cells of one hash to make that slow."""
    found: set[tuple[int, ...]] = set()
    for place in places:
        tick()
        found.add(place)
    return len(found)


def _cell(plain: Any, indices: Sequence[Whole], where: str) -> tuple[int, ...]:
    listed = List(Anything(), len(indices), len(indices)).read(plain, where)
    return tuple(index.read(a, where) for index, a in zip(indices, listed, strict=True))


# ---------------------------------------------------------------- from above


class Table(NamedTuple):
    """All cells: the places of their values in ``mass``, and U_v; whole numbers over ``unit``."""

    unit: int
    threshold: int
    mass: list[int]
    rows: list[tuple[int, ...]]
    most: list[int]


def _table(marginals: Marginals, t: Fraction, cuts: int) -> Table:
    reserve(most_cells(marginals) * (len(marginals) + 3 + cuts), "the cells of all joints")
    unit = math.lcm(t.denominator, *(x.denominator for p in marginals for x in p))
    mass = [int(x * unit) for p in marginals for x in p]
    starts = itertools.accumulate((len(p) for p in marginals), initial=0)
    places = [range(start, start + len(p)) for start, p in zip(starts, marginals, strict=False)]
    rows = list(itertools.product(*places))
    return Table(unit, int(t * unit), mass, rows, [min(mass[a] for a in row) for row in rows])


def tree_bound(marginals: Marginals, t: Fraction, plain: Any, where: str) -> Fraction:
    """Compute the largest exposure that the leaves of a proof tree leave possible, at most 1.

    The nodes come in preorder, the small child of a split first.

    Args:
        marginals: exact, all probabilities positive.
        t: the threshold.
        plain: the cuts and the nodes of the tree, as plain data.
        where: its place in the file, for messages.
    """
    size = sum(map(len, marginals))
    numbers = List(Number(), size, size)
    proof = Record({"cuts": List(numbers), "tree": List(Object())}).read(plain, where)
    table = _table(marginals, t, len(proof["cuts"]))
    cuts = [_cover(table, c) for c in proof["cuts"]]
    indices = [Whole(0, len(p) - 1) for p in marginals]
    strides = [math.prod(map(len, marginals[j + 1 :])) for j in range(len(marginals))]
    fixed: dict[int, str] = {}  # what the splits on the way to the present node say
    worst = Fraction(0)
    path: list[int] | None = []
    for number, node in enumerate(proof["tree"]):
        tick()
        place = f"{where}.tree[{number}]"
        if path is None:
            raise UnreadableError(f"{place} follows after the last leaf of the proof tree")
        if "split" in node:
            cell = _cell(Record({"split": Anything()}).read(node, place)["split"], indices, place)
            v = sum(a * stride for a, stride in zip(cell, strides, strict=True))
            if v in fixed:
                raise UnreadableError(f"{place} splits a cell that was split before")
            path.append(v)
            fixed[v] = SMALL
            continue
        leaf = Record({"dual": numbers, "cuts": List(Anything())}).read(node, place)
        prizes = [_prize(prize, len(cuts), place) for prize in leaf["cuts"]]
        if all(state == SMALL or table.most[v] > table.threshold for v, state in fixed.items()):
            worst = max(worst, _leaf_bound(table, cuts, leaf["dual"], prizes, fixed))
        while path and fixed[path[-1]] == BIG:
            del fixed[path.pop()]
        if path:
            fixed[path[-1]] = BIG
        else:
            path = None
    if path is not None:
        raise UnreadableError(f"{where}.tree is incomplete")
    return min(worst, Fraction(1))


def _prize(plain: Any, cuts: int, where: str) -> tuple[int, float]:
    number, weight = List(Anything(), 2, 2).read(plain, f"{where}.cuts")
    place = f"{where}.cuts"
    return Whole(0, cuts - 1).read(number, place), Number(0).read(weight, place)


def _cover(table: Table, c: Sequence[float]) -> list[int] | None:
    """Compute the coefficients of a cut in multiples of 2^-BITS, rounded up; None if ρ ≤ 0."""
    whole = [units_down(x, BITS) for x in c]
    weights = [max(0, sum(whole[a] for a in row)) for row in _ticking(table.rows)]
    small = sum(w * min(table.threshold, most) for w, most in zip(weights, table.most, strict=True))
    rho = sum(a * x for a, x in zip(whole, table.mass, strict=True)) - small
    if rho <= 0:
        return None
    rooms = (w * max(most - table.threshold, 0) for w, most in zip(weights, table.most, strict=True))
    return [1 << BITS if room >= rho else ratio_up(room << BITS, rho) for room in rooms]


def _leaf_bound(
    table: Table,
    cuts: list[list[int] | None],
    dual: Sequence[float],
    prizes: list[tuple[int, float]],
    fixed: dict[int, str],
) -> Fraction:
    """Compute the bound that a leaf proves; the trivial 1 if the leaf uses an invalid cut."""
    price = [units_down(x, BITS) for x in dual]
    prize, paid = [0] * len(table.rows), 0
    for k, weight in prizes:
        tick()
        cut, whole = cuts[k], units_down(weight, BITS)
        if cut is None:
            return Fraction(1)
        paid += whole
        if whole:
            prize = [a + whole * b for a, b in zip(prize, cut, strict=True)]
    total = sum(a * x for a, x in zip(price, table.mass, strict=True)) - table.unit * paid
    prizes_total = 0
    one, t = 1 << BITS, table.threshold
    for v, row in enumerate(_ticking(table.rows)):
        asked, most, said = sum(price[a] for a in row), table.most[v], fixed.get(v)
        small = max(0, (one - asked) * min(t, most))
        if said == SMALL or most <= t:
            total += small
            continue
        big = -asked * (t if asked > 0 else most)
        if said == BIG or (big - small << BITS) + table.unit * prize[v] > 0:
            total += big
            prizes_total += prize[v]
        else:
            total += small
    return Fraction((total << BITS) + table.unit * prizes_total, table.unit << 2 * BITS)


def _ticking(rows: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    for i, row in enumerate(rows):
        if i % 256 == 0:
            tick()
        yield row
