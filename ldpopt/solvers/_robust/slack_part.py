"""Bound the excess of the columns of one part: a linear program over the vertices of its blocks.

For prices β and multipliers λ of pairs of corners the excess (μ(w) − β·w)/q of a column is at most

    δ(τ) = τ − 1 − log(−Σ_s max over K_s of (f_s − τ q_s)),   f_s = Σ_u p w log w − (β_s + G_s)·w,

for every τ with a negative sum: e^(κ−1) + Σ_s max(f_s − τ q_s) ≤ 0 for κ = τ − δ, and −q log q ≤
e^(κ−1) − κ q. The best λ and τ are the dual of a linear program: mix the vertices of each block, so
that the mixed column, scaled to q = 1, keeps the pairs of corners; the logarithm of the scale is
bounded by tangents. The mixed column shows which pairs are missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpopt.core import highs
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.models.shared_slack_cone import ALL, Cut, SlackCone
from ldpopt.solvers._robust.block_pricing import Table, ascended

PENALTY = 50.0
"""What it costs to break a pair by 1."""
CLOSE, BROKEN, ASKED = 2e-4, 1e-3, 3e-3
"""How exactly the linear program is solved; by how much a pair is broken that is added, relative to the
column; the change of R·w that adds a corner to a block."""
ROUNDS, MOST_PAIRS, NEW_PAIRS = 12, 40, 2
"""The most rounds in which vertices join the program; the most pairs that are handed on, and that are
added at once for every secret."""


class Pair(NamedTuple):
    """Two corners of different secrets whose shares sum to 1: R·w_s ≤ e^ε R'·w_z."""

    s: int
    z: int
    share: int
    R: Array
    other: Array


class Joined(NamedTuple):
    """The vertices of all blocks of a part, as one list.

    Attributes:
        T: the vertices as columns.
        q: p·T of each.
        entropy: Σ p T log T of each.
        block: the secret of each.
        starts: where the vertices of each secret begin.
    """

    T: Array
    q: Array
    entropy: Array
    block: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, tables: Sequence[Table]) -> Joined:
        """Join the tables of the blocks."""
        sizes = [len(t.q) for t in tables]
        T, q, entropy = (np.concatenate([t[i] for t in tables], axis=-1) for i in range(3))
        return cls(T, q, entropy, np.repeat(np.arange(len(sizes)), sizes), np.cumsum([0, *sizes[:-1]]))

    def worth(self, linear: Array) -> Array:
        """Compute Σ p T log T − linear·T of every vertex; ``linear`` has a row per secret."""
        worth: Array = self.entropy - np.einsum("nu,un->n", linear[self.block], self.T)
        return worth


@dataclass(eq=False)
class Part:
    """A node of the tree of one s*: cuts that lead to it, with a bound or with two parts.

    Attributes:
        star: s*.
        cuts: how the part arises.
        pairs, weights: pairs of corners, and λ.
        points: the vertices of the mixed column, for every block.
        shares: how much of each.
        low, high: the ends.
        tables, joined: the vertices of the blocks, once they are listed.
        pull: G, once it is computed.
        excess: the bound δ; −inf where the part is empty.
        slope: τ.
        column, worth: the mixed column with q = 1, and Σ p w log w of its mixture.
        parts: the near and the far part of the cut.
    """

    star: int
    cuts: list[Cut] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    weights: Array = field(default_factory=lambda: np.zeros(0))
    points: list[Array] = field(default_factory=list)
    shares: list[Array] = field(default_factory=list)
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))
    tables: list[Table] | None = None
    joined: Joined | None = None
    pull: Array | None = None
    excess: float = math.inf
    slope: float = 0.0
    column: Array | None = None
    worth: float = 0.0
    parts: tuple[Part, ...] = ()

    def child(self, cut: Cut) -> Part:
        """Return the part behind a cut, with what is known of the whole."""
        kept = np.sort(np.argsort(-self.weights)[:MOST_PAIRS])
        pairs = [self.pairs[i] for i in kept]
        return Part(
            self.star, [*self.cuts, cut], pairs, self.weights[kept], self.points, slope=self.slope
        )


class PartBounds:
    """Bounds of parts, with the vertices of their blocks.

    Args:
        cone: the corners; some are added.
        prior: p, positive.
    """

    def __init__(self, cone: SlackCone, prior: Array) -> None:
        self.cone, self.prior = cone, prior.reshape(cone.shape)
        self._tables: dict[tuple[int, bytes], Table] = {}

    def tables(self, part: Part) -> list[Table] | None:
        """List the vertices of the blocks of a part; None if it is empty."""
        if part.tables is None:
            part.low, part.high = self.cone.ends(part.star, part.cuts)
            if (part.low[:, 0] > part.high[:, 0]).any():
                part.excess, part.column = -math.inf, None
                return None
            ends = enumerate(zip(part.low, part.high, strict=True))
            part.tables = [self._table(s, low, high) for s, (low, high) in ends]
            part.joined = Joined.of(part.tables)
        return part.tables

    def _table(self, s: int, low: Array, high: Array) -> Table:
        key = (s, low.tobytes() + high.tobytes())
        if key not in self._tables:
            T, p = self.cone.vertices(s, low, high), self.prior[s]
            self._tables[key] = Table.of(T, p)
        return self._tables[key]

    def pulls(self, part: Part) -> Array:
        """Compute G of a part."""
        if part.pull is None:
            part.pull = np.zeros(self.cone.shape)
            for pair, weight in zip(part.pairs, part.weights, strict=True):
                if weight > 0:
                    part.pull[pair.s] += weight * pair.R
                    part.pull[pair.z] -= weight * self.cone.E * pair.other
        return part.pull

    def ascended(self, part: Part, prices: Array) -> Array:
        """Find a product of vertices with a large excess, at the multipliers of a part."""
        tables = self.tables(part)
        if tables is None:
            return np.ones(self.cone.dimension)
        f = [t.entropy - b @ t.T for t, b in zip(tables, prices + self.pulls(part), strict=True)]
        return ascended(tables, f, part.slope - part.excess)

    def repriced(self, part: Part, prices: Array) -> float:
        """Bound the excess of a part with the multipliers that it has."""
        if self.tables(part) is None or part.joined is None:
            return -math.inf
        worth = part.joined.worth(prices + self.pulls(part))
        part.excess, part.slope = least_rise(part.joined.q, worth, part.joined.starts, part.slope)
        return part.excess

    def bounded(self, part: Part, prices: Array, rounds: int, limits: Limits) -> Part:
        """Find good multipliers of a part, pairs that it lacks, and corners that its blocks lack.

        Args:
            part: the part.
            prices: β, a row per secret.
            rounds: the most linear programs.
            limits: the limits of the work.
        """
        limits.check()
        for _ in range(rounds):
            tables = self.tables(part)
            if tables is None:
                return part
            self._solve(part, tables, prices)
            if not self._broken(part) and not self._refined(part):
                break
        return part

    def _broken(self, part: Part) -> bool:
        """Add the pairs that the mixed column breaks; return whether there is one."""
        if part.column is None:
            return False
        w = part.column.reshape(self.cone.shape)
        most, fewest = (found[:, :, 0] for found in self.cone.reach(w[:, :, None]))
        excess = most[:, None] - self.cone.E * fewest[None, :, ::-1]
        excess[np.arange(len(w)), np.arange(len(w))] = -np.inf
        broken = excess.max(axis=2) / most.max(axis=1)[:, None]
        s, z = np.unravel_index(np.argsort(-broken, axis=None)[: NEW_PAIRS * len(w)], broken.shape)
        keep = broken[s, z] > BROKEN
        s, z = s[keep], z[keep]
        if not len(s):
            return False
        share = excess[s, z].argmax(axis=1)
        R = self.cone.farthest(s, share, w[s].T, most=True)
        other = self.cone.farthest(z, ALL - share, w[z].T, most=False)
        found = list(map(Pair, s.tolist(), z.tolist(), share.tolist(), R, other))
        part.pairs = [*part.pairs, *found]
        part.weights = np.append(part.weights, np.zeros(len(found)))
        return True

    def _refined(self, part: Part) -> bool:
        """Add corners to the blocks; return whether there is one."""
        found = False
        for s, points in enumerate(part.points):
            if self.cone.refine(s, (part.low[s], part.high[s]), points, ASKED):
                self._tables.pop((s, part.low[s].tobytes() + part.high[s].tobytes()), None)
                part.tables, found = None, True
        return found

    # ---- the linear program

    def _solve(self, part: Part, tables: list[Table], prices: Array) -> None:
        """Solve the program of a part, by generating vertices; keep its multipliers and its mixture."""
        program = Program(part, tables, prices, self.cone.E)
        part.column = part.pull = None
        part.excess, part.weights, part.slope = program.run(part.weights)
        mixture = program.mixture()
        if mixture is None:
            return
        scale, picks = mixture
        part.points = [t.T[:, own[0]] for t, own in zip(tables, picks, strict=True)]
        part.shares = [own[1] for own in picks]
        own = [scale * points @ shares for points, shares in zip(part.points, part.shares, strict=True)]
        part.column = np.concatenate(own)
        mixed = (t.entropy[own[0]] @ own[1] for t, own in zip(tables, picks, strict=True))
        part.worth = scale * float(sum(mixed)) + math.log(scale)

    def gaps(self, part: Part) -> Array:
        """Compute by how much the mixture of each block is worth more than the mixed column."""
        found = []
        for p, points, shares in zip(self.prior, part.points, part.shares, strict=True):
            mean = points @ shares
            found.append(float((p @ xlogy(points, points)) @ shares - p @ xlogy(mean, mean)))
        return np.array(found)


class Program:
    """The program of a part over some of the vertices: rows for the blocks, q = 1, pairs and tangents.

    Its columns are the scale σ, its logarithm, what breaks a pair, and the vertices in use.
    """

    def __init__(self, part: Part, tables: list[Table], prices: Array, E: float) -> None:
        assert part.joined is not None
        self.q, self.block, self.starts = part.joined.q, part.joined.block, part.joined.starts
        self.f = part.joined.worth(prices)
        self.rows = np.zeros((len(part.pairs), len(self.q)))
        places = [slice(a, a + len(t.q)) for a, t in zip(self.starts, tables, strict=True)]
        for i, pair in enumerate(part.pairs):
            self.rows[i, places[pair.s]] = pair.R @ tables[pair.s].T
            self.rows[i, places[pair.z]] = -E * (pair.other @ tables[pair.z].T)
        self.near = part.slope
        self.used: list[int] = []
        self.values = np.zeros(0)
        self._model = self._empty(len(tables), len(part.pairs))

    def _empty(self, n: int, m: int) -> highspy.Highs:
        infinity, no = highspy.kHighsInf, np.zeros(0, np.int32)
        model = highs.new_model({"presolve": "off"}, maximise=True, tolerance=1e-9)
        lower = np.array([0.0] * n + [1.0] + [-infinity] * m)
        model.addRows(n + 1 + m, lower, np.array([0.0] * n + [1.0] + [0.0] * m), 0, no, no, np.zeros(0))
        model.addCol(0.0, 0.0, infinity, n, np.arange(n, dtype=np.int32), -np.ones(n))
        model.addCol(1.0, -infinity, infinity, 0, no, np.zeros(0))
        model.addCol(
            -PENALTY, 0.0, infinity, m, np.arange(n + 1, n + 1 + m, dtype=np.int32), -np.ones(m)
        )
        q = (
            np.maximum.reduceat(self.q, self.starts).sum(),
            np.minimum.reduceat(self.q, self.starts).sum(),
        )
        for log_scale in np.linspace(-math.log(q[0]), -math.log(max(q[1], 1e-12)), 5).tolist():
            self._touch(model, log_scale)
        return model

    def _touch(self, model: highspy.Highs, log_scale: float) -> None:
        """Bound log σ by its tangent at a scale."""
        entries = np.array([-math.exp(-log_scale), 1.0])
        model.addRow(-highspy.kHighsInf, log_scale - 1, 2, np.array([0, 1], np.int32), entries)

    def _add(self, vertices: Sequence[int]) -> bool:
        fresh = sorted(set(vertices) - set(self.used))
        n, (m, width) = self.block[-1] + 1, (len(self.rows), 2 + len(self.rows))
        places = np.empty((len(fresh), width), np.int32)
        places[:, 0], places[:, 1:] = self.block[fresh], np.arange(n, n + 1 + m)
        entries = np.column_stack([np.ones(len(fresh)), self.q[fresh], self.rows[:, fresh].T])
        nothing, most = np.zeros(len(fresh)), np.full(len(fresh), highspy.kHighsInf)
        starts = np.arange(len(fresh), dtype=np.int32) * width
        size = len(fresh) * width
        self._model.addCols(
            len(fresh), self.f[fresh], nothing, most, size, starts, places.ravel(), entries.ravel()
        )
        self.used += fresh
        return bool(fresh)

    def best(self, f: Array, slopes: Array) -> list[int]:
        """List the best vertex of every block for each of some slopes."""
        found = []
        for a, b in zip(self.starts, [*self.starts[1:], len(f)], strict=True):
            found += (a + (f[a:b] - slopes[:, None] * self.q[a:b]).argmax(axis=1)).tolist()
        return found

    def run(self, weights: Array) -> tuple[float, Array, float]:
        """Generate vertices; return the best bound met, its λ and its τ."""
        f = self.f - weights @ self.rows
        rise, slope = least_rise(self.q, f, self.starts, self.near)
        found = rise, weights, slope
        extreme = [
            int(a + pick(self.q[a:b]))
            for a, b in zip(self.starts, [*self.starts[1:], len(f)], strict=True)
            for pick in (np.argmin, np.argmax)
        ]
        self._add([*self.best(f, slope + np.linspace(-0.3, 0.3, 5)), *extreme])
        n, m = int(self.block[-1]) + 1, len(self.rows)
        for _ in range(ROUNDS):
            self._model.run()
            if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                break
            solution = self._model.getSolution()
            duals, self.values = np.array(solution.row_dual), np.array(solution.col_value)
            weights = np.maximum(duals[n + 1 : n + 1 + m], 0.0)
            f = self.f - weights @ self.rows
            rise, slope = least_rise(self.q, f, self.starts, slope)
            if rise < found[0]:
                found = rise, weights, slope
            if rise - self._model.getInfo().objective_function_value < CLOSE:
                break
            log_scale = math.log(max(self.values[0], 1e-300))
            short = self.values[1] - log_scale > CLOSE / 4
            if short:
                self._touch(self._model, log_scale)
            if not self._add(self.best(f, np.array([duals[n], slope]))) and not short:
                break
        return found

    def mixture(self) -> tuple[float, list[tuple[list[int], Array]]] | None:
        """Return the scale, and the vertices of every block with their shares; None if there is none."""
        if not len(self.values):
            return None
        scale, theta = float(self.values[0]), self.values[3:] / self.values[0]
        found = []
        for s, start in enumerate(self.starts):
            own = [i for i in np.flatnonzero(theta > 1e-9) if self.block[self.used[i]] == s]
            found.append(([self.used[i] - int(start) for i in own], theta[own] / theta[own].sum()))
        return scale, found


def least_rise(q: Array, f: Array, starts: NDArray[np.int64], near: float) -> tuple[float, float]:
    """Find the least δ(τ), and τ.

    Args:
        q: q of the vertices of all blocks.
        f: their f.
        starts: where the vertices of each block begin.
        near: a guess of τ.
    """
    best, slope = math.inf, near
    low, high = near - 0.5, near + 0.5
    if not low < 1 + math.log(max(float(np.maximum.reduceat(q, starts).sum()), 1e-300)) + 20:
        low, high = -20.0, 20.0
    # δ is convex: each round keeps the two steps of eight around the least one, or goes on at an end
    for _ in range(12):
        slopes = np.linspace(low, high, 9)
        owed = -np.maximum.reduceat(f - slopes[:, None] * q, starts, axis=1).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            rises = np.where(owed > 0, slopes - 1 - np.log(np.maximum(owed, 0)), np.inf)
        i, step = int(rises.argmin()), (high - low) / 8
        if rises[i] < best:
            best, slope = float(rises[i]), float(slopes[i])
        if math.isinf(rises[i]):  # no sum is negative yet: they fall as τ rises
            low, high = high, high + 4 * (high - low)
        elif i in (0, 8):
            low, high = (low - 24 * step, low + step) if i == 0 else (high - step, high + 24 * step)
        else:
            low, high = slopes[i - 1], slopes[i + 1]
            if high - low < 1e-4:
                break
    return best, slope
