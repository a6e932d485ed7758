"""Matrices that tell no value of a table from another, so that no count can be computed back from them.

Lemma. Let the entries of a mechanism be at most :data:`MOST_VALUES` numbers, each e^ε times the next
smaller one, or the least of them 0; and let the pairs of numbers that two rows have, report by report,
be the same pairs, equally often, for any two inputs that differ in the same way: in the secret alone, in
the public value alone, or in both. Then every row holds each number equally often, so that they follow
from ε, the pattern and the sum 1; and what can be computed from any two rows is the same whichever two
values of the table they belong to. So it tells no value from another, and the count of none.

All of it holds up to :data:`SLACK` per entry, as entries are rounded so that rows sum to exactly 1.

What it cannot show: who chose the pattern. Randomised response of a secret or of all columns, subset
selection and balanced designs have such matrices; a writer who wants to hide a message in the order of
the rows can.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from ..arithmetic import exp_above, exp_below
from ..budget import tick

SLACK = 2.0**-44
MOST_VALUES = 4


def treats_alike(matrix: Sequence[Sequence[float]], width: int, epsilon: float) -> bool:
    """Return whether the lemma's assumptions hold.

    Args:
        matrix: the mechanism, a row per input (s, u), the public value running fastest.
        width: the number of public values.
        epsilon: the level whose factor e^ε lies between the numbers.
    """
    groups = _groups(sorted({entry for row in matrix for entry in row}))
    if groups is None or not _are_powers(groups, epsilon):
        return False
    number = {entry: i for i, group in enumerate(groups) for entry in group}
    where = [[0] * len(groups) for _ in matrix]  # bit y of where[x][i]: report y has the number i
    for found, row in zip(where, matrix, strict=True):
        for y, entry in enumerate(row):
            found[number[entry]] |= 1 << y
    return _are_balanced(where, width)


def _groups(entries: list[float]) -> list[list[float]] | None:
    """Take together entries that differ by rounding; None if they are too many numbers."""
    groups = [[entries[0]]]
    for low, high in pairwise(entries):
        if high - low > SLACK:
            if len(groups) == MOST_VALUES:
                return None
            groups.append([])
        groups[-1].append(high)
    return groups if all(group[-1] - group[0] <= SLACK for group in groups) else None


def _are_powers(groups: list[list[float]], epsilon: float) -> bool:
    """Return whether each number is e^ε times the next smaller one, unless that is the least and 0."""
    least, most, slack = exp_below(epsilon), exp_above(epsilon), Fraction(SLACK)
    above = groups[1:] if groups[0][0] == 0 else groups
    return all(
        most * (Fraction(low[0]) - slack) <= Fraction(high[-1])
        and Fraction(high[0]) <= least * (Fraction(low[-1]) + slack)
        for low, high in pairwise(above)
    )


def _are_balanced(where: list[list[int]], width: int) -> bool:
    """Return whether any two inputs that differ in the same way have the same pairs, equally often.

    A row is compared with itself, too: then all rows hold each number equally often, so that the pairs
    with the least number follow from the others.
    """
    seen: dict[tuple[bool, bool], list[list[int]]] = {}
    for x, first in enumerate(where):
        tick()
        for z, second in enumerate(where[: x + 1]):
            pairs = [[(one & other).bit_count() for other in second[1:]] for one in first[1:]]
            differ = (x // width == z // width, x % width == z % width)
            if pairs != seen.setdefault(differ, pairs):
                return False
    return all(pairs == [list(column) for column in zip(*pairs, strict=True)] for pairs in seen.values())
