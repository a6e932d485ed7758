"""Logarithms of whole numbers of units (``fixed_point.py``): the arithmetic of long searches.

Lemma 1 (:func:`log_units`). For a whole number n > 0 the function returns L with
L ≤ 2^BITS log(n 2^−BITS) ≤ L + LOG_ERROR. Proof. Write n = c (1 + x) with c = j 2^e, j of 11 bits, so
that 0 ≤ x < 2^−10. Then log(1 + x) = 2 Σ_i y^(2i+1)/(2i+1), y = x/(2 + x) < 2^−11. All terms are
positive, so cutting the series and rounding everything down gives a lower bound. What is cut off after
TERMS terms is at most 3 y^(2 TERMS+1) < 2^−(22 TERMS + 9) ≤ 1 unit for 22 TERMS + 9 ≥ BITS. By Horner's
rule in y²: y is rounded down by less than one unit, so y² by less than 1.01; each step loses less than
one unit for its coefficient, 1.01 for y² (its factor is at most 1.01), one for the shift, and 2^−22 of
what it inherits: fewer than 4. Twice the product with y then loses fewer than 5. log j loses at most 2
units; log 2 is enclosed to 3/64 of a unit, so its multiple of at most MOST_TWOS loses fewer than 53.
LOG_ERROR covers all of it. ∎ Numbers n beyond 2^MOST_TWOS are not used.

Lemma 2 (:func:`entropy_above`, :func:`entropy_below`). Let p lie in [n, n + d] units, n ≥ 0, d ≥ 1. Then
|p log p − h(n)| ≤ d (BITS + 64) units for p ≤ 2^63, h(x) = x log x, h(0) = 0. Proof. h is convex with
h' = 1 + log. Where n ≥ 1 unit, −h' ≤ BITS log 2 on the interval, and h' ≤ 1 + 63 log 2 + … < 64. From 0,
h(p) = p log p with p ≥ 1 unit is at least −p BITS log 2, and for p below 1 unit |p log p| ≤ BITS + 1
units, as x |log x| rises up to 1/e. ∎
"""

from __future__ import annotations

from functools import cache

from .arithmetic import log
from .budget import UndecidedError
from .fixed_point import BITS, UNIT, units_down, units_up

TERMS = 9
LOG_ERROR = 64
MOST_TWOS = 1100
STEEP = BITS + 64
"""How much x log x changes at most per unit of x: Lemma 2."""
FINE = 6
COEFFICIENTS = tuple(UNIT // (2 * i + 1) for i in reversed(range(TERMS)))
LOG_TWO = log(2)
TWO_BELOW, TWO_ABOVE = units_down(LOG_TWO.low, BITS + FINE), units_up(LOG_TWO.high, BITS + FINE)


@cache
def _log_of_head(j: int) -> int:
    """Bound log j from below, in units."""
    return units_down(log(j).low)


def twos_below(power: int) -> int:
    """Bound power · log 2 from below, in units; to fewer than 53 for a power of at most MOST_TWOS."""
    return power * (TWO_BELOW if power >= 0 else TWO_ABOVE) >> FINE


def log_units(n: int) -> int:
    """Find the L with L ≤ log(n units) ≤ L + LOG_ERROR, in units; n > 0."""
    e = n.bit_length() - 11
    j = n >> e if e >= 0 else n << -e
    c = j << e if e >= 0 else n
    power = e - BITS
    found = _log_of_head(j) + twos_below(power)
    if c == n:
        return found
    y = ((n - c) << BITS) // (n + c)
    square, series = y * y >> BITS, 0
    for coefficient in COEFFICIENTS:
        series = coefficient + (series * square >> BITS)
    return found + 2 * (y * series >> BITS)


def log_of_ratio(top: int, bottom: int) -> int:
    """Find the L with L ≤ log(top/bottom) ≤ L + LOG_ERROR + 1, in units; top ≥ bottom > 0.

    The ratio lies between n and n + 1 units, n ≥ 2^BITS, so that their logarithms differ by at most one
    unit.
    """
    if top >> MOST_TWOS >= bottom:
        raise UndecidedError(f"two numbers whose ratio is above 2^{MOST_TWOS} are not compared")
    return log_units((top << BITS) // bottom)


def xlogx_units(n: int) -> int:
    """Bound n log n from below in units, at most n LOG_ERROR/2^BITS + 1 below; 0 at 0."""
    return n * log_units(n) >> BITS if n else 0


def xlogx_above(n: int) -> int:
    """Bound n log n from above in units; 0 at 0."""
    return (n * (log_units(n) + LOG_ERROR) >> BITS) + 1 if n else 0


def entropy_above(n: int, width: int = 1) -> int:
    """Bound −p log p from above in units, for every p from n to n + width units."""
    return -xlogx_units(n) + width * STEEP


def entropy_below(n: int, width: int = 1) -> int:
    """Bound −p log p from below in units, for every p from n to n + width units."""
    return -xlogx_above(n) - width * STEEP
