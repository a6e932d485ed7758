"""The linear program over prices, solved by cuts, and the branching that closes what it leaves open.

Selections that cover too much of a mechanism are told with a tree of prices that none covers more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy.sparse import csr_array

from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import DEEPEST, SelectionsNotion
from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.validate import Array
from ldpopt.measures import row_selection
from ldpopt.measures.row_selection import Selection
from ldpopt.models.privacy import LEAST_EXCESS, Outside

MOST_DEPTH = DEEPEST // 2 - 10
"""Deeper trees cannot be read from a file: a branching takes two levels of JSON, the file a few."""


class Relaxed(NamedTuple):
    """A relaxed selection (weights of the rows, 1 per group), prices, and what the prices bound."""

    weights: Array
    prices: Array
    bound: float
    rounds: int
    cuts: int


class PriceLP:
    """Maximise Σ_y t_y with t_y ≤ v + Σ_θ x_θ (W[θ,y] − v)⁺ for every v; x a distribution per group.

    For a fixed x the best v of an output is one of its entries: the one where the weights of the rows
    with larger entries reach 1 (Benders cuts of the facility-location LP). A convex combination of
    the v of an output's cuts, by their duals, is its price.
    """

    def __init__(self, form: SelectionProgram) -> None:
        self.form = form
        self._columns = _sorted_columns(form)
        self._model = highs.new_model(maximise=True, tolerance=1e-9)
        self._build()
        self._cut_outputs: list[int] = []
        self._cut_levels: list[float] = []

    def _build(self) -> None:
        m, n = self.form.matrix.shape
        top = np.array([entries[0] if len(entries) else 0.0 for _, entries in self._columns])
        none, nothing = np.zeros(0, np.int32), np.zeros(0)
        cost = np.concatenate([np.zeros(m), np.ones(n)])
        upper = np.concatenate([np.full(m, highspy.kHighsInf), top])
        low, starts = np.zeros(m + n), np.zeros(m + n, np.int32)
        self._model.addCols(m + n, cost, low, upper, 0, starts, none, nothing)
        for part in row_selection.members(self.form):
            self._model.addRow(1.0, 1.0, len(part), part.astype(np.int32), np.ones(len(part)))
        self._top = top

    def add(self, outputs: list[int], levels: list[float]) -> None:
        """Add the cuts of some outputs at some v."""
        m = self.form.matrix.shape[0]
        starts: list[int] = []
        indices: list[Any] = []
        values: list[Any] = []
        size = 0
        for y, v in zip(outputs, levels, strict=True):
            rows, entries = self._columns[y]
            larger = int(np.searchsorted(-entries, -v, side="left"))
            starts.append(size)
            indices += [rows[:larger], [m + y]]
            values += [v - entries[:larger], [1.0]]
            size += larger + 1
        count = len(outputs)
        self._model.addRows(
            count,
            np.full(count, -highspy.kHighsInf),
            np.array(levels),
            size,
            np.array(starts, np.int32),
            np.concatenate(indices).astype(np.int32),
            np.concatenate(values),
        )
        self._cut_outputs += outputs
        self._cut_levels += levels

    def solve(self, limits: Limits = UNLIMITED, stop: float = 0.0, most_rounds: int = 200) -> Relaxed:
        """Add violated cuts until there are none, the bound falls to ``stop``, or the time is over.

        Args:
            limits: when to stop.
            stop: no smaller bound is of interest.
            most_rounds: the most rounds of cuts.
        """
        m = self.form.matrix.shape[0]
        weights = 1.0 / np.bincount(self.form.groups)[self.form.groups]
        best_prices, best_bound = self._top, row_selection.price_bound(self.form, self._top)
        rounds = 0
        outputs, levels, _ = self._separate(weights, np.full(len(self._top), np.inf))
        while outputs and rounds < most_rounds and not limits.expired():
            self.add(outputs, levels)
            rounds += 1
            if not self._solved(limits):
                break
            point = np.array(self._model.getSolution().col_value)
            weights, claimed = np.maximum(point[:m], 0.0), point[m:]
            for prices in self._prices():
                bound = row_selection.price_bound(self.form, prices)
                if bound < best_bound:
                    best_prices, best_bound = prices, bound
            outputs, levels, reached = self._separate(weights, claimed)
            if best_bound <= max(stop, reached * (1 + 1e-12)):
                break
        return Relaxed(weights, best_prices, best_bound, rounds, len(self._cut_outputs))

    def _solved(self, limits: Limits) -> bool:
        """Return whether the LP came to its optimum; if not, the prices so far stay valid."""
        try:
            return highs.run_within(self._model, limits)
        except SolverError:  # entries of very different sizes may look infeasible to HiGHS
            return False

    def _prices(self) -> list[Array]:
        """Return the prices of the duals, and the same moved to the nearest entry of their output."""
        groups = int(self.form.groups.max()) + 1
        duals = np.abs(np.array(self._model.getSolution().row_dual)[groups:])
        outputs, levels = np.array(self._cut_outputs), np.array(self._cut_levels)
        # what the cuts leave of the weight 1 belongs to the bound t_y ≤ max_θ W[θ, y]
        mass = np.zeros_like(self._top)
        np.add.at(mass, outputs, duals)
        prices = np.maximum(1 - mass, 0.0) * self._top
        np.add.at(prices, outputs, duals * levels)
        snapped = prices.copy()
        for y, (_, entries) in enumerate(self._columns):
            near = entries[np.abs(entries - prices[y]) < 1e-7]
            snapped[y] = near[0] if len(near) else (0.0 if prices[y] < 1e-7 else prices[y])
        return [prices, snapped]

    def _separate(self, weights: Array, claimed: Array) -> tuple[list[int], list[float], float]:
        """Find the outputs whose t_y is too large for x, each with the v that shows it.

        Also return the true Σ_y t_y of x.
        """
        outputs, levels, reached = [], [], 0.0
        for y, (rows, entries) in enumerate(self._columns):
            taken = np.cumsum(weights[rows])
            at = int(np.searchsorted(taken, 1 - 1e-11))
            v = float(entries[at]) if at < len(entries) else 0.0
            truth = v + float(weights[rows[:at]] @ (entries[:at] - v))
            reached += truth
            if claimed[y] > truth + 1e-10:
                outputs.append(y)
                levels.append(v)
        return outputs, levels, reached


def _sorted_columns(form: SelectionProgram) -> list[tuple[Selection, Array]]:
    """Sort the rows and entries of each output, largest entry first."""
    by_output = form.matrix.tocsc()
    result = []
    for y in range(by_output.shape[1]):
        part = slice(by_output.indptr[y], by_output.indptr[y + 1])
        order = np.argsort(-by_output.data[part], kind="stable")
        result.append((by_output.indices[part][order].astype(np.int64), by_output.data[part][order]))
    return result


def rounded(
    form: SelectionProgram,
    weights: Array,
    tries: int,
    rng: np.random.Generator,
    limits: Limits = UNLIMITED,
    enough: float = math.inf,
) -> Selection:
    """Search locally from the heaviest rows, again and again: redraw groups by their weights, improve.

    Args:
        form: the selection program.
        weights: a relaxed selection, a weight per row.
        tries: how often groups are redrawn; the share of them falls from 1 to 0.1.
        rng: redraws the groups.
        limits: when to stop.
        enough: a coverage at which to stop.
    """
    parts = row_selection.members(form)
    chances = [weights[part] / weights[part].sum() for part in parts]
    best = np.array([part[p.argmax()] for part, p in zip(parts, chances, strict=True)])
    best = row_selection.improve(form, best, limits)
    most = row_selection.covered(form.matrix, best).sum()
    for share in np.linspace(1.0, 0.1, tries):
        if limits.expired() or most >= enough:
            break
        drawn = [rng.choice(part, p=p) for part, p in zip(parts, chances, strict=True)]
        start = np.where(rng.random(len(parts)) < share, np.array(drawn), best)
        candidate = row_selection.improve(form, start, limits)
        value = row_selection.covered(form.matrix, candidate).sum()
        if value > most:
            best, most = candidate, value
    return best


class Branching:
    """Branch and bound over the groups: an optimal selection, and a proof tree with prices as leaves."""

    def __init__(self, limits: Limits, most_nodes: int) -> None:
        self._limits, self._nodes = limits, most_nodes

    def run(
        self, form: SelectionProgram, incumbent: Selection | None = None, relaxed: Relaxed | None = None
    ) -> tuple[Selection, dict[str, Any]]:
        """Find the best selection and the tree; where the nodes run out, leaves stay as they are.

        Afterwards ``most`` is what the best selection covers, and none covers more than ``bound``. A
        tree that was cut short and proves less than its root is left out for the root.

        Args:
            form: the selection program.
            incumbent: the selection to begin with; a greedy one, improved, if not given.
            relaxed: the solution of the linear program of the root, if that is known.
        """
        if incumbent is None:
            incumbent = row_selection.improve(form, row_selection.greedily(form))
        self.best = incumbent
        self.most = float(row_selection.covered(form.matrix, incumbent).sum())
        self.bound, self._root = 0.0, relaxed
        tree = self._node(form, np.arange(len(form.groups)), 0)
        if self._root is not None and self._root.bound < self.bound:
            tree, self.bound = row_selection.leaf(self._root.prices), self._root.bound
        self.bound = max(self.bound, self.most)
        return self.best, tree

    @property
    def _enough(self) -> float:
        return self.most * (1 + self._limits.gap / 8 * max(math.log(max(self.most, 1.0)), 1e-6))

    def _node(self, form: SelectionProgram, rows: Selection, depth: int) -> dict[str, Any]:
        sizes = np.bincount(form.groups)
        if np.count_nonzero(sizes > 1) <= 1:
            return self._last(form, rows, sizes)
        self._nodes -= 1
        known = self._root if depth == 0 else None
        relaxed = known or PriceLP(form).solve(self._limits, self._enough)
        if depth == 0:
            self._root = relaxed
        rng = np.random.default_rng(0)
        self._offer(form, rows, rounded(form, relaxed.weights, 2, rng, self._limits))
        out_of_limits = self._nodes <= 0 or depth == MOST_DEPTH or self._limits.expired()
        if relaxed.bound <= self._enough or out_of_limits:
            self.bound = max(self.bound, relaxed.bound)
            return row_selection.leaf(relaxed.prices)
        group = _most_divided(form, relaxed.weights)
        branches = []
        for row in np.flatnonzero(form.groups == group):
            child, kept = row_selection.restricted(form, group, int(row))
            branches.append(self._node(child, rows[kept], depth + 1))
        return {"secret": group, "branches": branches}

    def _last(self, form: SelectionProgram, rows: Selection, sizes: Selection) -> dict[str, Any]:
        """Close a node with one open group: what the others cover is a price vector without gap."""
        fixed = np.flatnonzero(sizes[form.groups] == 1)
        prices = row_selection.covered(form.matrix, fixed)
        open_rows = np.flatnonzero(sizes[form.groups] > 1)
        choice = fixed
        if len(open_rows):
            gains = row_selection.row_gains(form.matrix[open_rows], prices)
            choice = np.append(fixed, open_rows[gains.argmax()])
        self._offer(form, rows, choice[np.argsort(form.groups[choice])])
        return row_selection.leaf(prices)

    def _offer(self, form: SelectionProgram, rows: Selection, candidate: Selection) -> None:
        value = float(row_selection.covered(form.matrix, candidate).sum())
        if value > self.most:
            self.best, self.most = rows[candidate], value


def _most_divided(form: SelectionProgram, weights: Array) -> int:
    """Find the group whose relaxed choice is farthest from one row (and that has a choice)."""
    top = np.zeros(form.groups.max() + 1)
    np.maximum.at(top, form.groups, weights)
    top[np.bincount(form.groups) == 1] = 2.0
    return int(top.argmin())


MOST_NODES = 2000
"""Nodes of the search for the best selection; a tree with open leaves proves a larger bound."""
GAP = 1e-13
STARTS = 24
"""Local searches for further selections."""


def kept_by(matrix: Array, notion: SelectionsNotion) -> dict[str, Any] | None:
    """Find a tree of prices that shows the notion to be kept, exactly; None if it does not."""
    tree = covered_most(matrix, notion.groups).tree
    return tree if notion.shown(tree, "privacy").holds(matrix.tolist()) else None


def selections_outside(matrix: Array, notion: SelectionsNotion) -> Outside:
    """Tell what a mechanism lacks: selections that cover too much, and the share of noise that it takes.

    Noise in the share t takes what any selection covers from C to (1 − t) C + t.
    """
    found, allowed = covered_most(matrix, notion.groups), math.exp(notion.leakage)
    most = allowed * (1 + LEAST_EXCESS)
    cuts = [own for own, amount in zip(found.selections, found.amounts, strict=True) if amount > most]
    return Outside(cuts, max(found.most - allowed, 0.0) / (found.most - 1) if cuts else 0.0)


class Covered(NamedTuple):
    """Selections from the best on, what each covers, and a tree of prices with what it bounds."""

    selections: list[list[int]]
    amounts: list[float]
    tree: dict[str, Any]
    most: float


def covered_most(matrix: Array, groups: Sequence[Sequence[int]]) -> Covered:
    """Search for the selections of one row per group that cover most: Σ_y max_g W[θ_g, y].

    Args:
        matrix: the mechanism.
        groups: the rows of each group.
    """
    numbers = np.empty(len(matrix), np.int64)
    for g, rows in enumerate(groups):
        numbers[list(rows)] = g
    form, rng = SelectionProgram(csr_array(matrix), numbers), np.random.default_rng(0)
    search = Branching(replace(UNLIMITED, gap=GAP), MOST_NODES)
    best, tree = search.run(form)
    starts = ([int(rng.choice(list(rows))) for rows in groups] for _ in range(STARTS))
    others = (row_selection.improve(form, np.array(start)) for start in starts)
    found = {
        tuple(chosen.tolist()): float(row_selection.covered(form.matrix, chosen).sum())
        for chosen in [best, *others]
    }
    ranked = sorted(found, key=lambda chosen: -found[chosen])
    amounts = [found[chosen] for chosen in ranked]
    return Covered([list(chosen) for chosen in ranked], amounts, tree, search.bound)
