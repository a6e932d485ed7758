"""What unary encoding and its responses are worth on a box of splits and of κ, to the second order.

Notation of ``unary_encoding.py`` for m secrets: κ, λ, and R > 1 the ratio of their odds, so that λ = κ/D
and 1 − λ = (1 − κ) R/D with D = κ + (1 − κ) R. p(Z) is the probability of a set Z of secrets under p̂.

Lemma 1. The information of the reported set is Σ_o Φ_o(R) b_o over o = 1, …, m − 1 with b_o = (1 − κ)
λ^o (1 − λ)^(m−1−o), Φ_o(R) = Σ_{|Z| = o} φ(p(Z)) and φ(x) = x R log R − (1 + x (R−1)) log(1 + x (R−1)).
Proof. The set Z of o secrets is reported with probability (1 − κ) λ^o (1 − λ)^(m−1−o) = b_o by a secret
outside of it, and with R times that by one inside. So it is reported with probability b_o (1 + x (R−1))
for x = p(Z), and the logarithm of the ratio of the two is −log(1 + x (R−1)) outside and larger by log R
inside; φ(x) b_o is its mean. φ(0) = φ(1) = 0. ∎

Lemma 2. φ rises with R, by x log(R/(1 + x (R−1))), and is convex in R: the second derivative is x (1−x)/
(R (1 + x (R−1))). On the splits g₀ ≤ g ≤ g₁, R = E/g runs from ρ₀ = E/g₁ to ρ₁ = E/g₀; put R = ρ₀ +
θ (ρ₁ − ρ₀). Let l₀ ≥ Φ_o(ρ₀) and l₁ ≥ Φ_o(ρ₁); then Φ_o ≤ L_o = l₀ + θ (l₁ − l₀). The probabilities
that the responses are right lie below lines in g (``response_limits.py``, Lemma 2), in which what they
say is convex and rising: with B₀ at g₀ and B₁ ≥ B₀ at g₁ it is at most B₀ + τ (B₁ − B₀), τ = (g −
g₀)/(g₁ − g₀). g = E/R is convex in R, so τ ≤ 1 − θ. Hence the utility is at most

    V(θ, κ) = Σ_o L_o b_o + κ (B₁ + θ (B₀ − B₁)).                                                    ∎

Lemma 3. The derivative of λ in κ is λ (1−λ)/(κ (1−κ)) and in R it is −λ (1−λ)/R. So

    ∂V/∂κ = Σ_o L_o λ^(o−1) (1−λ)^(m−1−o) (o − (m−1) λ − κ)/D + B₁ + θ (B₀ − B₁),
    ∂V/∂θ = Σ_o b_o (l₁ − l₀ − L_o (o − (m−1) λ) (ρ₁ − ρ₀)/R) + κ (B₀ − B₁),

and on a box V(x) ≤ V(c) + Σ_i max G_i (x_i − c_i) for every point c of it, where G_i encloses the
derivative on the box (mean value theorem). ∎

Lemma 4. Where the sign of G_i is known, V is largest at one end of the i-th side, whatever the other
coordinate; so the box may be replaced by its edge there, and the other derivative be enclosed on that
edge alone. ∎ On a side whose sign stays unknown c is in the middle. (At κ = 1 the derivative in θ is
B₀ − B₁: where the responses are always right on a whole range of splits it is 0, though not nearby.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from ..arithmetic import ONE, ZERO, Interval, above, between, enclose, total
from ..budget import reserve, tick
from ..fixed_point import BITS, UNIT, subset_sums
from ..fixed_point_log import xlogx_above, xlogx_units

Side = tuple[Fraction, Fraction]
"""The least and the greatest number of one coordinate of a box."""


class Ends(NamedTuple):
    """The splits of a box: ρ₀ and ρ₁, the l₀ and l₁ of every o, B₀ and B₁; numbers in units."""

    ratios: tuple[Interval, Interval]
    first: Sequence[int]
    last: Sequence[int]
    reported: tuple[int, int]


class Sets:
    """Φ_o at a split, bounded from above.

    Args:
        secrets: their probabilities in units, rounded down.
        E: e^ε, enclosed.
    """

    def __init__(self, secrets: Sequence[int], E: Interval) -> None:
        reserve(2 ** len(secrets), "the subsets of the secrets")
        self.count, self.E = len(secrets), E
        self.sums = subset_sums(secrets)
        self.weights = cache(self._weights)

    def _weights(self, g: int) -> list[int]:
        """Bound Φ_o for R = E/g and o = 1, …, m − 1 from above, in units.

        φ rises with R, and 1 + x (R−1) ≥ 1 with x, on which z log z rises.
        """
        tick()
        R = -(-(above(self.E) << BITS) // g)
        most = xlogx_above(R)
        found = [0] * (self.count + 1)
        for i, mass in enumerate(self.sums):
            spread = UNIT + (mass * (R - UNIT) >> BITS)
            found[i.bit_count()] += ((mass + self.count) * most >> BITS) + 1 - xlogx_units(spread)
        return found[1:-1]

    def ends(self, low: int, high: int, reported: tuple[int, int]) -> Ends:
        """Collect what is known at the ends of a range of splits.

        Args:
            low: g₀, in units.
            high: g₁, in units.
            reported: B₀ and B₁, in units.
        """
        ratios = self.E / _exact(high), self.E / _exact(low)
        first, last = reported
        return Ends(ratios, self.weights(high), self.weights(low), (first, max(first, last)))


def most(ends: Ends, least: int, greatest: int) -> Interval:
    """Bound the utility where κ is between two numbers, from above: Lemmas 3 and 4.

    Args:
        ends: the ends of the splits.
        least: the least κ, in units.
        greatest: the greatest.
    """
    sides = [(Fraction(0), Fraction(1)), (Fraction(least, UNIT), Fraction(greatest, UNIT))]
    slopes = _Box(ends, *sides).slopes()
    edges = [_edge(slope, side) for slope, side in zip(slopes, sides, strict=True)]
    if edges != sides:
        slopes = _Box(ends, *edges).slopes()
        edges = [_edge(slope, side) for slope, side in zip(slopes, edges, strict=True)]
    middles = [(low + high) / 2 for low, high in edges]
    found = _Box(ends, *((c, c) for c in middles)).value()
    for slope, (low, high), c in zip(slopes, edges, middles, strict=True):
        rise = max((slope * enclose(low - c)).high, (slope * enclose(high - c)).high)
        found = found + Interval(rise, rise)
    return found


def _edge(slope: Interval, side: Side) -> Side:
    """Return the end of a side at which V is largest, or all of the side if that is not known."""
    low, high = side
    if slope.low >= 0:
        return high, high
    return (low, low) if slope.high <= 0 else side


class _Box:
    """V and its derivatives, enclosed on a box of θ and κ."""

    def __init__(self, ends: Ends, theta: Side, kappa: Side) -> None:
        (t0, t1), (k0, k1) = theta, kappa
        low, high = ends.ratios
        self.width = high - low
        self.theta, self.kappa = _hull(t0, t1), _hull(k0, k1)
        self.R = low + self.theta * self.width
        ratios = low + enclose(t0) * self.width, low + enclose(t1) * self.width
        inner, outer = _share(ratios[1], k0), _share(ratios[0], k1)
        self.lam = Interval(max(inner.low, ZERO.low), outer.high)
        self.other = ONE - self.lam
        corners = [_spread(R, kappa) for R in ratios for kappa in (k0, k1)]
        self.D = Interval(min(D.low for D in corners), max(D.high for D in corners))
        self.count = len(ends.first) + 1  # m
        self.rises = [_exact(b - a) for a, b in zip(ends.first, ends.last, strict=True)]
        self.L = [_exact(a) + self.theta * rise for a, rise in zip(ends.first, self.rises, strict=True)]
        first, last = map(_exact, ends.reported)
        self.fall = first - last
        self.C = last + self.theta * self.fall
        powers, others = [ONE], [ONE]
        for _ in self.L:
            powers.append(powers[-1] * self.lam)
            others.append(others[-1] * self.other)
        self.powers, self.others = powers, others[::-1]

    def value(self) -> Interval:
        """Enclose V."""
        return self._silent() * total(self._terms(self.L, 1)) + self.kappa * self.C

    def slopes(self) -> tuple[Interval, Interval]:
        """Enclose the derivatives in θ and κ."""
        m, lam = enclose(self.count - 1), self.lam
        apart = [enclose(o) - m * lam for o in range(1, self.count)]
        scale = self.width / self.R
        tilted = [rise - L * a * scale for rise, L, a in zip(self.rises, self.L, apart, strict=True)]
        turned = [L * (a - self.kappa) for L, a in zip(self.L, apart, strict=True)]
        in_theta = self._silent() * total(self._terms(tilted, 1)) + self.kappa * self.fall
        in_kappa = total(self._terms(turned, 0)) / self.D + self.C
        return in_theta, in_kappa

    def _silent(self) -> Interval:
        return ONE - self.kappa

    def _terms(self, weights: list[Interval], more: int) -> list[Interval]:
        """List weight · λ^(o−1+more) (1−λ)^(m−1−o) for o = 1, …, m − 1."""
        return [weight * self.powers[i + more] * self.others[i + 1] for i, weight in enumerate(weights)]


def _exact(units: int) -> Interval:
    return between(units, units)


def _hull(low: Fraction, high: Fraction) -> Interval:
    return Interval(enclose(low).low, enclose(high).high)


def _spread(R: Interval, kappa: Fraction) -> Interval:
    """Enclose D, which is linear in R and in κ: on a box it is largest and least at corners."""
    return enclose(kappa) + enclose(1 - kappa) * R


def _share(R: Interval, kappa: Fraction) -> Interval:
    """Enclose λ, which falls with R and rises with κ."""
    return enclose(kappa) / _spread(R, kappa)
