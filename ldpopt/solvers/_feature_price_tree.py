"""A tree of prices of exposure and of factors: the best set of features, with its proof.

In a node some features are held, some are left out, and the others are open. The least bound of Lemma 1
of ``ldpopt/checker/kernel/proofs/exposure_prices.py`` is a linear program in λ, μ and what each feature
is worth. Its dual chooses a share of every cap of every feature, so that the shares show a set to try
and the feature to divide by: the open one whose share is nearest to a half.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from ldpopt.core.certify import printed_above, rising
from ldpopt.core.exact import exposure_choices, printed
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.selections import Subset, SubsetProgram
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array

MOST_PRICE = 1e6
"""The largest λ and μ."""
WHOLE, CLOSE = 1e-6, 1e-12
"""Shares this near to 0 or 1 are whole; bounds that differ by less, relatively, are equal."""


class Relaxed(NamedTuple):
    """The least bound of a node, λ and μ, and the share of every feature."""

    bound: float
    exposure: float
    factors: float
    shares: Array


@dataclass(eq=False)
class Node:
    """Sets that hold some features, and leave some out.

    Attributes:
        held, out: these features.
        relaxed: its bound; None where its features are a conflict, or it is a single set.
        feature: the feature by which it is divided, if it is.
        parts: the sets without it, and those with it.
    """

    held: frozenset[int]
    out: frozenset[int]
    relaxed: Relaxed | None = None
    feature: int | None = None
    parts: tuple[Node, ...] = field(default=())


class PriceTree:
    """The best set so far, and a tree whose leaves bound all others.

    Args:
        form: the program; it has marginals.
        best: a set within the budget.
        limits: the limits of the work.
    """

    def __init__(self, form: SubsetProgram, best: Subset, limits: Limits) -> None:
        assert form.safe is not None
        self.form, self.safe, self.limits = form, form.safe, limits
        self.best, self.value = best, form.weight(best)
        self.weights = np.array([float(w) for w in form.weights])
        listed = map(exposure_choices, self.safe.marginals)
        self.options = [np.array([(float(q), math.log(n)) for q, n in choices]) for choices in listed]
        self.largest = max(math.floor(self.safe.budget / self.safe.threshold), 1)
        self.products = {1, self.largest}
        self.root = Node(frozenset(), frozenset())
        self.root.relaxed = self._relaxed(self.root)
        self._order = count()
        self.open: list[tuple[float, int, Node]] = []
        self.nodes = 0
        self._push(self.root)

    @property
    def bound(self) -> float:
        """No set within the budget weighs more."""
        return max(float(self.value), -self.open[0][0] if self.open else 0.0)

    def run(self) -> None:
        """Divide the node of the greatest bound until none is above the best set.

        Raises:
            OutOfTime: the time was over before.
        """
        while self.open and -self.open[0][0] > float(self.value) * (1 + CLOSE):
            self.limits.check()
            node = self.open[0][2]
            assert node.relaxed is not None
            shares = node.relaxed.shares
            self._try([j for j in np.argsort(-shares, kind="stable").tolist() if shares[j] > WHOLE])
            j = self._divided(node, shares)
            parts = Node(node.held, node.out | {j}), Node(node.held | {j}, node.out)
            for part in parts:
                self._bound(part)
            heapq.heappop(self.open)
            node.feature, node.parts = j, parts
            for part in parts:
                self._push(part)

    def _divided(self, node: Node, shares: Array) -> int:
        """Choose an open feature: of those that the shares hold, the most fractional one."""
        free = [j for j in range(len(shares)) if j not in node.held | node.out]
        return max(free, key=lambda j: (shares[j] > WHOLE, -abs(shares[j] - 0.5), self.weights[j]))

    def _bound(self, node: Node) -> None:
        """Bound a node that is no conflict and no single set; try the set that it holds."""
        held = tuple(sorted(node.held))
        if self.form.fits(held, self.limits):
            self._try(list(held))
            if len(node.held | node.out) < len(self.weights):
                node.relaxed = self._relaxed(node)

    def _push(self, node: Node) -> None:
        self.nodes += 1
        if node.relaxed is not None:
            heapq.heappush(self.open, (-node.relaxed.bound, next(self._order), node))

    def _try(self, order: list[int]) -> None:
        """Take features in an order while they fit."""
        chosen: Subset = ()
        for j in order:
            larger = tuple(sorted((*chosen, j)))
            if self.form.fits(larger, self.limits):
                chosen = larger
        if self.form.weight(chosen) > self.value:
            self.best, self.value = chosen, self.form.weight(chosen)

    def _relaxed(self, node: Node) -> Relaxed:
        """Find the prices with the least bound of a node, with the products N that they make largest."""
        while True:
            found = self._over_products(node)
            middle = found.factors / (max(found.exposure, 1e-12) * float(self.safe.threshold))
            near = {math.floor(min(middle, self.largest)), math.ceil(min(middle, self.largest))}
            fresh = {max(n, 1) for n in near} - self.products
            if not fresh:
                return found
            self.products |= fresh

    def _over_products(self, node: Node) -> Relaxed:
        """Solve the program over the products so far; its variables are λ, μ, and what N and J add."""
        inside = [j for j in range(len(self.weights)) if j not in node.out]
        n, products = len(inside), np.array(sorted(self.products), float)
        rows, limits = [], []
        for place, j in enumerate(inside):
            own = np.zeros((len(self.options[j]), 3 + n))
            own[:, :2], own[:, 3 + place] = -self.options[j], -1.0
            rows.append(own)
            limits.append(np.full(len(own), -self.weights[j]))
        own = np.zeros((len(products), 3 + n))
        own[:, 0], own[:, 1] = -float(self.safe.threshold) * products, np.log(products)
        own[:, 2] = -1.0
        ends: list[Any] = [(0, MOST_PRICE), (0, MOST_PRICE), (None, None)]
        ends += [(None, None) if j in node.held else (0, None) for j in inside]
        cost = np.concatenate([[float(self.safe.budget), 0.0, 1.0], np.ones(n)])
        at_most = np.concatenate([*limits, np.zeros(len(own))])
        found: Any = linprog(cost, np.vstack([*rows, own]), at_most, bounds=ends)
        used, first = -found.ineqlin.marginals, 0
        shares = np.zeros(len(self.weights))
        for j in inside:
            shares[j] = used[first : first + len(self.options[j])].sum()
            first += len(self.options[j])
        return Relaxed(float(found.fun), float(found.x[0]), float(found.x[1]), shares)

    def solution(self) -> FormSolution:
        """Return the best set, and the least bound that the checker accepts of the tree."""
        tree, least = self.proof(), max(Fraction(self.bound), self.safe.alone())
        best = self.best, float(self.value)
        stats: dict[str, float] = {"nodes": self.nodes}
        for rise in (0.0, *rising(1e-14, 1e-3, 4.0)):
            bound = printed_above(least * (1 + Fraction(rise)))
            if self.safe.none_heavier(tree, printed(bound)):
                return FormSolution(Status.GAP, *best, bound, {"tree": tree}, stats)
        return FormSolution(Status.FEASIBLE, *best, stats=stats)

    def proof(self) -> list[dict[str, Any]]:
        """Write the tree: a cut is its feature, a leaf its prices, 0 at conflicts and single sets."""
        written: list[dict[str, Any]] = []
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.feature is not None:
                written.append({"feature": node.feature})
                waiting += reversed(node.parts)
            elif node.relaxed is None:
                written.append({"exposure": 0.0, "factors": 0.0})
            else:
                written.append({"exposure": node.relaxed.exposure, "factors": node.relaxed.factors})
        return written
