"""Levels over balls: for every ratio of one secret a mixture of two linear functions.

If some member has P(y|s) = a and P(y|z) < a/λ, then N_s − aP_s = 0 and aP_z − λN_z > 0: every mixture
m(a, θ) = θ(N_s − aP_s) + (1 − θ)(aP_z − λN_z), 0 ≤ θ < 1, is positive there. On an interval of a
where θ runs linearly from one end to the other, m is (1 − t)² m(a₀, θ₀) + t² m(a₁, θ₁) +
t(1 − t) (m(a₀, θ₁) + m(a₁, θ₀)); with one θ it is linear in a. All of these are linear in P: if none is
positive at any member, no a within is reached. Intervals are halved.

The largest c·P over a ball Σ p φ(P/p) ≤ r is at most η + μr + Σ p μφ*((c − η)/μ) for all η and μ > 0,
φ* the convex conjugate: c·P = η + Σ (c − η)P, and (c − η)P ≤ μ p φ(P/p) + p μφ*((c − η)/μ) in each cell.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from mpmath import iv
from scipy.optimize import brentq, minimize_scalar

from second_checker.intervals import interval, surely, total

DEEPEST = 45
NEARLY = 1 - 2.0**-30
"""θ stays below 1: where N_s − aP_s = 0 the mixture must be positive."""


def never_beyond(F, W, factor):
    """Whether P(y|s) ≤ factor P(y|z) is proven for all members, outputs and secrets."""
    width = F.shape[1]
    for column in set(zip(*W, strict=True)):
        for s, z in itertools.permutations(range(F.shape[0]), 2):
            own, other = (column[i * width : (i + 1) * width] for i in (s, z))
            if max(own) > factor * min(other) and not _kept(F, (s, z), (own, other), factor):
                return False
    return True


def _kept(F, secrets, parts, factor):
    """Whether no ratio a = P(y|s) is reached where P(y|z) is below a/λ."""

    def mixture(a):
        return a, Fraction(_mixture(F, secrets, parts, factor, float(a)))

    def below(*mixtures):
        rows = [_coefficients(F, secrets, parts, factor, a, theta) for a, theta in mixtures]
        return surely(support(F, [sum(cell) for cell in zip(*rows, strict=True)]), 0)

    low, high = max(min(parts[0]), factor * min(parts[1])), max(parts[0])
    pending = [(mixture(low), mixture(high), 0)]
    while pending:
        one, two, depth = pending.pop()
        left, right = (one[0], two[1]), (two[0], one[1])
        if below(two) and (below(left) or (below(one) and below(left, right))):
            continue
        if below(one) and below(right):
            continue
        if depth == DEEPEST:
            return False
        middle = mixture((one[0] + two[0]) / 2)
        pending += [(one, middle, depth + 1), (middle, two, depth + 1)]
    return True


def _coefficients(F, secrets, parts, factor, a, theta):
    """The mixture as a linear function of P; with floats, floats."""
    c = [a * 0] * F.cells
    width = F.shape[1]
    for u, (x, y) in enumerate(zip(*parts, strict=True)):
        c[secrets[0] * width + u] = theta * (x - a)
        c[secrets[1] * width + u] = (1 - theta) * (a - factor * y)
    return c


def _mixture(F, secrets, parts, factor, a):
    """Guess the θ with the least largest value, which is convex in θ. Floats.

    Over a curved ball its slope is that of the mixture at the member where it is largest.
    """
    parts, factor = [list(map(float, part)) for part in parts], float(factor)

    def mixed(theta):
        return _coefficients(F, secrets, parts, factor, a, theta)

    if F.kind not in CURVED:

        def largest(theta):
            return _polyhedral(F, mixed(theta))

        options = {"xatol": 1e-14, "maxiter": 200}
        found = minimize_scalar(largest, bounds=(0, NEARLY), method="bounded", options=options)
        return min((0.0, float(found.x), NEARLY), key=largest)
    rise = np.array(mixed(1.0)) - np.array(mixed(0.0))

    def slope(theta):
        return rise @ _farthest(F, np.array(mixed(theta)))

    if slope(0.0) >= 0:
        return 0.0
    return NEARLY if slope(NEARLY) <= 0 else brentq(slope, 0.0, NEARLY, xtol=1e-9)


# ---------------------------------------------------------------- the largest c·P


def support(F, c):
    """Bound c·P over the set from above, for rational c."""
    if F.kind not in CURVED:
        return interval(_polyhedral(F, c))
    scale = max(map(abs, c))
    if scale == 0:
        return iv.mpf(0)
    c = [x / scale for x in c]
    multiplier = _multiplier(F, np.array(c, dtype=float))
    return interval(scale) * CURVED[F.kind].proven(F, c, Fraction(multiplier))


def _multiplier(F, c):
    """The multiplier with the least bound, which is convex in it: grids that close in. Floats."""
    p, spread = np.array(F.center, dtype=float), float(c.max() - c.min())
    if spread == 0:
        return 1.0
    below, low, high = (c.max() - c)[p > 0], -45.0, 25.0
    for _ in range(7):
        grid = np.linspace(low, high, 41)
        with np.errstate(all="ignore"):
            found = CURVED[F.kind].bound(below, p[p > 0], _size(F), spread * np.exp(grid)[:, None])
        best = int(np.nanargmin(found))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    return spread * math.exp(grid[best])


def _farthest(F, c):
    """The member with the largest c·P, but for cells of probability 0. Floats."""
    weights = np.array(F.center, dtype=float) * CURVED[F.kind].tilt(c.max() - c, _multiplier(F, c))
    return weights / weights.sum()


def _size(F):
    """How large the ball is, as a float."""
    if F.kind == "chi-squared":
        return float(F.B.mid)
    return float(F.radius) ** (2 if F.kind == "hellinger" else 1)


def _entropic(F, c, mu):
    """φ(t) = t log t, φ*(y) = e^(y−1): the best η leaves μ log Σ p e^(c/μ) + μr; P is 0 where p is."""
    largest, mu = max(x for x, p in zip(c, F.center, strict=True) if p), interval(mu)
    mass = total(
        interval(p) * iv.exp(interval(x - largest) / mu) for x, p in zip(c, F.center, strict=True) if p
    )
    return interval(largest) + mu * (iv.log(mass) + interval(F.radius))


def _above(bound):
    """A bound η − bound in the gap η − max c > 0; where p is 0 it needs no more than that η ≥ c."""

    def at(F, c, gap):
        pairs = [
            (interval(p), interval(max(c) - x + gap)) for x, p in zip(c, F.center, strict=True) if p
        ]
        return interval(max(c) + gap) - bound(F, pairs)

    return at


def _likelihood(F, pairs):
    """φ(t) = −log t, φ*(y) = −1 − log(−y): the best μ = exp(Σ p log(η − c) − r) leaves η − μ."""
    return iv.exp(total(p * iv.log(d) for p, d in pairs) - interval(F.radius))


def _hellinger(F, pairs):
    """φ(t) = 1 − √t, φ*(y) = −1/(4y) − 1: the best μ leaves η − (1 − r)²/Σ (p/(η − c))."""
    return interval((1 - F.radius**2) ** 2) / total(p / d for p, d in pairs)


def _chi_squared(F, pairs):
    """φ(t) = 1/t − 1, φ*(y) = 1 − 2√(−y): the best μ leaves η − (Σ p √(η − c))²/(1 + r)."""
    return total(p * iv.sqrt(d) for p, d in pairs) ** 2 / (1 + F.B)


class Ball(NamedTuple):
    """A kind of ball: its bound beyond max c, in floats; that on intervals; and its worst member."""

    bound: Callable
    proven: Callable
    tilt: Callable


CURVED = {
    "kullback-leibler": Ball(
        lambda d, p, r, mu: mu[:, 0] * (np.log(np.exp(-d / mu) @ p) + r),
        _entropic,
        lambda d, mu: np.exp(-d / mu),
    ),
    "likelihood": Ball(
        lambda d, p, r, g: g[:, 0] - np.exp(np.log(d + g) @ p - r),
        _above(_likelihood),
        lambda d, g: 1 / (d + g),
    ),
    "hellinger": Ball(
        lambda d, p, r, g: g[:, 0] - (1 - r) ** 2 / ((1 / (d + g)) @ p),
        _above(_hellinger),
        lambda d, g: 1 / (d + g) ** 2,
    ),
    "chi-squared": Ball(
        lambda d, p, r, g: g[:, 0] - (np.sqrt(d + g) @ p) ** 2 / (1 + r),
        _above(_chi_squared),
        lambda d, g: 1 / np.sqrt(d + g),
    ),
}


def _polyhedral(F, c):
    """The largest c·P over a polytope, exactly for rational c."""
    if F.kind == "wasserstein":
        return _moved(F, c)
    order = sorted(range(F.cells), key=lambda x: c[x])
    if F.kind == "total-variation":
        left, P = F.radius, list(F.center)
        for x in order[:-1]:
            taken = min(P[x], left)
            P[x], left = P[x] - taken, left - taken
            P[order[-1]] += taken
    else:
        ends = F.wide_ends()
        P, left = [low for low, _ in ends], 1 - sum(low for low, _ in ends)
        for x in reversed(order):
            taken = min(ends[x][1] - P[x], left)
            P[x], left = P[x] + taken, left - taken
    if not isinstance(c[0], Fraction):
        P = list(map(float, P))
    return sum(x * w for x, w in zip(c, P, strict=True))


def _moved(F, c):
    """μr + Σ_x p_x max_z (c_z − μ d(x, z)), least at a break-point of one of its terms, or at 0."""
    exact = isinstance(c[0], Fraction)
    cast = Fraction if exact else float
    p, d = list(map(cast, F.center)), [list(map(cast, row)) for row in F.distance]

    def at(mu):
        most = (max(y - mu * far for y, far in zip(c, row, strict=True)) for row in d)
        return mu * cast(F.radius) + sum(w * m for w, m in zip(p, most, strict=True))

    breaks = {c[0] * 0}
    for row in d:
        for (y, near), (other, far) in itertools.permutations(zip(c, row, strict=True), 2):
            if other > y and far > near:
                breaks.add((other - y) / (far - near))
    found = sorted(breaks)
    low, high = 0, len(found) - 1
    while low < high:  # convex in μ
        middle = (low + high) // 2
        low, high = (low, middle) if at(found[middle]) <= at(found[middle + 1]) else (middle + 1, high)
    return at(found[low])
