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

Lemma 3 (:func:`dual_error`). Let y_1, y_2, … sum to 0, one for each query and some for queries c_i = 0.
Let Σ_i (y_i·T)² ≤ (β·T)(p·T) with β·T ≥ 0 for all T of a cone. Then no mechanism with columns in it has
an error below (Σ_i c_i·y_i)²/Σβ. Proof. By Lemma 1 and Cauchy–Schwarz (Σ_i c_i·y_i)² ≤ error · Σ_i
y_iᵀJy_i; and Σ_i y_iᵀJy_i ≤ Σβ by Lemma 1 of ``quadratic_forms.py``. ∎

Lemma 4 (:func:`dominated_on_polyopt`). Γ(T) − β·T is convex, so the generators of the PolyOpt cone
suffice (``polyopt_cone.py``). ∎
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from operator import mul

from .confidence_set import RobustStatement
from .polyopt_cone import Generators, Range
from .quadratic_forms import QuadraticForm, Vectors, centred, count_vectors


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
    Y: Sequence[Sequence[float]],
    beta: Sequence[float],
    dominated: Callable[[QuadraticForm], bool],
) -> Fraction | None:
    """Compute the bound of Lemma 3; None if β fails at some generator.

    Args:
        p: the distribution of the inputs.
        queries: the c_i, one per row.
        Y: a row per query, and some more if that helps; their means are taken off.
        beta: β, an entry per input.
        dominated: decides the inequality of Lemma 3 on the cone where the columns lie.
    """
    rows, paid = centred(Y), list(map(Fraction, beta))
    spent = sum(paid, Fraction(0))
    gain = sum(
        (sum(map(mul, c, y), Fraction(0)) for c, y in zip(queries, rows, strict=False)), Fraction(0)
    )
    if spent <= 0 or gain <= 0 or not dominated(QuadraticForm(p, rows, paid)):
        return None
    return gain * gain / spent


def dominated_on_polyopt(form: QuadraticForm, question: RobustStatement) -> bool:
    """Decide the inequality of Lemma 3 on the PolyOpt cone of different secrets: Lemma 4."""
    cone, visited = Generators(question), 0

    @cache
    def vectors(s: int, low: int, high: int) -> Vectors:
        """List the vertices of a block, each once."""
        found = {
            tuple(t if Z >> u & 1 else v if other >> u & 1 else 0 for u in range(cone.width))
            for Z, t, other, v in cone.vertices(s, low, high)
        }
        return sorted(found)

    def holds(ranges: list[Range], whole: bool) -> bool:
        nonlocal visited
        groups = [vectors(s, *ends) for s, ends in enumerate(ranges)]
        visited += math.prod(map(len, groups))
        count_vectors(visited)
        return form.on_product(groups)

    return cone.suffice(holds)
