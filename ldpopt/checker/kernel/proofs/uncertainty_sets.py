"""Uncertainty sets of joint distributions of a secret and public data, and linear functions on them.

Statement. F is a convex set of distributions P of the cells x = (s, u), in the order of the table. This
file has the sets that are polyhedra:

* ``known``: one distribution, and ``scenarios``: all mixtures of listed ones;
* ``total-variation``: ½ Σ_x |P_x − p_x| ≤ ρ around a center p;
* ``wasserstein``: mass of p is moved from cell x to cell x' at the cost d(x, x') per unit, ≤ ρ in all;
* ``credible``: l_x ≤ P_x ≤ h_x for all x; the ends stand in ``credible_set.py``.

The others stand in ``divergence_balls.py``. Two questions are decided about a set: does a *witness*
describe a member (:meth:`UncertaintySet.member`), and which number is not above c·P for any member P
(:meth:`UncertaintySet.least`). Both answers hold whatever floats guess on the way.

Lemma 1 (:class:`TotalVariation`). c·P = c·p + Σ_x g_x c_x − Σ_x l_x c_x with gains g ≥ 0, losses
0 ≤ l_x ≤ p_x, and Σ g = Σ l ≤ ρ. So it is at least c·p − Σ_x l_x (c_x − min c), and the losses cost most
if they are taken from the cells with the largest c: a fractional knapsack. ∎

Lemma 2 (:class:`Wasserstein`). For every μ ≥ 0, c·P ≥ Σ_x p_x min_x' (c_x' + μ d(x, x')) − μ ρ. Proof.
P = Σ_x p_x K(x, ·) with Σ p_x K(x, x') d(x, x') ≤ ρ; add μ times the slack, which is ≥ 0. ∎

Lemma 3 (:class:`Box`). Over l ≤ P ≤ h, Σ P = 1, c·P is least where the mass 1 − Σ l that is left is
spent on the cells with the smallest c first: a fractional knapsack. ∎ Ends that are rounded outwards
make the set larger and the bound lower.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..arithmetic import Interval
from ..budget import tick
from ..fixed_point import dot
from ..reading import UnreadableError
from ..schema import Distribution, Joint, List

STEPS = 200
"""Most steps of a search for a guess."""

Table = list[Fraction]
Witness = list[list[float]]
"""What describes a member: its table [s][u], the weights of scenarios, or the moves between cells."""


class UncertaintySet(ABC):
    """A convex set of distributions of the cells of a table, in the order of its rows.

    Args:
        shape: the number of secrets and of public values.
        center: what the set lies around; a member, but for a credible set that is very small.
    """

    name = "the set"
    """The name of the set in claims."""

    def __init__(self, shape: tuple[int, int], center: Table) -> None:
        self.shape, self.center = shape, center
        self.floats = [float(p) for p in center]

    def member(self, witness: Any, where: str) -> tuple[Table, bool | None]:
        """Read a witness: the distribution that it describes, and whether that lies in the set."""
        table = Joint(*self.shape).read(witness, where)
        if (len(table), len(table[0])) != self.shape:
            raise UnreadableError(f"{where} must be a table of {self.shape[0]} × {self.shape[1]} cells")
        P = [entry for row in table for entry in row]
        return P, self.contains(P)

    @abstractmethod
    def contains(self, P: Table) -> bool | None:
        """Return whether P certainly lies in the set; None if it is too close to tell."""

    @abstractmethod
    def least(self, cost: Sequence[Fraction]) -> Fraction:
        """Bound cost·P over the set from below."""

    @abstractmethod
    def worst(self, cost: Sequence[float]) -> Witness:
        """Guess a member with the least cost·P, in floats."""

    @property
    def home(self) -> Witness:
        """The witness of the center."""
        return self.table(self.floats)

    def cells(self, witness: Witness) -> list[float]:
        """Compute the distribution that a witness describes, in floats; linear in the witness."""
        return [entry for row in witness for entry in row]

    def table(self, flat: list[float]) -> Witness:
        """Arrange cells as a table [s][u]."""
        width = self.shape[1]
        return [flat[i : i + width] for i in range(0, len(flat), width)]


class Scenarios(UncertaintySet):
    """All mixtures of some distributions, or one known distribution. A witness is one row of weights."""

    def __init__(self, shape: tuple[int, int], members: list[Table]) -> None:
        middle = [sum(cell, Fraction(0)) / len(members) for cell in zip(*members, strict=True)]
        super().__init__(shape, middle)
        self.members = members
        self.lists = [[float(p) for p in member] for member in members]

    def member(self, witness: Any, where: str) -> tuple[Table, bool | None]:
        """See :meth:`UncertaintySet.member`."""
        count = len(self.members)
        rows = List(Distribution(), 1, 1).read(witness, where)
        if len(rows[0]) != count:
            raise UnreadableError(f"{where} must be one row of {count} weights, not {len(rows[0])}")
        cells = zip(*self.members, strict=True)
        return [dot(rows[0], cell) for cell in cells], True

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`; only listed members and their mean are recognised."""
        return True if P in self.members or P == self.center else None

    def least(self, cost: Sequence[Fraction]) -> Fraction:
        """See :meth:`UncertaintySet.least`: a linear function is least at a listed member."""
        tick()
        return min(dot(cost, member) for member in self.members)

    def worst(self, cost: Sequence[float]) -> Witness:
        """See :meth:`UncertaintySet.worst`."""
        values = [sum(map(float.__mul__, member, cost)) for member in self.lists]
        best = values.index(min(values))
        return [[float(i == best) for i in range(len(values))]]

    @property
    def home(self) -> Witness:
        """See :meth:`UncertaintySet.home`."""
        return [[1 / len(self.lists)] * len(self.lists)]

    def cells(self, witness: Witness) -> list[float]:
        """See :meth:`UncertaintySet.cells`."""
        return [sum(map(float.__mul__, witness[0], cell)) for cell in zip(*self.lists, strict=True)]


class TotalVariation(UncertaintySet):
    """Lemma 1."""

    def __init__(self, shape: tuple[int, int], center: Table, radius: Fraction) -> None:
        super().__init__(shape, center)
        self.radius = radius

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`."""
        gains = (max(p - q, Fraction(0)) for p, q in zip(P, self.center, strict=True))
        return sum(gains, Fraction(0)) <= self.radius

    def least(self, cost: Sequence[Fraction]) -> Fraction:
        """See :meth:`UncertaintySet.least`."""
        tick()
        bottom, left = min(cost), self.radius
        found = dot(cost, self.center)
        for c, p in sorted(zip(cost, self.center, strict=True), reverse=True):
            taken = min(p, left)
            left -= taken
            found -= taken * (c - bottom)
        return found

    def worst(self, cost: Sequence[float]) -> Witness:
        """See :meth:`UncertaintySet.worst`."""
        P, left = list(self.floats), float(self.radius)
        order = sorted(range(len(P)), key=cost.__getitem__)
        for x in reversed(order[1:]):
            taken = min(P[x], left)
            left -= taken
            P[x] -= taken
            P[order[0]] += taken
        return self.table(P)


class Box(UncertaintySet):
    """Lemma 3; every end is enclosed."""

    def __init__(
        self, shape: tuple[int, int], center: Table, low: list[Interval], high: list[Interval]
    ) -> None:
        super().__init__(shape, center)
        self.inner = [(Fraction(a.high), Fraction(b.low)) for a, b in zip(low, high, strict=True)]
        self.outer = [(Fraction(a.low), Fraction(b.high)) for a, b in zip(low, high, strict=True)]

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`."""
        if all(a <= p <= b for p, (a, b) in zip(P, self.inner, strict=True)):
            return True
        inside = all(a <= p <= b for p, (a, b) in zip(P, self.outer, strict=True))
        return None if inside else False

    def least(self, cost: Sequence[Fraction]) -> Fraction:
        """See :meth:`UncertaintySet.least`."""
        tick()
        left = 1 - sum((a for a, _ in self.outer), Fraction(0))
        found = dot(cost, [a for a, _ in self.outer])
        for c, (a, b) in sorted(zip(cost, self.outer, strict=True)):
            spent = min(b - a, left)
            left -= spent
            found += spent * c
        return found

    def worst(self, cost: Sequence[float]) -> Witness:
        """See :meth:`UncertaintySet.worst`."""
        ends = self._float_ends
        P = [a for a, _ in ends]
        left = 1 - math.fsum(P)
        for x in sorted(range(len(P)), key=cost.__getitem__):
            spent = min(ends[x][1] - P[x], left)
            left -= spent
            P[x] += spent
        return self.table(P)

    @cached_property
    def _float_ends(self) -> list[tuple[float, float]]:
        return [(float(a), float(b)) for a, b in self.inner]


class Wasserstein(UncertaintySet):
    """Lemma 2; ``distance`` is the cost of moving a unit of mass from cell x to cell x'.

    A witness is a row of shares for each cell: where its mass goes.
    """

    def __init__(
        self, shape: tuple[int, int], center: Table, radius: Fraction, distance: list[list[float]]
    ) -> None:
        super().__init__(shape, center)
        self.radius, self.distance = radius, distance
        self.exact = [[Fraction(d) for d in row] for row in distance]
        self.used = [x for x, p in enumerate(center) if p]

    def member(self, witness: Any, where: str) -> tuple[Table, bool | None]:
        """See :meth:`UncertaintySet.member`."""
        count = len(self.center)
        rows = List(Distribution(count), count, count).read(witness, where)
        if any(len(row) != count for row in rows):
            raise UnreadableError(f"{where} must be {count} rows of {count} shares")
        spent = sum(
            (p * dot(row, costs) for p, row, costs in zip(self.center, rows, self.exact, strict=True)),
            Fraction(0),
        )
        P = [dot(self.center, column) for column in zip(*rows, strict=True)]
        return P, spent <= self.radius

    def contains(self, P: Table) -> bool | None:
        """See :meth:`UncertaintySet.contains`; only the center is recognised without its moves."""
        return True if P == self.center else None

    def least(self, cost: Sequence[Fraction]) -> Fraction:
        """See :meth:`UncertaintySet.least`."""
        tick()
        price = Fraction(self._price([float(c) for c in cost])[1])
        found = -price * self.radius
        for x in self.used:
            found += self.center[x] * min(
                c + price * d for c, d in zip(cost, self.exact[x], strict=True)
            )
        return max(found, min(cost))

    def _price(self, cost: Sequence[float]) -> tuple[float, float]:
        """Guess the best μ between two: at the first the moves cost more than ρ, at the second not."""
        goal, low, high = float(self.radius), 0.0, 1.0
        while self._spent(cost, high) > goal and high < 1e300:
            low, high = high, 2 * high
        for _ in range(STEPS):
            tick()
            middle = (low + high) / 2
            if not low < middle < high or high - low <= 1e-15 * high:
                break
            low, high = (middle, high) if self._spent(cost, middle) > goal else (low, middle)
        return low, high

    def _targets(self, cost: Sequence[float], price: float) -> list[int]:
        found = []
        for row in self.distance:
            prices = [c + price * d for c, d in zip(cost, row, strict=True)]
            found.append(prices.index(min(prices)))
        return found

    def _spent(self, cost: Sequence[float], price: float) -> float:
        targets = self._targets(cost, price)
        return sum(self.floats[x] * self.distance[x][targets[x]] for x in self.used)

    def worst(self, cost: Sequence[float]) -> Witness:
        """See :meth:`UncertaintySet.worst`: the moves just below and above the best price, mixed."""
        low, high = self._price(cost)
        dear, cheap = self._spent(cost, low), self._spent(cost, high)
        share = min(1.0, (float(self.radius) - cheap) / (dear - cheap)) if dear > cheap else 0.0
        moves = self.home
        targets = zip(self._targets(cost, low), self._targets(cost, high), strict=True)
        for x, (far, near) in enumerate(targets):
            moves[x][x] = 0.0
            moves[x][far] += share
            moves[x][near] += 1 - share
        return moves

    @property
    def home(self) -> Witness:
        """See :meth:`UncertaintySet.home`: nothing moves."""
        count = len(self.floats)
        return [[float(x == z) for z in range(count)] for x in range(count)]

    def cells(self, witness: Witness) -> list[float]:
        """See :meth:`UncertaintySet.cells`."""
        return [sum(map(float.__mul__, self.floats, column)) for column in zip(*witness, strict=True)]
