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

from ..arithmetic import ONE, ZERO, Interval, above, below, enclose, log, total
from ..budget import UndecidedError, tick
from ..fixed_point import BITS, UNIT, units_down, units_up
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
            return _hellinger(enclose(q0), enclose(q1))
        return self._of_logarithm(enclose(q0), log(q0 / q1))

    def term(self, q0: Interval, q1: Interval) -> Interval:
        """Enclose q1 f(q0/q1) for q0, q1 > 0."""
        if self.name == "hellinger":
            return _hellinger(q0, q1)
        if self.name == "chi-squared":
            return (q0 - q1) * (q0 - q1) / q1
        if self.name == "total-variation":
            apart, other = q0 - q1, q1 - q0
            least = max(apart.low, other.low, ZERO.low)
            return Interval(least, max(apart.high, other.high)) * enclose(Fraction(1, 2))
        return self._of_logarithm(q0, (q0 / q1).log())

    def _of_logarithm(self, q0: Interval, ratio: Interval) -> Interval:
        """Enclose the term of kl, or of renyi, for log q0/q1."""
        if self.order is None:
            return q0 * ratio
        power = enclose(Fraction(self.order) - 1)
        return q0 * ((power * ratio).exp() - ONE) / power


def _hellinger(q0: Interval, q1: Interval) -> Interval:
    found = q0 + q1 - enclose(2) * (q0 * q1).sqrt()
    return Interval(max(found.low, ZERO.low), max(found.high, ZERO.high))


class DivergenceSearch:
    """Lemma 3: q1 f(q0/q1) − β·v ≤ 0 on all corners of a box."""

    def __init__(
        self,
        beta: list[Interval],
        rows: Sequence[Sequence[Fraction]],
        box: Box,
        powers: list[Interval],
        divergence: Divergence,
    ) -> None:
        self.rows, self.divergence, self.intervals = rows, divergence, beta
        self.beta = [below(b) for b in beta]
        self.shares = [[(units_up(p), units_down(p)) for p in row] for row in rows]
        self.ends = [(powers[i], powers[j]) for i, j in zip(box.low, box.high, strict=True)]
        self.low = [below(low) for low, _ in self.ends]
        self.high = [above(high) for _, high in self.ends]
        self.widest = max(self.high) * UNIT // min(self.low) + 1

    def holds(self) -> bool | None:
        """Halve the range of the ratio until lines above f prove it."""
        unit = UNIT
        pending = [(unit * unit // self.widest, unit), (unit, self.widest)]
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

    def _bound(self, r: int, s: int) -> tuple[int, list[bool]]:
        """Compute the bound of Lemma 3 where the ratio is in [r, s], in units², and where v is high."""
        unit = UNIT
        at_r, at_s = self._f_above(r), self._f_above(s)
        B = (at_s - at_r) * unit // (s - r)
        A = max(at_r - (B * r >> BITS), at_s - (B * s >> BITS)) + 1
        excess, corner = 0, []
        for (p0, least_p0), (p1, least_p1), b, low, high in zip(
            *self.shares, self.beta, self.low, self.high, strict=True
        ):
            c = A * (p1 if A > 0 else least_p1) + B * (p0 if B > 0 else least_p0) - b * unit
            corner.append(c > 0)
            excess += c * (high if c > 0 else low)
        return excess, corner

    def _f_above(self, t: int) -> int:
        """Bound f(t/2^BITS) from above, in units."""
        return above(self.divergence.f(Fraction(t, UNIT)))

    def _positive(self, corner: list[bool]) -> bool:
        """Return whether the corner certainly violates the inequality."""
        v = [high if up else low for (low, high), up in zip(self.ends, corner, strict=True)]
        q0, q1 = (total(enclose(p) * e for p, e in zip(row, v, strict=True)) for row in self.rows)
        paid = total(b * e for b, e in zip(self.intervals, v, strict=True))
        return (self.divergence.term(q0, q1) - paid).low > 0
