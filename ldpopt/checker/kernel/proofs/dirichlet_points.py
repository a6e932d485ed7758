"""The points and weights that stand for the expectation under Dirichlet(α): exact rationals.

The claims of :mod:`asymptotic_utility` are about the sum over these points, so how near that sum is to
the integral is not part of any claim. What matters is that everybody has the same points: they are
computed with `decimal` at a fixed precision (add, multiply, divide, sqrt, exp and ln are correctly
rounded by its standard) and whole numbers, never with the machine's mathematical library, and are
rounded to multiples of 2^−64. Every point sums to exactly 1, and so do the weights, which are positive.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import NamedTuple

from ..arithmetic import NEAREST, Interval
from ..budget import tick
from ..reading import UnreadableError
from .dirichlet_logarithms import expected_log

BITS = 64
UNIT = 1 << BITS
"""Points and weights are whole multiples of 1/UNIT."""
CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN, traps=[DivisionByZero, InvalidOperation])
LEAST_CALIBRATED = 0.01
"""Below this level the functions of the calibration are too much alike: one is used."""
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
NEGLIGIBLE = Decimal("1e-18")
"""Points of a smaller weight are left out; it is a few units."""
GAUSS_NODES = {2: 60, 3: 12, 4: 6, 5: 4}
"""The nodes of each Gauss rule, by the number of values."""
ROUGH = Context(prec=40, rounding=ROUND_HALF_EVEN, traps=[DivisionByZero, InvalidOperation])
"""The precision of the points, which are rounded to 20 digits."""


class Rule(NamedTuple):
    """Points p_i, each of whole numbers that sum to UNIT, and weights that also sum to UNIT."""

    points: list[list[int]]
    weights: list[int]


@lru_cache(maxsize=32)
def prior_points(alpha: tuple[float, ...], epsilon: float) -> Rule:
    """Compute points and weights for expectations under Dirichlet(α), the same on every machine.

    For up to five values these are Gauss rules for the beta variables of stick-breaking, for more values
    they are random draws. Then the weights are calibrated (as in survey sampling) such that
    Σ_x E log(1 + β P_x), on which the utility of randomised response rests, is right for β = e^δ − 1
    with δ = ε, ε/2, ε/4; for up to eight values, so is the same sum over pairs and triples of values,
    with δ = ε. Where that takes weights that are not positive, fewer sums are right, but always that of
    β = e^ε − 1; where that too fails, the Gauss rules give way to random draws.

    Raises:
        UnreadableError: no weights of the random draws make even that one sum right.
    """
    for points, weights in _raw_points(alpha):
        heavy = [(p, w) for p, w in zip(points, weights, strict=True) if w > NEGLIGIBLE]
        units = [_units(p) for p, _ in heavy]
        with localcontext(CONTEXT):
            found = _calibrated_weights(alpha, epsilon, units, [w for _, w in heavy])
        if found is not None:
            return Rule(units, _units(found))
    raise UnreadableError(
        "alpha and epsilon must allow points that stand for the prior and whose weights, calibrated to "
        f"randomised response, are positive; not alpha {list(alpha)!r} with epsilon {epsilon!r}"
    )


def _units(shares: Sequence[Decimal]) -> list[int]:
    """Write shares as whole numbers that sum to UNIT; the largest takes what rounding leaves."""
    sum_ = sum(map(Fraction, shares), Fraction(0))
    units = [round(Fraction(share) / sum_ * UNIT) for share in shares]
    units[units.index(max(units))] += UNIT - sum(units)
    return units


def _calibrated_weights(
    alpha: Sequence[float], epsilon: float, units: list[list[int]], weights: list[Decimal]
) -> list[Decimal] | None:
    """Calibrate the weights to as many sums as leave them positive; None if not even to one."""
    k = len(alpha)
    singles = [(1, _expm1(Fraction(epsilon) / divisor)) for divisor in (1, 2, 4)]
    larger = [(m, singles[0][1]) for m in (2, 3) if m <= k // 2 and k <= 8]
    every = [singles + larger, singles, singles[:1]]
    for controls in every if epsilon >= LEAST_CALIBRATED else every[2:]:
        rows = [[_set_sum(p, m, beta) for m, beta in controls] for p in units]
        exact = [_expected_sum(alpha, m, beta) for m, beta in controls]
        found = _calibrated(weights, rows, exact)
        if found is not None and min(found) > NEGLIGIBLE:
            return found
    return None


def _expm1(x: Fraction) -> Fraction:
    return Fraction(NEAREST.exp(NEAREST.divide(Decimal(x.numerator), Decimal(x.denominator)))) - 1


def _middle(x: Interval) -> Decimal:
    return (x.low + x.high) / 2


def _set_sum(p: Sequence[int], m: int, beta: Fraction) -> Decimal:
    """Sum log(1 + β p(S)) over the sets S of size m."""
    tick()
    b = Decimal(beta.numerator) / Decimal(beta.denominator) / UNIT
    return prod((1 + b * sum(S) for S in combinations(p, m)), start=Decimal(1)).ln()


def _expected_sum(alpha: Sequence[float], m: int, beta: Fraction) -> Decimal:
    """Sum E log(1 + β P(S)) over the sets S of size m; P(S) is Beta(α(S), A − α(S))."""
    exact = list(map(Fraction, alpha))
    A = sum(exact)
    counts = Counter(sum(S, Fraction(0)) for S in combinations(exact, m))
    means = (n * _middle(expected_log(a, A - a, beta)) for a, n in counts.items())
    return sum(means, Decimal(0))


def _calibrated(
    weights: list[Decimal], rows: list[list[Decimal]], exact: list[Decimal]
) -> list[Decimal] | None:
    """Find the weights w_i (1 + λ·(f_i − mean)) under which the means of the rows f_i are exact."""
    size = range(len(exact))
    mean = [_dot(weights, [row[a] for row in rows]) for a in size]
    centred = [[row[a] - mean[a] for a in size] for row in rows]
    table = [
        [_dot(weights, [f[a] * f[b] for f in centred]) for b in size] + [exact[a] - mean[a]]
        for a in size
    ]
    factors = _solved(table)
    if factors is None:
        return None
    return [w * (1 + _dot(factors, f)) for w, f in zip(weights, centred, strict=True)]


def _dot(a: Sequence[Decimal], b: Sequence[Decimal]) -> Decimal:
    return sum(map(Decimal.__mul__, a, b), Decimal(0))


def _solved(table: list[list[Decimal]]) -> list[Decimal] | None:
    """Solve [A | b] by Gauss–Jordan elimination; None if a pivot is 0."""
    size = len(table)
    for i in range(size):
        best = max(range(i, size), key=lambda r: abs(table[r][i]))
        table[i], table[best] = table[best], table[i]
        pivot = table[i][i]
        if pivot == 0:
            return None
        table[i] = [entry / pivot for entry in table[i]]
        for r in range(size):
            if r != i:
                factor = table[r][i]
                table[r] = [a - factor * b for a, b in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


# ---------------------------------------------------------------- the points


Weighted = tuple[list[list[Decimal]], list[Decimal]]


def _raw_points(alpha: tuple[float, ...]) -> Iterator[Weighted]:
    """List the points and weights that may be calibrated, the preferred first."""
    if len(alpha) in GAUSS_NODES:
        yield _stick_breaking(alpha)
    yield _drawn(alpha)


@lru_cache(maxsize=32)
def _stick_breaking(alpha: tuple[float, ...]) -> Weighted:
    """Compute the product of Gauss rules: it depends on α alone, so all ε share it."""
    with localcontext(ROUGH):
        shape, order = [Decimal(a) for a in alpha], GAUSS_NODES[len(alpha)]
        points: list[tuple[list[Decimal], Decimal, Decimal]] = [([], Decimal(1), Decimal(1))]
        for x in range(len(shape) - 1):
            rule = _gauss_beta(shape[x], sum(shape[x + 1 :], Decimal(0)), order)
            points = [([*p, left * z], left * (1 - z), w * v) for p, left, w in points for z, v in rule]
        return [[*p, left] for p, left, _ in points], [w for _, _, w in points]


@lru_cache(maxsize=32)
def _drawn(alpha: tuple[float, ...]) -> Weighted:
    """Draw points with equal weights; all ε share them too."""
    count = 96 if len(alpha) <= 8 else 24
    with localcontext(ROUGH):
        return list(_draws([Decimal(a) for a in alpha], count)), [Decimal(1) / count] * count


def _gauss_beta(a: Decimal, b: Decimal, order: int) -> list[tuple[Decimal, Decimal]]:
    """Find the Gauss rule for Beta(a, b): eigenvalues of the Jacobi matrix by bisection."""
    A, B = b - 1, a - 1
    diagonal, off = [(B - A) / (A + B + 2)], [Decimal(0)]
    for n in range(1, order):
        s = 2 * n + A + B
        diagonal.append((B * B - A * A) / (s * (s + 2)))
        ratio = Decimal(1) if n == 1 else (n + A + B) / (s - 1)
        off.append(4 * n * (n + A) * (n + B) * ratio / (s * s * (s + 1)))
    return [_gauss_node(diagonal, off, index) for index in range(order)]


def _gauss_node(diagonal: list[Decimal], off: list[Decimal], index: int) -> tuple[Decimal, Decimal]:
    tick()
    low, high = Decimal(-1), Decimal(1)
    tiny = Decimal("1e-40")
    for _ in range(80):
        middle, d, below = (low + high) / 2, Decimal(1), 0
        for a, b in zip(diagonal, off, strict=True):
            d = a - middle - b / (d or tiny)
            below += d < 0
        low, high = (low, middle) if below > index else (middle, high)
    x, previous, p, sum_ = (low + high) / 2, Decimal(0), Decimal(1), Decimal(1)
    for n in range(len(diagonal) - 1):
        following = (x - diagonal[n]) * p - off[n].sqrt() * previous
        previous, p = p, following / off[n + 1].sqrt()
        sum_ += p * p
    return (1 + x) / 2, 1 / sum_


def _draws(alpha: Sequence[Decimal], count: int) -> Iterator[list[Decimal]]:
    """Draw from a Dirichlet distribution by the uniform numbers of Python's generator with seed 0."""
    generator = random.Random(0)

    def uniform() -> Decimal:
        return Decimal(generator.random())

    for _ in range(count):
        tick()
        gammas = [_gamma(a, uniform) for a in alpha]
        sum_ = sum(gammas, Decimal(0))
        yield [g / sum_ for g in gammas]


def _gamma(alpha: Decimal, uniform: Callable[[], Decimal]) -> Decimal:
    """Draw from Gamma(α) by the method of Marsaglia and Tsang 2000."""
    if alpha < 1:
        boost = ((1 - uniform()).ln() / alpha).exp()
        return boost * _gamma(alpha + 1, uniform)
    d = alpha - Decimal(1) / 3
    while True:
        radius = (-2 * (1 - uniform()).ln()).sqrt()
        normal = radius * _cosine(2 * PI * uniform())
        v = (1 + normal / (9 * d).sqrt()) ** 3
        if v > 0 and (1 - uniform()).ln() < normal * normal / 2 + d - d * v + d * v.ln():
            return d * v


def _cosine(x: Decimal) -> Decimal:
    """Compute the cosine by its series, 0 ≤ x ≤ 2π."""
    term = sum_ = Decimal(1)
    for n in range(2, 62, 2):
        term = -term * x * x / (n * (n - 1))
        sum_ += term
    return sum_
