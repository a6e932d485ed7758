"""Enclose the information F(p) that one report carries about P, its determinant and its inverse.

Lemma (differences). Let every row of W sum to 1, J(p) = Σ_y W_y W_yᵀ/(W_y·p) for a distribution p, and
F(p) = Σ_y D_y D_yᵀ/(W_y·p) with the k − 1 differences D_y(a) = W_y(a) − W_y(k). Then det J = det F.
Proof. Take T with columns e_a − e_k (a < k) and p. J p = Σ_y W_y = 1, so TᵀJT has the blocks F and pᵀJp
= 1, and between them (e_a − e_k)·1 = 0. det T = ±Σ p = ±1. ∎ At small ε the entries of J are alike and
its determinant cancels; those of F do not.

Lemma (nearby). Let 2^bits F = M + Δ with symmetric matrices of n rows, |Δ(a, b)| ≤ off, M positive
definite and ρ = n off tr M⁻¹ ≤ 1/2 (:class:`Known`). Then F is positive definite, log det(2^bits F) is
within off Σ_ab |M⁻¹(a, b)| + n ρ² of log det M, and tr(2^−bits F⁻¹ B) lies between tr(M⁻¹ B)/(1 + ρ) and
tr(M⁻¹ B)/(1 − ρ) for B ≽ 0.
Proof. The eigenvalues s_i of M^−½ Δ M^−½ are at most ρ in size, as ‖Δ‖ ≤ n off and ‖M⁻¹‖ ≤ tr M⁻¹. log
det(2^bits F) − log det M = Σ log(1 + s_i), |log(1 + s) − s| ≤ s² for |s| ≤ 1/2, and Σ s_i = tr(M⁻¹ Δ).
The last part: 2^−bits F⁻¹ = M^−½ (I + M^−½ Δ M^−½)⁻¹ M^−½, between M⁻¹/(1 + ρ) and M⁻¹/(1 − ρ). ∎

Lemma (elimination; Bareiss 1968). With a_0 = 1 and a_k = A_kk, replacing A_ij by (A_ij a_k − A_ik A_kj)
/a_(k−1) for i ≠ k and j > k, one k after the other, keeps whole numbers whole, and a_k is the leading
minor of k rows. All of them are positive exactly if a symmetric matrix is positive definite
(Sylvester). The matrix continued by I ends as det A · I and the adjugate. ∎ So determinants and
inverses of whole matrices are exact; only M is rounded, to :data:`KEPT` bits.

Sums over sets. A column 1 + c 1_S has D = c d_S, d_S(a) = 1[a ∈ S] − 1[k ∈ S]. With G(x, z) = Σ f_S
over the sets S of one size with x, z ∈ S, Σ_S f_S d_S(a) d_S(b) = G(a, b) − G(a, k) − G(b, k) + G(k,
k). If every f_S is a whole number that is at most r too small, every such sum is off by at most r times
the number of sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import compress
from operator import itemgetter, mul
from typing import Any, NamedTuple

from .. import fixed_point as units
from ..budget import reserve, tick
from ..fixed_point import dyadic_rows
from ..fixed_point_log import LOG_ERROR, log_units, twos_below

KEPT = 224
"""A matrix is rounded to so many bits before its determinant is computed."""
Whole = list[list[int]]
ZERO = Fraction(0)


# ---------------------------------------------------------------- elimination


class WholeInverse(NamedTuple):
    """An inverse in units, each entry at most ``radius`` below the truth."""

    entries: Whole
    radius: int


class Known(NamedTuple):
    """A symmetric matrix: whole multiples of 2^−bits, each at most ``off`` from the truth."""

    entries: Whole
    off: int
    bits: int

    def trimmed(self) -> Known:
        """Round the entries to :data:`KEPT` bits."""
        spare = max(max(map(abs, row)) for row in self.entries).bit_length() - KEPT
        if spare <= 0:
            return self
        entries = [[entry >> spare for entry in row] for row in self.entries]
        return Known(entries, (self.off >> spare) + 2, self.bits - spare)

    def solved(self) -> Solved | None:
        """Invert it; None if it may be singular."""
        found = adjugate(self.entries)
        if found is None:
            return None
        inverse, whole = found
        n = len(inverse)
        loss = n * self.off * sum(inverse[a][a] for a in range(n))
        return Solved(inverse, whole, loss, self.off, self.bits) if 2 * loss <= whole else None


class Solved(NamedTuple):
    """Adjugate and determinant of M, ρ · det M, off and bits: the lemma on nearby matrices."""

    inverse: Whole
    whole: int
    loss: int
    off: int
    bits: int

    def log_determinant(self) -> tuple[int, int]:
        """Enclose log det F, in units of ``fixed_point.py``."""
        n = len(self.inverse)
        far = self.off * sum(sum(map(abs, row)) for row in self.inverse)
        error = (far << units.BITS) // self.whole + (n * self.loss**2 << units.BITS) // self.whole**2 + 2
        scale = n * self.bits
        return log_below(self.whole, scale) - error, log_above(self.whole, scale) + error

    def quadratic(self, d: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        """Enclose dᵀF⁻¹d."""
        square = sum((x * sum(map(mul, d, row)) for x, row in zip(d, self.inverse, strict=True)), ZERO)
        scaled = square * Fraction(2) ** self.bits
        return scaled / (self.whole + self.loss), scaled / (self.whole - self.loss)

    def inverse_above(self) -> WholeInverse:
        """Compute M⁻¹/(1 − ρ), in units of F⁻¹."""
        up, divisor = units.BITS + self.bits, self.whole - self.loss
        if up < 0:
            up, divisor = 0, divisor << -up
        return WholeInverse([[(entry << up) // divisor for entry in row] for row in self.inverse], 1)


def adjugate(matrix: Whole) -> tuple[Whole, int] | None:
    """Compute adjugate and determinant of a positive definite symmetric matrix; None for others."""
    tick()
    n, last = len(matrix), 1
    rows = [[*row, *(int(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for k in range(n):
        own, pivot = rows[k], rows[k][k]
        if pivot <= 0:
            return None
        for i in range(n):
            if i != k:
                row, factor = rows[i], rows[i][k]
                for j in range(k + 1, n + k + 1):
                    row[j] = (row[j] * pivot - factor * own[j]) // last
                if i > k:  # right of its k-th column, I has its diagonal only
                    row[n + i] = row[n + i] * pivot // last
        last = pivot
    return [row[n:] for row in rows], last


# ---------------------------------------------------------------- the matrix of a mechanism


def whole_columns(matrix: Sequence[Sequence[float]]) -> tuple[Whole, int]:
    """Write the columns that are not all zero as whole multiples of 2^−shift."""
    reserve(3 * len(matrix) * len(matrix[0]), "the outputs of the mechanism")
    rows, shift = dyadic_rows(matrix)
    return [list(column) for column in zip(*rows, strict=True) if any(column)], shift


def information(columns: Whole, shift: int, p: Sequence[int], unit: int) -> Known:
    """Enclose F(p) of a mechanism.

    Args:
        columns: those that are not all zero, in whole multiples of 2^−shift.
        shift: see ``columns``.
        p: the distribution, in whole multiples of 1/unit.
        unit: see ``p``.
    """
    one = unit << (units.BITS + shift)
    n, off = len(p) - 1, 0
    F = [[0] * n for _ in range(n)]
    for column in columns:
        share = one // sum(map(mul, column, p))  # at most 1 below the truth
        D = [entry - column[n] for entry in column[:n]]
        off += max(map(abs, D)) ** 2
        for a, scaled in enumerate([d * share for d in D]):
            row = F[a]
            for b in range(a + 1):
                row[b] += scaled * D[b]
    entries = [[F[max(a, b)][min(a, b)] for b in range(n)] for a in range(n)]
    return Known(entries, off, units.BITS + 2 * shift)


# ---------------------------------------------------------------- sums over sets


class Sets(NamedTuple):
    """The sets of one size: how to pick their entries from a list for all sets, and their number.

    ``holding`` says for every x which of them contain x and, for every z < x, which of those contain z.
    """

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
    """Bound d_Sᵀ inverse d_S from above for every set S, in the order of ``subset_sums``.

    They are 1_Sᵀ M 1_S with M the inverse continued by a last row and column that make rows sum to 0.
    """
    rows = [[*row, -sum(row)] for row in inverse.entries]
    M = [*rows, [-sum(column) for column in zip(*rows, strict=True)]]
    k = len(M)
    values = [0]
    for x in range(k):
        to_x = units.subset_sums([M[x][z] + M[z][x] for z in range(x)])
        values += [value + M[x][x] + cross for value, cross in zip(values, to_x, strict=True)]
    slack = inverse.radius * (k - 1) ** 2
    return [value + slack for value in values]


def log_below(n: int, bits: int) -> int:
    """Bound log(n 2^−bits) from below, in units of ``fixed_point.py``; n > 0.

    Args:
        n: a whole number, of any size.
        bits: n counts multiples of 2^−bits.
    """
    spare = n.bit_length() - units.BITS
    head = n >> spare if spare >= 0 else n << -spare
    return log_units(head) + twos_below(spare - bits + units.BITS)


def log_above(n: int, bits: int) -> int:
    """Bound log(n 2^−bits) from above, in units of ``fixed_point.py``; n > 0.

    Args:
        n: a whole number, of any size.
        bits: n counts multiples of 2^−bits.
    """
    spare = n.bit_length() - units.BITS
    head = (n >> spare) + 1 if spare >= 0 else n << -spare
    return log_units(head) + LOG_ERROR - twos_below(bits - spare - units.BITS)
