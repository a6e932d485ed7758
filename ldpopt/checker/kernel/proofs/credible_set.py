"""A credible set of a Dirichlet posterior: intervals of all cells that hold together.

Statement. A table of counts n_x over k cells, and a Dirichlet prior with parameter τ > 0 for every cell,
give the posterior Dirichlet(n + τ). The set is

    F = {P : l_x ≤ P_x ≤ h_x for every cell x},

l_x and h_x the α/(2k) and 1 − α/(2k) quantiles of the posterior of P_x, which is Beta(a, b) with
a = n_x + τ and a + b = Σ (n + τ). The posterior probability of F is at least 1 − α: P leaves it in one
of 2k ways, each of probability α/(2k).

Lemma (:func:`beta_cdf`). The distribution function of Beta(a, b) at 0 < x < 1 is the sum of positive
terms τ_0 = x^a (1 − x)^b/(a B(a, b)), τ_(n+1)/τ_n = x (a + b + n)/(a + 1 + n). The ratio tends to x
monotonically, so after τ_n at most τ_n ρ/(1 − ρ) is left, if ρ = max(x, the next ratio) < 1. ∎

An enclosure of a quantile is kept only if the distribution function is certainly below the probability
at its lower end (at 0 it is 0) and certainly above the probability at its upper end. How the two ends
were found (by a search in floats) does not matter.
The upper quantile of Beta(a, b) is 1 minus the lower one of Beta(b, a).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from ..arithmetic import NEAREST, ONE, ZERO, Interval, above, below, between, enclose
from ..budget import UndecidedError, tick
from ..fixed_point import BITS, UNIT
from .gamma_function import log_gamma

SPREADS = tuple(Decimal(f"1e-{digits}") for digits in (13, 10, 7))
"""Relative distances from the guess at which a quantile is enclosed: the first that can be proven."""
ENOUGH, TERMS = 10**30, 16
"""The series ends once its rest is at most 1/ENOUGH of its sum, which is tested every TERMS terms."""
TINY = Decimal("1e-300")
"""A smaller lower quantile is enclosed by 0, where the distribution function is 0, and this."""
MOST_COUNTED = 10**9
"""The most counts of a table: the series has some √n terms, and with more it takes minutes."""


def credible_ends(
    counts: Sequence[Fraction], prior: Fraction, alpha: Fraction
) -> tuple[list[Interval], list[Interval]]:
    """Enclose l and h of every cell.

    Args:
        counts: the counts of the cells.
        prior: the parameter τ of every cell.
        alpha: 1 minus the posterior probability.
    """
    whole, each = sum(counts, prior * len(counts)), alpha / (2 * len(counts))
    pairs = [(n + prior, whole - n - prior) for n in counts]
    low = [beta_quantile(a, b, each) for a, b in pairs]
    return low, [beta_quantile(a, b, each, upper=True) for a, b in pairs]


@lru_cache(maxsize=4096)
def beta_quantile(a: Fraction, b: Fraction, goal: Fraction, upper: bool = False) -> Interval:
    """Enclose the x below (or above) which Beta(a, b) has the probability of the goal.

    Args:
        a: the first parameter of the distribution.
        b: the second.
        goal: the probability.
        upper: whether the goal is the probability of larger values.
    """
    if upper and a > b:  # near 1, the distance from 1 is known better
        return ONE - beta_quantile(b, a, goal)
    asked = enclose(1 - goal if upper else goal)
    scale = log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    guess = Decimal(_guess(float(a), float(b), float(scale.low), math.log(goal), upper))
    if guess < TINY and asked.high < beta_cdf(a, b, TINY).low:
        return Interval(ZERO.low, TINY)
    for spread in SPREADS:
        low, high = NEAREST.multiply(guess, 1 - spread), NEAREST.multiply(guess, 1 + spread)
        if 0 < low and high < 1:
            under, over = beta_cdf(a, b, low), beta_cdf(a, b, high)
            if under.high < asked.low and asked.high < over.low:
                return Interval(low, high)
    raise UndecidedError(f"the quantile of Beta({float(a)!r}, {float(b)!r}) cannot be enclosed")


def beta_cdf(a: Fraction, b: Fraction, x: Decimal) -> Interval:
    """Enclose the distribution function of Beta(a, b) at x, by the series in the smaller of x and 1 − x.

    Args:
        a: the first parameter of the distribution.
        b: the second.
        x: between 0 and 1.
    """
    at = enclose(x)
    if at.high > ONE.low - at.high:
        return ONE - _series(b, a, ONE - at)
    return _series(a, b, at)


def _series(a: Fraction, b: Fraction, at: Interval) -> Interval:
    """Enclose the distribution function of Beta(a, b): Lemma 1.

    In units of τ_0 2^−BITS: x and every term are rounded down for the one end and up for the other.
    """
    rest = ONE - at
    scale = enclose(a) * at.log() + enclose(b) * rest.log() - enclose(a).log()
    start = (scale + log_gamma(a + b) - log_gamma(a) - log_gamma(b)).exp()
    x, x_above = below(at), above(at)
    step = math.lcm((a + b).denominator, (a + 1).denominator)
    top, bottom = int((a + b) * step), int((a + 1) * step)
    term = term_above = found = found_above = UNIT
    while True:
        for _ in range(TERMS):
            # τ_(n+1)/τ_n = x · top/bottom
            term = term * x * top // (bottom << BITS)
            term_above = term_above * x_above * top // (bottom << BITS) + 1
            found, found_above = found + term, found_above + term_above
            top, bottom = top + step, bottom + step
        tick()
        most = max(x_above * top // bottom + 1, x_above)
        if most < UNIT:
            left = term_above * most // (UNIT - most) + 1
            if left * ENOUGH <= found:
                return start * between(found, found_above + left)


def _guess(a: float, b: float, scale: float, goal: float, upper: bool) -> float:
    """Guess the quantile by bisection on log x, in floats.

    Args:
        a: the first parameter of the distribution.
        b: the second.
        scale: −log B(a, b).
        goal: the logarithm of the probability.
        upper: whether the goal is the probability of larger values.
    """

    def log_tail(t: float) -> float:
        x, rest = math.exp(t), -math.expm1(t)
        shape = (b, a, rest) if upper else (a, b, x)
        front = a * t + b * math.log1p(-x) + scale - math.log(shape[0])
        return front + math.log(_fraction(*shape))

    mean = math.log(a / (a + b))
    low, high = (mean, -1e-15) if upper else ((goal - scale) / a - 50.0 / min(a, 1.0), mean)
    for _ in range(100):
        tick()
        middle = (low + high) / 2
        rising = (log_tail(middle) > goal) if upper else (log_tail(middle) < goal)
        low, high = (middle, high) if rising else (low, middle)
    return math.exp(high)


def _fraction(a: float, b: float, x: float) -> float:
    """Compute the continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 10_000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + factor * d), 1 + factor / c
            found *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return found
