"""Numbers are rounded once, to the side on which they are proven."""

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from ldpopt.checker.kernel.arithmetic import exp_above, exp_below
from ldpopt.core.number_text import at_least, at_most, factor_at_most
from ldpopt.release.promises import two_digits

FLOATS = st.floats(-1e30, 1e30, allow_subnormal=False)


@given(FLOATS, st.integers(1, 12))
@example(1.2380000000001, 4)
def test_a_bound_is_never_understated(number, digits):
    written = Decimal(at_most(number, digits)), Decimal(at_least(number, digits))
    assert written[1] <= Decimal(repr(number)) <= written[0]
    assert len(written[0].normalize().as_tuple().digits) <= digits


@given(st.floats(1e-6, 30), st.integers(2, 6))
@example(math.log(2.5), 3)
@example(math.log(3), 3)  # its float is a little more than log 3
@example(math.log(20), 2)
def test_a_factor_is_never_understated(level, digits):
    written = Fraction(factor_at_most(level, digits))
    assert exp_below(level) <= written
    assert written <= exp_above(level) * (1 + Fraction(10, 10**digits))


@given(st.floats(1e-6, 1e6))
@example(0.4000000000000001)
def test_a_margin_is_never_understated(points):
    assert Decimal(two_digits(points)) >= Decimal(repr(points))
