"""Bound every private mechanism over the cone of half shares: prices, and a tree of pieces for each s*.

For prices β and a product of blocks the excess of a column, (μ(w) − β·w)/q, is at most

    δ(τ) = τ − 1 − log(−Σ_s max over K_s of (f_s − τ q_s)),    f_s = Σ_u p w log w − β·w, q_s = p·w_s,

for every τ with a negative sum: e^(κ−1) + Σ_s max(f_s − τ q_s) ≤ 0 for κ = τ − δ, and −q log q ≤ e^(κ−1)
− κ q. δ is convex in τ. Then β + δ p is a dual vector for the product; with the largest δ of all
products, the sum of its entries is a bound. A piece is a product for ρ in an interval, with P̂_{U|s}·w_s
in an interval for every s. Where two vertices of a block are both best at the best τ, a cut puts them
into different pieces. A column whose excess is near the δ of its piece shows that the prices are wrong:
it is added to the program.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from ldpopt.core.highs import ColumnLP, Optimum
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array
from ldpopt.models.half_slack_cone import HalfCone
from ldpopt.models.utilities import MutualInformation
from ldpopt.solvers._robust.block_pricing import Table, ascended

TOLERANCE, ASKED = 1e-3, 3e-3
"""The excess at which the search ends, relative to the value; the change of R·w that adds a corner."""
SLOPE_STEPS, MOST_RISE = 50, 20.0
"""Halvings of the range of τ, and how far from 1 + log q that range reaches."""
MOST_PIECES = 400
"""The most pieces: with more of them, files take too long to check."""

Interval = tuple[float, float]


class Rise(NamedTuple):
    """The least δ of a product, the τ that has it, the vertices of the blocks, and their f_s."""

    rise: float
    slope: float
    tables: list[Table]
    f: list[Array]


@dataclass(eq=False)
class Piece:
    """A node of the tree of one s*: intervals of ρ and of the masses, with a bound or with two parts.

    Attributes:
        secret: s*.
        ratio: the ends of ρ.
        masses: the ends of P̂_{U|s}·w_s for every s.
        found: None where the piece is empty.
        version: the version of the prices for which ``found`` was computed.
        cut: what is cut, 0 for ρ and 1 + s for the mass of s, and where.
        parts: the pieces below and above the cut.
    """

    secret: int
    ratio: Interval
    masses: tuple[Interval, ...]
    found: Rise | None = None
    version: int = -1
    cut: tuple[int, float] | None = None
    parts: tuple[Piece, ...] = ()

    @property
    def rise(self) -> float:
        """The bound δ on the excess; −inf where the piece is empty."""
        return -math.inf if self.found is None else self.found.rise

    def cut_at(self, which: int, at: float) -> tuple[Piece, Piece]:
        """Return the parts below and above a cut of ρ (0) or of the mass of a secret (1 + s)."""
        intervals = [self.ratio, *self.masses]
        low, high = list(intervals), list(intervals)
        low[which], high[which] = (intervals[which][0], at), (at, intervals[which][1])
        below, above = (Piece(self.secret, one[0], tuple(one[1:])) for one in (low, high))
        return below, above


class HalfSearch:
    """Prices by column generation over the cone, and the pieces that prove them.

    Args:
        cone: the cone of half shares; the search adds corners to it.
        prior: p, positive.
        columns: private columns that are known, to begin with.
        limits: the limits of this part of the work.
    """

    def __init__(self, cone: HalfCone, prior: Array, columns: Array, limits: Limits) -> None:
        self.cone, self.prior, self.limits = cone, prior.reshape(cone.shape), limits
        self.information = MutualInformation(prior)
        self.lp = ColumnLP(cone.dimension, 1.0)
        self.lp.add(columns, self.information(columns))
        self.optimum = self._solved()
        self.roots: list[Piece] = []
        self.version = 0
        self._tables: dict[tuple[int, float, float, float, float], Table] = {}
        self._order = count()
        self._heap: list[tuple[float, int, Piece]] = []

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def rise(self) -> float:
        """The greatest δ of a piece."""
        return -self._heap[0][0]

    @property
    def bound(self) -> float:
        """The bound that the pieces prove, up to rounding."""
        return float(self.optimum.dual.sum()) + self.rise if self._heap else math.inf

    def run(self) -> None:
        """Find prices, then pieces; raise OutOfTime if there is no time for the first pieces."""
        with suppress(OutOfTime):
            # the largest share of the time for the first prices
            self._price(self.limits.part(0.5))
        E = math.exp(self.cone.epsilon)
        secrets = range(self.cone.shape[0])
        for s in secrets:
            masses = tuple((0.0, E * E if z == s else E) for z in secrets)
            self.roots.append(self._bounded(Piece(s, (1.0, E), masses)))
            self._push(self.roots[-1])
        with suppress(OutOfTime):
            while self.rise > TOLERANCE * self.optimum.value and len(self._heap) < MOST_PIECES:
                self._step()

    def _solved(self) -> Optimum:
        found = self.lp.solve(self.limits)
        if found is None:
            raise OutOfTime
        return found

    # ---- prices

    def _price(self, limits: Limits) -> None:
        """Generate columns at a few values of ρ until a round adds none."""
        E = math.exp(self.cone.epsilon)
        while True:
            found = []
            for s in range(self.cone.shape[0]):
                for rho in np.exp(self.cone.epsilon * np.linspace(0, 1, 4)).tolist():
                    limits.check()
                    masses = tuple((0.0, E * E) for _ in range(self.cone.shape[0]))
                    found.append(self._risen(Piece(s, (rho, rho), masses)))
            columns = np.array([_column(one) for one in found if one is not None]).T
            if not self._add(columns, TOLERANCE * self.optimum.value):
                return
            self.optimum = self._solved()

    def _add(self, columns: Array, least: float) -> bool:
        """Add the columns of an excess above ``least``, moved inside, and corners for the best."""
        dual = self.optimum.dual
        excess = (self.information(columns) - dual @ columns) / (self.prior.ravel() @ columns)
        changed: set[int] = set()
        # the most columns per secret and round for which corners are added
        for j in np.argsort(-excess)[: 3 * self.cone.shape[0]]:
            if excess[j] > least:
                changed |= self.cone.refine(columns[:, j], ASKED)
        self._tables = {key: table for key, table in self._tables.items() if key[0] not in changed}
        columns = self.cone.inside(columns[:, excess > least])
        gains = self.information(columns) - dual @ columns
        fresh = columns[:, gains > 1e-9 * (self.prior.ravel() @ columns)]
        self.lp.add(fresh, self.information(fresh))
        return bool(changed) or fresh.size > 0

    # ---- the bound of a piece

    def _table(self, s: int, ends: Interval, mass: Interval) -> Table:
        key = (s, *ends, *mass)
        if key not in self._tables:
            self._tables[key] = Table.of(self.cone.vertices(s, ends, mass), self.prior[s])
        return self._tables[key]

    def _risen(self, piece: Piece) -> Rise | None:
        """Bound the excess within a piece; None if it is empty."""
        tables, prices = [], self.optimum.dual.reshape(self.cone.shape)
        for s, ends in enumerate(self.cone.product(piece.secret, *piece.ratio)):
            mass = max(ends[0], piece.masses[s][0]), min(ends[1], piece.masses[s][1])
            if mass[0] > mass[1]:
                return None
            tables.append(self._table(s, ends, mass))
        f = [t.entropy - beta @ t.T for t, beta in zip(tables, prices, strict=True)]
        return least_rise(tables, f)

    def _bounded(self, piece: Piece) -> Piece:
        self.limits.check()
        piece.found, piece.version = self._risen(piece), self.version
        return piece

    def _push(self, piece: Piece) -> None:
        heapq.heappush(self._heap, (-piece.rise, next(self._order), piece))

    def _step(self) -> None:
        """Work on the worst piece: bound it at the present prices, add its column, or cut it."""
        piece = self._heap[0][2]
        if piece.version != self.version:
            heapq.heapreplace(self._heap, (-self._bounded(piece).rise, next(self._order), piece))
            return
        assert piece.found is not None
        column = _column(piece.found)[:, None]
        # a column whose excess is more than this share of the δ of its piece is added to the program
        if math.isfinite(piece.rise) and self._add(column, 0.5 * piece.rise):
            self._reprice()
            return
        cuts = self._cuts(piece)
        tried = [tuple(self._bounded(part) for part in piece.cut_at(*cut)) for cut in cuts]
        best = min(range(len(tried)), key=lambda i: max(part.rise for part in tried[i]))
        piece.cut, piece.parts = cuts[best], tried[best]
        heapq.heappop(self._heap)
        for part in piece.parts:
            self._push(part)

    def _reprice(self) -> None:
        """Compute prices with the new columns, and bound all pieces again."""
        self.optimum = self._solved()
        self.version += 1
        pieces = [self._bounded(piece) for _, _, piece in self._heap]
        self._heap = []
        for piece in pieces:
            self._push(piece)

    def _cuts(self, piece: Piece) -> list[tuple[int, float]]:
        """Propose where to cut: ρ in the middle, and the mass that two best vertices disagree about."""
        found = piece.found
        assert found is not None
        cuts = [(0, math.sqrt(piece.ratio[0] * piece.ratio[1]))]
        near = [_picked(found, found.slope + step) for step in (-1e-7, 1e-7)]
        q = np.array([[t.q[i] for t, i in zip(found.tables, picks, strict=True)] for picks in near])
        s = int(np.abs(q[0] - q[1]).argmax())
        ends = self.cone.product(piece.secret, *piece.ratio)[s]
        low, high = max(ends[0], piece.masses[s][0]), min(ends[1], piece.masses[s][1])
        if q[0, s] != q[1, s] and high > low:
            # an interval is cut at least this share of its width away from its ends
            edge = 0.1 * (high - low)
            middle = q[:, s].mean() / self.prior[s].sum()
            cuts.append((1 + s, float(np.clip(middle, low + edge, high - edge))))
        return cuts


def least_rise(tables: Sequence[Table], f: list[Array]) -> Rise:
    """Find the least δ(τ): where Σ q of the best vertices is −Σ max(f − τ q)."""
    low = 1 + math.log(sum(float(t.q.min()) for t in tables)) - MOST_RISE
    high = 1 + math.log(sum(float(t.q.max()) for t in tables)) + MOST_RISE
    best, slope = math.inf, high
    for _ in range(SLOPE_STEPS):
        middle = (low + high) / 2
        picks = [int((g - middle * t.q).argmax()) for g, t in zip(f, tables, strict=True)]
        taken = float(sum(t.q[i] for t, i in zip(tables, picks, strict=True)))
        owed = middle * taken - float(sum(g[i] for g, i in zip(f, picks, strict=True)))
        if owed > 0 and middle - 1 - math.log(owed) < best:
            best, slope = middle - 1 - math.log(owed), middle
        low, high = (low, middle) if owed > taken else (middle, high)
    return Rise(best, slope, list(tables), f)


def _picked(found: Rise, slope: float) -> list[int]:
    return [int((g - slope * t.q).argmax()) for g, t in zip(found.f, found.tables, strict=True)]


def _column(found: Rise) -> Array:
    """Find a good column of a product."""
    rise = min(found.rise, MOST_RISE)
    f = [g - rise * t.q for t, g in zip(found.tables, found.f, strict=True)]
    return ascended(found.tables, f, found.slope - rise)
