"""Climb over a convex set to a member at which two secrets are told apart most.

log P(y|s)/P(y|z) is a difference of logarithms of four linear functions of P, so that its maximum over F
is not a linear program. A climb linearises it: each step finds the member that is best for the slope and
goes to the best point between it and one found before (Frank–Wolfe with exact line searches). A maximum
lies at a vertex or on an edge of the image of F: its level sets are doubly ruled surfaces, which their
tangent planes cut. A climb may end at a local maximum; the proof of
``ldpopt/checker/kernel/proofs/set_privacy.py`` notices, and says where to start again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.core.certify import rising
from ldpopt.core.exact import UncertaintySet, set_multiplier
from ldpopt.core.validate import Array

STILL = 1e-14
"""A climb ends where its slope promises less than this."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where two secrets are told apart: an output, two secrets, and the witness of a member."""

    level: float
    y: int
    s: int
    z: int
    witness: Array

    def plain(self) -> dict[str, Any]:
        """Return the place as plain data, as the checker reads it."""
        return {"output": self.y, "secrets": [self.s, self.z], "witness": self.witness.tolist()}


class Climb:
    """Climbs of log P(y|s)/P(y|z) over F, for one output and two secrets."""

    def __init__(self, F: UncertaintySet, column: Array, y: int, pair: tuple[int, int]) -> None:
        self.F, self.y, (self.s, self.z) = F, y, pair
        width, cells = F.shape[1], column.size
        own = np.arange(cells) // width
        mine, theirs = own == self.s, own == self.z
        # rows: N_s, P_z, P_s, N_z; the ratio is N_s P_z/(P_s N_z)
        self.rows = np.array([column * mine, 1.0 * theirs, 1.0 * mine, column * theirs])

    def parts(self, witness: Any) -> Array:
        """Compute N_s, P_z, P_s and N_z of a member."""
        return np.asarray(self.rows @ np.array(self.F.cells(witness)))

    def level(self, parts: Array) -> float:
        """Compute the logarithm of the ratio."""
        mine, other_mass, mass, other = parts.tolist()
        if mine <= 0:
            return -math.inf
        return math.inf if other <= 0 else math.log(mine / mass) - math.log(other / other_mass)

    def slope(self, parts: Array) -> Array:
        """Compute the gradient in the four parts."""
        return np.array([1, 1, -1, -1]) / parts

    def between(self, own: Array, rise: Array) -> list[float]:
        """List the stationary points of the level on the way from one member to another."""
        (t2, t1, t0), (b2, b1, b0) = (_product(own[i : i + 2], rise[i : i + 2]) for i in (0, 2))
        return _roots(t2 * b1 - t1 * b2, 2 * (t2 * b0 - t0 * b2), t1 * b0 - t0 * b1)

    def from_witness(self, start: Any) -> Place:
        """Climb from a member."""
        best = np.array(start)
        parts = self.parts(start)
        known = [(best, parts)]
        # the most steps of one climb
        for _ in range(200):
            before = self.level(parts)
            if math.isinf(before):
                break
            slope = self.slope(parts)
            far = np.array(self.F.worst((-(slope @ self.rows)).tolist()))
            ends = self.parts(far.tolist())
            if float(slope @ (ends - parts)) <= STILL:
                break
            best, parts = max(
                (self._step(near, far, own, ends) for near, own in known),
                key=lambda found: self.level(found[1]),
            )
            # the number of earlier members from which a climb tries its next step, besides the last two
            known = [*known[-6:], (far, ends), (best, parts)]
            if self.level(parts) <= before + STILL:
                break
        return Place(self.level(parts), self.y, self.s, self.z, best)

    def _step(self, near: Array, far: Array, own: Array, ends: Array) -> tuple[Array, Array]:
        """Find the best point between two members."""
        rise = ends - own
        inner = self.between(own, rise)
        step = max((0.0, 1.0, *inner), key=lambda t: self.level(own + t * rise))
        return (1 - step) * near + step * far, own + step * rise

    def at_home(self) -> Place:
        """Return the center of the set as a place."""
        level = self.level(self.parts(self.F.home))
        return Place(level, self.y, self.s, self.z, np.array(self.F.home))

    def best(self) -> Place:
        """Climb from the center, and from the members that are worst for one secret alone."""
        starts = [self.F.home, self._extreme(0, 2, 1.0), self._extreme(3, 1, -1.0)]
        return max((self.from_witness(start) for start in starts), key=lambda place: place.level)

    def _extreme(self, top: int, bottom: int, sign: float) -> Any:
        """Find the member with the largest (sign 1) or least (sign −1) quotient of two of the parts."""
        witness, found = self.F.home, -math.inf
        while True:
            parts = self.parts(witness)
            quotient = sign * parts[top] / parts[bottom]
            if quotient <= found:
                return witness
            found = quotient
            slope = sign * self.rows[top] - found * self.rows[bottom]
            witness = self.F.worst((-slope).tolist())

    def lowest(self) -> float:
        """Compute the least P(y|z) over F."""
        parts = self.parts(self._extreme(3, 1, -1.0))
        return float(parts[3] / parts[1])

    def most(self) -> float:
        """Bound the log ratio by the extreme members of both secrets."""
        high, low = self.parts(self._extreme(0, 2, 1.0)), self.parts(self._extreme(3, 1, -1.0))
        if high[0] <= 0:
            return -math.inf
        return math.inf if low[3] <= 0 else math.log(high[0] / high[2] * low[1] / low[3])

    def again(self, factor: float) -> Iterator[Place]:
        """Climb from members that nearly break P(y|s) ≤ factor·P(y|z), for many values of P(y|s)."""
        low = self.parts(self._extreme(3, 1, -1.0))
        high = self.parts(self._extreme(0, 2, 1.0))
        first, last = factor * low[3] / low[1], high[0] / high[2]
        column = self.rows[0] + self.rows[3]
        blocks = [list(map(Fraction, block)) for block in column.reshape(self.F.shape)]
        # the number of values of P(y|s) at which a climb starts again where the proof fails
        for at in np.linspace(first, last, 16).tolist():
            weight = set_multiplier(self.F, blocks, (self.s, self.z), at, factor)
            cost = factor * self.rows[3] - at * self.rows[1]
            cost = cost - weight * (self.rows[0] - at * self.rows[2])
            yield self.from_witness(self.F.worst(cost.tolist()))


def _product(own: Array, rise: Array) -> tuple[float, float, float]:
    """Multiply two linear functions of t; return the coefficients, that of t² first."""
    (a, b), (c, d) = own.tolist(), rise.tolist()
    return c * d, a * d + b * c, a * b


def _roots(a: float, b: float, c: float) -> list[float]:
    """List the roots of a t² + b t + c between 0 and 1."""
    inner = b * b - 4 * a * c
    if inner < 0:
        return []
    q = -(b + math.copysign(math.sqrt(inner), b)) / 2
    found = [top / bottom for top, bottom in ((q, a), (c, q)) if bottom]
    return [t for t in found if 0 < t < 1]


def inside(witness: Array, F: UncertaintySet) -> Array:
    """Move a witness towards the center until it is a member in exact arithmetic."""
    home = np.array(F.home)
    for step in (0.0, *rising(1e-16, 1.0, 4.0)):
        moved = np.maximum((1 - step) * witness + step * home, 0.0)
        if F.member(moved.tolist(), "witness")[1]:
            return moved
    return home
