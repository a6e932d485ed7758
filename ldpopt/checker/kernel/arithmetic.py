"""Rationals, and closed intervals with directed rounding: the only arithmetic that decides a claim.

A float of the file is a dyadic rational, so sums, products and ratios are decided with `Fraction`.
Whatever is not rational (exp, log, sqrt) is *enclosed*: :class:`Interval` holds two decimals of
:data:`DIGITS` digits, the lower one rounded down and the upper one up after every operation, so that
the true number lies between them. A comparison of intervals answers True, False, or None where they
overlap and the answer is unknown.

Lemma (enclosure). If x ∈ X and y ∈ Y, then x ∘ y ∈ X ∘ Y for each operation here. Proof. Sums and
products of the ends, rounded by ROUND_FLOOR and ROUND_CEILING, are the decimal standard's directed
rounding. exp, ln and sqrt are correctly rounded to nearest by the standard library (error at most half
a unit in the last place), and are widened by one unit on both sides; they are monotone, so the images
of the ends suffice. Where the ends a ≤ b are nearly equal, one image suffices: with d = b − a ≤ 1 e^b ≤
e^a (1 + 2d), as e^d ≤ 1 + 2d is convex and holds at 0 and 1; and log b ≤ log a + d/a, as the logarithm
is concave.

Growth. A float has at most 53 significant bits and a denominator of at most 2^1074. A sum of n floats
has at most 1074 + 1024 + log2 n bits, a product of two 2 · 2098: every fraction that is formed from a
fixed number of operations on floats stays below some ten thousand bits. Intervals never grow: they keep
DIGITS digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache

from .fixed_point import BITS, Rational, units_down, units_up

DIGITS = 60
_TRAPS = [DivisionByZero, InvalidOperation, Overflow]
_LARGEST = 999_999
NARROW = Decimal("1e-40")
"""Up to this width (of a logarithm: relative to the lower end) the image of one end gives both."""


def _context(rounding: str) -> Context:
    return Context(prec=DIGITS, rounding=rounding, Emin=-_LARGEST, Emax=_LARGEST, traps=_TRAPS)


DOWN, UP, NEAREST = _context(ROUND_FLOOR), _context(ROUND_CEILING), _context(ROUND_HALF_EVEN)


class Interval:
    """A closed interval that contains one real number."""

    __slots__ = ("high", "low")

    def __init__(self, low: Decimal, high: Decimal) -> None:
        self.low, self.high = low, high

    def __repr__(self) -> str:
        return f"Interval({self.low}, {self.high})"

    def __neg__(self) -> Interval:
        return Interval(self.high.copy_negate(), self.low.copy_negate())  # a bare minus would round

    def __add__(self, other: Interval) -> Interval:
        return Interval(DOWN.add(self.low, other.low), UP.add(self.high, other.high))

    def __sub__(self, other: Interval) -> Interval:
        return Interval(DOWN.subtract(self.low, other.high), UP.subtract(self.high, other.low))

    def __mul__(self, other: Interval) -> Interval:
        a, b, c, d = self.low, self.high, other.low, other.high
        if a >= 0 and c >= 0:
            return Interval(DOWN.multiply(a, c), UP.multiply(b, d))
        pairs = ((a, c), (a, d), (b, c), (b, d))
        return Interval(
            min(DOWN.multiply(x, y) for x, y in pairs), max(UP.multiply(x, y) for x, y in pairs)
        )

    def __truediv__(self, other: Interval) -> Interval:
        """Divide; a divisor that may be 0 is an error (decimal.DivisionByZero)."""
        if other.low <= 0 <= other.high:
            raise DivisionByZero(f"{other} contains 0")
        pairs = [(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Interval(min(DOWN.divide(x, y) for x, y in pairs), max(UP.divide(x, y) for x, y in pairs))

    def exp(self) -> Interval:
        """Enclose e^x."""
        image, width = NEAREST.exp(self.low), UP.subtract(self.high, self.low)
        if width > NARROW:
            return Interval(_below(image), _above(NEAREST.exp(self.high)))
        return Interval(_below(image), UP.fma(_above(image), UP.add(width, width), _above(image)))

    def log(self) -> Interval:
        """Enclose log x, x > 0; an end of 1 has the end 0, exactly."""
        low, high = self._ends_of_log(self.low)
        if self.high == 1:
            return Interval(low, Decimal(0))
        width = UP.subtract(self.high, self.low)
        if width <= UP.multiply(NARROW, self.low):
            return Interval(low, UP.add(high, UP.divide(width, self.low)))
        return Interval(low, self._ends_of_log(self.high)[1])

    @staticmethod
    def _ends_of_log(x: Decimal) -> tuple[Decimal, Decimal]:
        """Enclose the logarithm of one decimal."""
        if x == 1:
            return Decimal(0), Decimal(0)
        image = NEAREST.ln(x)
        return _below(image), _above(image)

    def sqrt(self) -> Interval:
        """Enclose √x, x ≥ 0; a lower end below 0 counts as 0."""
        low = max(self.low, Decimal(0))
        return Interval(max(_below(NEAREST.sqrt(low)), Decimal(0)), _above(NEAREST.sqrt(self.high)))

    def xlogx(self) -> Interval:
        """Enclose x log x, x ≥ 0, which is 0 at 0; an interval that touches 0 must be 0 itself."""
        return self if self.high == 0 else self * self.log()

    def at_most(self, other: Interval) -> bool | None:
        """Return whether x ≤ y: True, False, or None if the intervals overlap."""
        if self.high <= other.low:
            return True
        return False if self.low > other.high else None


ZERO, ONE = Interval(Decimal(0), Decimal(0)), Interval(Decimal(1), Decimal(1))
PI = Interval(
    Decimal("3.14159265358979323846264338327950288419716939937510582097494"),
    Decimal("3.14159265358979323846264338327950288419716939937510582097495"),
)


def _below(x: Decimal) -> Decimal:
    """Round down to the next decimal; a result of 0 goes below 0 by the least decimal there is."""
    return DOWN.next_minus(x)


def _above(x: Decimal) -> Decimal:
    return UP.next_plus(x)


def enclose(number: Rational | Decimal) -> Interval:
    """Enclose a rational number; exact where DIGITS digits suffice."""
    if isinstance(number, Decimal):
        return Interval(DOWN.plus(number), UP.plus(number))
    top, bottom = number.as_integer_ratio()
    numerator, denominator = Decimal(top), Decimal(bottom)
    return Interval(DOWN.divide(numerator, denominator), UP.divide(numerator, denominator))


def between(low: int, high: int, bits: int = BITS) -> Interval:
    """Build the interval between two whole multiples of 2^−bits, rounded outwards.

    Args:
        low: the lower end, in multiples.
        high: the upper end.
        bits: what they are multiples of.
    """
    unit = Decimal(1 << bits)
    return Interval(DOWN.divide(Decimal(low), unit), UP.divide(Decimal(high), unit))


def total(terms: Iterable[Interval]) -> Interval:
    """Enclose a sum."""
    low = high = Decimal(0)
    add_down, add_up = DOWN.add, UP.add
    for term in terms:
        low, high = add_down(low, term.low), add_up(high, term.high)
    return Interval(low, high)


def exp(x: Rational) -> Interval:
    """Enclose e^x."""
    return enclose(x).exp() if x else ONE


def log(x: Rational) -> Interval:
    """Enclose log x of a positive rational."""
    return enclose(x).log()


@lru_cache
def exp_below(x: Rational) -> Fraction:
    """Compute a rational number just below e^x."""
    return Fraction(exp(x).low)


def exp_above(x: Rational) -> Fraction:
    """Compute a rational number just above e^x."""
    return Fraction(exp(x).high)


def log_below(x: Rational) -> Fraction:
    """Compute a rational number just below log x."""
    return Fraction(log(x).low)


def log_above(x: Rational) -> Fraction:
    """Compute a rational number just above log x."""
    return Fraction(log(x).high)


def below(x: Interval) -> int:
    """Round the lower end of an interval down to units."""
    return units_down(x.low)


def above(x: Interval) -> int:
    """Round the upper end of an interval up to units."""
    return units_up(x.high)
