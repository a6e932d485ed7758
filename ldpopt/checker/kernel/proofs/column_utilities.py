"""What a column w of a mechanism is worth, enclosed: g(w) of every objective.

Lemma. p·w is rational, so that piecewise linear objectives, χ² and Fisher information are exact, and
every logarithm, root or power is of a rational number and enclosed. A column adds at least 0 to the
information: by Jensen's inequality Σ P w log w ≥ q log q with q = P·w, as P sums to exactly 1. ∎
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from ..arithmetic import ZERO, Interval, enclose, log, total
from ..budget import UndecidedError, tick
from ..fixed_point import Vector
from ..schema import Number
from .two_hypotheses import Divergence

MOST_DUAL = 1e30
"""The largest size of an entry of the dual vector; E² at ε = 30 is 1.1e26."""
ORDER = Number(0.01, 60)
"""The order of renyi."""
OF_A_PRIOR = ("mutual-information", "guessing")
OF_TWO_HYPOTHESES = ("kl", "total-variation", "chi-squared", "hellinger", "renyi")
OF_HYPOTHESES = (*OF_TWO_HYPOTHESES, "bayes")
UTILITIES = (*OF_A_PRIOR, *OF_HYPOTHESES)
MOST_LOG_POWER = 30
"""(order − 1) ε of renyi: the power of a ratio of two entries is at most e^60."""

Gain = Callable[[Sequence[Fraction]], Interval]


def gained(gain: Gain, matrix: Sequence[Sequence[float]]) -> Interval:
    """Enclose Σ_y g(W[:, y])."""
    return total(gain(list(map(Fraction, column))) for column in zip(*matrix, strict=True))


class Linear:
    """Linear functions with rational coefficients over one denominator: whole numbers are added up."""

    def __init__(self, vectors: Iterable[Vector]) -> None:
        listed = list(vectors)
        self.bottom = math.lcm(*(a.denominator for vector in listed for a in vector.values()))
        self.tops = [
            {x: a.numerator * (self.bottom // a.denominator) for x, a in vector.items()}
            for vector in listed
        ]

    def at(self, column: Sequence[Fraction]) -> list[Fraction]:
        """Compute the value of each function at a column."""
        tick()
        bottom = math.lcm(*(w.denominator for w in column))
        whole = [w.numerator * (bottom // w.denominator) for w in column]
        sums = (sum(n * whole[x] for x, n in top.items()) for top in self.tops)
        return [Fraction(found, self.bottom * bottom) for found in sums]


def largest(pieces: Sequence[Vector]) -> Gain:
    """Take the largest of linear functions."""
    linear = Linear(pieces)
    return lambda column: enclose(max(linear.at(column)))


def information(prior: Sequence[Fraction]) -> Gain:
    """Take Σ P w log w − q log q, q = P·w; entries of equal w share one logarithm.

    As Σ P w = q, that is Σ P w log(w/c) − q log(q/c) for every c > 0; with the least w > 0 as c, one
    logarithm of the column is that of 1.
    """
    bottom = math.lcm(*(p.denominator for p in prior))
    tops = [p.numerator * (bottom // p.denominator) for p in prior]

    def gain(column: Sequence[Fraction]) -> Interval:
        tick()
        masses: Counter[Fraction] = Counter()
        for n, w in zip(tops, column, strict=True):
            masses[w] += n
        used = {w: Fraction(n, bottom) for w, n in masses.items() if n}
        if len(used) == 1:
            return ZERO  # w is constant where P is positive
        q = sum((p * w for w, p in used.items()), Fraction(0))
        least = min(w for w in used if w)
        own = total(enclose(p * w) * log(w / least) for w, p in used.items() if w > least)
        found = own - enclose(q) * log(q / least)
        return Interval(max(found.low, ZERO.low), found.high)

    return gain


def divergence(name: str, pair: Sequence[Vector], order: float | None) -> Gain:
    """Take q1 f(q0/q1), q_i = p_i·w, with its limit where q1 = 0.

    Args:
        name: which f; see :class:`.two_hypotheses.Divergence`.
        pair: p0 and p1.
        order: of renyi.
    """
    known, linear = Divergence(name, order), Linear(pair)

    def gain(column: Sequence[Fraction]) -> Interval:
        q0, q1 = linear.at(column)
        if q1 or not q0:
            return known.of_masses(q0, q1)
        if name == "hellinger":
            return enclose(q0)
        if order is not None and order < 1:
            return enclose(q0 / (1 - Fraction(order)))
        raise UndecidedError(f"{name} is infinite where only the first hypothesis gives a report")

    return gain


def squares(slope: Vector, prior: Vector) -> Gain:
    """Take (slope·w)²/(P·w)."""
    linear = Linear([slope, prior])

    def gain(column: Sequence[Fraction]) -> Interval:
        z, q = linear.at(column)
        return enclose(z * z / q) if q else ZERO

    return gain
