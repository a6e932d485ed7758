"""The pricing problem of PolyOpt: max μ(T) − β·T over its cone of blocks.

On a product of blocks, μ(T) − β·T = Σ_s f_s − q log q with f_s = Σ_u P T log T − β·T and q = Σ_s q_s,
q_s = P·T_s. Since −q log q ≤ e^(λ−1) − λ q for every λ, the maximum is at most

    e^(λ−1) + Σ_s max over the vertices of block s of (f_s − λ q_s),

of which the least over λ is taken. A vertex that falls short of its block's best by more than this bound
is in no column of positive value. The exact pricing lists the columns made of the other vertices.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.validate import Array
from ldpopt.models.block_cone import BlockCone, Product


class Table(NamedTuple):
    """The vertices T of a block as columns, with q = P·T and Σ P T log T of each, and the ends of q."""

    T: Array
    q: Array
    entropy: Array
    least: float
    most: float

    @classmethod
    def of(cls, T: Array, P: Array) -> Self:
        """Evaluate the vertices of a block whose public values have the probabilities P."""
        q = P @ T
        return cls(T, q, P @ xlogy(T, T), float(q.min(initial=np.inf)), float(q.max(initial=0.0)))


class Relaxed(NamedTuple):
    """The splitting bound of a product: its value, the slope λ, and f − λ q of every vertex."""

    bound: float
    slope: float
    tables: list[Table]
    f: list[Array]


class BlockPricer:
    """Tables of block vertices, kept as long as memory allows."""

    def __init__(self, cone: BlockCone, prior: Array, limits: Limits = UNLIMITED) -> None:
        self.cone, self.limits = cone, limits
        self.prior = prior.reshape(cone.shape)
        self.cuts = [cone.breakpoints(s) for s in range(cone.shape[0])]
        self._tables: OrderedDict[tuple[int, float, float], Table] = OrderedDict()
        self._cells = 0

    def table(self, s: int, low: float, high: float) -> Table:
        """List the vertices of K_s(low, high).

        Args:
            s: the secret of the block.
            low: the least y.
            high: the largest y.
        """
        key = (s, low, high)
        if key in self._tables:
            self._tables.move_to_end(key)
            return self._tables[key]
        found = Table.of(self.cone.vertices(s, low, high), self.prior[s])
        self._tables[key] = found
        self._cells += found.T.size
        # the most floats that the tables of block vertices hold
        while self._cells > 2**25:
            self._cells -= self._tables.popitem(last=False)[1].T.size
        return found

    def at(self, dual: Array, most_combined: int = 0) -> PricedBlocks:
        """Set up the pricing problem for one dual vector.

        Args:
            dual: β.
            most_combined: how many partial columns the exact pricing may form in all.
        """
        return PricedBlocks(self, dual.reshape(self.cone.shape), most_combined)


class PricedBlocks:
    """The pricing problem max μ(T) − β·T over the cone, for one β."""

    def __init__(self, pricer: BlockPricer, dual: Array, most_combined: int) -> None:
        self.pricer, self.most_combined = pricer, most_combined
        self.cone = pricer.cone
        self.dual = dual
        self.nodes = self.combined = 0

    def relaxed(self, product: Product, goal: float = -math.inf) -> Relaxed:
        """Compute the splitting bound of a product; the search for λ stops once it is below the goal.

        Raises:
            OutOfTime: the time of the pricer is over.
        """
        self.pricer.limits.check()
        self.nodes += 1
        blocks = list(zip(*product, strict=True))
        tables = [self.pricer.table(s, low, high) for s, (low, high) in enumerate(blocks)]
        f = [t.entropy - beta @ t.T for t, beta in zip(tables, self.dual, strict=True)]
        low = 1 + math.log(max(sum(t.least for t in tables), 1e-300))
        high = 1 + math.log(sum(t.most for t in tables))
        best, slope, trial, floor = math.inf, high, (low + high) / 2, -math.inf
        lines: dict[bool, tuple[float, float]] = {}
        for _ in range(40):
            picks = [int((g - trial * t.q).argmax()) for g, t in zip(f, tables, strict=True)]
            taken = sum(float(t.q[i]) for t, i in zip(tables, picks, strict=True))
            gain = sum(float(g[i]) for g, i in zip(f, picks, strict=True))
            bound = math.exp(trial - 1) + gain - trial * taken
            if bound < best:
                best, slope = bound, trial
            rises = taken > math.exp(trial - 1)
            low, high = (trial, high) if rises else (low, trial)
            lines[rises] = gain, taken
            if best <= max(goal, floor + 1e-14) or high - low < 1e-12:
                break
            trial, floor = _least_of_lines(lines, low, high)
        return Relaxed(best, slope, tables, f)

    def ascent(self, start: Relaxed) -> Array:
        """Find a good column: from the best vertices for the slope, improve one block at a time."""
        return ascended(start.tables, start.f, start.slope)

    def exact(self, start: Relaxed) -> tuple[bool, Array]:
        """Return whether surely no column of a product has positive value; if not, also some columns.

        They have positive value, unless the candidates are too many to list: then it is one good column.
        ``start`` is the splitting bound of the product.
        """
        if start.bound <= 0:
            return True, np.zeros((self.cone.dimension, 0))
        near = [_near(t, g, start) for t, g in zip(start.tables, start.f, strict=True)]
        spans = np.array([(q[0].min(), q[0].max()) for q in near])
        q, f, lost, picks = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros((1, 0), dtype=np.int64)
        for s, (dq, df, short, which) in enumerate(near):
            mine = undominated(dq, df, *(spans.sum(axis=0) - spans[s]))
            self.combined += len(dq) * len(q)
            if self.combined > self.most_combined or len(mine) * len(q) > 2**21:
                return False, self.ascent(start)[:, None]
            total = (lost[:, None] + short[mine]).ravel()
            keep = np.flatnonzero(total <= start.bound)
            row, column = np.divmod(keep, len(mine))
            chosen = mine[column]
            q, f, lost = q[row] + dq[chosen], f[row] + df[chosen], total[keep]
            picks = np.hstack([picks[row], which[chosen][:, None]])
            best = undominated(q, f, *spans[s + 1 :].sum(axis=0))
            q, f, lost, picks = q[best], f[best], lost[best], picks[best]
        values = f - xlogy(q, q)
        # the most columns of positive value that the exact pricing returns
        best = np.argsort(-values)[:8]
        best = best[values[best] > 0]
        columns = [_stacked(start.tables, list(picks[i])) for i in best]
        return not columns, np.array(columns).reshape(-1, self.cone.dimension).T

    def probe(self, s: int | None, index: int) -> Array:
        """Find a good column where s has the smallest min y and ρ is its break-point of that index."""
        return self.ascent(self.relaxed(self._point(s, index)))

    def _point(self, s: int | None, index: int) -> Product:
        if s is None:
            return self.cone.product(None)
        rho = float(self.pricer.cuts[s][index])
        return self.cone.product(s, rho, rho)

    def prove(self, most: int) -> tuple[bool, list[Array]]:
        """Return whether μ(T) ≤ β·T is proven for the whole cone.

        If not, return also the columns that stood in the way of the proof; see :meth:`exact`.
        """
        found: list[Array] = []
        everyone = self.relaxed(self.cone.product(None), goal=0.0)
        if not self._settled(everyone, found):
            return False, found
        if self.cone.pairs == "all":
            return True, found
        for s, cuts in enumerate(self.pricer.cuts):
            pending, points, settled = [(0, len(cuts) - 1)], dict[int, Relaxed](), set[int]()
            while pending:
                i, j = pending.pop()
                low, high = float(cuts[i]), float(cuts[j])
                if self.relaxed(self.cone.product(s, low, high), goal=0.0).bound <= 0:
                    continue
                if j - i > 1:
                    middle = (i + j) // 2
                    pending += [(i, middle), (middle, j)]
                    points[middle] = self.relaxed(self._point(s, middle), goal=0.0)
                    self._try(points[middle], found)
                else:
                    for end in {i, j} - settled:
                        start = points.pop(end, None)
                        self._settled(start or self.relaxed(self._point(s, end), goal=0.0), found)
                    settled |= {i, j}
                if len(found) >= most:
                    return False, found
        return not found, found

    def _try(self, start: Relaxed, found: list[Array]) -> None:
        if start.bound > 0:
            T = self.ascent(start)
            if self.value(T) > 0:
                found.append(T)

    def _settled(self, start: Relaxed, found: list[Array]) -> bool:
        settled, columns = self.exact(start)
        found.extend(columns.T)
        return settled

    def value(self, T: Array) -> float:
        """Compute μ(T) − β·T."""
        q = float(self.pricer.prior.ravel() @ T)
        return float(self.pricer.prior.ravel() @ xlogy(T, T) - xlogy(q, q) - self.dual.ravel() @ T)


def _least_of_lines(
    lines: dict[bool, tuple[float, float]], low: float, high: float
) -> tuple[float, float]:
    """Return where e^(λ−1) plus the larger of two lines (gain − λ taken) is least, and that least.

    The lines are those of the last λ below the best one, and of the last above it; the splitting bound
    is nowhere below them. Until there are two, and next to an end, it is the middle of the bracket.
    """
    if len(lines) < 2:
        return (low + high) / 2, -math.inf
    (below, steep), (above, flat) = lines[True], lines[False]
    crossing = (below - above) / (steep - flat) if steep > flat else math.inf
    trial = min(max(crossing, 1 + math.log(max(flat, 1e-300))), 1 + math.log(steep))
    floor = math.exp(trial - 1) + max(below - trial * steep, above - trial * flat)
    return (trial if low + 1e-13 < trial < high - 1e-13 else (low + high) / 2), floor


def ascended(tables: list[Table], f: list[Array], slope: float) -> Array:
    """Find a column with a large Σ f − q log q.

    The search starts from the best vertices for the slope and improves one block at a time.

    Args:
        tables: the vertices of the blocks.
        f: f of every vertex.
        slope: λ.
    """
    picks = [int((g - slope * t.q).argmax()) for g, t in zip(f, tables, strict=True)]
    q = sum(t.q[i] for t, i in zip(tables, picks, strict=True))
    for _ in range(20):
        before = list(picks)
        for s, t in enumerate(tables):
            rest = q - t.q[picks[s]]
            picks[s] = int((f[s] - xlogy(rest + t.q, rest + t.q)).argmax())
            q = rest + t.q[picks[s]]
        if picks == before:
            break
    return _stacked(tables, picks)


def _near(t: Table, f: Array, start: Relaxed) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """List q, f, shortfall and index of the vertices that can be in a column of positive value."""
    value = f - start.slope * t.q
    short = value.max() - value
    near = np.flatnonzero(short <= start.bound)
    return t.q[near], f[near], short[near], near


def undominated(q: Array, f: Array, low: float, high: float) -> NDArray[np.int64]:
    """Select the (q, f) that can be best in f − h(q + r), h(x) = x log x, for some r ∈ [low, high].

    h is convex, so that a larger q' does better for every r if it does for r = high, and a smaller one
    if it does for r = low.

    Args:
        q: P·T of each candidate.
        f: Σ P T log T − β·T of each candidate.
        low: the least r.
        high: the largest r.

    >>> undominated(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.1, 9.0]), 0.0, 1.0)
    array([2])
    """
    order = np.lexsort((-f, q))
    up = (f - xlogy(q + high, q + high))[order]
    larger = np.append(np.maximum.accumulate(up[::-1])[::-1][1:], -np.inf)
    order = order[up >= larger]
    # only candidates that are left may rule out others, so that of two equal up to rounding one stays
    down = (f - xlogy(q + low, q + low))[order]
    smaller = np.append(-np.inf, np.maximum.accumulate(down)[:-1])
    return np.sort(order[down > smaller])


def _stacked(tables: list[Table], picks: list[int]) -> Array:
    return np.concatenate([t.T[:, i] for t, i in zip(tables, picks, strict=True)])
