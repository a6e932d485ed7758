"""The worst joint distribution as a mixed integer program, with a search tree as its proof."""

from __future__ import annotations

import heapq
import itertools
import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.forms.joint_program import BIG, FREE, SMALL, JointProgram
from ldpopt.core.solver import Array, FormSolution, Limits, OutOfTime, Solver
from ldpopt.solvers.joint_lp import claimed

MILP_NODES = 2000
"""The most nodes of HiGHS where no time limit is set."""
PROOF_COST, LONGEST_PROOF = 100_000, 5_000_000
"""Linear programs times cells that a proof may cost: without a time limit, and with one, where it is
what the checker reads in seconds."""
PRICE = 10.0
"""The price of a missing unit of mass. A unit is the threshold, and a cell earns at most 1."""


class JointMilp(Solver[JointProgram]):
    """Find the worst joint by HiGHS, and prove its bound by a branch-and-bound tree of our own.

    HiGHS does not hand out its proof, so the bound that is claimed comes from a tree whose leaves carry
    multipliers that anyone can evaluate. It may stay above the joint's value where HiGHS, with
    stronger methods, closes the gap; HiGHS's own bound is then in the statistics as ``milp_bound``.

    Args:
        milp_nodes: the most nodes that HiGHS may explore; by default, 2000 where no time limit is set.
        proof_lps: the most linear programs that the proof may cost; by default, as many as a few
            seconds allow where no time limit is set.
    """

    def __init__(self, milp_nodes: int | None = None, proof_lps: int | None = None) -> None:
        self.milp_nodes, self.proof_lps = milp_nodes, proof_lps

    def accepts(self, form: JointProgram) -> Literal[True] | str:
        """Accept joint programs with a few thousand cells and a threshold that HiGHS tells from 0."""
        return form.fits(4000)

    def run(self, form: JointProgram, limits: Limits) -> FormSolution:
        """Cut, search, prove."""
        model = _Model(form, limits)
        joint = form.mass[form.rows].prod(axis=1)
        stats: dict[str, float] = {"cells": form.size()}
        limits.keep(form.exposed(joint), 1.0, lambda: _unproven(model, joint, stats))
        limits.check()
        model.limits = limits.part(0.2)
        with suppress(OutOfTime):
            model.cut(limits.generator())
        model.limits = limits.part(0.5)
        most = MILP_NODES if limits.deadline is None else highspy.kHighsIInf
        stats["milp_bound"], stats["milp_nodes"] = model.search(self.milp_nodes or most)
        stats["cuts"] = len(model.cuts)
        model.limits = limits
        joint, value = model.joint()
        limits.keep(value, stats["milp_bound"], lambda: _unproven(model, joint, stats))
        with limits.proving():
            return self._proven(model, joint, value, stats)

    def _proven(
        self, model: _Model, joint: Array, value: float, stats: dict[str, float]
    ) -> FormSolution:
        tree = _Tree(model, value, model.limits.gap)
        with suppress(OutOfTime):
            cost = PROOF_COST if model.limits.deadline is None else LONGEST_PROOF
            tree.grow(self.proof_lps or cost // model.form.size())
        proof = {"cuts": model.cuts, "tree": tree.preorder()}
        return claimed(model.form, joint, proof, {**stats, "proof_lps": tree.lps}, model.limits)


def _unproven(model: _Model, joint: Array, stats: dict[str, float]) -> FormSolution:
    """Return a joint with the bound of one leaf without multipliers."""
    leaf: dict[str, Any] = {"dual": [0.0] * len(model.form.mass), "cuts": []}
    proof = {"cuts": model.cuts, "tree": [leaf]}
    return claimed(model.form, joint, proof, {**stats, "proof_lps": 0}, model.limits)


class _Model:
    """The program in HiGHS: small part, big part and a 0/1 "is big" for every cell that can be big.

    Masses are measured in units of the threshold, as HiGHS works with absolute tolerances.
    Marginals and cuts are elastic at a price so high that only a node without any joint uses it: so
    every node has an optimum, and multipliers that prove its bound.
    """

    def __init__(self, form: JointProgram, limits: Limits) -> None:
        self.form, self.limits = form, limits
        self.can_be_big = np.flatnonzero(form.capacity > form.threshold)
        self.unit = form.threshold
        self.cuts: list[list[float]] = []
        self._coefficients: list[Array] = []
        integer = {"mip_feasibility_tolerance": 1e-9, "mip_rel_gap": 1e-10, "mip_abs_gap": 1e-13}
        self._highs = highs.new_model(integer, maximise=True, tolerance=1e-9)
        self._build()

    def _build(self) -> None:
        form, inf = self.form, highspy.kHighsInf
        empty, none = np.zeros(0, np.int32), np.zeros(0)
        for p in form.mass / self.unit:
            self._highs.addRow(p, p, 0, empty, none)
        for v, most in enumerate(form.most_small / self.unit):
            self._column(1.0, most, form.rows[v], 1.0)
        for v in self.can_be_big.tolist():
            self._column(0.0, inf, form.rows[v], 1.0)
        self.first_switch = self._highs.getNumCol()
        for _ in self.can_be_big:
            self._highs.addCol(0.0, 0.0, 1.0, 0, empty, none)
        self.first_slack = self._highs.getNumCol()
        for row, sign in itertools.product(range(len(form.mass)), (1.0, -1.0)):
            self._column(-PRICE, inf, np.array([row]), sign)
        for k, v in enumerate(self.can_be_big.tolist()):
            switch = self.first_switch + k
            big = len(form.cells) + k
            self._row(-inf, 1.0, [v, switch], [1.0, 1.0])
            self._row(-inf, 0.0, [big, switch], [1.0, -form.capacity[v] / self.unit])
            self._row(0.0, inf, [big, switch], [1.0, -1.0])
        self.first_cut = self._highs.getNumRow()

    def _column(self, cost: float, upper: float, rows: NDArray[np.int64], entry: float) -> None:
        self._highs.addCol(cost, 0.0, upper, len(rows), rows.astype(np.int32), np.full(len(rows), entry))

    def _row(self, low: float, high: float, columns: list[int], entries: list[float]) -> None:
        self._highs.addRow(low, high, len(columns), np.array(columns, np.int32), np.array(entries))

    # ------------------------------------------------------------ cuts

    def cut(self, rng: np.random.Generator) -> None:
        """Add violated cover cuts until none is found."""
        size = len(self.form.mass)
        for _ in range(20):
            node = self.relax(np.zeros(len(self.can_be_big), np.int8))
            starts = np.vstack([np.eye(size), rng.integers(-1, 2, (10, size))])
            found = {self._sharpen(c, node.switches) for c in starts} - {None}
            fresh = [c for _, c in sorted(found) if list(c) not in self.cuts]  # type: ignore[type-var, misc]
            for c in fresh[:20]:
                self._add_cut(c)
            if not fresh:
                return

    def _sharpen(self, c: Array, switches: Array) -> tuple[float, tuple[float, ...]] | None:
        """Change one entry of c at a time while that makes the cut more violated."""
        best = math.inf
        while True:
            self.limits.check()
            neighbours = np.repeat(c[None, :], 5 * len(c), axis=0)
            for row, level in itertools.product(range(len(c)), range(5)):
                neighbours[5 * row + level, row] = level - 2
            useful, coefficients = self.form.cover(neighbours)
            reached = np.where(useful, coefficients[:, self.can_be_big] @ switches, math.inf)
            i = int(reached.argmin())
            if reached[i] >= best - 1e-9:
                break
            best, c = float(reached[i]), neighbours[i]
        return (best, tuple(c.tolist())) if best < 1 - 1e-4 else None

    def _add_cut(self, c: tuple[float, ...]) -> None:
        _, rows = self.form.cover(np.array([c]))
        coefficients = rows[0]
        self.cuts.append(list(c))
        self._coefficients.append(coefficients)
        on = np.flatnonzero(coefficients[self.can_be_big])
        entries = coefficients[self.can_be_big][on].tolist()
        self._row(1.0, highspy.kHighsInf, (self.first_switch + on).tolist(), entries)
        self._column(-PRICE, highspy.kHighsInf, np.array([self._highs.getNumRow() - 1]), 1.0)

    # ------------------------------------------------------------ solving

    def relax(self, fixed: NDArray[np.int8], parent: _Relaxation | None = None) -> _Relaxation:
        """Solve the linear program in which some switches are fixed: FREE, SMALL or BIG each.

        Any multipliers prove a bound, so where HiGHS fails numerically the parent's are good enough.

        Raises:
            OutOfTime: the limits are over before the linear program is solved.
        """
        self._fix(np.where(fixed == BIG, 1.0, 0.0), np.where(fixed == SMALL, 0.0, 1.0))
        if not self._solved():
            if parent is None:
                raise SolverError("HiGHS could not solve the relaxation")
            bound = self._bound(parent.dual, parent.weights, fixed)
            return _Relaxation(bound, parent.switches, parent.dual, parent.weights)
        solution = self._highs.getSolution()
        duals = np.array(solution.row_dual)
        first = self.first_switch
        switches = np.array(solution.col_value)[first : first + len(self.can_be_big)]
        weights = np.maximum(-duals[self.first_cut :], 0.0) * self.unit
        dual = duals[: len(self.form.mass)]
        return _Relaxation(self._bound(dual, weights, fixed), switches, dual, weights)

    def _bound(self, dual: Array, weights: Array, fixed: NDArray[np.int8]) -> float:
        cells = len(self.form.cells)
        prize = weights @ np.array(self._coefficients) if self.cuts else np.zeros(cells)
        state = np.full(cells, FREE, np.int8)
        state[self.can_be_big] = fixed
        return self.form.lagrangian(dual, prize, float(weights.sum()), state)

    def search(self, nodes: int) -> tuple[float, float]:
        """Let HiGHS solve the integer program; keeps its switches, returns its bound and its nodes."""
        count = len(self.can_be_big)
        self._fix(np.zeros(count), np.ones(count))
        self._switches(highspy.HighsVarType.kInteger)
        self._highs.setOptionValue("mip_max_nodes", nodes)
        highs.limit_time(self._highs, self.limits)
        self._highs.run()
        info = self._highs.getInfo()
        found = np.array(self._highs.getSolution().col_value)
        first = self.first_switch
        self.found = found[first : first + count].round() if len(found) else np.ones(count)
        self._switches(highspy.HighsVarType.kContinuous)
        # later solves are small and start from the last basis
        self._highs.setOptionValue("presolve", "off")
        return float(info.mip_dual_bound) * self.unit, float(info.mip_node_count)

    def joint(self) -> tuple[Array, float]:
        """Find the best joint distribution with HiGHS's switches.

        It is the product of the marginals if HiGHS found none.
        """
        self._fix(self.found, self.found)
        solved = self._solved()
        values = np.array(self._highs.getSolution().col_value)
        cells = len(self.form.cells)
        # a cell filled to the threshold must not exceed it by a rounding error
        x = np.minimum(values[:cells] * self.unit, self.form.threshold)
        x[self.can_be_big] += values[cells : self.first_switch] * self.unit * self.found
        if not solved or values[self.first_slack :].sum() > 1e-9:
            x = self.form.mass[self.form.rows].prod(axis=1)
        return x, self.form.exposed(x)

    def _fix(self, low: Array, high: Array) -> None:
        count = len(self.can_be_big)
        if count:
            columns = np.arange(self.first_switch, self.first_switch + count, dtype=np.int32)
            self._highs.changeColsBounds(count, columns, low, high)

    def _switches(self, kind: highspy.HighsVarType) -> None:
        for k in range(len(self.can_be_big)):
            self._highs.changeColIntegrality(self.first_switch + k, kind)

    def _solved(self) -> bool:
        """Run; once more from scratch if the last basis leads nowhere."""
        for _ in range(2):
            try:
                if highs.run_within(self._highs, self.limits):
                    return True
                raise OutOfTime
            except SolverError:
                self._highs.clearSolver()
        return False


@dataclass(frozen=True)
class _Relaxation:
    """An optimum of a node: its bound, the switches, and the multipliers that prove the bound."""

    bound: float
    switches: Array
    dual: Array
    weights: Array


@dataclass
class _Node:
    fixed: NDArray[np.int8]
    relaxation: _Relaxation
    split: int | None = None
    children: list[_Node] = field(default_factory=list)


class _Tree:
    """Branch and bound, the node with the largest bound first, with strong branching."""

    def __init__(self, model: _Model, value: float, gap: float) -> None:
        self.model = model
        self.target = value * (1 + gap / 2)
        self.lps = 1
        start = np.zeros(len(model.can_be_big), np.int8)
        self.root = _Node(start, model.relax(start))
        self._order = itertools.count()
        self._open = [self._entry(self.root)]
        self._closed = -math.inf

    @property
    def bound(self) -> float:
        """The largest bound of a leaf."""
        return max(self._closed, -self._open[0][0] if self._open else -math.inf)

    def grow(self, lps: int) -> None:
        """Split leaves until all are below the target or the budget is spent.

        Raises:
            OutOfTime: the limits are over; the leaf in hand stays a leaf.
        """
        while self._open and self.bound > self.target and self.lps < lps:
            node = self._open[0][2]
            split = self._split(node)
            heapq.heappop(self._open)
            if not split:
                self._closed = max(self._closed, node.relaxation.bound)
                continue
            for child in node.children:
                heapq.heappush(self._open, self._entry(child))

    def preorder(self) -> list[dict[str, Any]]:
        """List the tree: a node that splits is followed by its small and its big subtree."""
        nodes, pending = [], [self.root]
        while pending:
            node = pending.pop()
            nodes.append(self._plain(node))
            pending += reversed(node.children)
        return nodes

    def _plain(self, node: _Node) -> dict[str, Any]:
        if node.split is not None:
            return {"split": self.model.form.cells[self.model.can_be_big[node.split]].tolist()}
        weights = node.relaxation.weights
        chosen = np.flatnonzero(weights)
        return {
            "dual": node.relaxation.dual.tolist(),
            "cuts": [[int(k), float(weights[k])] for k in chosen],
        }

    def _entry(self, node: _Node) -> tuple[float, int, _Node]:
        return (-node.relaxation.bound, next(self._order), node)

    def _split(self, node: _Node) -> bool:
        switches = node.relaxation.switches
        fraction = np.where(node.fixed == FREE, np.minimum(switches, 1 - switches), 0.0)
        candidates = [int(k) for k in np.argsort(-fraction)[:8] if fraction[k] > 1e-9]
        best: tuple[tuple[int, float], int, list[_Node]] | None = None
        for k in candidates:
            children = [self._child(node, k, state) for state in (SMALL, BIG)]
            drops = [max(node.relaxation.bound - c.relaxation.bound, 1e-9) for c in children]
            closed = sum(c.relaxation.bound <= self.target for c in children)
            score = (closed, drops[0] * drops[1])
            if best is None or score > best[0]:
                best = (score, k, children)
        if best is not None:
            _, node.split, node.children = best
        return best is not None

    def _child(self, node: _Node, k: int, state: int) -> _Node:
        fixed = node.fixed.copy()
        fixed[k] = state
        self.lps += 1
        return _Node(fixed, self.model.relax(fixed, node.relaxation))
