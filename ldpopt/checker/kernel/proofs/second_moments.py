"""Enclose what a mechanism does to second moments: M⁻¹ for M = W diag(pW)⁻¹ Wᵀ, and Φ = W (W⁻¹ ∘ W⁻¹).

Both inverses are found approximately and enclosed by their residual, in whole numbers.

Lemma (residual). Let S be a square matrix, R any matrix and F = S R − I with ‖F‖ < 1 in the Frobenius
norm. Then S is invertible and ‖S⁻¹ − R‖ ≤ ‖R‖ ‖F‖/(1 − ‖F‖). Proof. S R = I + F is invertible by the
Neumann series, so S is, and S⁻¹ = R (I + F)⁻¹ = R − R F (I + F)⁻¹. ∎

Numbers are whole multiples of 2^−bits. M is not: with q_y = p·w_y each 1/q_y is rounded down to a
multiple, so every entry of M is off by at most Σ_y W_iy W_jy 2^−bits ≤ 2^−bits (a row of W sums to 1),
and rounding the sum adds another 2^−bits. The residual of M is that of the rounded matrix plus at most
2·K·2^−bits ‖R‖.

Lemma (turned rows). Let every row of A and of B be the row above it, turned by one place. Then
(A Bᵀ)_ij = Σ_y A_iy B_jy depends on j − i alone, so that every row of A Bᵀ is the one above it, turned;
and Aᵀ is such a matrix. ∎ So one row of a product gives all, and a float inverse is sought as one row r:
with s the first row of S, (S R)_ij is the entry j − i of the cyclic convolution of s and r.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..budget import reserve, tick
from ..fixed_point import BITS, dyadic_rows
from ..whole_matrix_products import product

PRECISIONS = (BITS // 2, BITS, 4 * BITS, 16 * BITS)
"""The bits that are tried, in this order."""
LEAST_GAIN = 60
"""An enclosure is accepted if its radius is at most 2^−60 times the largest entry of R."""


class Enclosed(NamedTuple):
    """A matrix of whole multiples of 2^−bits, and how far each entry may be from the truth."""

    entries: list[list[int]]
    bits: int
    radius: Fraction

    def fraction(self, i: int, j: int) -> Fraction:
        """Return the middle of an entry."""
        return Fraction(self.entries[i][j], 1 << self.bits)


def moments_above(matrix: Sequence[Sequence[float]], p: Sequence[Fraction]) -> list[Fraction] | None:
    """Compute numbers just above the diagonal of M⁻¹.

    None if no precision shows that M has an inverse.
    """
    found = inverse_information(matrix, p)
    if found is None:
        return None
    return [found.fraction(i, i) + found.radius for i in range(len(p))]


def phi_above(matrix: Sequence[Sequence[float]]) -> Fraction | None:
    """Bound φ = tr((W D⁻¹ Wᵀ)⁻¹) closely from above: the second moments for p = 1, added up."""
    found = moments_above(matrix, [Fraction(1)] * len(matrix))
    return None if found is None else sum(found, Fraction(0))


def inverse_information(matrix: Sequence[Sequence[float]], p: Sequence[Fraction]) -> Enclosed | None:
    """Enclose M⁻¹.

    Outputs that never occur are left out. The rows must sum to 1.
    """
    columns = [column for column in zip(*matrix, strict=True) if any(column)]
    k = len(matrix)
    if len(columns) < k:
        return None  # fewer outputs than inputs: M has no inverse
    reserve(6 * k * k + 3 * k * len(columns), "inverting the information")
    whole, shift = dyadic_rows(list(zip(*columns, strict=True)))
    common = math.lcm(*(x.denominator for x in p))
    weights = [int(x * common) for x in p]
    q = [Fraction(_dot(weights, column), common << shift) for column in zip(*whole, strict=True)]
    for bits in PRECISIONS:
        scaled = [
            [(a << bits) * x.denominator // (x.numerator << shift) for a, x in zip(row, q, strict=True)]
            for row in whole
        ]
        M = _product(whole, scaled, shift)
        blur = Fraction(2 * k, 1 << bits)
        found = _inverse(M, bits, blur)
        if found is not None:
            return found
    return None


def phi_matrix(matrix: Sequence[Sequence[float]]) -> Enclosed | None:
    """Enclose Φ = W (W⁻¹ ∘ W⁻¹) of a square W.

    None if no precision shows that W has an inverse.

    If every entry of W⁻¹ is within r of B, those of W⁻¹ ∘ W⁻¹ are within 2 max|B| r + r² of B ∘ B, and
    so are their means Φ; rounding the squares down adds 2^−bits.
    """
    k = len(matrix)
    reserve(8 * k * k, "inverting the mechanism")
    whole, shift = dyadic_rows(matrix)
    for bits in PRECISIONS:
        S = [
            [(a << bits) >> shift if bits < shift else a << (bits - shift) for a in row] for row in whole
        ]
        blur = Fraction(0) if bits >= shift else Fraction(k, 1 << bits)
        found = _inverse(S, bits, blur)
        if found is None:
            continue
        squares = [[b * b >> bits for b in column] for column in zip(*found.entries, strict=True)]
        Phi = _product(whole, squares, shift)
        largest = Fraction(max(abs(b) for row in found.entries for b in row), 1 << bits)
        radius = 2 * largest * found.radius + found.radius**2 + Fraction(2, 1 << bits)
        return Enclosed(Phi, bits, radius)
    return None


def _inverse(S: list[list[int]], bits: int, blur: Fraction) -> Enclosed | None:
    """Enclose the inverse of a matrix within ``blur`` of S in the Frobenius norm."""
    one = 1 << bits
    R = _refined(S, bits) or _eliminated(S, bits)
    if R is None:
        return None
    found = _product(S, list(zip(*R, strict=True)), 0)
    off = [[entry - (i == j) * one * one for j, entry in enumerate(row)] for i, row in enumerate(found)]
    size = Fraction(_norm_above(R), one)
    residual = Fraction(_norm_above(off), one * one) + blur * size
    if residual >= Fraction(1, 2):
        return None
    radius = 2 * size * residual
    largest = Fraction(max(abs(entry) for row in R for entry in row), one)
    if radius > largest / (1 << LEAST_GAIN):
        return None
    return Enclosed(R, bits, radius)


def _norm_above(rows: Sequence[Sequence[int]]) -> int:
    """Bound the Frobenius norm from above."""
    return math.isqrt(sum(_dot(row, row) for row in rows)) + 1


def _is_turned(rows: Sequence[Sequence[int]]) -> bool:
    """Return whether the matrix is square and every row is the one above it, turned by one place."""
    first = list(rows[0])
    return len(first) == len(rows) and all(
        list(row) == first[-i:] + first[:-i] for i, row in enumerate(rows) if i
    )


def _product(A: Sequence[Sequence[int]], B: Sequence[Sequence[int]], shift: int) -> list[list[int]]:
    """Compute A Bᵀ, every entry divided by 2^shift and rounded down."""
    turned = _is_turned(A) and _is_turned(B)
    found = [[x >> shift for x in row] for row in product(A[:1] if turned else A, B)]
    return _turns(found[0]) if turned else found


def _turns(first: list[Any]) -> list[list[Any]]:
    return [first[-i:] + first[:-i] if i else first for i in range(len(first))]


def _refined(S: list[list[int]], bits: int) -> list[list[int]] | None:
    """Invert approximately by Newton's method R ← 2 R − R S R from floats; None where that fails.

    The caller measures the error.
    """
    one = 1 << bits
    floats = [[entry / one for entry in row] for row in S]
    start = _float_circulant(floats[0]) if _is_turned(S) else _float_eliminated(floats)
    if start is None:
        return None
    R = [[int(entry * 2.0**60) << bits >> 60 for entry in row] for row in start]
    for _ in range(bits.bit_length()):
        left = _product(S, list(zip(*R, strict=True)), bits)
        twice = [[-entry for entry in row] for row in left]
        for i, row in enumerate(twice):
            row[i] += 2 * one
        better = _product(R, list(zip(*twice, strict=True)), bits)
        change = max(
            abs(a - b)
            for row, other in zip(better, R, strict=True)
            for a, b in zip(row, other, strict=True)
        )
        R = better
        if change <= one >> bits * 3 // 8:  # what is left is about the square of that
            return R
    return None


def _float_circulant(s: list[float]) -> list[list[float]] | None:
    """Invert under cyclic convolution, by the discrete Fourier transform."""
    k = len(s)
    roots = [cmath.exp(-2j * cmath.pi * i / k) for i in range(k)]
    tick()
    spectrum = [sum(map(complex.__mul__, _strided(roots, j), map(complex, s))) for j in range(k)]
    if min(map(abs, spectrum)) == 0:
        return None
    inverse = [1 / x for x in spectrum]
    found = [sum(map(complex.__mul__, _strided(roots, -j), inverse)).real / k for j in range(k)]
    return _turns(found) if all(map(math.isfinite, found)) else None


def _float_eliminated(rows: list[list[float]]) -> list[list[float]] | None:
    """Invert by Gauss–Jordan elimination in place, without pivots: J is positive definite."""
    k = len(rows)
    for i in range(k):
        tick()
        lead = rows[i]
        pivot = lead[i]
        if not 0 < abs(pivot) < math.inf:
            return None
        lead[i] = 1.0
        lead = rows[i] = [entry / pivot for entry in lead]
        for j, row in enumerate(rows):
            if j != i and (factor := row[i]):
                row[i] = 0.0
                rows[j] = [a - factor * b for a, b in zip(row, lead, strict=True)]
    return rows if all(math.isfinite(entry) for row in rows for entry in row) else None


def _strided(roots: list[complex], step: int) -> list[complex]:
    """List the powers ω^0, ω^step, ω^(2·step), … of a root of unity, one per entry."""
    k = len(roots)
    return [roots[i * step % k] for i in range(k)]


def _eliminated(S: list[list[int]], bits: int) -> list[list[int]] | None:
    """Invert approximately by Gauss–Jordan elimination with the largest pivot; None if one is 0."""
    k, one = len(S), 1 << bits
    rows = [[*row, *(one if i == j else 0 for j in range(k))] for i, row in enumerate(S)]
    for i in range(k):
        tick()
        best = max(range(i, k), key=lambda j: abs(rows[j][i]))
        pivot = rows[best][i]
        if pivot == 0:
            return None
        rows[i], rows[best] = rows[best], rows[i]
        lead = rows[i] = [(entry << bits) // pivot for entry in rows[i]]
        rest = lead[i:]  # the columns before are done
        for j in range(k):
            factor = rows[j][i]
            if j != i and factor:
                rows[j][i:] = [a - (factor * b >> bits) for a, b in zip(rows[j][i:], rest, strict=True)]
    return [row[k:] for row in rows]


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(map(int.__mul__, a, b))


def added(numbers: Iterable[Fraction]) -> Fraction:
    """Add up the numbers."""
    return sum(numbers, Fraction(0))
