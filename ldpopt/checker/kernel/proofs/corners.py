"""Decide whether a dual vector proves a bound: β·v ≥ g(v) for every private column v.

Statement. K = {T ≥ 0 : T_x ≤ E T_x' where the secrets of x and x' differ}, E = e^ε, is the cone of
private columns, and g is sublinear. If β·v ≥ g(v) on K, then every private W has Σ_y g(W[:, y]) ≤ Σ_y
β·W[:, y] = Σ_x β_x, as its rows sum to 1. :func:`dominates` decides it, on the corners of the boxes of
Lemma 1 (``private_cone.py``): for mutual information here, for divergences by Lemma 3
(``two_hypotheses.py``), for piecewise linear utilities by Lemma 4 (``piecewise_linear.py``).

Lemma 2 (information, :class:`InformationSearch`). At a corner with the set S of high entries,
g(v) − β·v = a + Σ_{x∈S} gain_x − q log q with q = w + Σ_{x∈S} weight_x. For every slope λ,
−q log q ≤ e^(λ−1) − λ q (the tangent at q = e^(λ−1)), so this is at most
a + e^(λ−1) − λ w + Σ_{x∈S} (gain_x − λ weight_x): a sum over the entries. Its largest value over all S
takes the positive terms; over all S of m elements it takes the m largest terms. ∎  A node of the search
fixes some entries; it is done if the sum is at most 0 for one λ, and is split otherwise. After
:data:`PLAIN_NODES` nodes the search starts again once per m: with nearly equal weights the bound for
fixed m is nearly exact, while with the other one astronomically many nodes would be split.

Arithmetic. Whatever is not rational is enclosed once, in whole multiples of 2^−:data:`BITS`; then every
bound is a sum of integers, rounded up. Slopes, lines and splits are guessed in floats; the
bounds hold for any guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..arithmetic import ONE, Interval, above, below, enclose, exp, total
from ..budget import UndecidedError, tick
from ..claims import all_of
from ..fixed_point import BITS, UNIT, Vector, dot, units_up
from .column_utilities import information
from .piecewise_linear import pieces_within
from .private_cone import Box, boxes
from .two_hypotheses import Divergence, DivergenceSearch

SLOPE_BITS = 64
PLAIN_NODES = 500
MOST_NODES = 2_000_000


def dominates(
    dual: Sequence[float | Fraction],
    secrets: Sequence[Any],
    epsilon: float,
    distributions: Sequence[Sequence[Fraction]],
    pieces: Sequence[Vector] | None = None,
    divergence: Divergence | None = None,
) -> bool | None:
    """Return whether β·v ≥ g(v) for every private column v; None if they are too close to tell.

    Args:
        dual: β, an entry per input.
        secrets: the secret of each input.
        epsilon: the level ε, in nats.
        distributions: the prior, or the hypotheses, each summing to exactly 1.
        pieces: the a_i of a piecewise linear g.
        divergence: which divergence of two hypotheses g is; without either it is information.
    """
    exact = [Fraction(b) for b in dual]
    powers = [ONE, exp(epsilon), exp(2 * Fraction(epsilon))]

    def holds(box: Box) -> bool | None:
        if pieces is not None:
            return pieces_within(pieces, exact, box, powers)
        if divergence is not None:
            return DivergenceSearch(exact, distributions, box, powers, divergence).holds()
        return InformationSearch(exact, distributions[0], box, powers, epsilon).holds()

    return all_of(map(holds, boxes(secrets)))


# ---------------------------------------------------------------- mutual information


class Item(NamedTuple):
    """What raising one of several like entries from low to high adds; in units, the weight enclosed."""

    gain: int
    weight: int
    least_weight: int
    inputs: list[int]


class Node(NamedTuple):
    """The least and the largest number of high copies of each item; and of all items, if it is fixed."""

    low: list[int]
    high: list[int]
    size: int | None


class InformationSearch:
    """Lemma 2: Σ P v log v − q log q − β·v ≤ 0 on all corners of a box."""

    def __init__(
        self,
        dual: Sequence[Fraction],
        prior: Sequence[Fraction],
        box: Box,
        powers: list[Interval],
        epsilon: float,
    ) -> None:
        self.dual, self.prior, self.box, self.E = dual, prior, box, Fraction(powers[1].low)
        own = [powers[j] * enclose(j * Fraction(epsilon)) for j in range(3)]  # E^j log E^j
        shares = [enclose(p) for p in prior]
        entries = list(zip(map(enclose, dual), shares, box.low, box.high, strict=True))
        start = total(p * own[i] - b * powers[i] for b, p, i, _ in entries)
        mass = total(p * powers[i] for _, p, i, _ in entries)
        self.gain, self.weight, self.least_weight = above(start), above(mass), below(mass)
        found: dict[tuple[int, int, int], list[int]] = {}
        self.free: list[int] = []  # entries without weight are high exactly where that adds
        for x, (b, p, i, j) in enumerate(entries):
            if i < j:
                gain = p * (own[j] - own[i]) - b * (powers[j] - powers[i])
                if prior[x]:
                    weight = p * (powers[j] - powers[i])
                    found.setdefault((above(gain), above(weight), below(weight)), []).append(x)
                elif gain.high > 0:
                    self.gain += above(gain)
                    self.free.append(x)
        items = [Item(*numbers, inputs) for numbers, inputs in found.items()]
        self.items = sorted(items, key=lambda item: -_ratio(item))
        self.ratios = [_ratio(item) for item in self.items]
        self.weights = [item.weight / UNIT for item in self.items]

    def holds(self) -> bool | None:
        """Search all corners at once and, if that takes long, once for every number of high entries."""
        copies = [len(item.inputs) for item in self.items]
        nothing = [0 for _ in copies]
        if self._positive(self._best_prefix()):
            return False
        try:
            return self._search([Node(nothing, copies, None)], PLAIN_NODES)
        except UndecidedError:
            return self._search([Node(nothing, copies, m) for m in range(sum(copies) + 1)], MOST_NODES)

    def _best_prefix(self) -> list[int]:
        """Guess the best corner of those that raise the first copies in the order of gain per weight."""
        a, q = self.gain / UNIT, self.weight / UNIT
        counts, best, best_value = [0] * len(self.items), [0] * len(self.items), a - q * math.log(q)
        for i, item in enumerate(self.items):
            for _ in item.inputs:
                counts[i] += 1
                a, q = a + item.gain / UNIT, q + item.weight / UNIT
                if a - q * math.log(q) > best_value:
                    best, best_value = list(counts), a - q * math.log(q)
        return best

    def _search(self, pending: list[Node], nodes: int) -> bool | None:
        found: bool | None = True
        for _ in range(nodes):
            if not pending:
                return found
            tick()
            node = pending.pop()
            slope, place = self._guess(node) if node.size is None else self._guess_of_size(node)
            if self._done(node, slope):
                continue
            if place is None:
                if self._positive(node.low):
                    return False
                found = None
                continue
            i, taken = place
            pending.append(Node(node.low, [*node.high[:i], taken, *node.high[i + 1 :]], node.size))
            pending.append(Node([*node.low[:i], taken + 1, *node.low[i + 1 :]], node.high, node.size))
        raise UndecidedError(f"not decided within {nodes} nodes")

    def _taken(self, counts: list[int]) -> tuple[int, int, int]:
        """Bound a from above, and q from above and below, where so many copies are high."""
        a, q, least_q = self.gain, self.weight, self.least_weight
        for n, item in zip(counts, self.items, strict=True):
            if n:
                a, q, least_q = a + n * item.gain, q + n * item.weight, least_q + n * item.least_weight
        return a, q, least_q

    def _positive(self, counts: list[int]) -> bool:
        """Return whether the inequality certainly fails at a corner."""
        raised = (item.inputs[:n] for n, item in zip(counts, self.items, strict=True))
        v = self.box.corner(set(self.free).union(*raised), self.E)
        return information(self.prior)(v).low > enclose(dot(self.dual, v)).high

    def _done(self, node: Node, slope: int) -> bool:
        """Return whether the bound of Lemma 2 with λ = slope/2^SLOPE_BITS is at most 0."""
        a, q, least_q = self._taken(node.low)
        tangent = exp(Fraction(slope, 1 << SLOPE_BITS) - 1).high
        bound = (a << SLOPE_BITS) + units_up(tangent, BITS + SLOPE_BITS)
        bound -= slope * (least_q if slope >= 0 else q)
        terms = []
        for n, m, item in zip(node.low, node.high, self.items, strict=True):
            if m > n:
                light = item.least_weight if slope >= 0 else item.weight
                terms.append(((item.gain << SLOPE_BITS) - slope * light, m - n))
        if node.size is None:
            return bound + sum(term * n for term, n in terms if term > 0) <= 0
        left = node.size - sum(node.low)
        if not 0 <= left <= sum(n for _, n in terms):
            return True  # no corner at all
        for term, n in sorted(terms, reverse=True):
            bound += term * min(n, left)
            left -= min(n, left)
        return bound <= 0

    def _guess(self, node: Node) -> tuple[int, tuple[int, int] | None]:
        """Guess a good slope, and which item to split at which count (None if all are fixed).

        The relaxed optimum takes items in the order of gain per weight while that exceeds 1 + log q.
        """
        q, last = self._mass(node.low), None
        for i, (ratio, w, n, m) in enumerate(
            zip(self.ratios, self.weights, node.low, node.high, strict=True)
        ):
            if m == n:
                continue
            if ratio <= 1 + math.log(q):
                return _slope(1 + math.log(q)), last or (i, n)
            room = math.exp(ratio - 1) - q if ratio < 500 else math.inf
            if room < w * (m - n):
                return _slope(ratio), (i, min(n + int(room / w), m - 1))
            q += w * (m - n)
            last = (i, m - 1)
        return _slope(1 + math.log(q)), last

    def _guess_of_size(self, node: Node) -> tuple[int, tuple[int, int] | None]:
        """Guess the slope and the split where the number of high copies is fixed.

        The bound of Lemma 2 is convex in λ, with the derivative e^(λ−1) − q(λ), q(λ) the mass of the
        entries taken at λ: bisection.
        """
        assert node.size is not None
        free = [i for i, (n, m) in enumerate(zip(node.low, node.high, strict=True)) if m > n]
        left, start = node.size - sum(node.low), self._mass(node.low)
        gains = {i: self.items[i].gain / UNIT for i in free}
        low, high = 1 + math.log(start), 1 + math.log(start + sum(map(self._room(node), free)) + 1e-300)
        place: tuple[int, int] | None = None
        for _ in range(40):
            middle, rest, q = (low + high) / 2, left, start
            order = sorted(free, key=lambda i: middle * self.weights[i] - gains[i])
            for i in order:
                taken = min(rest, node.high[i] - node.low[i])
                q, rest = q + taken * self.weights[i], rest - taken
                if rest <= 0:
                    place = (i, node.low[i] + max(taken - 1, 0))
                    break
            low, high = (middle, high) if q > math.exp(middle - 1) else (low, middle)
        if free and place is None:
            place = (free[0], node.low[free[0]])
        return _slope(high), place

    def _room(self, node: Node) -> Any:
        return lambda i: (node.high[i] - node.low[i]) * self.weights[i]

    def _mass(self, counts: list[int]) -> float:
        taken = (n * w for n, w in zip(counts, self.weights, strict=True) if n)
        return self.weight / UNIT + math.fsum(taken)


def _ratio(item: Item) -> float:
    """Compute gain/weight, for the order; an item of almost no weight stands at an end."""
    if item.weight == 0:
        return math.copysign(1e300, item.gain)
    ratio = Fraction(item.gain, item.weight)
    return float(min(max(ratio, Fraction(-(10**300))), Fraction(10**300)))


def _slope(guess: float) -> int:
    """Round a slope to units of 2^−SLOPE_BITS; slopes beyond ±700 prove nothing more."""
    return int(min(max(guess, -700.0), 700.0) * (1 << SLOPE_BITS))
