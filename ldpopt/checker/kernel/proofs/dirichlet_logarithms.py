"""Enclose expectations of logarithms under a Dirichlet prior: what a report leaks, and H(X | P).

For a set S of inputs B = P(S) is Beta(a, b), a = α(S), a + b = A. A column with entries E = 1 + c on S
and 1 elsewhere leaks

    ℓ = E[Σ_x P_x v_x log(v_x/(v·P))] = (a/A) E (log E − L₁) − (b/A) L₀,

L₁ = E log(1 + cB) under Beta(a + 1, b), L₀ under Beta(a, b + 1): P_x tilts the prior to α + e_x. The
prior itself is their mixture: E log(1 + cB) = (a/A) L₁ + (b/A) L₀.

Lemma (integral). For B ~ Beta(a', b') and Â = a' + b', E log(1 + cB) = ∫ f(u) du over the reals, with t
= e^u, f = (1 + t)^−Â − (1 + t)^−b' (1 + Et)^−a'. Proof. With independent gamma variables G, P = G/ΣG
and log(v·P) = log(v·G) − log ΣG; log r = ∫ (e^−t − e^−tr) dt/t, and E e^(−t v·G) = Π (1 + t v_x)^−α_x.
∎

Lemma (trapezoidal rule). |h Σ_n f(nh) − ∫ f| ≤ 2M/(e^(π²/h) − 1), M = min(a'c(1 + 1/Â), 3 + 2
log⁺(a'c)). Proof. f is analytic for |Im u| < π. For |Im u| ≤ π/2, w = e^u has Re w ≥ 0, so |1 + w|² ≥ 1
+ t², and z = (1 + w)/(1 + Ew) has |z| ≤ 1 and |log z| ≤ ∫_1^E |w/(1 + sw)| ds ≤ c t/√(1 + t²). |1 −
z^a'| is at most 2, and at most a' |log z| (Re log z ≤ 0). So |f| ≤ (1 + t²)^(−Â/2) min(2, a'c t/√(1 +
t²)), whose integral over du = dt/t is at most both terms of M if Â ≥ 1: ∫_0^1 a'c dt + ∫_1^∞ a'c
t^(−Â−1) dt, and, split at t₀ = min(1, 1/(a'c)) and 1, a'c t₀ + 2 log(1/t₀) + 2/Â. The bound is that of
the trapezoidal rule for functions that are analytic in a strip (Trefethen and Weideman 2014, Theorem
5.1). ∎

Lemma (tails). On the reals 0 ≤ f ≤ a'c t and f ≤ min(1, a'c) t^−Â, so the terms with n < −n₀ add at
most a'c e^(−n₀h), those with n > n₁ at most min(1, a'c) e^(−Ân₁h)/Â, as h/(e^h − 1) ≤ 1. ∎
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ..arithmetic import ONE, Interval, enclose, exp, log, total
from ..budget import tick
from .gamma_function import digamma

STEPS = 4
"""Nodes of the trapezoidal rule per unit of u: h = 1/STEPS."""
TRAPEZOID = Interval(Decimal(0), Decimal("1.5e-17"))
"""2/(e^(π²/h) − 1) = 2/(e^39.478… − 1) < 1.5e-17 at h = 1/4."""
REACH = 42
"""The sum stops where its terms are near e^−42 = 6e-19 of their scale; what is left out is added."""


class Node(NamedTuple):
    """What a node needs for every a and b of one sum: logarithms and their exponentials."""

    log_one: Interval
    log_high: Interval
    per_one: Interval
    per_high: Interval


class Nodes(NamedTuple):
    """The nodes for one ratio and one Â, with Σ (1 + t)^−Â."""

    nodes: list[Node]
    first: int
    last: int
    base: Interval


@lru_cache(maxsize=1024)
def _node(n: int) -> tuple[Interval, Interval, Interval]:
    """Enclose t = e^(nh), log(1 + t) and 1/(1 + t)."""
    t = exp(Fraction(n, STEPS))
    return t, (ONE + t).log(), ONE / (ONE + t)


@lru_cache(maxsize=16)
def _nodes(A: Fraction, c: Fraction) -> Nodes:
    """Tabulate the nodes for priors of total A, whose tilted versions have Â = A + 1."""
    raised = A + 1
    scale = max(float(raised * c), 1.0)
    first = -STEPS * (REACH + math.ceil(math.log(scale)))
    last = math.ceil(STEPS * REACH / float(raised))
    nodes, base = [], []
    for n in range(first, last + 1):
        tick()
        t, log_one, per_one = _node(n)
        high = ONE + enclose(1 + c) * t
        nodes.append(Node(log_one, high.log(), per_one, ONE / high))
        base.append((-(enclose(raised) * log_one)).exp())
    return Nodes(nodes, first, last, total(base))


@lru_cache(maxsize=4096)
def tilted_logs(a: Fraction, b: Fraction, c: Fraction) -> tuple[Interval, Interval]:
    """Enclose L₁ and L₀: E log(1 + cB) under Beta(a + 1, b) and Beta(a, b + 1).

    Args:
        a: α(S) > 0.
        b: A − α(S) > 0.
        c: E − 1 > 0, the contrast of the column.
    """
    tick()
    table = _nodes(a + b, c)
    A, B = enclose(a), enclose(b)
    high, low = [], []
    for node in table.nodes:
        product = (-(B * node.log_one + A * node.log_high)).exp()
        high.append(product * node.per_high)
        low.append(product * node.per_one)
    step = enclose(Fraction(1, STEPS))
    return (
        step * (table.base - total(high)) + _error(a + 1, a + b + 1, c, table),
        step * (table.base - total(low)) + _error(a, a + b + 1, c, table),
    )


def _error(a: Fraction, raised: Fraction, c: Fraction, table: Nodes) -> Interval:
    """Enclose what the sum may miss: the tails, and the error of the trapezoidal rule."""
    scale = a * c
    logarithmic = 3 + 2 * Fraction(log(scale).high) if scale > 1 else Fraction(3)
    M = min(scale * (1 + 1 / raised), logarithmic)
    off = (TRAPEZOID * enclose(M)).high
    left = enclose(scale) * exp(Fraction(table.first, STEPS))
    right = enclose(min(Fraction(1), scale) / raised) * exp(-raised * Fraction(table.last, STEPS))
    return Interval(off.copy_negate(), (left + right + enclose(off)).high)


def expected_log(a: Fraction, b: Fraction, c: Fraction) -> Interval:
    """Enclose E log(1 + cB), B ~ Beta(a, b).

    Args:
        a: α(S) > 0.
        b: A − α(S) > 0.
        c: E − 1 > 0, the contrast of the column.
    """
    high, low = tilted_logs(a, b, c)
    share = enclose(a / (a + b))
    return share * high + (ONE - share) * low


def leakage(a: Fraction, b: Fraction, c: Fraction) -> Interval:
    """Enclose ℓ of a column that is 1 + c on a set with α(S) = a and 1 elsewhere.

    Args:
        a: α(S) > 0.
        b: A − α(S) > 0.
        c: E − 1 > 0, the contrast of the column.
    """
    high, low = tilted_logs(a, b, c)
    E = 1 + c
    return enclose(a / (a + b) * E) * (log(E) - high) - enclose(b / (a + b)) * low


def expected_entropy(alpha: Sequence[Fraction]) -> Interval:
    """Enclose H(X | P) = ψ(A + 1) − Σ_x (α_x/A) ψ(α_x + 1)."""
    A = sum(alpha, Fraction(0))
    counts = {a: alpha.count(a) for a in alpha}
    own = total(enclose(n * a / A) * digamma(a + 1) for a, n in counts.items())
    return digamma(A + 1) - own
