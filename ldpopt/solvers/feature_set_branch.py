"""The heaviest set within a budget by branch and bound, with conflicts, or priced ones, as its proof."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from ldpopt.core.certify import printed_above
from ldpopt.core.forms.selections import Subset, SubsetProgram
from ldpopt.core.solver import FormSolution, Limits, OutOfTime, Solver, Status
from ldpopt.solvers._feature_price_tree import PriceTree
from ldpopt.solvers.feature_set_greedy import greedy

FEW = 16
"""Up to so many features the conflicts themselves are few."""
TINY = 1e-9
"""The noise of the linear program: relative of weights, absolute of prices."""


class SubsetBranch(Solver[SubsetProgram]):
    """Branch on the heaviest feature; prune where the rest cannot beat the best set so far.

    Where the time is over before that, prices of conflicts bound the weight: see :func:`priced`.
    """

    def run(self, form: SubsetProgram, limits: Limits) -> FormSolution:
        """Search depth first, starting from the greedy set."""
        if form.safe is not None and len(form.weights) > FEW:
            return _by_prices(form, limits)
        search = Search(form, limits)
        with suppress(OutOfTime):
            search.run()
        return search.solution()


def _by_prices(form: SubsetProgram, limits: Limits) -> FormSolution:
    """Divide the sets until prices of exposure and of factors prove the best one."""
    tree = PriceTree(form, greedy(form, limits.part(0.3)), limits)
    with suppress(OutOfTime):
        tree.run()
    return tree.solution()


class Search:
    """Depth first: the best set so far, the conflicts found, and the nodes that are still open."""

    def __init__(self, form: SubsetProgram, limits: Limits) -> None:
        self.form, self.limits = form, limits
        self.order = sorted(range(len(form.weights)), key=lambda j: -form.weights[j])
        self.rest = [form.weight(tuple(self.order[depth:])) for depth in range(len(self.order) + 1)]
        self.best = greedy(form, limits.part(0.3))
        self.value = form.weight(self.best)
        self.conflicts: list[Subset] = []
        self.pending: list[tuple[Subset, int]] = [((), 0)]
        self.nodes = 0
        limits.keep(float(self.value), float(self.bound), self.solution)

    @property
    def bound(self) -> Fraction:
        """No set within the budget is heavier: neither the best so far nor any that is still open."""
        return max((self._most(*node) for node in self.pending), default=self.value)

    def _most(self, chosen: Subset, depth: int) -> Fraction:
        return max(self.value, self.form.weight(chosen) + self.rest[depth])

    def run(self) -> None:
        """Explore until no open node can beat the best set.

        Raises:
            OutOfTime: the limits are over; the node in hand stays open.
        """
        while self.pending:
            chosen, depth = self.pending[-1]
            branches = self._branches(chosen, depth)
            self.pending.pop()
            self.pending += branches
            self.nodes += 1

    def _branches(self, chosen: Subset, depth: int) -> list[tuple[Subset, int]]:
        """Split the node into the one without and, if it fits, the one with the next feature.

        The list is empty if the node cannot be better than the best set.
        """
        form = self.form
        if self._most(chosen, depth) <= self.value:
            return []
        if depth == len(self.order):
            self.best, self.value = chosen, form.weight(chosen)
            self.limits.keep(float(self.value), float(self.bound), self.solution)
            return []
        larger = tuple(sorted((*chosen, self.order[depth])))
        without = (chosen, depth + 1)
        if any(set(conflict) <= set(larger) for conflict in self.conflicts):
            return [without]
        if form.fits(larger, self.limits):
            return [without, (larger, depth + 1)]
        self.conflicts.append(_minimal(form, larger, self.limits))
        return [without]

    def solution(self) -> FormSolution:
        """Return the best set.

        Once no node is open, the conflicts prove that heavier sets are too risky; before, their prices
        prove a bound.
        """
        proof: dict[str, Any]
        stats: dict[str, float] = {"nodes": self.nodes, "conflicts": len(self.conflicts)}
        best = self.best, float(self.value)
        if not self.pending:
            proof = {"conflicts": [list(conflict) for conflict in self.conflicts]}
            return FormSolution(Status.OPTIMAL, *best, printed_above(self.value), proof, stats)
        prices = priced(self.form, self.conflicts)
        most = sum(self.form.weights, Fraction(0)) - sum(map(Fraction, prices.values()), Fraction(0))
        proof = {"conflicts": list(map(list, prices)), "prices": list(prices.values())}
        return FormSolution(Status.GAP, *best, printed_above(most), proof, stats)


def priced(form: SubsetProgram, conflicts: Sequence[Subset]) -> dict[Subset, float]:
    """Find the prices of conflicts that bound the weight of a set without one best.

    Those of a feature sum to at most its weight, exactly; a set without a conflict leaves out a feature
    of each of them, so it weighs at most Σ_j w_j − Σ_C y_C.
    """
    if not conflicts:
        return {}
    places = [(j, i) for i, conflict in enumerate(conflicts) for j in conflict]
    entries = np.ones(len(places)), tuple(zip(*places, strict=True))
    within: Any = csr_array(entries, shape=(len(form.weights), len(conflicts)))
    found = linprog(-np.ones(len(conflicts)), within, [float(w) for w in form.weights])
    if found.x is None:
        return {}
    kept = {c: float(y) * (1 - TINY) for c, y in zip(conflicts, found.x, strict=True) if y > TINY}
    for j, weight in enumerate(form.weights):
        if sum((Fraction(y) for c, y in kept.items() if j in c), Fraction(0)) > weight:
            return {}  # more than the noise of the linear program
    return kept


def _minimal(form: SubsetProgram, conflict: Subset, limits: Limits) -> Subset:
    """Leave out features while the set stays too risky: small conflicts rule out more."""
    with suppress(OutOfTime):
        for j in conflict:
            smaller = tuple(i for i in conflict if i != j)
            if not form.fits(smaller, limits):
                conflict = smaller
    return conflict
