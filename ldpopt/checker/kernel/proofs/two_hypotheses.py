"""Divergences of two hypotheses: their terms, and β·v ≥ g(v) for g(v) = q1 f(q0/q1), f convex.

Lemma 3 (divergences, :class:`DivergenceSearch`). g(v) = q1 f(q0/q1) with f convex, q0/q1 between the
extreme ratios of entries. If A + B t ≥ f(t) at both ends of an interval, then on all of it, and there
g(v) − β·v ≤ Σ_x (A p1_x + B p0_x − β_x) v_x, which is largest entry by entry. ∎  Intervals are halved
until they are done.
:class:`Divergence` holds f, and q1 f(q0/q1) for a column with the masses q0 and q1:

* kl: t log t; total-variation: |t − 1|/2; chi-squared: (t − 1)²; hellinger: (√t − 1)²;
* renyi of order α: (t^α − t)/(α − 1), convex as its second derivative α t^(α−2) is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ..arithmetic import ONE, ZERO, Interval, above, below, enclose, log
from ..budget import UndecidedError, tick
from ..fixed_point import BITS, UNIT, dot, units_down, units_up
from .private_cone import Box

MOST_NODES = 2_000_000
NARROWEST = 1 << (BITS - 150)
"""An interval of ratios that is not decided at this width is too close to tell."""


class Divergence(NamedTuple):
    """A divergence Σ_y q1 f(q0/q1) by its name; ``order`` is for renyi alone."""

    name: str
    order: float | None = None

    def f(self, t: Fraction) -> Interval:
        """Enclose f(t), t > 0."""
        return self.of_masses(t, Fraction(1))

    def of_masses(self, q0: Fraction, q1: Fraction) -> Interval:
        """Enclose q1 f(q0/q1) for exact masses; a column with q1 = 0 counts as 0."""
        if q1 == 0 or (q0 == 0 and self.name in ("kl", "renyi")):
            return ZERO
        if self.name == "total-variation":
            return enclose(abs(q0 - q1) / 2)
        if self.name == "chi-squared":
            return enclose((q0 - q1) ** 2 / q1)
        if self.name == "hellinger":
            found = enclose(q0 + q1) - enclose(2) * enclose(q0 * q1).sqrt()
            return Interval(max(found.low, ZERO.low), max(found.high, ZERO.high))
        ratio = log(q0 / q1)
        if self.order is None:
            return enclose(q0) * ratio
        power = enclose(Fraction(self.order) - 1)
        return enclose(q0) * ((power * ratio).exp() - ONE) / power


class DivergenceSearch:
    """Lemma 3: q1 f(q0/q1) − β·v ≤ 0 on all corners of a box."""

    def __init__(
        self,
        dual: Sequence[Fraction],
        rows: Sequence[Sequence[Fraction]],
        box: Box,
        powers: list[Interval],
        divergence: Divergence,
    ) -> None:
        self.rows, self.divergence, self.dual = rows, divergence, dual
        self.box, self.E = box, Fraction(powers[1].low)
        self.beta = [units_down(b) for b in dual]
        self.shares = [[(units_up(p), units_down(p)) for p in row] for row in rows]
        self.low = [below(powers[i]) for i in box.low]
        self.high = [above(powers[j]) for j in box.high]
        self.widest = max(self.high) * UNIT // min(self.low) + 1

    def holds(self) -> bool | None:
        """Halve the range of the ratio until lines above f prove it."""
        pending = [(UNIT * UNIT // self.widest, UNIT), (UNIT, self.widest)]
        found: bool | None = True
        for _ in range(MOST_NODES):
            if not pending:
                return found
            tick()
            r, s = pending.pop()
            excess, corner = self._bound(r, s)
            if excess <= 0:
                continue
            if (s - r) * 256 <= r and self._positive(corner):
                return False
            if s - r <= NARROWEST:
                found = None
                continue
            pending += [(r, (r + s) // 2), ((r + s) // 2, s)]
        raise UndecidedError(f"not decided within {MOST_NODES} nodes")

    def _bound(self, r: int, s: int) -> tuple[int, set[int]]:
        """Compute the bound of Lemma 3 where the ratio is in [r, s], in units², and where v is high."""
        at_r, at_s = self._f_above(r), self._f_above(s)
        B = (at_s - at_r) * UNIT // (s - r)
        A = max(at_r - (B * r >> BITS), at_s - (B * s >> BITS)) + 1
        excess, corner = 0, set()
        for x, ((p0, least_p0), (p1, least_p1), b, low, high) in enumerate(
            zip(*self.shares, self.beta, self.low, self.high, strict=True)
        ):
            c = A * (p1 if A > 0 else least_p1) + B * (p0 if B > 0 else least_p0) - b * UNIT
            if c > 0:
                corner.add(x)
            excess += c * (high if c > 0 else low)
        return excess, corner

    def _f_above(self, t: int) -> int:
        """Bound f(t/2^BITS) from above, in units."""
        return above(self.divergence.f(Fraction(t, UNIT)))

    def _positive(self, corner: set[int]) -> bool:
        """Return whether the inequality certainly fails at a corner."""
        v = self.box.corner(corner, self.E)
        q0, q1, paid = (dot(row, v) for row in (*self.rows, self.dual))
        return self.divergence.of_masses(q0, q1).low > enclose(paid).high
