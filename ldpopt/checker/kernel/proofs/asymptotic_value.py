"""The utility of a mechanism, enclosed: the lemmas are in :mod:`asymptotic_utility`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .. import fixed_point as units
from ..arithmetic import ONE, PI, Interval, between, enclose, exp
from ..budget import tick
from .dirichlet_points import BITS, UNIT, prior_points
from .fisher_information import (
    Known,
    Whole,
    information,
    sets_of,
    whole_columns,
)
from .private_rows import Rows

CONTRAST_BITS = 160
"""c = e^level − 1 is rounded up to a multiple of 2^−CONTRAST_BITS."""
CONSTANT = Fraction(1, 1 << 31)
"""A column whose entries differ by at most this share of the largest counts as constant."""


class DesignStatement(NamedTuple):
    """The utility to maximise, as in :mod:`asymptotic_utility`; ``contrast`` is the c of the atoms."""

    alpha: tuple[float, ...]
    epsilon: float
    contrast: Fraction
    floor: float | None

    @property
    def equal(self) -> bool:
        """Say whether all α are equal."""
        return len(set(self.alpha)) == 1


def contrast(level: float) -> Fraction:
    """Find the least multiple of 2^−CONTRAST_BITS that is at least e^level − 1, to 58 digits."""
    above = Fraction((exp(level) - ONE).high)
    return Fraction(units.units_up(above, CONTRAST_BITS), 1 << CONTRAST_BITS)


def utility_of(log_det: Interval, k: int) -> Interval:
    """Enclose −½ log 2πe + Σ w log det/(2k − 2)."""
    half = enclose(Fraction(1, 2))
    offset = half * ((PI + PI).log() + ONE)
    return log_det / enclose(2 * k - 2) - offset


# ---------------------------------------------------------------- the value


class Class(NamedTuple):
    """Outputs with one set of m high inputs each, every set once; ends of their entries."""

    size: int
    low: tuple[int, int]
    high: tuple[int, int]


def utility(matrix: Rows, question: DesignStatement) -> Interval | None:
    """Enclose Φ of a stochastic and private mechanism; None if some J may be singular."""
    columns, shift = whole_columns(matrix)
    classes = classes_of(columns) if question.equal else []
    if classes is None:
        return None
    low = high = 0
    rule = prior_points(question.alpha, question.epsilon)
    for p, w in zip(rule.points, rule.weights, strict=True):
        tick()
        F = _class_matrix(classes, shift, p) if question.equal else information(columns, shift, p, UNIT)
        found = F.trimmed().solved()
        if found is None:
            return None
        ends = found.log_determinant()
        low, high = low + w * ends[0], high + w * ends[1]
    return utility_of(between(low, high, BITS + units.BITS), len(question.alpha))


def distinguishes(matrix: Rows) -> bool:
    """Decide whether every F of a stochastic and private mechanism is positive definite.

    Lemma. xᵀF(p)x = Σ_y (D_y·x)²/(W_y·p), and W_y·p > 0 for every column but that of zeros. So F is
    positive definite exactly if the differences D_y span all k − 1 dimensions; else det F = 0 for every
    p, and the utility is −∞. ∎ Their rank is found by elimination in fractions.
    """
    columns, _ = whole_columns(matrix)
    basis: dict[int, list[Fraction]] = {}
    for column in columns:
        tick()
        D = [Fraction(entry - column[-1]) for entry in column[:-1]]
        for place, row in basis.items():
            factor = D[place]
            D = [a - factor * b for a, b in zip(D, row, strict=True)]
        place = next((i for i, entry in enumerate(D) if entry), -1)
        if place >= 0:
            basis[place] = [entry / D[place] for entry in D]
        if len(basis) == len(column) - 1:
            return True
    return False


def high_set(column: Sequence[int]) -> int:
    """Find the entries above the middle, the first as the highest bit; none in a constant column."""
    least, most = min(column), max(column)
    if most - least <= CONSTANT * most:
        return 0
    last = len(column) - 1
    return sum(1 << (last - x) for x, entry in enumerate(column) if 2 * entry > least + most)


def classes_of(columns: Whole) -> list[Class] | None:
    """Sort the columns into classes; None if the sets of one size have unequally many columns.

    Any sorting is sound, as a class takes the ends of whatever is in it; columns of one set are sorted
    by their ratio, so that each class is narrow.
    """
    k = len(columns[0])
    by_set: dict[int, Whole] = {}
    for column in columns:
        by_set.setdefault(high_set(column), []).append(column)
    found = []
    for size in range(k):
        groups = [group for mask, group in by_set.items() if mask.bit_count() == size]
        if not groups:
            continue
        if len(groups) != math.comb(k, size) or len(set(map(len, groups))) > 1:
            return None
        sets = [mask for mask in by_set if mask.bit_count() == size]
        ranked = [sorted(group, key=lambda c: Fraction(max(c), min(c))) for group in groups]
        for members in zip(*ranked, strict=True):
            tick()
            split = [
                (mask >> (k - 1 - x) & 1, c[x])
                for mask, c in zip(sets, members, strict=True)
                for x in range(k)
            ]
            low = [entry for bit, entry in split if not bit]
            high = [entry for bit, entry in split if bit] or low
            found.append(Class(size, (min(low), max(low)), (min(high), max(high))))
    return found


def _class_matrix(classes: list[Class], shift: int, p: list[int]) -> Known:
    """Enclose F(p) of every renaming of a mechanism of classes."""
    sums = units.subset_sums(p)
    blocks = [_class_block(member, shift, sums, len(p)) for member in classes]
    n = len(p) - 1
    entries = [[sum(block[a][b] for block, _ in blocks) for b in range(n)] for a in range(n)]
    return Known(entries, sum(off for _, off in blocks), units.BITS + 2 * shift)


def _class_block(member: Class, shift: int, sums: list[int], k: int) -> tuple[Whole, int]:
    """Sum D_y D_yᵀ/(W_y·p) over a class, and say how far off: the lemma of classes, in whole numbers."""
    sets = sets_of(k)[member.size]
    (l0, l1), (h0, h1) = member.low, member.high
    delta, omega = h0 - l0, (h1 - h0) + (l1 - l0)
    one = 1 << (units.BITS + shift + BITS)
    inside = sets.pick(sums)
    below = [one // (l1 * UNIT + (h1 - l1) * s) for s in inside]
    above = [-(-one // (l0 * UNIT + (h0 - l0) * s)) for s in inside]
    off = delta * delta * (sum(above) - sum(below)) + (2 * abs(delta) * omega + omega * omega) * sum(
        above
    )
    return [[delta * delta * entry for entry in row] for row in sets.sums(below)], off
