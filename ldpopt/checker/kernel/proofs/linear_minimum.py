"""The least value of a linear function over {R : Σ_u q_u²/R_u ≤ r}, bounded from below.

Lemma (:func:`least`). If Σ_u q_u²/R_u ≤ r, then R·c ≥ ν + A²/r, A = Σ_u q_u √(c_u − ν), for
every ν ≤ min c. Proof. R·c = ν + Σ R (c − ν), and A² ≤ Σ q²/R · Σ R (c − ν) by Cauchy–Schwarz. ∎ ν
is guessed in floats; A and the bound are intervals, so cancellation widens them. The same for −c
gives the largest value. Entries with equal c_u count once, with the sum of their q_u
(:func:`alike`): A is the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from ..arithmetic import DOWN, NEAREST, Interval, total

GUESS_STEPS, FAR = 100, 18.0
"""Steps of Newton's method for a level; and minus the logarithm of a reach that counts as none."""


def point(x: Decimal) -> Interval:
    """Return the interval of one number."""
    return Interval(x, x)


def alike(c: Sequence[float | Decimal], q: Sequence[Interval]) -> tuple[list[Decimal], list[Interval]]:
    """Take equal entries of c together, as exact decimals, and add up their q.

    A mechanism that tells little of u has few different entries, however many values u takes.
    """
    shares: dict[float | Decimal, list[Interval]] = {}
    for entry, share in zip(c, q, strict=True):
        shares.setdefault(entry, []).append(share)
    return list(map(Decimal, shares)), [total(part) for part in shares.values()]


def least(
    c: Sequence[Decimal] | Sequence[Interval], q: Sequence[Interval], r: Interval
) -> tuple[Decimal, Decimal, Interval]:
    """Bound R·c over {R : Σ q²/R ≤ r} from below, with its level ν and A.

    Args:
        c: the linear function, exact or enclosed.
        q: the centre, enclosed.
        r: the size of the set, enclosed.
    """
    entries = [point(e) if isinstance(e, Decimal) else e for e in c]
    guess = Level(c, q)
    v = guess.bottom
    if guess.spread > 0:
        height = Decimal(guess.height(float(NEAREST.subtract(r.high, Decimal(1)))))
        v = DOWN.subtract(v, NEAREST.multiply(guess.spread, height))
    level = point(v)
    A = total(w * (e - level).sqrt() for w, e in zip(q, entries, strict=True) if w.high)
    return (level + A * A / r).low, v, A


class Level:
    """A linear function on a set {R : Σ q²/R ≤ r}, in floats: where its level is best. For guesses."""

    def __init__(self, c: Sequence[Decimal] | Sequence[Interval], q: Sequence[Interval]) -> None:
        entries = [e if isinstance(e, Decimal) else e.low for e in c]
        self.bottom = min(entries)
        self.spread = NEAREST.subtract(max(entries), self.bottom)
        scale = self.spread or Decimal(1)
        gaps = [float(NEAREST.divide(NEAREST.subtract(e, self.bottom), scale)) for e in entries]
        weights: dict[float, float] = {}
        for gap, weight in zip(gaps, q, strict=True):
            weights[gap] = weights.get(gap, 0.0) + float(weight.low)
        self.pairs = [(gap, weight) for gap, weight in weights.items() if weight > 0]
        self.last = 0.0

    def height(self, excess: float, near: float = 1e-14) -> float:
        """Find how far below min c the level is best, in spreads: Newton's method, from the last level.

        With R ∝ q/√(gaps + e^t) it is where L(t) = log Σ q²/R is log(1 + excess); log L is almost linear
        far out. With roots u = √(gaps + h), their mean m and Σ q = 1, Σ q u Σ q/u − 1 is the mean of
        (u − m)²/u over m, which does not cancel where the gaps are small beside h.

        Args:
            excess: r − 1.
            near: how close the answer is.
        """
        goal = math.log1p(min(excess, 1e300))
        low, high, t = -60.0, 60.0, self.last
        for _ in range(GUESS_STEPS):
            tension, slope = self._tension(math.exp(t))
            low, high = (t, high) if tension > goal else (low, t)
            newton = math.nan
            if tension > 0 and goal > 0 and slope < 0:
                newton = t - math.log(tension / goal) * tension / slope
            before, t = t, newton if low <= newton <= high else (low + high) / 2
            if abs(t - before) <= near * max(1.0, abs(t)):
                break
        self.last = t
        return math.exp(t)

    def _tension(self, h: float) -> tuple[float, float]:
        """Compute L at t = log h, and its derivative."""
        base = math.sqrt(h)
        roots = [math.sqrt(gap + h) for gap, _ in self.pairs]
        rises = [gap / (root + base) for (gap, _), root in zip(self.pairs, roots, strict=True)]
        mass = mean = zeroth = first = second = 0.0
        for (gap, weight), root, rise in zip(self.pairs, roots, rises, strict=True):
            cubed = weight / (root * root * root)
            mass, mean = mass + weight, mean + weight * rise
            zeroth, first, second = zeroth + cubed, first + cubed * gap, second + cubed * gap * gap
        mean /= mass
        apart = sum(
            weight * (rise - mean) ** 2 / root
            for (_, weight), root, rise in zip(self.pairs, roots, rises, strict=True)
        )
        excess = apart / ((base + mean) * mass)
        return math.log1p(excess), -h / 2 * (zeroth * second - first * first) / (mass * mass + excess)

    def log_reach(self, step: float) -> float:
        """Compute log A², A = Σ q √(c − ν) at the best level ν for r = (1 + step)²."""
        if not self.spread:
            return -FAR
        h = self.height(step * (2 + step), near=1e-7)
        A = sum(weight * math.sqrt(gap + h) for gap, weight in self.pairs)
        return 2 * math.log(A) + math.log(float(self.spread))
