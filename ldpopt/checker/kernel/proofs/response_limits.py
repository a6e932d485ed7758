"""Limits of randomised responses, and what a protocol made of them is worth on a range of splits.

A protocol that reports s and u spends a factor g = e^ε₂ of E = e^ε on u, and E/g on s. A *limit*
says how often a response on k values may be right: r ≤ (n₁ g + n₀)/(m₁ g + m₀), where that quotient
is at most 1.

Lemma 1 (:func:`pair`). Let a value have the probabilities a ≥ b under two distributions of the
input. A randomised response that is right with probability r ≥ 1/k reports it at most g times as
often under the first as under the second if and only if, for D = a − g b > 0, r ≤ (D + g − 1)/(k D
+ g − 1); for D ≤ 0 it always does. Proof. With o the probability of a wrong value over that of the
right one, o + (1 − o) a ≤ g (o + (1 − o) b) is o (D + g − 1) ≥ D, D + g − 1 = g (1 − b) − (1 − a) ≥
0, and r = 1/(1 + (k − 1) o). ∎ The right side falls with D, so a rounded down and b rounded up give
a weaker limit. :func:`pair_back` is the same for the factor E²/g instead of g, multiplied by g; E
is rounded up.

Lemma 2 (:func:`line`). Let M = m₁ g + m₀ > 0 on [g₀, g₁]. The quotient has the derivative Δ/M², Δ =
n₁ m₀ − n₀ m₁, and the second derivative −2 m₁ Δ/M³, whose sign does not change. Where it is convex
it lies below the chord, where it is concave below the tangent at the end where it is largest. ∎ The
line's ends are rounded up; they are at most 1 if the quotient is.

Lemma 3 (:func:`most`). Let U(x, y) rise in x and in each entry of y, and be convex in x for fixed y
and in y for fixed x. Let x(g) and y(g) lie below lines on [g₀, g₁] with the ends x₀, x₁ and y₀, y₁.
Then U(x(g), y(g)) is at most the largest of U(x₀, y₀), (U(x₀, y₁) + U(x₁, y₀))/2 and U(x₁, y₁).
Proof. With τ = (g − g₀)/(g₁ − g₀), U is at most U((1−τ) x₀ + τ x₁, (1−τ) y₀ + τ y₁) ≤ (1−τ)² U(x₀,
y₀) + τ (1−τ) (U(x₀, y₁) + U(x₁, y₀)) + τ² U(x₁, y₁), by convexity in x and then in y, and the
weights (1−τ)², 2 τ (1−τ), τ² sum to 1. ∎ The excess is of second order in g₁ − g₀. Mutual
information is convex in the channel, and a randomised response is affine in the probability that it
is right, so the utilities of Theorems 16 and 18 are such U: x is how often s comes out right, y how
often u does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..fixed_point import BITS, UNIT, ratio_up


class Limit(NamedTuple):
    """r ≤ (n₁ g + n₀)/(m₁ g + m₀), exact: g in units, the coefficients up to a common factor."""

    n1: int
    n0: int
    m1: int
    m0: int

    def at(self, g: int) -> tuple[int, int]:
        """Compute numerator and denominator at g, up to a common factor."""
        return self.n1 * g + (self.n0 << BITS), self.m1 * g + (self.m0 << BITS)


Line = tuple[int, int]
"""The values at both ends of a range."""


def first(k: int, E: int) -> Limit:
    """Limit the response on s: E/(E + (k − 1) g)."""
    return Limit(0, E, (k - 1) * UNIT, E)


def spread(k: int, d: int) -> Limit:
    """Limit the response on u by the ℓ₁ distance d: odds of 1/(1 + 2 (g − 1)/d)."""
    return Limit(2 * UNIT, d - 2 * UNIT, 2 * UNIT, k * d - 2 * UNIT)


def pair(k: int, a: int, b: int) -> Limit:
    """Limit the response on u by two probabilities of one value: Lemma 1.

    Args:
        k: the number of values.
        a: the greater probability, in units.
        b: the smaller one, in units.
    """
    return Limit(UNIT - b, a - UNIT, UNIT - k * b, k * a - UNIT)


def pair_back(k: int, a: int, b: int, E: int) -> Limit:
    """Limit the response on u by two probabilities of one value and the factor E²/g.

    Args:
        k: the number of values.
        a: the greater probability, in units.
        b: the smaller one, in units.
        E: e^ε in units, rounded up.
    """
    square = (E * E >> BITS) + 1
    return Limit((a - UNIT) * UNIT, (UNIT - b) * square, (k * a - UNIT) * UNIT, (UNIT - k * b) * square)


def line(limit: Limit, low: int, high: int) -> Line | None:
    """Find a line above the limit on a range: Lemma 2; None if the limit does not hold on all of it.

    Args:
        limit: the limit.
        low: the least g of the range, in units.
        high: the greatest.
    """
    (top, bottom), (far, beyond) = limit.at(low), limit.at(high)
    if not (0 < bottom >= top and 0 < beyond >= far):
        return None
    left, right = ratio_up(top << BITS, bottom), ratio_up(far << BITS, beyond)
    rise = limit.n1 * limit.m0 - limit.n0 * limit.m1
    if limit.m1 * rise <= 0:
        return left, right
    step = rise * (high - low) << 2 * BITS
    if rise > 0:
        return right - step // (beyond * beyond), right
    return left, left + ratio_up(step, bottom * bottom)


def lowest(limits: Iterable[Limit], low: int, high: int) -> Line:
    """Choose the lowest of the lines above several limits; 1 is a limit too.

    Args:
        limits: the limits of one response.
        low: the least g of the range, in units.
        high: the greatest.
    """
    lines = (line(limit, low, high) for limit in limits)
    return min((found for found in lines if found), key=sum, default=(UNIT, UNIT))


def most(utility: Callable[[int, Sequence[int]], int], reported: Line, blocks: Sequence[Line]) -> int:
    """Bound a utility of x and y from above where both lie below lines: Lemma 3.

    Args:
        utility: the utility of exact x and y, bounded from above.
        reported: the line above x.
        blocks: the lines above the entries of y.
    """
    x0, x1 = reported
    y0, y1 = [ends[0] for ends in blocks], [ends[1] for ends in blocks]
    mixed = utility(x0, y1) + utility(x1, y0)
    return max(utility(x0, y0), -(-mixed // 2), utility(x1, y1))
