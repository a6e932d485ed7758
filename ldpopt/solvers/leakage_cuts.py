"""Design under a leakage budget: a linear program inside, cuts from outside, until they meet."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, ClassVar, Literal, NamedTuple

import highspy
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, block_diag, coo_array, csr_array, eye_array, kron

from ldpopt.checker.leakage_design import LeakageStatement
from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.forms.leakage_program import LeakageProgram
from ldpopt.forms.selection_program import SelectionProgram
from ldpopt.theory.leakage import selection
from ldpopt.theory.leakage.repair import cost_below, repair_leakage

MOST_VARIABLES = 40_000
STARTS = 16
DRAWN = 6
"""Selections, per row, that the first cuts are drawn from."""
STEPS = (0.02, 0.2)
"""How far from the inner mechanism towards the outer one the cuts are sought: near it they are deep."""


class LeakageCuts(Solver[LeakageProgram]):
    """Close in on the optimum by two LPs: an inner one with prices, an outer one with cuts.

    Inside: W, v, u with Σ_y v_y + Σ_g u_g ≤ e^b and u_g ≥ Σ_y (W[θ,y] − v_y)⁺. Its mechanism is within
    the budget. Outside: cuts Σ_y W[θ_g(y), y] ≤ e^b found by local search over selections. Its value is
    a lower bound for every mechanism, with the duals as proof.
    """

    name: ClassVar[str] = "leakage-cuts"

    def accepts(self, form: LeakageProgram) -> Literal[True] | str:
        """Accept leakage programs of bearable size."""
        most = MOST_VARIABLES if form.epsilon is None else MOST_VARIABLES // 4
        if form.counts.size > most:
            return f"the mechanism has {form.counts.size} entries, more than {most}"
        return True

    def run(self, form: LeakageProgram, limits: Limits) -> FormSolution:
        """Solve inside, then cut from outside until the bound meets it."""
        search = limits.part(0.8)
        matrix, prices = constant_release(form)
        outer = OuterLP(form)
        rounds = 0

        def found() -> FormSolution:
            proof = outer.proof()
            return FormSolution(
                status=Status.GAP,
                point=matrix,
                value=_worst_cost(form, matrix),
                bound=cost_below(_exactly(form), proof),
                proof={"privacy": selection.leaf(prices), **proof},
                stats={"rounds": rounds, "cuts": len(outer.cuts)},
            )

        limits.keep(_worst_cost(form, matrix), 0.0, found)
        with suppress(OutOfTime):
            inner = inner_program(form, limits.part(0.5))
            matrix, prices = repair_leakage(
                inner.matrix, inner.prices, form.groups, form.budget, form.epsilon
            )
            value = _worst_cost(form, matrix)
            rng = limits.generator()
            outer.draw(inner, rng)
            while not search.expired():
                candidate, bound = outer.solve(search)
                rounds += 1
                limits.keep(value, bound, found)
                if bound >= value * (1 - limits.gap / 4) or not outer.cut(
                    inner.matrix, candidate, rng, search
                ):
                    break
        with limits.proving():
            return found()


def _worst_cost(form: LeakageProgram, matrix: Array) -> float:
    return float((matrix * form.costs).sum(axis=1).max())


def constant_release(form: LeakageProgram) -> tuple[Array, Array]:
    """Find the cheapest mechanism with a constant release, and the prices that prove no leakage."""
    m, n = form.costs.shape
    matrix, prices = np.zeros((m, n)), np.zeros(n)
    y = int(form.costs.max(axis=0).argmin())
    matrix[:, y] = prices[y] = 1.0
    return matrix, prices


def _exactly(form: LeakageProgram) -> LeakageStatement:
    groups = [np.flatnonzero(form.groups == g).tolist() for g in range(int(form.groups.max()) + 1)]
    counts = form.counts.tolist()
    return LeakageStatement(counts, form.scale, groups, form.budget, None, form.epsilon)


class Inner(NamedTuple):
    """A mechanism within the budget, its prices, and the multipliers of its rows and entries.

    The multipliers are a fractional selection, and how much of each output its rows take: those of the
    relaxation of the worst selection.
    """

    matrix: Array
    prices: Array
    rows: Array
    entries: Array


def inner_program(form: LeakageProgram, limits: Limits) -> Inner:
    """Find the best mechanism whose leakage prices alone prove to be within the budget.

    Variables in order: W, the excess s ≥ W − v, the prices v, the gains u of the groups, the cost, and
    with a level the least entry of each output. A constant release is always among them.

    Raises:
        OutOfTime: the limits are over before the linear program is solved.
    """
    limits.check()
    m, n = form.costs.shape
    count = int(form.groups.max()) + 1
    size = m * n
    own = csr_array(coo_array((np.ones(m), (np.arange(m), form.groups)), shape=(m, count)))
    sums = kron(eye_array(m), np.ones((1, n)))
    each = kron(np.ones((m, 1)), eye_array(n))
    one = np.ones
    blocks: Any = [
        [block_diag(form.costs[:, None, :]), None, None, None, -one((m, 1))],
        [None, sums, None, -own, None],
        [eye_array(size), -eye_array(size), -each, None, None],
        [None, None, csr_array(one((1, n))), csr_array(one((1, count))), None],
    ]
    upper: Any = block_array(blocks, format="csr")
    right = np.concatenate([np.zeros(m + m + size), [math.exp(form.budget)]])
    before = upper.shape[1]
    if form.epsilon is not None:
        rest = csr_array((size, before - size))
        least: Any = [
            [upper, None],
            [block_array([[eye_array(size), rest]]), -math.exp(form.epsilon) * each],
            [block_array([[-eye_array(size), rest]]), each],
        ]
        upper = block_array(least, format="csr")
        right = np.concatenate([right, np.zeros(2 * size)])
    total: Any = block_array([[sums, csr_array((m, upper.shape[1] - size))]], format="csr")
    cost = np.zeros(upper.shape[1])
    cost[before - 1] = 1
    arguments: Any = {
        "A_ub": upper,
        "b_ub": right,
        "A_eq": total,
        "b_eq": np.ones(m),
        "options": {**_TIGHT, **highs.scipy_options(limits)},
    }
    found = linprog(cost, method="highs-ds", **arguments)
    if found.status == 1:
        raise OutOfTime
    if found.status == 2:  # a constant release is feasible, but near ε = 0 rounding hides it from HiGHS
        return Inner(*constant_release(form), np.zeros(m), np.zeros((m, n)))
    if found.x is None:
        raise SolverError(f"HiGHS ended with: {found.message}")
    weights = np.maximum(-found.ineqlin.marginals, 0.0)
    return Inner(
        matrix=found.x[:size].reshape(m, n),
        prices=np.maximum(found.x[2 * size : 2 * size + n], 0.0),
        rows=weights[m : 2 * m],
        entries=weights[2 * m : 2 * m + size].reshape(m, n),
    )


_TIGHT: dict[str, float] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class OuterLP:
    """Minimise max_θ Σ_y c W over stochastic W that satisfy the cuts found so far."""

    def __init__(self, form: LeakageProgram) -> None:
        self.form = form
        self.cuts: list[tuple[selection.Selection, selection.Selection]] = []
        self._seen: set[bytes] = set()
        self._limit = math.exp(form.budget)
        m, n = form.costs.shape
        self._duals: Array | None = None
        self._model = highs.new_model()
        infinity, none = highspy.kHighsInf, np.zeros(0, np.int32)
        size = m * n + 1 + (0 if form.epsilon is None else n)
        cost = np.zeros(size)
        cost[m * n] = 1
        starts, free = np.zeros(size, np.int32), np.full(size, infinity)
        self._model.addCols(size, cost, np.zeros(size), free, 0, starts, none, np.zeros(0))
        for x in range(m):
            places = np.arange(x * n, (x + 1) * n, dtype=np.int32)
            with_cost = np.append(places, m * n).astype(np.int32)
            self._model.addRow(-infinity, 0.0, n + 1, with_cost, np.append(form.costs[x], -1.0))
        for x in range(m):
            places = np.arange(x * n, (x + 1) * n, dtype=np.int32)
            self._model.addRow(1.0, 1.0, n, places, np.ones(n))
        if form.epsilon is not None:
            self._bound_ratios(form.epsilon)

    def _bound_ratios(self, epsilon: float) -> None:
        """Put every entry between the least of its output and e^ε times that."""
        m, n = self.form.costs.shape
        for place in range(m * n):
            pair = np.array([place, m * n + 1 + place % n], np.int32)
            self._model.addRow(-highspy.kHighsInf, 0.0, 2, pair, np.array([1.0, -math.exp(epsilon)]))
            self._model.addRow(-highspy.kHighsInf, 0.0, 2, pair, np.array([-1.0, 1.0]))

    def solve(self, limits: Limits) -> tuple[Array, float]:
        """Find the cheapest mechanism within the cuts, and its cost.

        Raises:
            OutOfTime: the limits are over before the linear program is solved.
        """
        if not highs.run_within(self._model, limits):
            raise OutOfTime
        solution = self._model.getSolution()
        self._duals = np.array(solution.row_dual)
        point = np.array(solution.col_value)
        m, n = self.form.costs.shape
        return np.maximum(point[: m * n], 0.0).reshape(m, n), float(point[m * n])

    def draw(self, inner: Inner, rng: np.random.Generator) -> None:
        """Add cuts of selections drawn with the multipliers of the inner program.

        They are those that bound its mechanism, so that the first bound is already a fair one.
        """
        parts = [np.flatnonzero(self.form.groups == g) for g in range(int(self.form.groups.max()) + 1)]
        for _ in range(DRAWN * len(inner.rows)):
            chosen = np.array([_drawn(part, inner.rows[part], rng) for part in parts])
            share = inner.entries[chosen]
            takers = (share * rng.random(share.shape)).argmax(axis=0)
            takers = np.where(share.any(axis=0), takers, inner.matrix[chosen].argmax(axis=0))
            self._add(chosen, takers)

    def cut(self, inner: Array, outer: Array, rng: np.random.Generator, limits: Limits) -> bool:
        """Add cuts that the outer mechanism violates; False if the search finds none in time.

        Args:
            inner: a mechanism within the budget.
            outer: the mechanism that the cuts are to rule out.
            rng: draws the selections from which the search starts.
            limits: when to stop.
        """
        found = False
        for step in (*STEPS, 1.0):
            if step == 1.0 and found:
                break
            between = step * outer + (1 - step) * inner
            program = SelectionProgram(csr_array(between), self.form.groups)
            parts = selection.members(program)
            for _ in range(STARTS):
                if limits.expired():
                    return found
                start = np.array([rng.choice(part) for part in parts])
                chosen = selection.improve(program, start, limits)
                takers = between[chosen].argmax(axis=0)
                violated = outer[chosen[takers], np.arange(len(takers))].sum() > self._limit + 1e-9
                found |= violated and self._add(chosen, takers)
        return found

    def _add(self, chosen: selection.Selection, takers: selection.Selection) -> bool:
        """Add a cut; return False if it is there."""
        n = self.form.costs.shape[1]
        rows = chosen[takers]
        key = rows.tobytes()
        if key in self._seen:
            return False
        self._seen.add(key)
        self.cuts.append((chosen, takers))
        places = (rows * n + np.arange(n)).astype(np.int32)
        self._model.addRow(-highspy.kHighsInf, self._limit, n, places, np.ones(n))
        return True

    def proof(self) -> dict[str, Any]:
        """Return the prior and the weights of the cuts.

        They are the duals of the last solve, and zero before the first.
        """
        m, n = self.form.costs.shape
        first = 2 * m + (0 if self.form.epsilon is None else 2 * m * n)
        duals = np.zeros(first) if self._duals is None else self._duals
        prior = np.maximum(-duals[:m], 0.0)
        prior *= (1 - 1e-15) / max(prior.sum(), 1.0)
        weights = np.maximum(-duals[first:], 0.0)
        cuts = [
            {"weight": float(w), "selection": chosen.tolist(), "outputs": takers.tolist()}
            for w, (chosen, takers) in zip(weights, self.cuts[: len(weights)], strict=True)
            if w > 0
        ]
        proof: dict[str, Any] = {"prior": prior.tolist(), "cuts": cuts}
        if self.form.epsilon is not None:
            pairs = np.maximum(-duals[2 * m : first].reshape(m, n, 2), 0.0)
            proof["ratios"] = _allowed(pairs[..., 0] - pairs[..., 1], self.form.epsilon).tolist()
        return proof


def _drawn(part: selection.Selection, weights: Array, rng: np.random.Generator) -> int:
    """Draw a row of a group with the given weights; any row if there are none."""
    mass = float(weights.sum())
    return int(rng.choice(part, p=weights / mass if mass > 0 else None))


def _allowed(ratios: Array, epsilon: float) -> Array:
    """Shrink the positive parts of each output until the negative ones outweigh them e^ε times."""
    above, below = np.maximum(ratios, 0.0), np.maximum(-ratios, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = below.sum(axis=0) / (math.exp(epsilon) * above.sum(axis=0))
    factor = np.where(above.any(axis=0), np.minimum(share * (1 - 1e-12), 1.0), 1.0)
    return above * factor - below
