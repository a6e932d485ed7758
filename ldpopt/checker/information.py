"""Enclose the information F(p) that one report carries about P, its determinant and its inverse.

Lemma (differences). Let every row of W sum to 1, J(p) = Σ_y W_y W_yᵀ/(W_y·p) for a distribution p, and
F(p) = Σ_y D_y D_yᵀ/(W_y·p) with the k − 1 differences D_y(a) = W_y(a) − W_y(k). Then det J = det F.
Proof. Take T with columns e_a − e_k (a < k) and p. J p = Σ_y W_y = 1, so TᵀJT has the blocks F and pᵀJp
= 1, and between them (e_a − e_k)·1 = 0. det T = ±Σ p = ±1. ∎ At small ε the entries of J are alike and
its determinant cancels; those of F do not.

Lemma (elimination). If every pivot of the interval elimination LDLᵀ of a symmetric interval matrix lies
above 0, every symmetric matrix in it is positive definite, and its determinant lies in the product of
the pivots, its inverse in the interval matrix L⁻ᵀ D⁻¹ L⁻¹. Proof. The elimination of one such matrix
runs inside the intervals (enclosure); its pivots are positive. ∎

Sums over sets. A column 1 + c 1_S has D = c d_S, d_S(a) = 1[a ∈ S] − 1[k ∈ S]. With G(x, z) = Σ f_S
over the sets S of one size with x, z ∈ S, Σ_S f_S d_S(a) d_S(b) = G(a, b) − G(a, k) − G(b, k) + G(k,
k). If every f_S is a whole number that is at most r too small, every such sum is off by at most r times
the number of sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import compress
from operator import itemgetter, mul
from typing import Any, NamedTuple

from .arithmetic import DOWN, ONE, UP, ZERO, Interval, total, units_above, units_below
from .budget import reserve, tick

PRECISION = 256
"""1/(v·p) and the entries of inverse matrices are whole multiples of 2^−PRECISION."""
Matrix = list[list[Interval]]
Whole = list[list[int]]


def between(low: int, high: int, bits: int) -> Interval:
    """Build the interval between whole multiples of 2^−bits.

    Args:
        low: the lower end, in multiples.
        high: the upper end, in multiples.
        bits: says how fine they are.
    """
    unit = Decimal(1 << bits)
    return Interval(DOWN.divide(Decimal(low), unit), UP.divide(Decimal(high), unit))


# ---------------------------------------------------------------- elimination


class Factors(NamedTuple):
    """L (below the diagonal, which is 1) and D of L D Lᵀ."""

    lower: Matrix
    pivots: list[Interval]

    def determinant(self) -> Interval:
        """Multiply the pivots."""
        found = ONE
        for pivot in self.pivots:
            found = found * pivot
        return found

    def inverse(self) -> Matrix:
        """Compute L⁻ᵀ D⁻¹ L⁻¹."""
        n = len(self.pivots)
        rows: Matrix = []  # of L⁻¹, up to the diagonal
        for i in range(n):
            row = [-total(self.lower[i][m] * rows[m][j] for m in range(j, i)) for j in range(i)]
            rows.append([*row, ONE])
        scaled = [[entry / pivot for entry in row] for row, pivot in zip(rows, self.pivots, strict=True)]
        half = [
            [total(scaled[m][a] * rows[m][b] for m in range(a, n)) for b in range(a + 1)]
            for a in range(n)
        ]
        return [[half[max(a, b)][min(a, b)] for b in range(n)] for a in range(n)]


def factored(matrix: Matrix) -> Factors | None:
    """Factor a symmetric interval matrix as L D Lᵀ; None if a pivot may be 0 or negative."""
    tick()
    n = len(matrix)
    lower: Matrix = [[] for _ in range(n)]
    products: Matrix = [[] for _ in range(n)]  # L D
    pivots: list[Interval] = []
    for j in range(n):
        for i in range(j, n):
            entry = matrix[i][j] - total(map(mul, products[i][:j], lower[j][:j]))
            if i == j:
                if entry.low <= 0:
                    return None
                pivots.append(entry)
            else:
                products[i].append(entry)
                lower[i].append(entry / pivots[j])
    return Factors(lower, pivots)


class WholeInverse(NamedTuple):
    """The inverse as whole multiples of 2^−PRECISION, each at most ``radius`` below the truth."""

    entries: Whole
    radius: int


def whole_inverse(factors: Factors) -> WholeInverse:
    """Round an enclosed inverse to whole numbers."""
    inverse = factors.inverse()
    low = [[units_below(x.low, PRECISION) for x in row] for row in inverse]
    high = [[units_above(x.high, PRECISION) for x in row] for row in inverse]
    radius = max(b - a for r, s in zip(low, high, strict=True) for a, b in zip(r, s, strict=True))
    return WholeInverse(low, radius)


# ---------------------------------------------------------------- sums over sets


class Sets(NamedTuple):
    """The sets of one size: where they stand among all sets, which contain x, of those which z < x."""

    pick: Any
    number: int
    holding: list[tuple[bytes, list[bytes]]]

    def sums(self, f: Sequence[int]) -> Whole:
        """Sum f_S d_S d_Sᵀ, f in the order of the sets."""
        k = len(self.holding)
        G = []
        for own, others in self.holding:
            with_x = list(compress(f, own))
            G.append([*(sum(compress(with_x, other)) for other in others), sum(with_x)])
        last = G[k - 1]
        return [
            [G[max(a, b)][min(a, b)] - last[a] - last[b] + last[k - 1] for b in range(k - 1)]
            for a in range(k - 1)
        ]


@lru_cache(maxsize=4)
def sets_of(k: int) -> list[Sets]:
    """List the subsets of k inputs by size 0 … k; bit x of a set, a whole number, is input x."""
    reserve((k * k << k) // 240 + (2 << k), "listing the sets of inputs")
    sizes: list[list[int]] = [[] for _ in range(k + 1)]
    for mask in range(1 << k):
        sizes[mask.bit_count()].append(mask)
    return [_sets(k, masks) for masks in sizes]


def _sets(k: int, masks: list[int]) -> Sets:
    tick()
    holding = []
    for x in range(k):
        with_x = [mask for mask in masks if mask >> x & 1]
        others = [bytes(mask >> z & 1 for mask in with_x) for z in range(x)]
        holding.append((bytes(mask >> x & 1 for mask in masks), others))
    one = len(masks) == 1
    return Sets((lambda f: (f[masks[0]],)) if one else itemgetter(*masks), len(masks), holding)


def subset_sums(numbers: Sequence[int]) -> list[int]:
    """Sum the numbers of every set S, in the order of their whole numbers."""
    sums = [0]
    for number in numbers:
        sums += [s + number for s in sums]
    return sums


def trace_above(inverse: WholeInverse, block: Whole, off: int) -> int:
    """Bound tr(inverse · block) from above, block entries off by at most ``off``, in units of both.

    Args:
        inverse: the inverse, in whole numbers.
        block: a symmetric matrix of whole numbers.
        off: how far its entries may be from the truth.
    """
    found = size = 0
    for row, entries in zip(inverse.entries, block, strict=True):
        found += sum(map(mul, row, entries))
        size += sum(map(abs, entries)) * inverse.radius + off * (
            sum(map(abs, row)) + len(row) * inverse.radius
        )
    return found + size


def forms_above(inverse: WholeInverse) -> list[int]:
    """Bound d_Sᵀ inverse d_S from above for every set S, in the order of their whole numbers.

    They are 1_Sᵀ M 1_S with M the inverse continued by a last row and column that make rows sum to 0.
    """
    rows = [[*row, -sum(row)] for row in inverse.entries]
    M = [*rows, [-sum(column) for column in zip(*rows, strict=True)]]
    k = len(M)
    values = [0]
    for x in range(k):
        to_x = subset_sums([M[x][z] + M[z][x] for z in range(x)])
        values += [value + M[x][x] + cross for value, cross in zip(values, to_x, strict=True)]
    slack = inverse.radius * (k - 1) ** 2
    return [value + slack for value in values]


def scaled_sum(terms: Sequence[tuple[Interval, Whole, int]], bits: int) -> Matrix:
    """Sum factor · block, blocks of whole multiples of 2^−bits with entries off by at most ``off``."""
    n = len(terms[0][1])
    found: Matrix = [[ZERO] * n for _ in range(n)]
    for factor, block, off in terms:
        for a in range(n):
            for b in range(a + 1):
                entry = factor * between(block[a][b] - off, block[a][b] + off, bits)
                found[a][b] = found[b][a] = found[a][b] + entry
    return found
