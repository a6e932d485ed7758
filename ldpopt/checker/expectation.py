"""Expectations under a Dirichlet prior: the points and weights of the discretised utility."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from operator import mul


def prior_points(alpha: Sequence[float], epsilon: float) -> tuple[list[list[float]], list[float]]:
    """Points and weights for expectations under Dirichlet(α), the same on every machine to rounding.

    Up to five values Gauss rules for the beta variables of stick-breaking, beyond fixed random draws.
    Then the weights are calibrated (as in survey sampling) such that Σ_x E log(1 + β P_x), on which the
    utility of randomised response rests, is exact for β = e^δ − 1 with δ = ε, ε/2, ε/4, and up to eight
    values also its like for pairs and triples of values.
    """
    points, weights = _raw_points(alpha)
    singles = [(1, math.expm1(epsilon / divisor)) for divisor in (1, 2, 4)]
    larger = [(m, math.expm1(epsilon)) for m in (2, 3) if m <= len(alpha) // 2 and len(alpha) <= 8]
    for controls in (singles + larger, singles, singles[:1]):
        rows = [[_set_sum(p, m, beta) for m, beta in controls] for p in points]
        exact = [_expected_sum(alpha, m, beta) for m, beta in controls]
        calibrated = _calibrated(weights, rows, exact)
        if min(calibrated) > 0:
            return points, calibrated
    return points, weights


def _raw_points(alpha: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    k = len(alpha)
    if k > 5:
        count = 96 if k <= 8 else 24
        return list(_draws(alpha, count)), [1 / count] * count
    order = {2: 60, 3: 12, 4: 6, 5: 4}[k]
    points: list[tuple[list[float], float, float]] = [([], 1.0, 1.0)]
    for x in range(k - 1):
        rule = _gauss_beta(alpha[x], math.fsum(alpha[x + 1 :]), order)
        points = [([*p, left * z], left * (1 - z), w * v) for p, left, w in points for z, v in rule]
    return [[*p, left] for p, left, _ in points], [w for _, _, w in points]


def _set_sum(p: Sequence[float], m: int, beta: float) -> float:
    """Σ log(1 + β p(S)) over the sets S of size m."""
    return math.fsum(math.log1p(beta * math.fsum(S)) for S in combinations(p, m))


def _expected_sum(alpha: Sequence[float], m: int, beta: float) -> float:
    """Σ E log(1 + β P(S)) over the sets S of size m; P(S) is Beta(α(S), A − α(S))."""
    A, counts = math.fsum(alpha), Counter(math.fsum(S) for S in combinations(alpha, m))
    return math.fsum(n * expected_log((a, A - a), (1 + beta, 1.0)) for a, n in counts.items())


def _calibrated(weights: list[float], rows: list[list[float]], exact: list[float]) -> list[float]:
    """Weights w_i (1 + λ·(f_i − mean)) under which the means of the rows f_i are exact."""
    size = range(len(exact))
    mean = [math.fsum(w * row[a] for w, row in zip(weights, rows, strict=True)) for a in size]
    centred = [[row[a] - mean[a] for a in size] for row in rows]
    table = [
        [math.fsum(w * f[a] * f[b] for w, f in zip(weights, centred, strict=True)) for b in size]
        + [exact[a] - mean[a]]
        for a in size
    ]
    factors = _solved(table)
    return [w * (1 + sum(map(mul, factors, f))) for w, f in zip(weights, centred, strict=True)]


def _solved(table: list[list[float]]) -> list[float]:
    """Gauss–Jordan elimination of [A | b]."""
    size = len(table)
    for i in range(size):
        best = max(range(i, size), key=lambda r: abs(table[r][i]))
        table[i], table[best] = table[best], table[i]
        pivot = table[i][i] or 1e-300
        table[i] = [entry / pivot for entry in table[i]]
        for r in range(size):
            if r != i:
                factor = table[r][i]
                table[r] = [a - factor * b for a, b in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


def _gauss_beta(a: float, b: float, order: int) -> list[tuple[float, float]]:
    """Gauss quadrature for Beta(a, b): eigenvalues of the Jacobi matrix by bisection."""
    A, B = b - 1, a - 1
    diagonal, off = [(B - A) / (A + B + 2)], [0.0]
    for n in range(1, order):
        s = 2 * n + A + B
        diagonal.append((B * B - A * A) / (s * (s + 2)))
        ratio = 1.0 if n == 1 else (n + A + B) / (s - 1)
        off.append(4 * n * (n + A) * (n + B) * ratio / (s * s * (s + 1)))
    return [_gauss_node(diagonal, off, index) for index in range(order)]


def _gauss_node(diagonal: list[float], off: list[float], index: int) -> tuple[float, float]:
    low, high = -1.0, 1.0
    for _ in range(60):
        middle, d, below = (low + high) / 2, 1.0, 0
        for a, b in zip(diagonal, off, strict=True):
            d = a - middle - b / (d or 1e-300)
            below += d < 0
        low, high = (low, middle) if below > index else (middle, high)
    x, previous, p, total = (low + high) / 2, 0.0, 1.0, 1.0
    for n in range(len(diagonal) - 1):
        following = (x - diagonal[n]) * p - math.sqrt(off[n]) * previous
        previous, p = p, following / math.sqrt(off[n + 1])
        total += p * p
    return (1 + x) / 2, 1 / total


def _draws(alpha: Sequence[float], count: int) -> Iterator[list[float]]:
    """Dirichlet draws from the uniform numbers of Python's generator with seed 0."""
    uniform = random.Random(0).random
    for _ in range(count):
        gammas = [_gamma(a, uniform) for a in alpha]
        yield [g / math.fsum(gammas) for g in gammas]


def _gamma(alpha: float, uniform: Callable[[], float]) -> float:
    """A Gamma(α) draw by the method of Marsaglia and Tsang 2000."""
    if alpha < 1:
        boost = float((1 - uniform()) ** (1 / alpha))
        return max(boost * _gamma(alpha + 1, uniform), 1e-200)
    d = alpha - 1 / 3
    while True:
        radius = math.sqrt(-2 * math.log(1 - uniform()))
        normal = radius * math.cos(2 * math.pi * uniform())
        v = (1 + normal / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(1 - uniform()) < normal * normal / 2 + d - d * v + d * math.log(v):
            return d * v


def expected_log(alpha: Sequence[float], v: Sequence[float]) -> float:
    """E log(v·P) = ∫ ((1+t)^−A − Π (1 + t v_x)^−α_x) dt/t for v ≥ 1, the trapezoidal rule in log t."""
    A, total = math.fsum(alpha), 0.0
    for step in range(-160, 160 + int(160 / min(A, 1.0))):
        u = step / 4
        grow = A * _log1pexp(u)
        form = math.fsum(a * _log1pexp(u + math.log(w)) for a, w in zip(alpha, v, strict=True))
        total -= math.exp(-grow) * math.expm1(grow - form)
    return total / 4


def _log1pexp(x: float) -> float:
    return x if x > 40 else math.log1p(math.exp(x))


def leakage(alpha: Sequence[float], v: Sequence[float]) -> float:
    """Σ_x m_x v_x (log v_x − E' log(v·P)), E' under α + e_x, m the mean: what a column tells about X."""
    A, total = math.fsum(alpha), 0.0
    for x, (a, w) in enumerate(zip(alpha, v, strict=True)):
        raised = [b + (x == z) for z, b in enumerate(alpha)]
        total += a / A * w * (math.log(w) - expected_log(raised, v))
    return total


def expected_entropy(alpha: Sequence[float]) -> float:
    """H(X | P) = −Σ_x m_x E' log P_x, through E' log P_x = ψ(α_x + 1) − ψ(A + 1)."""
    A = math.fsum(alpha)
    return _digamma(A + 1) - math.fsum(a / A * _digamma(a + 1) for a in alpha)


def _digamma(x: float) -> float:
    shift = 0.0
    while x < 20:
        shift, x = shift - 1 / x, x + 1
    s = 1 / (x * x)
    return shift + math.log(x) - 0.5 / x - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240)))
