"""Unbiased reports of a number of [−1, 1]: their variance, and a bound for every mechanism.

Notation. W has one row for each input i = 0 … k−1, and output y reports the number r_y. m_i = Σ_y W[i,
y] r_y and M_i = Σ_y W[i, y] r_y² are mean and second moment of the report of input i. A number x with
m_i ≤ x ≤ m_{i+1} is *rounded at random*: to i+1 with probability (x − m_i)/(m_{i+1} − m_i), else to i.

Lemma 1 (:func:`worst_variance`, :func:`mean_variance`). Let m_0 < … < m_{k−1}, m_0 ≤ −1 and m_{k−1} ≥
1. Then every x of [−1, 1] is reported without bias; if W is ε-LDP, so is this mechanism on [−1, 1]; and
the variance at x between m_i and m_{i+1} is M_i + a (x − m_i) − x², a = (M_{i+1} − M_i)/(m_{i+1} −
m_i), which is largest at the number of that interval, cut to [−1, 1], that is nearest to a/2.
Proof. Mean and second moment of a mixture are those of its parts, mixed: x, and the line through (m_i,
M_i) and (m_{i+1}, M_{i+1}). The chance of each output is a mean of two entries of its column, so two
such chances have no larger ratio than two entries. The variance is concave in x with derivative a −
2x. ∎

Lemma 2 (:func:`least_variance`). Let x_0 … x_{k−1} be numbers of [−1, 1], λ ≥ 0 with Σλ = 1, and
(β·v)² ≤ 4 (λ·v)(α·v), λ·v > 0, for all v ∈ {1, E}^k, E ≥ e^ε. Then every unbiased ε-LDP mechanism on
[−1, 1], on any set of outputs, has at the x_i a λ-weighted mean variance of at least Σ_i β_i x_i − Σ_i
α_i − Σ_i λ_i x_i², and so somewhere a variance of at least that.
Proof. (β·w)²/(λ·w) − 4 α·w is convex and positively homogeneous, so (β·w)² ≤ 4 (λ·w)(α·w) for all w in
the cone that the v generate: the w ≥ 0 with w_i ≤ E w_j. There r² λ·w − r β·w + α·w ≥ 0 for every
number r, as a polynomial in r without two different roots. Take for w the chances of an output y at
x_0 … x_{k−1}, for r its estimate r_y, and add up over the outputs (integrate the densities, where
there are too many to be listed): Σ_i λ_i E[r² | x_i] ≥ Σ_i β_i x_i − Σ_i α_i. At x_i
the mean report is x_i, and the variance E[r² | x_i] − x_i². ∎

Lemma 3 (:func:`_dominated`). Of the 2^k vectors v, 2k + 1 suffice. Let λ_i > 0, and q_i(s) = λ_i s² −
β_i s + α_i. The inequality of Lemma 2 says that Σ_i v_i q_i(s) ≥ 0 for all s and v, which is Σ_i
min(q_i(s), E q_i(s)) ≥ 0 for all s. Where D_i = β_i² − 4 λ_i α_i > 0, choose ρ_i ≥ √D_i; q_i is
negative only between l_i = (β_i − ρ_i)/(2λ_i) and h_i = (β_i + ρ_i)/(2λ_i), and at most e_i = (ρ_i² −
D_i)/(4λ_i) between them, being convex with the value e_i at both. Let v_i(s) = E where l_i < s < h_i,
else 1. Then Σ_i min(q_i, E q_i) ≥ Σ_i v_i(s) q_i(s) − e with e = (E − 1) Σ_i e_i: v_i(s) is the wrong
one of 1 and E only where 0 ≤ q_i ≤ e_i. v(s) changes at the l_i and h_i alone. So it suffices that
(β·v)² ≤ 4 (λ·v)(α·v − e) for each of its values between them; at the l_i and h_i themselves the claim
follows by continuity. ∎
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from ..budget import tick
from .private_rows import Rows

ROOT_BITS = 80
"""ρ of Lemma 3 exceeds √D by at most a share 2^−ROOT_BITS."""


def grid(points: int) -> list[Fraction]:
    """List equally spaced points of [−1, 1], both ends among them."""
    return [Fraction(2 * i, points - 1) - 1 for i in range(points)]


def moments(matrix: Rows, reports: Sequence[float]) -> tuple[list[Fraction], list[Fraction]]:
    """Compute mean and second moment of the report of every input."""
    exact = [Fraction(r) for r in reports]
    means, squares = [], []
    for row in matrix:
        tick()
        weighted = [Fraction(share) * r for share, r in zip(row, exact, strict=True)]
        means.append(sum(weighted, Fraction(0)))
        squares.append(sum((w * r for w, r in zip(weighted, exact, strict=True)), Fraction(0)))
    return means, squares


def covers(means: Sequence[Fraction]) -> bool:
    """Return whether the means increase from −1 or less to 1 or more."""
    return means[0] <= -1 and means[-1] >= 1 and all(a < b for a, b in pairwise(means))


def worst_variance(means: Sequence[Fraction], squares: Sequence[Fraction]) -> Fraction:
    """Compute the largest variance over all x of [−1, 1]: Lemma 1, for means that cover [−1, 1]."""
    found = []
    for (m, M), (n, N) in pairwise(zip(means, squares, strict=True)):
        low, high = max(m, Fraction(-1)), min(n, Fraction(1))
        if low <= high:
            slope = (N - M) / (n - m)
            x = min(max(slope / 2, low), high)
            found.append(M + slope * (x - m) - x * x)
    return max(found)


def mean_variance(
    points: Sequence[Fraction],
    prior: Sequence[Fraction],
    means: Sequence[Fraction],
    squares: Sequence[Fraction],
) -> Fraction:
    """Compute the mean of the variances at some points of [−1, 1]: Lemma 1, for means that cover it.

    Args:
        points: the x_i.
        prior: the weight of each, which sum to 1.
        means: the m_i.
        squares: the M_i.
    """
    total = Fraction(0)
    for x, share in zip(points, prior, strict=True):
        i = min(bisect_right(means, x), len(means) - 1)
        m, n = means[i - 1], means[i]
        slope = (squares[i] - squares[i - 1]) / (n - m)
        total += share * (squares[i - 1] + slope * (x - m) - x * x)
    return total


def least_variance(
    points: Sequence[Fraction],
    E: Fraction,
    alpha: Sequence[float],
    beta: Sequence[float],
    weights: Sequence[Fraction],
) -> Fraction | None:
    """Compute the bound of Lemma 2; None if the inequality is not proven.

    Args:
        points: the x_i.
        E: a number of at least e^ε.
        alpha: α.
        beta: β.
        weights: λ, which sums to 1, without zeros.
    """
    a, b = [Fraction(entry) for entry in alpha], [Fraction(entry) for entry in beta]
    if not _dominated(E, a, b, weights):
        return None
    gains = (c * x - p - w * x * x for c, x, p, w in zip(b, points, a, weights, strict=True))
    return sum(gains, Fraction(0))


def _dominated(
    E: Fraction, alpha: Sequence[Fraction], beta: Sequence[Fraction], weights: Sequence[Fraction]
) -> bool:
    """Decide the inequality of Lemma 2 by Lemma 3."""
    changes: list[tuple[Fraction, Fraction, int]] = []
    error = Fraction(0)
    for i, (a, b, w) in enumerate(zip(alpha, beta, weights, strict=True)):
        discriminant = b * b - 4 * w * a
        if discriminant > 0:
            root = _root_above(discriminant)
            changes += [((b - root) / (2 * w), E - 1, i), ((b + root) / (2 * w), 1 - E, i)]
            error += (E - 1) * (root * root - discriminant) / (4 * w)
    paid, drawn, mass = (sum(row, Fraction(0)) for row in (alpha, beta, weights))
    paid -= error
    for _, step, i in [(None, Fraction(0), 0), *sorted(changes)]:
        tick()
        paid, drawn, mass = paid + step * alpha[i], drawn + step * beta[i], mass + step * weights[i]
        if drawn * drawn > 4 * mass * paid:
            return False
    return True


def _root_above(x: Fraction) -> Fraction:
    """Bound the square root of a positive number from above: √(n/d) = √(nd)/d."""
    n, d = x.numerator, x.denominator
    return Fraction(math.isqrt(n * d << 2 * ROOT_BITS) + 1, d << ROOT_BITS)
