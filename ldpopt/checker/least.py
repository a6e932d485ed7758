"""The least value of a linear function over {R : Σ_u q_u²/R_u ≤ r}, bounded from below.

Lemma (:func:`least`). If Σ_u q_u²/R_u ≤ r, then R·c ≥ ν + A²/r, A = Σ_u q_u √(c_u − ν), for
every ν ≤ min c. Proof. R·c = ν + Σ R (c − ν), and A² ≤ Σ q²/R · Σ R (c − ν) by Cauchy–Schwarz. ∎ ν
is guessed in floats; A and the bound are intervals, so cancellation widens them. The same for −c
gives the largest value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from .arithmetic import DOWN, NEAREST, Interval, total

GUESS_STEPS, FAR = 100, 18.0
"""Steps of Newton's method for a level; and minus the logarithm of a reach that counts as none."""


def point(x: Decimal) -> Interval:
    """Return the interval of one number."""
    return Interval(x, x)


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
        height = Decimal(guess.height(float(r.high)))
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

    def height(self, r: float, near: float = 1e-14) -> float:
        """Find how far below min c the level is best, in spreads: Newton's method, from the last level.

        With R ∝ q/√(gaps + e^t) it is where L(t) = log Σ q²/R is log r; log L is almost linear far out.
        """
        goal = math.log(min(r, 1e300))
        low, high, t = -60.0, 60.0, self.last
        for _ in range(GUESS_STEPS):
            h = math.exp(t)
            up = down = cubes = 0.0
            for gap, weight in self.pairs:
                shifted = gap + h
                root = math.sqrt(shifted)
                up += weight * root
                down += weight / root
                cubes += weight / (root * shifted)
            tension, slope = math.log(up * down), h / 2 * (down / up - cubes / down)
            low, high = (t, high) if tension > goal else (low, t)
            newton = low
            if tension > 0 and goal > 0 and slope < 0:
                newton = t - math.log(tension / goal) * tension / slope
            before, t = t, newton if low < newton < high else (low + high) / 2
            if abs(t - before) <= near * max(1.0, abs(t)):
                break
        self.last = t
        return math.exp(t)

    def log_reach(self, root: float) -> float:
        """Compute log A², A = Σ q √(c − ν) at the best level ν for r = root²."""
        if not self.spread:
            return -FAR
        h = self.height(root * root, near=1e-7)
        A = sum(weight * math.sqrt(gap + h) for gap, weight in self.pairs)
        return 2 * math.log(A) + math.log(float(self.spread))
