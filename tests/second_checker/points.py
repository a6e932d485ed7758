"""The points and weights that stand for a Dirichlet prior, by the recipe of the page, with 80 digits."""

import itertools
import math
import random
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np

from second_checker.reading import UnreadableError

UNIT = 2**64
NEGLIGIBLE = mpmath.mpf(10) ** -18


def units(shares):
    """Shares as whole multiples of 2^−64 that sum to 1; the first of the largest takes the rest."""
    mass = mpmath.fsum(shares)
    found = [int(mpmath.nint(share / mass * UNIT)) for share in shares]
    found[found.index(max(found))] += UNIT - sum(found)
    return [Fraction(n, UNIT) for n in found]


@cache
def points_of(alpha, e):
    """The points and weights of the recipe, with 80 digits instead of 40 and 60."""
    with mpmath.workdps(80):
        for rule in (product, draws) if len(alpha) <= 5 else (draws,):
            found = rule(alpha)
            weights = calibrated(alpha, e, [p for p, _ in found], [w for _, w in found])
            if weights is not None:
                return list(zip([p for p, _ in found], units(weights), strict=True))
    raise UnreadableError("no points stand for this prior")


def product(alpha):
    """Gauss rules for the variables of stick-breaking."""
    order = {2: 60, 3: 12, 4: 6, 5: 4}[len(alpha)]
    found = [([], mpmath.mpf(1), mpmath.mpf(1))]
    for x in range(len(alpha) - 1):
        rule = gauss(mpmath.mpf(alpha[x]), mpmath.fsum(alpha[x + 1 :]), order)
        found = [([*p, left * z], left * (1 - z), w * v) for p, left, w in found for z, v in rule]
    return [(units([*p, left]), w) for p, left, w in found if w > NEGLIGIBLE]


def draws(alpha):
    """Points drawn from the prior, with equal weights."""
    count = 96 if len(alpha) <= 8 else 24
    uniform = random.Random(0).random
    found = [units([gamma(mpmath.mpf(a), uniform) for a in alpha]) for _ in range(count)]
    return [(p, mpmath.mpf(1) / count) for p in found]


def gamma(a, uniform):
    """Draw a gamma variable (Marsaglia and Tsang 2000)."""
    if a < 1:
        return mpmath.power(1 - uniform(), 1 / a) * gamma(a + 1, uniform)
    d = a - mpmath.mpf(1) / 3
    while True:
        radius = mpmath.sqrt(-2 * mpmath.log(1 - mpmath.mpf(uniform())))
        normal = radius * mpmath.cos(2 * mpmath.pi * uniform())
        v = (1 + normal / mpmath.sqrt(9 * d)) ** 3
        if v <= 0:
            continue
        if mpmath.log(1 - mpmath.mpf(uniform())) < normal**2 / 2 + d - d * v + d * mpmath.log(v):
            return d * v


@cache
def gauss(a, b, order):
    """The Gauss rule for Beta(a, b): Newton's method on the orthonormal polynomials, from floats.

    A node is the middle of the interval of width 2^−80 that contains it, as the page says.
    """
    middle, off = [a / (a + b)], [mpmath.mpf(0)]
    for n in range(1, order + 1):
        s = a + b + 2 * n - 2
        middle.append((1 + ((a - 1) ** 2 - (b - 1) ** 2) / (s * (s + 2))) / 2)
        ratio = 1 if n == 1 else (n + a + b - 2) / (s - 1)
        off.append(mpmath.sqrt(n * (n + a - 1) * (n + b - 1) * ratio / (s * s * (s + 1))))

    def polynomials(x):
        """The values of the polynomials at x, and the derivative of the last."""
        p, slope = [mpmath.mpf(0), mpmath.mpf(1)], [mpmath.mpf(0), mpmath.mpf(0)]
        for n in range(order):
            p.append(((x - middle[n]) * p[-1] - off[n] * p[-2]) / off[n + 1])
            slope.append((p[-2] + (x - middle[n]) * slope[-1] - off[n] * slope[-2]) / off[n + 1])
        return p[1:], slope[-1]

    J = np.diag([float(x) for x in middle[:order]])
    for n in range(1, order):
        J[n, n - 1] = float(off[n])
    found = []
    for start in np.linalg.eigvalsh(J):
        x = mpmath.mpf(start)
        for _ in range(6):
            p, slope = polynomials(x)
            x -= p[-1] / slope
        x = (mpmath.floor(x * 2**80) + mpmath.mpf(1) / 2) / 2**80
        found.append((x, 1 / mpmath.fsum(y * y for y in polynomials(x)[0][:-1])))
    return found


def calibrated(alpha, e, points, weights):
    """The positive weights under which the means of the control functions are exact, or None."""
    k, e = len(alpha), mpmath.mpf(e.numerator) / e.denominator
    singles = [(1, mpmath.exp(e / j) - 1) for j in (1, 2, 4)]
    larger = [(m, singles[0][1]) for m in (2, 3) if m <= k // 2 and k <= 8]
    tries = [singles + larger, singles, singles[:1]]
    for controls in tries if e >= 0.01 else tries[2:]:
        rows = [[set_sum(p, m, beta) for m, beta in controls] for p in points]
        mean = [mpmath.fdot(weights, column) for column in zip(*rows, strict=True)]
        far = [[x - y for x, y in zip(row, mean, strict=True)] for row in rows]
        size = range(len(controls))
        table = mpmath.matrix(
            [
                [mpmath.fsum(w * f[a] * f[b] for w, f in zip(weights, far, strict=True)) for b in size]
                for a in size
            ]
        )
        missing = [expected_sum(alpha, m, beta) - mean[a] for a, (m, beta) in enumerate(controls)]
        try:
            factors = mpmath.lu_solve(table, mpmath.matrix(missing))
        except ZeroDivisionError:
            continue
        found = [w * (1 + mpmath.fdot(factors, f)) for w, f in zip(weights, far, strict=True)]
        if min(found) > NEGLIGIBLE:
            return found
    return None


def set_sum(p, m, beta):
    return mpmath.fsum(
        mpmath.log(1 + beta * mpmath.mpf(int(sum(S) * UNIT)) / UNIT)
        for S in itertools.combinations(p, m)
    )


def expected_sum(alpha, m, beta):
    A = mpmath.fsum(alpha)
    sums = [mpmath.fsum(S) for S in itertools.combinations(alpha, m)]
    return mpmath.fsum(expected_log(a, A - a, beta) for a in sums)


@cache
def expected_log(a, b, c):
    """E log(1 + cB), B ~ Beta(a, b), by the trapezoidal rule of the page."""
    A = a + b
    high, low = (trapezoid(x, y, c) for x, y in ((a + 1, b), (a, b + 1)))
    return (a * high + b * low) / A


def trapezoid(a, b, c):
    """The sum with step ¼ under Beta(a, b), and half of what the tails may add."""
    total_, h = a + b, mpmath.mpf(1) / 4
    first = -4 * (42 + math.ceil(math.log(max(float(total_ * c), 1.0))))
    last = math.ceil(168 / float(total_))
    nodes = [mpmath.exp(n * h) for n in range(first, last + 1)]
    found = mpmath.fsum((1 + t) ** -total_ - (1 + t) ** -b * (1 + (1 + c) * t) ** -a for t in nodes)
    left = a * c * mpmath.exp(first * h)
    right = min(mpmath.mpf(1), a * c) / total_ * mpmath.exp(-total_ * last * h)
    return h * found + (left + right) / 2


def renamed(points, equal):
    """All renamings of the points if the inputs are alike, each with its share of the weight."""
    if not equal:
        return points
    count = math.factorial(len(points[0][0]))
    return [(list(q), w / count) for p, w in points for q in itertools.permutations(p)]
