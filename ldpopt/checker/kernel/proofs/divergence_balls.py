"""Balls of a divergence around a distribution p, as uncertainty sets: see ``uncertainty_sets.py``.

* ``kullback-leibler``: Σ_x P_x log(P_x/p_x) ≤ ρ;
* ``likelihood``: Σ_x p_x log(p_x/P_x) ≤ ρ;
* ``hellinger``: √(1 − Σ_x √(p_x P_x)) ≤ ρ;
* ``chi-squared``: Σ_x (p_x − P_x)²/P_x ≤ B, with the B of ``confidence_set.py``.

Lemma 1 (:class:`KullbackLeibler`). For every μ > 0, c·P ≥ −μ log Σ_x p_x e^(−c_x/μ) − μ ρ. Proof. With
Q ∝ p e^(−c/μ), 0 ≤ Σ P log(P/Q) = Σ P log(P/p) + c·P/μ + log Σ p e^(−c/μ). ∎ Members have no mass where
p has none.

Lemma 2 (:class:`Smooth`). Let ν < min c, and g = c − ν > 0. Then c·P − ν = Σ_x P_x g_x is at least

    exp(Σ p log g − ρ)          if Σ p log(p/P) ≤ ρ         (likelihood)
    (1 − ρ²)²/Σ (p/g)           if Σ √(pP) ≥ 1 − ρ²         (hellinger)
    (Σ p √g)²/(1 + B)           if Σ p²/P ≤ 1 + B           (chi-squared)

Proof. Jensen: log Σ P g ≥ log Σ_{p>0} p (P g/p) ≥ Σ p log g − Σ p log(p/P). Cauchy–Schwarz: (Σ √(pP))² ≤
Σ P g · Σ p/g, and (Σ p √g)² ≤ Σ p²/P · Σ P g. ∎ Each is an equality at one P, which is a member where it
sums to 1: so the best ν makes the bound exact.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from ..arithmetic import ONE, Interval, enclose, total
from ..budget import tick
from .falling_roots import falling_root
from .uncertainty_sets import Table, UncertaintySet, Witness

FAR = 60.0
"""The logarithm of the largest guess of ν or μ, in spreads of the linear function."""


class KullbackLeibler(UncertaintySet):
    """Lemma 1."""

    def __init__(self, shape: tuple[int, int], center: Table, radius: Fraction) -> None:
        super().__init__(shape, center)
        self.radius = radius
        self.used = [x for x, p in enumerate(center) if p]

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`."""
        if any(p and not q for p, q in zip(P, self.center, strict=True)):
            return False
        return _divergence(P, self.center).at_most(enclose(self.radius))

    def least(self, cost: Sequence[Fraction]) -> Fraction:
        """See :meth:`UncertaintySet.least`."""
        tick()
        bottom = min(cost[x] for x in self.used)
        spread = max(cost[x] for x in self.used) - bottom
        if not spread:
            return bottom
        price = Fraction(self._price([float((cost[x] - bottom) / spread) for x in self.used])) * spread
        tilted = total(
            enclose(self.center[x]) * (-enclose((cost[x] - bottom) / price)).exp() for x in self.used
        )
        found = -(enclose(price) * (tilted.log() + enclose(self.radius)))
        return bottom + max(Fraction(found.low), Fraction(0))

    def _price(self, gaps: list[float]) -> float:
        """Guess μ, in spreads: there the tilted distribution is as far from p as it may be."""
        weights, goal = [self.floats[x] for x in self.used], float(self.radius)

        def over(t: float) -> float:
            steep = math.exp(-t)
            tilt = [w * math.exp(-g * steep) for w, g in zip(weights, gaps, strict=True)]
            mass = math.fsum(tilt)
            mean = sum(map(float.__mul__, tilt, gaps)) / mass
            return math.log(max(-mean * steep - math.log(mass), 1e-300) / goal)

        return math.exp(falling_root(over, -6.5, FAR))

    def worst(self, cost: Sequence[float]) -> Witness:
        """See :meth:`UncertaintySet.worst`."""
        bottom = min(cost[x] for x in self.used)
        spread = max(cost[x] for x in self.used) - bottom
        if spread <= 0:
            return self.home
        price = self._price([(cost[x] - bottom) / spread for x in self.used])
        P = [0.0] * len(cost)
        for x in self.used:
            P[x] = self.floats[x] * math.exp(-(cost[x] - bottom) / spread / price)
        return self.table(_scaled(P))


class Smooth(UncertaintySet):
    """Lemma 2: what is left to say is the bound for one ν, and the member that attains it."""

    @abstractmethod
    def gain(self, gaps: list[Interval]) -> Interval:
        """Bound Σ P g from below; the gaps g are positive."""

    @abstractmethod
    def masses(self, gaps: list[float]) -> list[float]:
        """Compute the P at which Σ P g is the bound, in floats; it may not sum to 1."""

    def least(self, cost: Sequence[Fraction]) -> Fraction:
        """See :meth:`UncertaintySet.least`."""
        tick()
        bottom = min(cost)
        spread = max(cost) - bottom
        if not spread:
            return bottom
        depth = Fraction(self._depth([float((c - bottom) / spread) for c in cost])) * spread
        gaps = [enclose(c - bottom + depth) for c in cost]
        return bottom + max(Fraction(self.gain(gaps).low) - depth, Fraction(0))

    def _depth(self, gaps: list[float]) -> float:
        """Guess how far ν is below min c, in spreads: there the masses sum to 1."""

        def over(t: float) -> float:
            depth = math.exp(t)
            mass = math.fsum(self.masses([g + depth for g in gaps]))
            return math.log(mass) if mass > 0 else -math.inf

        return math.exp(falling_root(over, -FAR, FAR))

    def worst(self, cost: Sequence[float]) -> Witness:
        """See :meth:`UncertaintySet.worst`; what the masses leave goes where the cost is least."""
        bottom = min(cost)
        spread = max(cost) - bottom
        if spread <= 0:
            return self.home
        gaps = [(c - bottom) / spread for c in cost]
        depth = self._depth(gaps)
        P = self.masses([g + depth for g in gaps])
        P[gaps.index(0.0)] += max(0.0, 1 - math.fsum(P))
        return self.table(_scaled(P))


class Likelihood(Smooth):
    """Lemma 2, for Σ p log(p/P) ≤ ρ."""

    def __init__(self, shape: tuple[int, int], center: Table, radius: Fraction) -> None:
        super().__init__(shape, center)
        self.radius = radius
        self.weights = [enclose(p) for p in center]
        self.shrink = math.exp(-float(radius))

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`."""
        if any(q and not p for p, q in zip(P, self.center, strict=True)):
            return False
        return _divergence(self.center, P).at_most(enclose(self.radius))

    def gain(self, gaps: list[Interval]) -> Interval:
        """See :meth:`Smooth.gain`."""
        logs = (w * g.log() for w, g in zip(self.weights, gaps, strict=True) if w.high)
        return (total(logs) - enclose(self.radius)).exp()

    def masses(self, gaps: list[float]) -> list[float]:
        """See :meth:`Smooth.masses`."""
        mean = math.exp(math.fsum(p * math.log(g) for p, g in zip(self.floats, gaps, strict=True)))
        return [self.shrink * mean * p / g for p, g in zip(self.floats, gaps, strict=True)]


class Hellinger(Smooth):
    """Lemma 2, for Σ √(pP) ≥ 1 − ρ²."""

    def __init__(self, shape: tuple[int, int], center: Table, radius: Fraction) -> None:
        super().__init__(shape, center)
        self.overlap = 1 - radius * radius
        self.weights = [enclose(p) for p in center]
        self.square = float(self.overlap * self.overlap)

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`."""
        roots = total(enclose(p * q).sqrt() for p, q in zip(P, self.center, strict=True) if p and q)
        return enclose(self.overlap).at_most(roots)

    def gain(self, gaps: list[Interval]) -> Interval:
        """See :meth:`Smooth.gain`."""
        shares = total(w / g for w, g in zip(self.weights, gaps, strict=True))
        return enclose(self.overlap * self.overlap) / shares

    def masses(self, gaps: list[float]) -> list[float]:
        """See :meth:`Smooth.masses`."""
        shares = [p / g for p, g in zip(self.floats, gaps, strict=True)]
        scale = self.square / math.fsum(shares) ** 2
        return [scale * share / g for share, g in zip(shares, gaps, strict=True)]


class ChiSquared(Smooth):
    """Lemma 2, for Σ p²/P ≤ 1 + B."""

    def __init__(self, shape: tuple[int, int], center: Table, bound: Interval) -> None:
        super().__init__(shape, center)
        self.most = ONE + bound
        self.weights = [enclose(p) for p in center]
        self.size = float(self.most.low)

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`."""
        if any(q and not p for p, q in zip(P, self.center, strict=True)):
            return False
        terms = (enclose(q * q / p) for p, q in zip(P, self.center, strict=True) if q)
        return total(terms).at_most(self.most)

    def gain(self, gaps: list[Interval]) -> Interval:
        """See :meth:`Smooth.gain`."""
        roots = total(w * g.sqrt() for w, g in zip(self.weights, gaps, strict=True))
        return roots * roots / self.most

    def masses(self, gaps: list[float]) -> list[float]:
        """See :meth:`Smooth.masses`."""
        roots = [math.sqrt(g) for g in gaps]
        scale = math.fsum(map(float.__mul__, self.floats, roots)) / self.size
        return [scale * p / root for p, root in zip(self.floats, roots, strict=True)]


def _divergence(P: Table, Q: Table) -> Interval:
    """Enclose Σ P log(P/Q); Q > 0 where P > 0."""
    return total(enclose(p) * enclose(p / q).log() for p, q in zip(P, Q, strict=True) if p)


def _scaled(P: list[float]) -> list[float]:
    mass = math.fsum(P)
    return [p / mass for p in P]
