"""Intervals of mpmath with 200 bits, made of rational numbers, and comparisons that are certain."""

from fractions import Fraction

from mpmath import iv
from mpmath.libmp import from_rational, mpf_le, mpf_lt

iv.prec = 200


def interval(number):
    """Enclose a rational number, or leave an interval as it is."""
    if isinstance(number, (int, float, Fraction)):
        ends = [from_rational(*number.as_integer_ratio(), iv.prec, side) for side in ("f", "c")]
        return iv.make_mpf(tuple(ends))
    return number


def surely(small, large):
    """Whether small ≤ large: True, False, or None if the intervals overlap."""
    small, large = interval(small), interval(large)
    if mpf_le(small._mpi_[1], large._mpi_[0]):
        return True
    return False if mpf_lt(large._mpi_[1], small._mpi_[0]) else None


def total(terms):
    return sum(terms, iv.mpf(0))


def xlogx(x):
    """Enclose x log x of a rational x ≥ 0, or of an interval above 0."""
    if isinstance(x, (int, Fraction)) and x in (0, 1):
        return iv.mpf(0)
    return interval(x) * iv.log(interval(x))


def root(x):
    """Enclose √x; what lies below 0 by rounding counts as 0."""
    x = interval(x)
    return iv.sqrt(x if surely(0, x) else iv.mpf([0, x.b]))


def both(*answers):
    """The conjunction of True, False and None."""
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True


def bottom(x):
    """The lower end of an interval, exactly."""
    return _exactly(interval(x)._mpi_[0])


def top(x):
    """The upper end of an interval, exactly."""
    return _exactly(interval(x)._mpi_[1])


def _exactly(end):
    sign, mantissa, exponent, _ = end
    return Fraction(-1 if sign else 1) * int(mantissa) * Fraction(2) ** exponent
