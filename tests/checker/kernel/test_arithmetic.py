"""Intervals: what they enclose, against mpmath with more digits than they have."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt.checker.kernel import arithmetic, fixed_point
from ldpopt.checker.kernel.arithmetic import Interval, enclose

RATIONALS = st.fractions(-(10**12), 10**12, max_denominator=10**15)
POSITIVE = st.floats(1e-300, 1e300)


def exact(number):
    """A number for mpmath: of a Decimal or Fraction exactly, as 200 digits are enough for both."""
    top, bottom = number.as_integer_ratio()
    return mpmath.mpf(top) / mpmath.mpf(bottom)


def contains(interval, truth):
    with mpmath.workdps(200):
        return exact(interval.low) <= truth() <= exact(interval.high)


def tight(interval):
    size = max(abs(interval.low), abs(interval.high))
    return interval.high - interval.low <= size * Decimal("1e-55") or size < Decimal("1e-900000")


@given(POSITIVE)
def test_logarithms(x):
    found = arithmetic.log(x)
    assert contains(found, lambda: mpmath.log(mpmath.mpf(x)))
    assert arithmetic.log_below(x) <= arithmetic.log_above(x)
    assert arithmetic.log_above(x) - arithmetic.log_below(x) < Fraction(1, 10**55)


def test_the_logarithm_of_one_is_zero():
    """One unit below zero would be 10^−1000059: true, and a million digits long as a fraction."""
    assert (arithmetic.log(1).low, arithmetic.ONE.log().high) == (0, 0)
    half = Interval(Decimal("0.5"), Decimal(1)).log()
    assert half.low < Decimal("-0.69") < half.high == 0


@given(st.floats(-700, 700))
def test_exponentials(x):
    found = arithmetic.exp(x)
    assert contains(found, lambda: mpmath.exp(mpmath.mpf(x)))
    assert tight(found)
    assert arithmetic.exp_below(x) <= arithmetic.exp_above(x)


@given(POSITIVE)
def test_square_roots_and_entropies(x):
    assert contains(enclose(x).sqrt(), lambda: mpmath.sqrt(mpmath.mpf(x)))
    assert contains(enclose(x).xlogx(), lambda: mpmath.mpf(x) * mpmath.log(mpmath.mpf(x)))


@given(RATIONALS, RATIONALS)
def test_the_four_operations(x, y):
    a, b = enclose(x), enclose(y)
    for found, truth in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (-a, -x)):
        assert Fraction(found.low) <= truth <= Fraction(found.high)
        assert tight(found) or truth == 0 or abs(truth) < abs(x) + abs(y)
    if y:
        found = a / b
        assert Fraction(found.low) <= x / y <= Fraction(found.high)


@given(st.lists(RATIONALS, max_size=20))
def test_sums(numbers):
    found = arithmetic.total(map(enclose, numbers))
    assert Fraction(found.low) <= sum(numbers) <= Fraction(found.high)


@given(RATIONALS, RATIONALS)
def test_comparisons_are_true_false_or_unknown(x, y):
    found = enclose(x).at_most(enclose(y))
    assert found in (None, x <= y)
    wide = Interval(Decimal(0), Decimal(2))
    assert wide.at_most(arithmetic.ONE) is None
    assert arithmetic.ONE.at_most(arithmetic.ONE) is True


@given(st.decimals(-1000, 1000, places=30), st.integers(0, 300))
def test_units_are_rounded_to_their_side(x, bits):
    below, above = fixed_point.units_down(x, bits), fixed_point.units_up(x, bits)
    assert Fraction(below, 2**bits) <= Fraction(x) <= Fraction(above, 2**bits)
    assert above - below <= 1


def test_a_divisor_that_may_be_zero_is_an_error():
    with pytest.raises(ArithmeticError):
        arithmetic.ONE / Interval(Decimal(-1), Decimal(1))


def test_one_and_zero_are_exact():
    assert arithmetic.exp_below(0) == arithmetic.exp_above(0) == 1
    assert arithmetic.log_below(1) == arithmetic.log_above(1.0) == 0


def test_a_sign_keeps_every_digit():
    third = enclose(Fraction(1, 3))
    found = -third
    assert (found.low, found.high) == (third.high.copy_negate(), third.low.copy_negate())
    assert Fraction(found.low) <= Fraction(-1, 3) <= Fraction(found.high)
    assert Fraction(found.high) - Fraction(found.low) < Fraction(1, 10**58)
