"""The worst joint distribution as a mixed integer program, with a search tree as its proof."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import SolverError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.forms.joint_program import BIG, FREE, SMALL, JointProgram

MOST_CELLS = 4000
CUT_ROUNDS = 20
CUTS_PER_ROUND = 20
MILP_NODES = 2000
PROOF_WORK = 100_000
"""Linear programs times cells that a proof may cost."""
PRICE = 10.0
"""Of a missing unit of mass; a unit is the threshold, and a cell earns at most 1."""


class JointMilp(Solver):
    """HiGHS finds the joint; a branch-and-bound tree of our own proves the bound.

    HiGHS does not hand out its proof, so the bound that is claimed comes from a tree whose leaves carry
    multipliers that anyone can evaluate. It may stay above the joint's value where HiGHS, with
    stronger methods, closes the gap; HiGHS's own bound is then in the statistics as ``milp_bound``.

    Options:
        milp_nodes: the most nodes that HiGHS may explore.
        proof_lps: the most linear programs that the proof may cost.
    """

    name: ClassVar[str] = "joint-milp"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Joint programs with a few thousand cells."""
        if not isinstance(form, JointProgram):
            return f"solves joint programs, not a {form.name}"
        if form.size() > MOST_CELLS:
            return f"the joint has {form.size():.3g} cells, more than {MOST_CELLS} are too many"
        return True

    def run(
        self,
        form: Form,
        *,
        gap: float,
        time_limit: float | None,
        seed: int,
        progress: Progress | None,
        milp_nodes: int = MILP_NODES,
        proof_lps: int | None = None,
        **options: Any,
    ) -> FormSolution:
        """Cut, search, prove."""
        assert isinstance(form, JointProgram)
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        model = _Model(form)
        model.cut(np.random.default_rng(seed), deadline)
        milp_bound, nodes = model.search(milp_nodes, deadline)
        joint, value = model.joint()
        if progress is not None:
            progress(value, milp_bound)
        tree = _Tree(model, value, gap)
        tree.grow(proof_lps or PROOF_WORK // form.size(), deadline)
        bound = max(tree.bound, value)
        return FormSolution(
            status=Status.OPTIMAL if bound <= value * (1 + gap) else Status.GAP,
            point=joint,
            value=value,
            bound=bound,
            proof={"cuts": model.cuts, "tree": tree.preorder()},
            stats={
                "cells": form.size(),
                "cuts": len(model.cuts),
                "milp_nodes": nodes,
                "milp_bound": milp_bound,
                "proof_lps": tree.lps,
            },
        )


class _Model:
    """The program in HiGHS: small part, big part and a 0/1 "is big" for every cell that can be big.

    Masses are measured in units of the threshold, as HiGHS works with absolute tolerances.
    Marginals and cuts are elastic at a price so high that only a node without any joint uses it: so
    every node has an optimum, and multipliers that prove its bound.
    """

    def __init__(self, form: JointProgram) -> None:
        self.form = form
        self.can_be_big = np.flatnonzero(form.capacity > form.threshold)
        self.unit = form.threshold
        self.cuts: list[list[float]] = []
        self._coefficients: list[Array] = []
        self._highs = highspy.Highs()
        tight: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
            "mip_feasibility_tolerance": 1e-9,
            "mip_rel_gap": 1e-10,
            "mip_abs_gap": 1e-13,
        }
        for option, setting in tight.items():
            self._highs.setOptionValue(option, setting)
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
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

    def cut(self, rng: np.random.Generator, deadline: float) -> None:
        """Add violated cover cuts until none is found."""
        size = len(self.form.mass)
        for _ in range(CUT_ROUNDS):
            if time.monotonic() > deadline:
                return
            node = self.relax(np.zeros(len(self.can_be_big), np.int8))
            starts = np.vstack([np.eye(size), rng.integers(-1, 2, (10, size))])
            found = {self._sharpen(c, node.switches) for c in starts} - {None}
            fresh = [c for _, c in sorted(found) if list(c) not in self.cuts]  # type: ignore[type-var, misc]
            for c in fresh[:CUTS_PER_ROUND]:
                self._add_cut(c)
            if not fresh:
                return

    def _sharpen(self, c: Array, switches: Array) -> tuple[float, tuple[float, ...]] | None:
        """Change one entry of c at a time while that makes the cut more violated."""
        best = math.inf
        while True:
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
        """The linear program in which some switches are fixed: FREE, SMALL or BIG each.

        Any multipliers prove a bound, so where HiGHS fails numerically the parent's are good enough.
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

    def search(self, nodes: int, deadline: float) -> tuple[float, float]:
        """Let HiGHS solve the integer program; keeps its switches, returns its bound and its nodes."""
        count = len(self.can_be_big)
        self._fix(np.zeros(count), np.ones(count))
        self._switches(highspy.HighsVarType.kInteger)
        self._highs.setOptionValue("mip_max_nodes", nodes)
        if deadline < math.inf:
            left = max(0.1, deadline - time.monotonic())
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)
        self._highs.run()
        self._highs.setOptionValue("time_limit", highspy.kHighsInf)
        info = self._highs.getInfo()
        found = np.array(self._highs.getSolution().col_value)
        first = self.first_switch
        self.found = found[first : first + count].round() if len(found) else np.ones(count)
        self._switches(highspy.HighsVarType.kContinuous)
        # later solves are small and start from the last basis
        self._highs.setOptionValue("presolve", "off")
        return float(info.mip_dual_bound) * self.unit, float(info.mip_node_count)

    def joint(self) -> tuple[Array, float]:
        """The best joint with HiGHS's switches; the product of the marginals if it found none."""
        self._fix(self.found, self.found)
        solved = self._solved()
        values = np.array(self._highs.getSolution().col_value)
        cells = len(self.form.cells)
        x = values[:cells] * self.unit
        x[self.can_be_big] += values[cells : self.first_switch] * self.unit
        # a cell filled to the threshold must not exceed it by a rounding error
        x[np.abs(x / self.unit - 1) < 1e-12] = self.form.threshold
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
            self._highs.run()
            if self._highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                return True
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

    def grow(self, lps: int, deadline: float) -> None:
        """Split leaves until all are below the target or the budget is spent."""
        while self._open and self.bound > self.target:
            if self.lps >= lps or time.monotonic() > deadline:
                return
            node = heapq.heappop(self._open)[2]
            if not self._split(node):
                self._closed = max(self._closed, node.relaxation.bound)
                continue
            for child in node.children:
                heapq.heappush(self._open, self._entry(child))

    def preorder(self) -> list[dict[str, Any]]:
        """The tree as a list: a node that splits is followed by its small and its big subtree."""
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
