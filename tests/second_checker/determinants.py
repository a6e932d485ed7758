"""F(p) of columns at a point: summed in whole numbers, eliminated on intervals."""

import itertools
from fractions import Fraction

from mpmath import iv

from second_checker.intervals import bottom, interval, total

UNIT = 1 << 400
SHIFT = 64
"""Points are whole multiples of 2^−SHIFT."""


def whole(columns):
    """Columns of dyadic entries as whole multiples of a power of two: they, and the power."""
    power = max(x.denominator.bit_length() - 1 for column in columns for x in column)
    return [[int(x * (1 << power)) for x in column] for column in columns], power


def information(columns, power, p):
    """Enclose F(p) = Σ D Dᵀ/(w·p), D_a = w_a − w_k, for whole columns.

    Each quotient is rounded down to a multiple of 1/UNIT: an entry is low by less than their number.
    """
    size, at = len(p) - 1, [int(x * (1 << SHIFT)) for x in p]
    F = [[0] * size for _ in range(size)]
    for column in columns:
        mass = sum(map(int.__mul__, column, at)) << power
        D = [x - column[-1] for x in column[:-1]]
        for a, b in itertools.combinations_with_replacement([a for a in range(size) if D[a]], 2):
            F[a][b] += ((D[a] * D[b] * UNIT) << SHIFT) // mass
    return enclosed(F, len(columns))


def enclosed(F, error):
    """The symmetric matrix of intervals whose upper triangle lies between F and F + error, over UNIT."""
    size = range(len(F))

    def between(n):
        return iv.mpf([interval(Fraction(n, UNIT)).a, interval(Fraction(n + error, UNIT)).b])

    return [[between(F[min(a, b)][max(a, b)]) for b in size] for a in size]


def eliminated(F):
    """Enclose log det F and F⁻¹ by Gauss and Jordan; None if a pivot may be 0 or less.

    Positive pivots say that F is positive definite.
    """
    size = len(F)
    rows = [[*row, *(iv.mpf(a == b) for b in range(size))] for a, row in enumerate(F)]
    pivots = []
    for i in range(size):
        pivot = rows[i][i]
        if bottom(pivot) <= 0:
            return None
        pivots.append(iv.log(pivot))
        rows[i] = [x / pivot for x in rows[i]]
        for j in range(size):
            if j != i:
                factor = rows[j][i]
                rows[j] = [x - factor * y for x, y in zip(rows[j], rows[i], strict=True)]
    return total(pivots), [row[size:] for row in rows]


def rank(vectors):
    """The rank of rational vectors."""
    left, found = [list(v) for v in vectors], 0
    for i in range(len(left[0])):
        pivot = next((row for row in left if row[i]), None)
        if pivot is None:
            continue
        left = [
            [x - y * row[i] / pivot[i] for x, y in zip(row, pivot, strict=True)]
            for row in left
            if row is not pivot
        ]
        found += 1
        if not left:
            break
    return found
