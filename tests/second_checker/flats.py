"""The rays of the parts into which planes cut a cone {w ≥ 0 : D w ≤ 0}: on the way to them, flats.

A *flat* is where some of the planes meet, those of the cone's own rows and entries among them. A ray of
a part lies on k − 1 independent planes, so in a flat of each dimension k, k − 1, …, 1, each inside the
one before. All of these meet the cone beyond 0. So flats are listed one dimension at a time, each once
however many planes meet in it, and one that is seen to meet the cone at 0 alone is left.

The entries that are free on a flat are entries of w, hence ≥ 0. If a row D has no entry below 0 on
them, those at its entries above 0 are 0; if that goes on until all are 0, so is w.
"""

import math
from fractions import Fraction
from functools import lru_cache

MOST_FLATS = 30_000
"""How many flats are looked at for each cone."""


@lru_cache(maxsize=4)
def rays(k, rows, planes=()):
    """The w of these rays, with largest entry 1; None if there are too many flats."""
    units = [tuple(int(x == z) for z in range(k)) for x in range(k)]
    sides = [*map(whole, rows), *(tuple(-a for a in unit) for unit in units)]
    meeting = {}
    for number, plane in enumerate(filter(any, [*sides, *map(whole, planes)])):
        meeting.setdefault(signed(plane), set()).add(number)
    flats, count = {frozenset(): (units, sides, meeting)}, 0
    for _ in range(k - 1):
        smaller = {}
        for met, flat in flats.items():
            for plane, numbers in flat[2].items():
                own = met | numbers
                if own in smaller:
                    continue
                count += 1
                if count > MOST_FLATS:
                    return None
                smaller[own] = within(flat, plane)
        flats = {met: flat for met, flat in smaller.items() if flat is not None}
    lines = ([entry for (entry,) in units] for units, _, _ in flats.values())
    return [tuple(Fraction(a, max(w)) for a in w) for w in lines if max(w) > 0]


def within(flat, plane):
    """The part of a flat in one more plane: its entries, sides and planes; None if it is 0 alone."""
    units, sides, meeting = flat
    pivot = next(i for i, a in enumerate(plane) if a)

    def reduced(vector):
        own, times = plane[pivot], vector[pivot]
        rest = [own * a - times * b for a, b in zip(vector, plane, strict=True)]
        del rest[pivot]
        return rest

    own_sides = list(dict.fromkeys(filter(any, map(least, map(reduced, sides)))))
    if is_nothing(own_sides, len(plane) - 1):
        return None
    own_meeting = {}
    for other, numbers in meeting.items() if len(plane) > 2 else ():  # nothing is left to cut on a line
        if any(left := least(reduced(other))):
            own_meeting.setdefault(signed(left), set()).update(numbers)
    own_units = [reduced(unit) for unit in units]
    common = math.gcd(*(a for unit in own_units for a in unit))
    return [tuple(a // common for a in unit) for unit in own_units], own_sides, own_meeting


def is_nothing(sides, count):
    """Whether the sides say of so many entries ≥ 0, one after the other, that all are 0."""
    free, before = set(range(count)), None
    while free != before:
        before = set(free)
        for side in sides:
            if all(side[i] >= 0 for i in free):
                free -= {i for i in free if side[i] > 0}
    return not free


def whole(vector):
    """The vector times a number above 0: whole numbers."""
    common = math.lcm(*(a.denominator for a in vector))
    return least([int(a * common) for a in vector])


def least(vector):
    """Whole numbers without their common divisor."""
    divisor = math.gcd(*vector) or 1
    return tuple([a // divisor for a in vector])


def signed(plane):
    """The plane with its first entry that is not 0 above 0."""
    return plane if next(filter(None, plane)) > 0 else tuple(-a for a in plane)
