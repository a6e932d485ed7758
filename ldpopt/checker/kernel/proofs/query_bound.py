"""Bound the error of linear queries from below, for every mechanism with columns in a cone.

Notation. p is a distribution on the inputs, c_1 … c_r are queries: vectors with the wanted numbers
c_i·P. J = Σ_y w_y w_yᵀ/(p·w_y), w_y the columns of a mechanism W; Jp = 1, so Σ = J⁻¹ − p pᵀ has Σ1 = 0,
and c_iᵀΣc_i is n times the variance of an efficient estimate of c_i·P from n reports (infinite where
the reports leave c_i·P open). The *error* is Σ_i c_iᵀΣc_i.

Lemma 1. (c·y)² ≤ (cᵀΣc)(yᵀJy) for every y that sums to 0, as Σ is the inverse of J on these vectors. ∎
Where J has no inverse, but c = Ja for some a, let cᵀΣc be aᵀJa − (c·p)². Then (c·y)² = ((a − (c·p)
p)ᵀJy)² ≤ (aᵀJa − (c·p)²)(yᵀJy), by Cauchy–Schwarz and Jp = 1: what follows holds there too.

Lemma 2 (:func:`clear_error`). No mechanism has an error below Σ_i A_i, A_i = Σ_x p_x c_ix² − (c_i·p)²,
that of the data as they are. Proof. y_x = p_x (c_x − c·p) sums to 0 and has c·y = A; and yᵀJy ≤ Σ_y Σ_x
p_x (c_x − c·p)² w_y(x) = A by Cauchy–Schwarz. ∎

Lemma 3 (:func:`dual_error`). Let y_1 … y_r sum to 0, and Σ_i (y_i·T)² ≤ (β·T)(p·T) with β·T ≥ 0 for all
T that generate a cone. Then no mechanism with columns in it has an error below (Σ_i c_i·y_i)²/Σβ.
Proof. By Lemma 1 and Cauchy–Schwarz (Σ_i c_i·y_i)² ≤ error · Σ_i y_iᵀJy_i. And Σ_i y_iᵀJy_i = Σ_y
Γ(w_y) with Γ(T) = Σ_i (y_i·T)²/(p·T), which is sublinear; so Γ(T) ≤ β·T on the whole cone, and Σ_y
β·w_y = Σβ. (p·T > 0 for every T ≠ 0 of the cones below: the one has positive entries; in the other
all y_z of another secret are positive, so that T_z is not 0 where p is positive.) ∎

Lemma 4 (:class:`SecretCone`, :class:`BlockCone`). Which T generate the cone: products of lists of
vectors, one list per group of inputs. *All distributions* (``private_cone.py``): the corners of boxes,
each entry by itself. *A χ² set*, the PolyOpt cone (``polyopt_blocks.py``, Lemmas 1 to 3): vertices of
K_{s*}(1, Eρ) × Π_z K_z(ρ, E), ρ a break point. Γ(T) − β·T is convex in ρ between break points, and the
product for an interval of ρ contains those of its members. E is a rational just above e^ε and P^min one
just above the least shares: both make the cone larger (a larger P^min means fewer members of the
simplex), and then all of it is rational.

Arithmetic. A vector T is rounded down to whole multiples of 2^−BITS, T = T' + e with 0 ≤ e < 2^−BITS. So
β·T ≥ β·T' − Σ β⁻ 2^−BITS, p·T ≥ p·T', |y·T| ≤ |y·T'| + Σ|y| 2^−BITS: comparisons of whole numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from operator import add, mul
from typing import Any, NamedTuple, Protocol

from ..arithmetic import dyadic, dyadic_rows, exp_above
from ..budget import UndecidedError, counted, reserve, tick
from ..units import BITS, UNIT, subset_sums, units_down, units_up
from .confidence_set import RobustStatement, uncertain
from .polyopt_blocks import all_break_points
from .private_cone import boxes

MOST_VECTORS = 4_000_000
"""Vectors of generators that one proof may visit."""
GROUPED = 256
"""Lists of up to so many vectors are multiplied out before the search."""

Vectors = list[tuple[int, ...]]
"""Vectors of one group of inputs, in whole multiples of 2^−BITS."""


def clear_error(p: Sequence[Fraction], queries: Sequence[Sequence[Fraction]]) -> Fraction:
    """Compute the error without privacy: Lemma 2."""
    found = Fraction(0)
    for c in queries:
        mean = sum(map(mul, c, p), Fraction(0))
        found += sum((x * e * e for x, e in zip(p, c, strict=True)), Fraction(0)) - mean * mean
    return found


def dual_error(
    p: Sequence[Fraction],
    queries: Sequence[Sequence[Fraction]],
    cone: Cone,
    Y: Sequence[Sequence[float]],
    beta: Sequence[float],
) -> Fraction | None:
    """Compute the bound of Lemma 3; None if β fails at some generator.

    Args:
        p: the distribution of the inputs.
        queries: the c_i, one per row.
        cone: where the columns lie.
        Y: a row per query; their means are taken off.
        beta: β, an entry per input.
    """
    k, spent = len(p), sum(map(Fraction, beta), Fraction(0))
    means = [sum(map(Fraction, row), Fraction(0)) / k for row in Y]
    rows = [[Fraction(y) - mean for y in row] for row, mean in zip(Y, means, strict=True)]
    gain = sum(
        (sum(map(mul, c, y), Fraction(0)) for c, y in zip(queries, rows, strict=True)), Fraction(0)
    )
    if spent <= 0 or gain <= 0 or not cone.dominated(Comparison(p, Y, beta)):
        return None
    return gain * gain / spent


# ---------------------------------------------------------------- the test of one vector


class Sums(NamedTuple):
    """β·T, p·T and the y_i·T of a part of a vector, in the units of :class:`Comparison`."""

    paid: int
    mass: int
    images: tuple[int, ...]


class Comparison:
    """Σ_i (y_i·T)² ≤ (β·T)(p·T) for many T, in whole numbers: y_i is row i of Y less its mean."""

    def __init__(
        self, p: Sequence[Fraction], Y: Sequence[Sequence[float]], beta: Sequence[float]
    ) -> None:
        k = len(p)
        rows, bits = dyadic_rows(Y)
        self.rows = [[k * y - sum(row) for y in row] for row in rows]  # k 2^bits y
        self.beta, beta_bits = dyadic(beta)
        self.p = [units_down(x) for x in p]
        self.least = -sum(b for b in self.beta if b < 0)
        self.sizes = [sum(map(abs, row)) for row in self.rows]
        self.left, self.right = 1 << beta_bits + BITS, k * k << 2 * bits

    def sums(self, start: int, part: tuple[int, ...]) -> Sums:
        """Multiply the entries from ``start`` on by β, p and every y."""
        end = start + len(part)
        return Sums(
            sum(map(mul, self.beta[start:end], part)),
            sum(map(mul, self.p[start:end], part)),
            tuple(sum(map(mul, row[start:end], part)) for row in self.rows),
        )

    def passes(self, one: Sums, other: Sums) -> bool:
        """Decide the inequality for the vector of two parts."""
        paid = one.paid + other.paid - self.least
        if paid < 0:
            return False
        square = 0
        for a, b, size in zip(one.images, other.images, self.sizes, strict=True):
            image = abs(a + b) + size
            square += image * image
        return square * self.left <= paid * (one.mass + other.mass) * self.right


def _added(one: Sums, other: Sums) -> Sums:
    images = tuple(map(add, one.images, other.images))
    return Sums(one.paid + other.paid, one.mass + other.mass, images)


def _passes(test: Comparison, groups: Sequence[Vectors]) -> bool:
    """Decide the inequality for all vectors of a product; groups stand in the order of the inputs."""
    lists: list[list[Sums]] = []
    start = 0
    for vectors in groups:
        sums = [test.sums(start, vector) for vector in vectors]
        start += len(vectors[0])
        if lists and len(lists[-1]) * len(sums) <= GROUPED:
            lists[-1] = [_added(one, other) for one in lists[-1] for other in sums]
        else:
            lists.append(sums)
    *outer, last = lists
    for parts in itertools.product(*outer):
        tick()
        head = Sums(0, 0, (0,) * len(test.rows))
        for part in parts:
            head = _added(head, part)
        if not all(test.passes(head, tail) for tail in last):
            return False
    return True


# ---------------------------------------------------------------- the cones


class Cone(Protocol):
    """Where the columns of a mechanism lie."""

    def dominated(self, test: Comparison) -> bool:
        """Decide whether the test passes on the whole cone."""


class SecretCone:
    """{T ≥ 0 : T_x ≤ e^ε T_x' where the secrets of x and x' differ}: ``private_cone.py``."""

    def __init__(self, secrets: Sequence[Any], epsilon: float) -> None:
        self.secrets, self.epsilon = secrets, epsilon

    def dominated(self, test: Comparison) -> bool:
        """Visit the corners of every box."""
        E = _raised(exp_above(self.epsilon))
        powers = [units_down(E**j) for j in range(3)]
        found = list(boxes(self.secrets))
        _count(sum(2 ** sum(map(int.__lt__, box.low, box.high)) for box in found))
        return all(
            _passes(
                test,
                [
                    [(powers[i],), (powers[j],)] if i < j else [(powers[i],)]
                    for i, j in zip(box.low, box.high, strict=True)
                ],
            )
            for box in found
        )


class BlockCone:
    """The PolyOpt cone of a χ² set, for pairs of different secrets: ``polyopt_blocks.py``."""

    def __init__(self, question: RobustStatement) -> None:
        self.E = _raised(exp_above(question.epsilon))
        self.p = [[_raised(Fraction(p.high)) for p in row] for row in uncertain(question).p_min]
        if any(sum(row) >= 1 for row in self.p):
            raise UndecidedError("the confidence set is too small for the digits of the proof")
        width = len(self.p[0])
        reserve(len(self.p) * 2**width * (width + 8), f"the vertices of blocks of {width} values")
        self.visited = 0
        self._known: dict[tuple[int, Fraction, Fraction], Vectors] = {}

    def dominated(self, test: Comparison) -> bool:
        """Halve the list of break points; single ones are checked in full: Lemma 4."""
        return all(self._secret_dominated(test, s) for s in range(len(self.p)))

    def _secret_dominated(self, test: Comparison, s: int) -> bool:
        cuts = self._breakpoints(s)

        def between(i: int, j: int) -> bool:
            return self._between(test, s, cuts[i], cuts[j])

        return all_break_points(len(cuts), between, lambda i: between(i, i))

    def _between(self, test: Comparison, s: int, low: Fraction, high: Fraction) -> bool:
        """Decide the test on the product that contains those of every ρ between two numbers."""
        groups = [
            self._vertices(z, Fraction(1), self.E * high) if z == s else self._vertices(z, low, self.E)
            for z in range(len(self.p))
        ]
        self.visited += math.prod(map(len, groups))
        _count(self.visited)
        return _passes(test, groups)

    def _breakpoints(self, s: int) -> list[Fraction]:
        """List 1, E and every break point between them, in order."""
        found = {Fraction(1), self.E}
        for z, row in enumerate(self.p):
            for part in subset_sums(row):
                if part:
                    ratio = 1 + (1 - sum(row)) / part
                    found.add(ratio / self.E if z == s else self.E / ratio)
        return sorted(cut for cut in found if 1 <= cut <= self.E)

    def _vertices(self, s: int, low: Fraction, high: Fraction) -> Vectors:
        """List the vertices of K_s(low, high), and keep the list for the next call."""
        key = (s, low, high)
        if key not in self._known:
            self._known[key] = self._listed(s, low, high)
        return self._known[key]

    def _listed(self, s: int, low: Fraction, high: Fraction) -> Vectors:
        """List the vertices of K_s(low, high): ``polyopt_blocks.py``, Lemma 2."""
        p, free = self.p[s], 1 - sum(self.p[s])
        width, sums = len(p), subset_sums(p)
        found: dict[tuple[int, ...], None] = {}

        def keep(top: int, at_top: Fraction, rest: Fraction, alone: int = 0) -> None:
            values = [
                at_top if top >> u & 1 else rest if not alone or alone >> u & 1 else Fraction(0)
                for u in range(width)
            ]
            found[tuple(units_down(value) for value in values)] = None

        full = (1 << width) - 1
        for Z in range(full + 1):
            tick()
            top, bottom = sums[Z], sums[full ^ Z]
            mean = low * bottom + high * top
            if mean <= low or Z == full:
                keep(Z, (high - mean) / free, (low - mean) / free)
            mean = high * top / (free + top)
            if 0 < Z < full and mean >= low:
                keep(Z, (high - mean) / free, Fraction(0))
            spare = low * free - (high - low) * top  # p_w (y_w − lo)
            for w in range(width):
                if not Z >> w & 1 and p[w] and 0 <= spare <= (high - low) * p[w]:
                    keep(Z, (high - low) / free, spare / p[w] / free, 1 << w)
        return list(found)


def _raised(x: Fraction) -> Fraction:
    """Round up to a whole multiple of 2^−BITS."""
    return Fraction(units_up(x), UNIT)


def _count(vectors: int) -> None:
    if vectors > MOST_VECTORS:
        raise UndecidedError(f"a proof visits at most {MOST_VECTORS} vectors, not {counted(vectors)}")
