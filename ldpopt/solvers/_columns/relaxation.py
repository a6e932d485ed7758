"""Relax the choice of sets in an information column program, and round it to columns again.

A corner of a box [l, h] is a set S of high entries. Let columns of the box have the weight θ in all,
and let z_x ∈ [0, θ] be the weight of those in which x is high. As −q log q is concave, their information
is at most

    θ Σ_x P_x l_x log l_x + Σ_x P_x (h_x log h_x − l_x log l_x) z_x − q log(q/θ),
    q = θ P·l + Σ_x P_x (h_x − l_x) z_x,

with equality if all of them have the same mass P·v. Maximising it over (θ, z) for every box, with Σ
(θ l + (h − l) z) = 1, is a concave program whose multipliers β have β·v ≥ g(v) for all corners: the
last term is the least of its tangents θ e^(λ−1) − λ q, so a linear program with some λ solves it.

Where inputs are nearly equally probable, this relaxation is loose mainly because the number m of high
entries must be whole. Then there is a pair (θ, z) for each m, with Σ_x z_x = m θ.

Rounding goes the other way. Random sets in which x is high with probability z_x/θ, all of (almost) one
mass, are columns worth (almost) what the relaxation promises, and on average they sum to the right
vector: a nearly optimal mechanism can be made of a few hundred of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import block_diag
from scipy.special import xlogy

from ldpopt.core import highs
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.models.cones import Box

SETTLED = 1e-12
REACH = 3
"""Sizes up to this far from the mean get a part of their own."""
BATCH = 64
"""Sets that are drawn in one order of the entries."""
WHOLE = 1e-9
"""A probability this close to 0 or 1 counts as 0 or 1."""


class Part(NamedTuple):
    """Columns that are corners of one box, with a fixed number of high entries or with any."""

    box: Box
    size: int | None = None


class Share(NamedTuple):
    """A part with its weight θ and the probability z_x/θ that a free entry is high."""

    part: Part
    weight: float
    high: Array

    def sized(self) -> list[Part]:
        """List parts with the sizes around the mean number of high entries."""
        mean, most = round(float(self.high.sum())), len(self.high)
        return [Part(self.part.box, m) for m in range(max(mean - REACH, 0), min(mean + REACH, most) + 1)]


class Relaxed(NamedTuple):
    """The optimum of the relaxation: its multipliers, and how it shares the weight among the parts."""

    dual: Array
    shares: list[Share]


def relax(prior: Array, parts: Sequence[Part], limits: Limits) -> Relaxed | None:
    """Solve the relaxation by cutting planes; None if the time is over or the parts allow no solution.

    Args:
        prior: P.
        parts: the boxes, with or without a fixed number of high entries.
        limits: the limits of the run.
    """
    blocks = [_Block(prior, part) for part in parts]
    for done in range(12):
        found = _solve(blocks, len(prior), limits)
        if found is None:
            return None
        point, dual = found
        error = max(block.refine(x, 0.1 / 8**done) for block, x in zip(blocks, point, strict=True))
        if error <= SETTLED or limits.expired():
            break
    return Relaxed(dual, [block.share(x) for block, x in zip(blocks, point, strict=True)])


class _Block:
    """The variables (θ, t, z) of a part: t is at most every tangent of −q log(q/θ)."""

    def __init__(self, prior: Array, part: Part) -> None:
        low, high = part.box
        free = part.box.free
        self.part, self.free = part, free
        rise = xlogy(high, high) - xlogy(low, low)
        self.gain = np.concatenate([[prior @ xlogy(low, low), 1.0], (prior * rise)[free]])
        self.mass = np.concatenate([[prior @ low, 0.0], (prior * (high - low))[free]])
        least, most = float(prior @ low), float(prior @ high)
        self.slopes = list(1 + np.linspace(math.log(least), math.log(most), 12))

    def sums(self) -> Array:
        """Build the k rows θ l + (h − l) z."""
        low, high = self.part.box
        rows = np.zeros((len(low), len(self.gain)))
        rows[:, 0] = low
        rows[self.free, 2 + np.arange(len(self.free))] = (high - low)[self.free]
        return rows

    def limits(self) -> Array:
        """Build rows that must be at most 0: z − θ, and t minus each tangent."""
        n = len(self.free)
        below = np.hstack([-np.ones((n, 1)), np.zeros((n, 1)), np.eye(n)])
        slopes = np.array(self.slopes)[:, None]
        tangents = slopes * self.mass
        tangents[:, :1] -= np.exp(slopes - 1)
        tangents[:, 1] = 1.0
        return np.vstack([below, tangents])

    def size(self) -> Array:
        """Build the row Σ z − m θ, if the size is fixed."""
        if self.part.size is None:
            return np.zeros((0, len(self.gain)))
        return np.concatenate([[-self.part.size, 0.0], np.ones(len(self.free))])[None]

    def refine(self, x: Array, reach: float) -> float:
        """Add tangents at the mass of the point and beside it; return how far t exceeds −q log(q/θ)."""
        if x[0] <= SETTLED:
            return 0.0
        q = float(self.mass @ x) / x[0]
        slope = 1 + math.log(q)
        self.slopes += [slope - reach, slope, slope + reach]
        return float(x[1] + x[0] * xlogy(q, q))

    def share(self, x: Array) -> Share:
        return Share(self.part, float(x[0]), np.clip(x[2:] / max(x[0], SETTLED), 0.0, 1.0))


def _solve(blocks: Sequence[_Block], k: int, limits: Limits) -> tuple[list[Array], Array] | None:
    sizes = [block.size() for block in blocks]
    ends = np.cumsum([len(block.gain) for block in blocks])
    limits.check()
    arguments: dict[str, Any] = {
        "A_ub": block_diag([block.limits() for block in blocks], format="csr"),
        "b_ub": np.zeros(sum(len(block.slopes) + len(block.free) for block in blocks)),
        "A_eq": np.vstack([np.hstack([block.sums() for block in blocks]), block_diag(sizes).toarray()]),
        "b_eq": np.concatenate([np.ones(k), np.zeros(sum(map(len, sizes)))]),
        "bounds": [(None if j == 1 else 0, None) for b in blocks for j in range(len(b.gain))],
        "options": highs.scipy_options(limits),
    }
    found = linprog(-np.concatenate([block.gain for block in blocks]), **arguments)
    if found.status != 0:
        return None
    return np.split(np.array(found.x), ends[:-1]), -np.array(found.eqlin.marginals[:k])


# ---------------------------------------------------------------- rounding


def sampled(
    shares: Iterable[Share], prior: Array, count: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Draw columns of every part, in batches, in proportion to its weight times its mean low entry.

    Args:
        shares: the relaxed optimum.
        prior: P.
        count: how many columns, about.
        rng: the random numbers.
    """
    # parts of less weight are not sampled
    used = [share for share in shares if share.weight * share.part.box.high.max() > 1e-9]
    shown = np.array([share.weight * float(share.part.box.low.mean()) for share in used])
    for share, number in zip(used, np.ceil(count * shown / shown.sum()), strict=True):
        (low, high), free = share.part.box, share.part.box.free
        weights = (prior * (high - low))[free]
        for start in range(0, int(number), BATCH):
            size = min(BATCH, int(number) - start)
            chosen = random_sets(share.high, weights, share.part.size is not None, size, rng)
            columns = np.repeat(low[:, None], size, axis=1)
            columns[free] = np.where(chosen, high[free, None], low[free, None])
            yield columns


def random_sets(
    high: Array, weights: Array, sized: bool, count: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw sets of (almost) constant weight, as columns, that contain x with probability high_x.

    Two or three entries at a time move along a line on which the weight, and if ``sized`` the number of
    entries too, are constant. They move to one of its ends, drawn such that the mean does not change.
    There one of them is 0 or 1, and the next entry takes its place. For the last one or two entries only
    the number can be kept, or neither.

    Args:
        high: the probabilities.
        weights: the weights of the entries.
        sized: whether the number of entries is kept, as well as the weight.
        count: how many sets.
        rng: the random numbers.
    """
    slots = min(3 if sized else 2, len(high))
    order = rng.permutation(len(high)) if sized else np.argsort(-weights, kind="stable")
    y = np.repeat(high[:, None], count, axis=1)
    each = np.arange(count)
    active = np.repeat(order[:slots, None], count, axis=1)
    for following in [*order[slots:], None]:
        p = y[active, each]
        p = p + _step(p, _line(weights[active], sized), rng)
        y[active, each] = p
        if following is not None:
            active[np.abs(p - 0.5).argmax(axis=0), each] = following
    if slots == 3:  # at most two entries are left: keep their number
        left = np.argsort(np.abs(y - 0.5), axis=0, kind="stable")[:2]
        p = y[left, each]
        y[left, each] = p + _step(p, np.array([[1.0], [-1.0]]), rng)
    return np.array(rng.random(y.shape) < np.where(y > 1 - WHOLE, 1.0, np.where(y < WHOLE, 0.0, y)))


def _line(w: Array, sized: bool) -> Array:
    """Find directions that keep the weight of two entries, or the number and the weight of three."""
    if len(w) < 3:
        return np.stack([w[-1], -w[0]])[: len(w)] if not sized else np.array([[1.0], [-1.0]])[: len(w)]
    line = np.stack([w[1] - w[2], w[2] - w[0], w[0] - w[1]])
    flat = np.abs(line).max(axis=0) <= 1e-12 * w.max(axis=0)
    return np.where(flat, np.array([[1.0], [-1.0], [0.0]]), line)


def _step(p: Array, line: Array, rng: np.random.Generator) -> Array:
    """Draw a step from each p to one end of its line in the unit cube, such that the mean step is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (1 - p) / np.abs(line), p / np.abs(line)
    up, down = np.where(line > 0, up, down), np.where(line > 0, down, up)
    ahead = np.where(line == 0, np.inf, up).min(axis=0)
    back = np.where(line == 0, np.inf, down).min(axis=0)
    ahead, back = np.where(np.isfinite(ahead), ahead, 0.0), np.where(np.isfinite(back), back, 0.0)
    length = np.where(rng.random(len(ahead)) * (ahead + back) < back, ahead, -back)
    return np.clip(p + length * line, 0.0, 1.0) - p
