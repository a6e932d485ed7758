"""What a column w of a mechanism is worth, enclosed: g(w) of every objective.

Lemma. p·w is rational, so that piecewise linear objectives, χ² and Fisher information are exact, and
every logarithm, root or power is of a rational number and enclosed. A column adds to the information
Σ P w log w − q log q = Σ P w log(w/q) over the w > 0, q = P·w, and at least 0: by Jensen's inequality
Σ P w log w ≥ q log q, as P sums to exactly 1. ∎
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from ..arithmetic import DOWN, UP, ZERO, Interval, enclose, total
from ..budget import UndecidedError, tick
from ..fixed_point import BITS, Rational, Vector, whole
from ..fixed_point_log import LOG_ERROR, log_of_ratio
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

Gain = Callable[[Sequence[Rational]], Interval]


def gained(gain: Gain, matrix: Sequence[Sequence[float]]) -> Interval:
    """Enclose Σ_y g(W[:, y])."""
    return total(gain(column) for column in zip(*matrix, strict=True))


class Linear:
    """Linear functions with rational coefficients over one denominator: whole numbers are added up."""

    def __init__(self, vectors: Iterable[Vector]) -> None:
        listed = list(vectors)
        tops, self.bottom = whole(a for vector in listed for a in vector.values())
        each = iter(tops)
        self.tops = [{x: next(each) for x in vector} for vector in listed]

    def at(self, column: Sequence[Rational]) -> list[Fraction]:
        """Compute the value of each function at a column."""
        tick()
        entries, bottom = whole(column)
        sums = (sum(n * entries[x] for x, n in top.items()) for top in self.tops)
        return [Fraction(found, self.bottom * bottom) for found in sums]


def largest(pieces: Sequence[Vector]) -> Gain:
    """Take the largest of linear functions."""
    linear = Linear(pieces)
    return lambda column: enclose(max(linear.at(column)))


def information(prior: Sequence[Fraction]) -> Gain:
    """Take Σ P w log(w/q), q = P·w, in whole numbers; entries of equal w share one logarithm."""
    tops, common = whole(prior)

    def gain(column: Sequence[Rational]) -> Interval:
        tick()
        entries, bottom = whole(column)
        masses: Counter[int] = Counter()
        for n, w in zip(tops, entries, strict=True):
            masses[w] += n
        used = {common * w: n * w for w, n in masses.items() if n}
        if len(used) == 1:
            return ZERO  # w is constant where P is positive
        q, low, high = sum(used.values()), 0, 0
        for w, mass in used.items():
            if mass:
                least, most = _ends_of_log(w, q)
                low, high = low + mass * least, high + mass * most
        units = Decimal(common * bottom << BITS)
        ends = DOWN.divide(Decimal(low), units), UP.divide(Decimal(high), units)
        return Interval(max(ends[0], ZERO.low), ends[1])

    return gain


def _ends_of_log(w: int, q: int) -> tuple[int, int]:
    """Enclose log(w/q) in units."""
    if w >= q:
        found = log_of_ratio(w, q)
        return found, found + LOG_ERROR + 1
    found = log_of_ratio(q, w)
    return -found - LOG_ERROR - 1, -found


def divergence(known: Divergence, pair: Sequence[Vector]) -> Gain:
    """Take q1 f(q0/q1), q_i = p_i·w for the p_i of a pair, with its limit where q1 = 0."""
    linear, (name, order) = Linear(pair), known

    def gain(column: Sequence[Rational]) -> Interval:
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

    def gain(column: Sequence[Rational]) -> Interval:
        z, q = linear.at(column)
        return enclose(z * z / q) if q else ZERO

    return gain
