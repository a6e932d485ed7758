"""Pricing: find the corner v of a box with the largest g(v) − α·v, without listing the 2^k corners.

Column generation solves this problem at every step. Each pricer also returns a *proven* upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpopt.core.forms.column_program import Sublinear
from ldpopt.core.validate import Array
from ldpopt.models.cones import Box, Indices

if TYPE_CHECKING:
    from ldpopt.models.utilities import Largest, MutualInformation, TwoHypotheses

Mask = NDArray[np.bool_]

ROUNDING = 1e-15
"""The float error allowed for in every upper bound, relative to the sums involved."""


class Priced(NamedTuple):
    """Good corners at the prices asked for, and an upper bound on g(v) − α·v over all corners."""

    rays: Array
    upper: float
    nodes: int


class Pricer(Protocol):
    """What column generation needs to know about a utility."""

    reference: Array
    """A distribution; a multiple of it is a reasonable dual vector."""
    order: Array
    """A number per input; the inputs with the largest ones form promising columns."""
    traits: Array
    """A row per input: inputs with equal rows are interchangeable in the utility."""
    many_optima: bool
    """Whether so many columns are nearly optimal that it pays to look for them at random."""

    def price(self, box: Box, dual: Array, slack: float, width: int) -> Priced:
        """Find corners v of a box with a large g(v) − α·v, and bound it over all corners.

        Args:
            box: the corners v among which to choose.
            dual: the prices α, one per input.
            slack: no corner is pursued that promises less.
            width: bounds the effort; what is given up for it enters the upper bound.
        """


def pricer(utility: Sublinear) -> Pricer | None:
    """Return what the utility's own method ``pricer`` returns, or None if it has none."""
    own: Callable[[], Pricer] | None = getattr(utility, "pricer", None)
    return None if own is None else own()


# ------------------------------------------------------------ mutual information


class InformationPricer:
    """g(v) = Σ P v log v − h(q), h(q) = q log q: a knapsack with a concave reward.

    On the corners the first term and α·v are linear in the set S of high entries, and so is q = P·v:
    maximise A(S) − h(q(S)).
    """

    many_optima = True

    def __init__(self, utility: MutualInformation) -> None:
        self.prior = utility.prior
        self.reference = utility.prior / utility.prior.sum()
        self.order = utility.prior
        self.traits = utility.prior[:, None]

    def price(self, box: Box, dual: Array, slack: float, width: int) -> Priced:
        """Solve the Pareto knapsack over the free entries of the box.

        Args:
            box: the corners v among which to choose.
            dual: the prices α, one per input.
            slack: no corner is pursued that promises less.
            width: the most states that the knapsack keeps.
        """
        low, high = box
        own = xlogy(low, low)
        gain = self.prior * (xlogy(high, high) - own) - dual * (high - low)
        weight = self.prior * (high - low)
        free = box.free
        start = State(float(self.prior @ own - dual @ low), float(self.prior @ low))
        search = by_size if self.alike(box) else knapsack
        sets, upper, nodes = search(start, gain[free], weight[free], slack, width)
        rays = np.repeat(low[:, None], len(sets), axis=1)
        rays[free] = np.where(sets.T, high[free, None], low[free, None])
        return Priced(rays, upper, nodes)

    def alike(self, box: Box) -> bool:
        """Return whether the free inputs of a box are many and nearly equally probable."""
        shares = self.prior[box.free]
        # inputs are nearly alike if their probabilities differ by at most a factor and there are this
        # many
        return len(shares) >= 16 and bool(shares.max() <= 1.5 * shares.min())


class State(NamedTuple):
    """The state of a partial choice: its linear part A and its q."""

    A: float
    q: float


def knapsack(
    start: State, gain: Array, weight: Array, slack: float, width: int
) -> tuple[Mask, float, int]:
    """Maximise A + gain(S) − h(q + weight(S)) over sets S, h(q) = q log q.

    Items are decided from the break of the relaxation outwards. A state is dominated by one of larger
    A and smaller q, as h increases on q ≥ 1. Completions of a state are bounded by the tangent of −h:
    an undecided item stays on its side of the break while the slope 1 + log q lies on the same side of
    its ratio gain/weight, else the tangent with that ratio bounds all completions. At most ``width``
    states are kept, and what is dropped enters the upper bound.

    Args:
        start: A and q of the empty set.
        gain: what each item adds to A.
        weight: what each item adds to q, at least 0.
        slack: no state is pursued that promises less than this above the best.
        width: the most states that are kept.

    Returns:
        Good sets as the rows of a mask, the upper bound, and how many states were looked at.
    """
    ratio, chosen, near = _from_the_break_outwards(start.q, gain, weight)
    above = _later_min(np.where(chosen, ratio, np.inf)[near]) - 1
    below = -_later_min(np.where(chosen, np.inf, -ratio)[near]) - 1
    flip = np.where(chosen, -1.0, 1.0)
    A = np.array([start.A + gain[chosen].sum()])
    q = np.array([start.q + weight[chosen].sum()])
    grain = ROUNDING * (1 + abs(A[0]) + q[0] * np.log(q[0]))
    best = upper = float(A[0] - q[0] * np.log(q[0]))
    nodes = 1
    kept: list[Indices] = [np.zeros(1, np.intp)]
    picks: list[int] = []
    for step, item in enumerate(near):
        size = len(A)
        A = np.append(A, A + flip[item] * gain[item])
        q = np.append(q, q + flip[item] * weight[item])
        order = _undominated(A, q, grain)
        A, q = A[order], q[order]
        slope = np.log(q)
        value = np.where(order >= size, A - q * slope, -np.inf)
        slope = np.clip(slope, below[step], above[step])
        bound = A + np.exp(slope) - (1 + slope) * q
        nodes += len(A)
        top = int(np.argmax(value))
        picks.append(int(order[top]) if order[top] >= size else -1)
        best = max(best, float(value[top]))
        live = bound > max(best, 0.0) + slack
        if np.count_nonzero(live) > width:
            live &= bound > np.partition(bound, -width - 1)[-width - 1]
        upper = max(upper, float(np.max(bound, where=~live, initial=-np.inf)))
        kept.append(order[live])
        if not live.any():
            break
        A, q = A[live], q[live]
    most = start.q + weight.sum()
    error = ROUNDING * float(1 + abs(start.A) + np.abs(gain).sum() + most * np.log(most))
    return _traced(chosen, near, kept, picks), max(upper, best) + grain * len(gain) + error, nodes


def by_size(
    start: State, gain: Array, weight: Array, slack: float, width: int
) -> tuple[Mask, float, int]:
    """Solve the problem of :func:`knapsack` for nearly equal weights, by a bound for each set size m.

    For every λ the best set of m items takes the m largest gain − λ weight, and is worth at most A + Σ
    of these + e^(λ−1) − λ q. The least over λ is nearly exact where weights are nearly equal,
    while the fractional relaxation of :func:`knapsack` could then rule out too few sets. The bound is
    convex in λ: for each m the range of λ is narrowed around the best of a few values.

    Args:
        start: A and q of the empty set.
        gain: the gain of each item.
        weight: the weight of each item.
        slack: not used: every size has its bound.
        width: the most sets that are returned.
    """
    n = len(gain)
    low = np.full(n + 1, 1 + np.log(start.q))
    high = np.full(n + 1, 1 + np.log(start.q + weight.sum()))
    rows = np.arange(n + 1)
    for _ in range(8):
        slopes = np.linspace(low, high, 9)
        terms = -np.sort(slopes[:, :, None] * weight - gain, axis=2)
        taken = np.concatenate([np.zeros((9, n + 1, 1)), terms.cumsum(axis=2)], axis=2)
        bounds = start.A + np.exp(slopes - 1) - slopes * start.q + taken[:, rows, rows]
        best = bounds.argmin(axis=0)
        low, high = slopes[np.maximum(best - 1, 0), rows], slopes[np.minimum(best + 1, 8), rows]
    upper, slope = bounds.min(axis=0), slopes[best, rows]
    rank = np.argsort(np.argsort(slope[:, None] * weight - gain, axis=1), axis=1)
    sets = rank < rows[:, None]
    order = np.argsort(-upper)[:width]
    most = start.q + weight.sum()
    error = ROUNDING * float(1 + abs(start.A) + np.abs(gain).sum() + most * np.log(most))
    return sets[order], float(upper.max()) + error, n + 1


def _from_the_break_outwards(q: float, gain: Array, weight: Array) -> tuple[Array, Mask, Indices]:
    """Sort the items by distance from the break.

    Also return the ratios gain/weight, and which items the relaxation takes whole.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(weight > 0, gain / weight, np.where(gain > 0, np.inf, -np.inf))
    order = np.argsort(-ratio, kind="stable")
    after = q + np.cumsum(weight[order])
    full = int(np.argmin(np.append(ratio[order] >= 1 + np.log(after), False)))
    slope = 1 + np.log(q if full == 0 else after[full - 1])
    if full < len(gain):
        slope = max(slope, ratio[order[full]])
    chosen = np.zeros(len(gain), bool)
    chosen[order[:full]] = True
    return ratio, chosen, np.argsort(np.abs(ratio - slope), kind="stable")


def _undominated(A: Array, q: Array, grain: float) -> Indices:
    """Select the states whose A exceeds that of every state of smaller q, by increasing q.

    A is compared after rounding down to multiples of ``grain``.
    """
    order = np.argsort(q, kind="stable")
    level = np.floor(A[order] / grain)
    return order[np.append(True, level[1:] > np.maximum.accumulate(level)[:-1])]


def _later_min(x: Array) -> Array:
    """Compute the minimum of the entries that follow each entry."""
    return np.append(np.minimum.accumulate(x[::-1])[::-1][1:], np.inf)


def _traced(chosen: Mask, near: Indices, kept: list[Indices], picks: list[int]) -> Mask:
    """Trace the set behind the best new state of every step, and the break set itself."""
    sets = [chosen]
    for last, picked in enumerate(picks):
        if picked < 0:
            continue
        state, found = picked, chosen.copy()
        for step in range(last, -1, -1):
            size = len(kept[step])
            if state >= size:
                found[near[step]] ^= True
                state -= size
            state = int(kept[step][state])
        sets.append(found)
    return np.array(sets)


# ------------------------------------------------------------ divergences


class DivergencePricer:
    """g(v) = d(p0·v, p1·v) with d(q0, q1) = max_r a(r) q0 + b(r) q1: exact in polynomial time.

    For a fixed r the best set of high entries is {x : c_x(r) = a(r) p0_x + b(r) p1_x − α_x > 0}, which
    changes only at the roots of the c_x; each c_x rises up to r = p0_x/p1_x and then falls.
    """

    many_optima = False

    def __init__(self, utility: TwoHypotheses) -> None:
        self._utility = utility
        apart = np.abs(utility.p0 - utility.p1)
        self.reference = apart / apart.sum() if apart.any() else utility.p0 / utility.p0.sum()
        self.order = utility.p0 / np.maximum(utility.p0 + utility.p1, 1e-300)
        self.traits = np.stack([utility.p0, utility.p1], axis=1)

    def price(self, box: Box, dual: Array, slack: float, width: int) -> Priced:
        """Find every set that some ratio r prefers; the bound is exact but for rounding.

        Args:
            box: the corners v among which to choose.
            dual: the prices α, one per input.
            slack: not used, as every corner that matters is found.
            width: the most corners that are returned.
        """
        rays = self._preferred(box, dual)
        if width > 1:
            rays = np.unique(rays, axis=1)
        return _priced(self._utility, rays, dual, width)

    def peaks(self, box: Box, dual: Array) -> Array:
        """Find the corners where the excess g(v) − α·v > 0 is largest among those of nearby ratios."""
        rays = self._preferred(box, dual)
        value = self._utility(rays) - dual @ rays
        around = np.pad(value, 1, constant_values=-np.inf)
        return rays[:, (value > 0) & (value >= around[:-2]) & (value > around[2:])]

    def _preferred(self, box: Box, dual: Array) -> Array:
        """Build the corner that each range of ratios prefers, in the order of the ratios."""
        roots = self._roots(dual, float(np.log(box.high.max() / box.low.min())))
        middles = np.exp((roots[1:] + roots[:-1]) / 2)
        chosen = self._excess(middles[None, :], dual[:, None]) > 0
        return np.where(chosen, box.high[:, None], box.low[:, None])

    def _excess(self, r: Array, dual: Array) -> Array:
        a, b = self._utility.slopes(r)
        shape = (-1,) + (1,) * (dual.ndim - 1)
        return a * self._utility.p0.reshape(shape) + b * self._utility.p1.reshape(shape) - dual

    def _roots(self, dual: Array, span: float) -> Array:
        """Find the sorted values of log r in [−span, span] where some c_x changes sign, by bisection."""
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = np.log(self._utility.p0 / self._utility.p1)
        peak = np.clip(np.nan_to_num(likelihood), -span, span)
        found = [np.array([-span, 0.0, span])]
        for end in (-span, span):
            outer, inner = np.full_like(peak, end), peak.copy()
            for _ in range(60):
                half = (outer + inner) / 2
                positive = self._excess(np.exp(half), dual) > 0
                inner, outer = np.where(positive, half, inner), np.where(positive, outer, half)
            found.append(inner)
        return np.sort(np.concatenate(found))


# ------------------------------------------------------------ piecewise linear utilities


class LargestPricer:
    """g(v) = max_i a_i·v: the best corner for each i is high where a_i exceeds the prices."""

    many_optima = False

    def __init__(self, utility: Largest) -> None:
        self._utility = utility
        most = np.maximum(utility.functions.max(axis=0), 0.0)
        self.reference = most / most.sum() if most.any() else np.full(len(most), 1 / len(most))
        self.order = utility.functions[0]
        self.traits = utility.functions.T

    def price(self, box: Box, dual: Array, slack: float, width: int) -> Priced:
        """Find the best corner for every function; the bound is exact but for rounding.

        Args:
            box: the corners v among which to choose.
            dual: the prices α, one per input.
            slack: not used, as every corner that matters is found.
            width: the most corners that are returned.
        """
        chosen = self._utility.functions.T > dual[:, None]
        rays = np.where(chosen, box.high[:, None], box.low[:, None])
        return _priced(self._utility, rays, dual, width)


def _priced(utility: Sublinear, rays: Array, dual: Array, width: int) -> Priced:
    """Sort rays that include the best corner by g(v) − α·v; the bound allows for rounding."""
    gain = utility(rays)
    value = gain - dual @ rays
    order = np.argsort(-value, kind="stable")
    terms = np.abs(gain) + (np.abs(dual) + 1) @ rays
    upper = float((value + ROUNDING * terms).max())
    return Priced(rays[:, order[:width]], upper, rays.shape[1])
