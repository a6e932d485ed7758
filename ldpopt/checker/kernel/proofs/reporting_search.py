"""Bound what the reporting protocols of ``reporting.py`` are worth over all of their parameters.

The range of the parameters is halved until each part is below the bound. On a range of g, independent-
reporting and grr-conditional are bounded by Lemma 3 of ``response_limits.py``.

Lemma 1 (unary encoding). A protocol with smaller odds, or with larger κ and smaller λ, is at least as
good: the other can be computed from its output, entry by entry (for a bit, the point (λ, κ) lies
below the segments through the other's). So λ is as small as g allows, and the odds for u are as small as
they may be. ∎ What that is worth on a box of g and κ is bounded by ``unary_encoding_bound.py``; also by
what the responses say at the greatest g and κ, and Lemma 3 of ``unary_encoding.py``, or H(S), for the
reported set. The utilities of Theorems 16, 18 and 20 are enclosed by ``fixed_point_log.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from ..budget import UndecidedError, tick
from ..fixed_point import BITS, UNIT, units_down, units_up
from ..fixed_point_log import entropy_above
from .reporting_protocols import Member, Protocol, Reporting
from .response_limits import lowest, most
from .unary_encoding import Response, encoding_cap, information
from .unary_encoding_bound import Sets
from .unary_encoding_bound import most as most_unary

MOST_BOXES = 2_000_000
MOST_HALVED = 60
"""How often a side of a box is halved; a box that is not below the bound by then counts as above it."""
Box = list[tuple[int, int]]
"""The ends of g and, for unary encoding, of κ, in units."""


class Search:
    """No parameters give the protocol more than the bound: halve their range until that is proven."""

    def __init__(self, question: Reporting, members: list[Member]) -> None:
        self.parts = Protocol(question, members)
        self.unary = question.protocol == "ue-conditional"
        self.top = self.parts.top
        if self.unary and members:
            self.top = self._last_private(members[0])
        self.secrets = [units_down(p) for p in self.parts.secrets]
        self.entropy = sum(entropy_above(p) for p in self.secrets)
        self.table = [[units_down(p) for p in row] for row in self.parts.p_hat]
        self.values = [units_down(sum(column)) for column in zip(*self.parts.p_hat, strict=True)]
        self.given = [[units_down(p) for p in row] for row in self.parts.given]
        self.utility = self._conditional
        if question.protocol == "independent-reporting":
            self.utility = self._independent
        self.cap, self.reported = cache(self._cap), cache(self._reported)
        self.line = cache(self._line)
        self.sets = Sets(self.secrets, self.parts.exact) if self.unary else None

    def holds(self, bound: float) -> bool | None:
        """Return whether every parameter vector has at most the bound."""
        goal = units_down(bound)
        ranges = [(UNIT, self.top), (0, UNIT)] if self.unary else [(UNIT, self.top)]
        pending = [(ranges, [0] * len(ranges))]
        for _ in range(MOST_BOXES):
            if not pending:
                return True
            tick()
            box, halved = pending.pop()
            if self.above(box) <= goal:
                continue
            side = halved.index(min(halved))
            if halved[side] > MOST_HALVED:
                return False
            low, high = box[side]
            middle = (low + high) // 2 if side else math.isqrt(low * high)
            times = [*halved[:side], halved[side] + 1, *halved[side + 1 :]]
            for half in ((low, middle), (middle, high)):
                pending.append(([*box[:side], half, *box[side + 1 :]], times))
        raise UndecidedError(f"not decided within {MOST_BOXES} boxes")

    def above(self, box: Box) -> int:
        """Bound the utility on a box of parameters from above, in units."""
        low, high = box[0]
        if self.sets is not None:
            rough = self.cap(low) + (box[1][1] * self.reported(high) >> BITS) + 1
            ends = self.sets.ends(low, high, self.line(low, high))
            return min(rough, units_up(most_unary(ends, *box[1]).high))
        blocks = [lowest(limits, low, high) for limits in self.parts.limits]
        return most(self.utility, lowest([self.parts.first], low, high), blocks)

    def _last_private(self, member: Member) -> int:
        """Find a g, as small as the member proves, from which on no split is private: Lemma 2."""
        s, z = member.secrets
        v, w = member.values
        a, b = member.shares()
        ends = units_down(a), units_down(self.parts.given[s][v]) + 1
        back = units_down(self.parts.given[z][w]), units_down(b) + 1

        def exceeds(g: int) -> bool:
            odds = self.parts.odds_above(g)
            (top, bottom), (far, beyond) = (
                (odds[t] + ((UNIT - odds[t]) * x >> BITS), odds[t] + ((UNIT - odds[t]) * y >> BITS) + 1)
                for t, (x, y) in ((s, ends), (z, back))
            )
            rises = top > bottom and far > beyond
            return rises and top * far << BITS > self.parts.E * bottom * beyond

        low, high = UNIT, self.parts.top
        while high - low > UNIT >> 80:
            tick()
            middle = (low + high) // 2
            low, high = (low, middle) if exceeds(middle) else (middle, high)
        return high

    def _conditional(self, right: int, blocks: Sequence[int]) -> int:
        """Bound the utility of Theorem 18 from above: s, and u where s comes out true."""
        own = information(self.secrets, right)
        return own + (right * self._of_blocks(blocks) >> BITS) + 1

    def _cap(self, g: int) -> int:
        """Bound what the reported set says from the split g on."""
        return min(encoding_cap(self.parts.E, g), self.entropy)

    def _reported(self, g: int) -> int:
        """Bound what the responses on u say at the split g."""
        return self._of_blocks(self.parts.rights(g))

    def _line(self, low: int, high: int) -> tuple[int, int]:
        """Bound what the responses on u say at both ends of a line above how often they are right."""
        lines = [lowest(limits, low, high) for limits in self.parts.limits]
        nothing = UNIT // self.parts.width + 1
        ends = [[min(max(line[i], nothing), UNIT) for line in lines] for i in (0, 1)]
        return self._of_blocks(ends[0]), self._of_blocks(ends[1])

    def _of_blocks(self, blocks: Sequence[int]) -> int:
        """Bound Σ_s p̂_s I(U; R^s(U) | s) from above; the bound is not below 0."""
        terms = (
            (p + 1) * max(information(q, right), 0)
            for p, q, right in zip(self.secrets, self.given, blocks, strict=True)
        )
        return (sum(terms) >> BITS) + 1

    def _independent(self, right: int, blocks: Sequence[int]) -> int:
        """Bound the utility of Theorem 16 from above.

        The output has probabilities c e P + c f P_s + d e P_u + d f.
        """
        a1, a2 = len(self.table), len(self.table[0])
        s, u = Response(a1, right), Response(a2, blocks[0])
        found = 0
        for row, ps in zip(self.table, self.secrets, strict=True):
            for p, pu in zip(row, self.values, strict=True):
                out = s.slope * (u.slope * p + u.wrong * ps) + s.wrong * (u.slope * pu + u.wrong * UNIT)
                found += entropy_above(max((out >> 2 * BITS) - 16, 0), 32)
        return found - s.noise() - u.noise()
