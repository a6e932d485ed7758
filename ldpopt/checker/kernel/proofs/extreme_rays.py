"""List the rays of a polyhedral cone {w ≥ 0 : A w ≥ 0}, by the double description method.

Lemma (double description; Motzkin et al. 1953; Fukuda and Prodon 1996). Let R be the extreme rays of a
pointed cone C, and H = {w : a·w ≥ 0}. The extreme rays of C ∩ H are those of R in H, and for every two
*adjacent* r, s in R with a·r > 0 > a·s the ray (a·r) s − (a·s) r. Two extreme rays of C are adjacent if
and only if no third extreme ray satisfies with equality all the constraints of C that both do. ∎  The
orthant has the unit vectors as extreme rays; constraints are added one by one. All numbers are whole.

Lemma (product). Where the constraints fall into groups over disjoint sets of entries, the extreme rays
are those of each group, 0 elsewhere. Proof. Each part of w, 0 elsewhere, lies in the cone as well, so
that an extreme ray has one part alone. If an extreme ray of a group is a sum of two of the cone, these
are 0 elsewhere, as entries are ≥ 0, and in the cone of the group. ∎

Consequence. A convex, positively homogeneous function is at most 0 on the cone if it is on its extreme
rays: every w of the cone is a sum of multiples of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ..budget import UndecidedError, tick
from ..fixed_point import whole

MOST_RAYS = 20_000
"""The longest list of rays."""


class Ray(NamedTuple):
    """A ray as whole numbers, and the constraints that it satisfies with equality, as bits."""

    entries: tuple[int, ...]
    tight: int


def extreme_rays(
    rows: Sequence[Mapping[int, Fraction]], dimension: int, most: int | None = None
) -> list[tuple[int, ...]]:
    """List the extreme rays of {w ≥ 0 : row·w ≥ 0 for every row}, each as whole numbers.

    Args:
        rows: the entries of each constraint that are not 0.
        dimension: the number of entries of w.
        most: the length beyond which the list is given up; None for MOST_RAYS.

    >>> extreme_rays([{0: Fraction(2), 1: Fraction(-1)}], 2)
    [(1, 0), (1, 2)]
    """
    found: list[tuple[int, ...]] = []
    for entries in apart(rows, dimension):
        place = {x: i for i, x in enumerate(entries)}
        own = [{place[x]: row[x] for x in row} for row in rows if row and next(iter(row)) in place]
        for ray in _listed(own, len(entries), most):
            padded = [0] * dimension
            for x, entry in zip(entries, ray, strict=True):
                padded[x] = entry
            found.append(tuple(padded))
        _check_count(found, most)
    return found


def apart(sets: Iterable[Iterable[int]], size: int) -> list[list[int]]:
    """Split 0, …, size − 1 into the least groups of which every set meets one at most.

    >>> apart([{0, 2}, {2, 3}], 5)
    [[0, 2, 3], [1], [4]]
    """
    group = {x: [x] for x in range(size)}
    for members in sets:
        joined = {id(group[x]): group[x] for x in members}
        if len(joined) > 1:
            together = [x for part in joined.values() for x in part]
            group.update((x, together) for x in together)
    found = {id(part): sorted(part) for part in group.values()}
    return sorted(found.values())


def _listed(
    rows: Sequence[Mapping[int, Fraction]], dimension: int, most: int | None
) -> list[tuple[int, ...]]:
    """List the rays of one group."""
    everything = (1 << dimension) - 1
    found = [Ray(_unit(x, dimension), everything ^ (1 << x)) for x in range(dimension)]
    for number, row in enumerate(rows, start=dimension):
        exact = dict(zip(row, whole(row.values())[0], strict=True))
        found = _cut(found, exact, 1 << number, dimension)
        _check_count(found, most)
    return [ray.entries for ray in found]


def _check_count(found: Sequence[object], most: int | None) -> None:
    if len(found) > (most or MOST_RAYS):
        raise UndecidedError(f"the cone has more than {most or MOST_RAYS} rays on the way to its list")


def _unit(x: int, dimension: int) -> tuple[int, ...]:
    return tuple(int(z == x) for z in range(dimension))


def _cut(rays: list[Ray], row: Mapping[int, int], bit: int, dimension: int) -> list[Ray]:
    """Keep the part of the cone with row·w ≥ 0; ``bit`` marks the constraint."""
    sides = [sum(entry * ray.entries[x] for x, entry in row.items()) for ray in rays]
    kept = [
        Ray(ray.entries, ray.tight | bit if side == 0 else ray.tight)
        for ray, side in zip(rays, sides, strict=True)
        if side >= 0
    ]
    inside = [(ray, side) for ray, side in zip(rays, sides, strict=True) if side > 0]
    outside = [(ray, side) for ray, side in zip(rays, sides, strict=True) if side < 0]
    for r, above in inside:
        for s, below in outside:
            tick()
            common = r.tight & s.tight
            if common.bit_count() >= dimension - 2 and _adjacent(rays, r, s, common):
                entries = [above * b - below * a for a, b in zip(r.entries, s.entries, strict=True)]
                divisor = math.gcd(*entries)
                kept.append(Ray(tuple(entry // divisor for entry in entries), common | bit))
    return kept


def _adjacent(rays: list[Ray], r: Ray, s: Ray, common: int) -> bool:
    return not any(common & other.tight == common for other in rays if other is not r and other is not s)
