"""Enclose expectations of logarithms under a Dirichlet prior: what a report leaks, and H(X | P).

A column v of a mechanism, A = Σ α, leaks

    ℓ(v) = E[Σ_x P_x v_x log(v_x/(v·P))] = Σ_x v_x ∂_x,   ∂_x = (α_x/A) (log v_x − L_x),

L_x = E log(v·P) under Dirichlet(α + e_x), to which P_x tilts the prior. The prior itself is the mixture
of these: E log(v·P) = Σ_x (α_x/A) L_x. Lemma (slopes). ∂_x is the derivative of ℓ by v_x, and ℓ(v) ≥
∂(u)·v for all u, v > 0. Proof. E Σ P_x v_x (log v_x − log(v·P)) has the derivative E P_x (log v_x + 1 −
log(v·P) − 1). For every P the sum is convex and homogeneous in v, so ℓ is, and lies above its tangents,
which pass through 0. ∎

Lemma (integral). For v ≥ 1, P ~ Dirichlet(α') and Â = Σ α', E log(v·P) = ∫ f(u) du over the reals, with
t = e^u, f = (1 + t)^−Â − Π_x (1 + v_x t)^−α'_x. Proof. With independent gamma variables G, P = G/ΣG and
log(v·P) = log(v·G) − log ΣG; log r = ∫ (e^−t − e^−tr) dt/t, and E e^(−t v·G) = Π (1 + t v_x)^−α'_x. ∎

Lemma (trapezoidal rule). With s = Σ α'_x (v_x − 1), |h Σ_n f(nh) − ∫ f| ≤ 2M/(e^(π²/h) − 1), M = min(s
(1 + 1/Â), 3 + 2 log⁺ s), if Â ≥ 1. Proof. f is analytic for |Im u| < π. For |Im u| ≤ π/2, w = e^u has
Re w ≥ 0, so |1 + w|² ≥ 1 + t², and z_x = (1 + w)/(1 + v_x w) has |z_x| ≤ 1 and |log z_x| ≤ ∫_1^(v_x)
|w/(1 + rw)| dr ≤ (v_x − 1) t/√(1 + t²). So |1 − Π z_x^α'_x| is at most 2, and at most Σ α'_x |log z_x|
(Re log z_x ≤ 0). So |f| ≤ (1 + t²)^(−Â/2) min(2, s t/√(1 + t²)), whose integral over du = dt/t is at
most both terms of M: ∫_0^1 s dt + ∫_1^∞ s t^(−Â−1) dt, and, split at t₀ = min(1, 1/s) and 1, s t₀ + 2
log(1/t₀) + 2/Â. The bound is that of the trapezoidal rule for functions that are analytic in a strip
(Trefethen and Weideman 2014, Theorem 5.1). ∎

Lemma (tails). On the reals 0 ≤ f ≤ s t and f ≤ min(1, s) t^−Â, so the terms with n < −n₀ add at most
s e^(−n₀h), those with n > n₁ at most min(1, s) e^(−Ân₁h)/Â, as h/(e^h − 1) ≤ 1. ∎

Lemma (rest). ℓ is subadditive, and 0 at constant columns; ℓ(1_x) = E P_x log(1/P_x) ≤ 1/e < 0.37. So a
column t v + e, e ≥ 0, leaks at most t ℓ(v) + 0.37 Σ e. ∎
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ..arithmetic import ONE, ZERO, Interval, enclose, exp, log, total
from ..budget import tick
from .gamma_function import digamma

STEPS = 4
"""Nodes of the trapezoidal rule per unit of u: h = 1/STEPS."""
TRAPEZOID = Interval(Decimal(0), Decimal("1.5e-17"))
"""2/(e^(π²/h) − 1) = 2/(e^39.478… − 1) < 1.5e-17 at h = 1/4."""
REACH = 42
"""The sum stops where its terms are near e^−42 = 6e-19 of their scale; what is left out is added."""


Group = tuple[Fraction, Fraction]
"""(v_x − 1, Σ α_x) of inputs with the same entry of a column."""
Node = tuple[Interval, Interval]
"""log(1 + t v_x) and 1/(1 + t v_x)."""


class Nodes(NamedTuple):
    """The nodes n = first … last of a sum, with Σ (1 + t)^−Â."""

    first: int
    last: int
    base: Interval


@lru_cache(maxsize=1024)
def _power(n: int) -> Interval:
    """Enclose t = e^(nh)."""
    return exp(Fraction(n, STEPS))


@lru_cache(maxsize=256)
def _entries(excess: Fraction, first: int, last: int) -> list[Node]:
    """Tabulate what the nodes need for one entry 1 + excess of a column."""
    found, entry = [], enclose(1 + excess)
    for n in range(first, last + 1):
        tick()
        high = ONE + entry * _power(n)
        found.append((high.log(), ONE / high))
    return found


@lru_cache(maxsize=64)
def _nodes(A: Fraction, reach: int) -> Nodes:
    """List the nodes for priors of total A, whose tilted versions have Â = A + 1."""
    raised = A + 1
    first, last = -STEPS * reach, math.ceil(STEPS * REACH / float(raised))
    logs = (log for log, _ in _entries(Fraction(0), first, last))
    return Nodes(first, last, total((-(enclose(raised) * log)).exp() for log in logs))


@lru_cache(maxsize=4096)
def tilted_logs(groups: tuple[Group, ...]) -> list[Interval]:
    """Enclose E log(v·P) under Dirichlet(α + e_x), for an input x of each group.

    Args:
        groups: the inputs by their entries of the column, the least entries first.
    """
    tick()
    A, largest = sum((a for _, a in groups), Fraction(0)), groups[-1][0]
    table = _nodes(A, REACH + math.ceil(math.log(max(float((A + 1) * largest), 1.0))))
    columns = [_entries(excess, table.first, table.last) for excess, _ in groups]
    weights, sums = [enclose(a) for _, a in groups], [ZERO] * len(groups)
    for nodes in zip(*columns, strict=True):
        product = (-total(a * log for a, (log, _) in zip(weights, nodes, strict=True))).exp()
        sums = [own + product * share for own, (_, share) in zip(sums, nodes, strict=True)]
    step, spread = enclose(Fraction(1, STEPS)), sum((a * c for c, a in groups), Fraction(0))
    return [
        step * (table.base - own) + _error(spread + c, A + 1, table)
        for own, (c, _) in zip(sums, groups, strict=True)
    ]


def _error(spread: Fraction, raised: Fraction, table: Nodes) -> Interval:
    """Enclose what the sum may miss: the tails, and the error of the trapezoidal rule; s and Â."""
    logarithmic = 3 + 2 * Fraction(log(spread).high) if spread > 1 else Fraction(3)
    M = min(spread * (1 + 1 / raised), logarithmic)
    off = (TRAPEZOID * enclose(M)).high
    left = enclose(spread) * exp(Fraction(table.first, STEPS))
    right = enclose(min(Fraction(1), spread) / raised) * exp(-raised * Fraction(table.last, STEPS))
    return Interval(off.copy_negate(), (left + right + enclose(off)).high)


def expected_log(a: Fraction, b: Fraction, c: Fraction) -> Interval:
    """Enclose E log(1 + cB), B ~ Beta(a, b): a column that is 1 + c on a set and 1 elsewhere.

    Args:
        a: α of the set, above 0.
        b: A − a > 0.
        c: above 0.
    """
    low, high = tilted_logs(((Fraction(0), b), (c, a)))
    share = enclose(a / (a + b))
    return share * high + (ONE - share) * low


def leakage_slopes(column: Sequence[Fraction], alpha: Sequence[Fraction]) -> list[Interval]:
    """Enclose the derivatives ∂_x of ℓ at a column with entries of at least 1.

    Args:
        column: the entries.
        alpha: α.
    """
    parts: dict[Fraction, Fraction] = {}
    for v, a in zip(column, alpha, strict=True):
        parts[v - 1] = parts.get(v - 1, Fraction(0)) + a
    groups = tuple(sorted(parts.items()))
    logs = {c: log(1 + c) - found for (c, _), found in zip(groups, tilted_logs(groups), strict=True)}
    A = sum(alpha, Fraction(0))
    return [enclose(a / A) * logs[v - 1] for v, a in zip(column, alpha, strict=True)]


def leakage(column: Sequence[Fraction], alpha: Sequence[Fraction]) -> Interval:
    """Enclose ℓ of a column with entries of at least 1.

    Args:
        column: the entries.
        alpha: α.
    """
    slopes = leakage_slopes(column, alpha)
    return total(enclose(v) * slope for v, slope in zip(column, slopes, strict=True))


REST = Fraction(37, 100)
"""At least 1/e, the largest p log(1/p)."""
ALIKE = Fraction(1, 1 << 36)
"""Ratios of entries of a mechanism that differ by this share are rounded to the least of them."""


def leaked_above(columns: Sequence[Sequence[int]], alpha: Sequence[float]) -> Fraction:
    """Bound Σ_y ℓ(W_y) from above by the lemma of the rest; t is the least entry of a column.

    Args:
        columns: whole numbers, positive, all in one unit.
        alpha: α; if all are equal, columns that are renamings of each other are looked at once.
    """
    ratios = sorted({Fraction(entry, min(column)) for column in columns for entry in column})
    rounded, start = {}, Fraction(1)
    for ratio in ratios:
        start = ratio if ratio > start * (1 + ALIKE) else start
        rounded[ratio] = start
    equal, exact = len(set(alpha)) == 1, list(map(Fraction, alpha))
    leaks: dict[tuple[Fraction, ...], Fraction] = {}
    leaked = Fraction(0)
    for column in columns:
        tick()
        t = min(column)
        v = [rounded[Fraction(entry, t)] for entry in column]
        key = tuple(sorted(v) if equal else v)
        if key not in leaks:
            leaks[key] = Fraction(leakage(key, exact).high)
        leaked += t * leaks[key] + REST * (sum(column) - t * sum(v))
    return leaked


def expected_entropy(alpha: Sequence[Fraction]) -> Interval:
    """Enclose H(X | P) = ψ(A + 1) − Σ_x (α_x/A) ψ(α_x + 1)."""
    A = sum(alpha, Fraction(0))
    counts = {a: alpha.count(a) for a in alpha}
    own = total(enclose(n * a / A) * digamma(a + 1) for a, n in counts.items())
    return digamma(A + 1) - own
