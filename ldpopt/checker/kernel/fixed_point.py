"""Whole multiples of 2^−bits, and rounding to them: the one place where numbers lose digits on purpose.

A *unit* is 2^−:data:`BITS`. Sums of units are exact, and a product is rounded by a shift, so that a
search over many thousand corners costs integer operations only. Proofs round to units, always to the
side that makes the proof harder; what enters a search as a guess may be coarser, as any number would do.

What a file means is rounded to sizes of its own, which the page on certificates states: the points that
stand for a prior (2^−64, ``dirichlet_points.py``), the numbers of a proof tree (2^−96,
``rare_cells.py``), the contrasts of columns (2^−160, ``asymptotic_value.py``), and the prices of outputs
(2^−1074, which is exact for floats, ``selection_trees.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

Rational = int | float | Fraction
"""A number that is exactly what it says: a float is the dyadic rational that it stores."""
Vector = Mapping[int, Fraction]
"""The entries of a vector that are not 0."""
BITS = 192
UNIT = 1 << BITS


def units_down(x: Rational | Decimal, bits: int = BITS) -> int:
    """Compute ⌊x · 2^bits⌋."""
    top, bottom = x.as_integer_ratio()
    return (top << bits) // bottom


def units_up(x: Rational | Decimal, bits: int = BITS) -> int:
    """Compute ⌈x · 2^bits⌉."""
    top, bottom = x.as_integer_ratio()
    return -((-top << bits) // bottom)


def entries(row: Iterable[Fraction]) -> Vector:
    """Return the entries that are not 0."""
    return {x: a for x, a in enumerate(row) if a}


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Compute Σ a b, exactly."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def subset_sums(numbers: Sequence[Any]) -> list[Any]:
    """Compute the sums over all subsets, by the bits of their number."""
    sums = [0]
    for number in numbers:
        sums += [s + number for s in sums]
    return sums


def ratio_up(top: int, bottom: int) -> int:
    """Compute ⌈top / bottom⌉, bottom > 0."""
    return -(-top // bottom)


def root_below(x: Fraction, bits: int = BITS) -> Fraction:
    """Compute a number at most 2^−bits below √x, x ≥ 0."""
    return Fraction(math.isqrt(units_down(x, 2 * bits)), 1 << bits)


def root_above(x: Fraction, bits: int = BITS) -> Fraction:
    """Compute a number at most 2^(1−bits) above √x; 0 where x ≤ 0."""
    if x <= 0:
        return Fraction(0)
    return Fraction(math.isqrt(units_up(x, 2 * bits)) + 1, 1 << bits)


def cube_root_below(x: Fraction, bits: int = BITS) -> Fraction:
    """Compute a number at most 2^−bits below ∛x, x ≥ 0."""
    n = units_down(x, 3 * bits)
    low, high = 0, 1 << -(-n.bit_length() // 3)
    while low < high:  # the largest r with r³ ≤ n
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= n else (low, middle - 1)
    return Fraction(low, 1 << bits)


def whole(numbers: Iterable[Rational]) -> tuple[list[int], int]:
    """Write numbers exactly as whole multiples of one over their common denominator."""
    ratios = [number.as_integer_ratio() for number in numbers]
    common = math.lcm(*(bottom for _, bottom in ratios))
    return [top * (common // bottom) for top, bottom in ratios], common


def dyadic(numbers: Sequence[float]) -> tuple[list[int], int]:
    """Write floats exactly as whole multiples of 2^−bits, with the fewest bits that suffice for all."""
    ratios = [number.as_integer_ratio() for number in numbers]
    bits = max((bottom.bit_length() for _, bottom in ratios), default=1) - 1
    return [top << bits - bottom.bit_length() + 1 for top, bottom in ratios], bits


def dyadic_rows(rows: Sequence[Sequence[float]]) -> tuple[list[list[int]], int]:
    """Write the rows of a matrix as :func:`dyadic` writes numbers."""
    whole, bits = dyadic([float(entry) for row in rows for entry in row])
    entries = iter(whole)
    return [list(islice(entries, len(row))) for row in rows], bits
