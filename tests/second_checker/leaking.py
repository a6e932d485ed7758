"""What columns tell about the data under a Dirichlet prior: the trapezoidal rule with 30 digits."""

import itertools
import math
from functools import cache

import mpmath
from mpmath import iv

STEPS = 6
"""Nodes of the quadrature per unit of log t."""
CLOSE = mpmath.mpf(10) ** -17
"""How far the quadrature may be off, for columns whose largest entry is 1."""


@cache
def node(n):
    """t and log(1 + t) of a node of the quadrature."""
    t = mpmath.exp(mpmath.mpf(n) / STEPS)
    return t, mpmath.log(1 + t)


def slopes(column, alpha):
    """The derivatives of ℓ at a column, the largest entry 1: (α/A) (log v − E log(v·P) under α + e_x).

    The expectation is ∫ (1 + t)^−(A+1) − Π (1 + t v)^−α/(1 + t v_x) du over u = log t, by a trapezoidal
    rule that is off by e^−6π².
    """
    A, parts = mpmath.fsum(alpha), {}
    for a, v in zip(alpha, column, strict=True):
        parts[v] = parts.get(v, 0) + a
    means = dict.fromkeys(parts, mpmath.mpf(0))
    first = STEPS * (46 + math.ceil(math.log(A + 1)))
    for n in range(-first, STEPS * 46):
        t, log = node(n)
        base, product = mpmath.exp(-(A + 1) * log), mpmath.mpf(0)
        for v, a in parts.items():
            product -= a * (log if v == 1 else mpmath.log(1 + t * v))
        product = mpmath.exp(product)
        for v in parts:
            means[v] += base - product / (1 + t * v)
    return [a / A * (mpmath.log(v) - means[v] / STEPS) for v, a in zip(column, alpha, strict=True)]


def leakage(column, alpha):
    """ℓ of a column of positive entries, the largest 1: it is homogeneous."""
    return mpmath.fsum(v * slope for v, slope in zip(column, slopes(column, alpha), strict=True))


def entropy(alpha):
    """H = ψ(A + 1) − Σ (α/A) ψ(α + 1)."""
    A = mpmath.fsum(alpha)
    return mpmath.psi(0, A + 1) - mpmath.fsum(a / A * mpmath.psi(0, a + 1) for a in alpha)


def near(x):
    """Enclose what a quadrature found."""
    return iv.mpf([x - CLOSE, x + CLOSE])


def leaks_within(columns, alpha, floor):
    """Whether the leakage is at most (1 − floor) H, by what was found with many digits."""
    with mpmath.workdps(30):
        spent = mpmath.fsum(map(_of_column, columns, itertools.repeat(alpha)))
        return _compared(spent, spent, alpha, floor)


def classes_leak_within(classes, alpha, floor):
    """The same for classes of columns that are renamings of each other, but for rounding.

    ℓ is convex, so that a class leaks at least what its mean leaks, once for each of its columns; and
    subadditive, so that it leaks at most what its least column does, and 0.37 of each entry above.
    """
    with mpmath.workdps(30):
        low, high = [], []
        for own in classes:
            low.append(len(own.columns) * _of_column(own.mean, alpha))
            high.append(len(own.columns) * _of_column(own.least, alpha))
            high.append(mpmath.mpf("0.37") * float(own.rest) * (1 + mpmath.mpf(10) ** -9))
        return _compared(mpmath.fsum(low), mpmath.fsum(high), alpha, floor)


def _of_column(column, alpha):
    exact = [mpmath.mpf(x.numerator) / x.denominator for x in column]
    return leakage([x / max(exact) for x in exact], [mpmath.mpf(a) for a in alpha]) * max(exact)


def _compared(low, high, alpha, floor):
    most = entropy([mpmath.mpf(a) for a in alpha])
    allowed = (1 - mpmath.mpf(floor.numerator) / floor.denominator) * most
    return True if high <= allowed - CLOSE else False if low > allowed + CLOSE else None
