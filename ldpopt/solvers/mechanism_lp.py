"""One column for each linear piece and cone: a linear program for HiGHS, or for cvxpy's solvers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.forms.mechanism_program import Assigned, MechanismProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.solvers.mechanism_rays import TWO_REPORTS

Indices = NDArray[np.integer]
A_LITTLE = 1e-6
"""The most room for which a row counts where it is asked which rows can have any."""


class _Rows:
    """Rows of a sparse matrix, collected block by block, with what each is about."""

    def __init__(self) -> None:
        self.blocks: list[tuple[Indices, Indices, Array]] = []
        self.height = 0

    def add(self, matrix: Array, columns: Indices) -> None:
        """Add the rows of a dense matrix whose entries belong to the given columns."""
        at, entry = np.nonzero(matrix)
        self.blocks.append((at + self.height, columns[entry], matrix[at, entry]))
        self.height += len(matrix)

    def build(self, width: int) -> Any:
        rows, columns, entries = (np.concatenate(part) for part in zip(*self.blocks, strict=True))
        return csr_array((entries, (rows, columns)), shape=(self.height, width))


class LinearProgram:
    """Maximise Σ a_i·w_ic over columns w_ic of the piece i in the cone c.

    With t_jic for what the column spends of the budget j: Σ w_ic = 1, D_c w_ic ≤ 0, c_jl·w_ic ≤ t_jic,
    Σ t_jic ≤ b_j, and the side conditions.
    """

    def __init__(self, form: MechanismProgram) -> None:
        assert form.pieces is not None
        self.form = form
        pieces, k, cones = form.pieces, form.inputs, len(form.cones)
        self.columns = [(i, c) for i in range(len(pieces)) for c in range(cones)]
        m, budgets = len(self.columns), len(form.budgets)
        self.width = m * (k + budgets)
        self.objective = np.concatenate([*(pieces[i] for i, _ in self.columns), np.zeros(m * budgets)])
        rows = _Rows()
        for at, (_, c) in enumerate(self.columns):
            rows.add(form.cones[c], self._entries(at))
        self.of_cones = rows.height
        for j, budget in enumerate(form.budgets):
            for at in range(m):
                spent = np.hstack([budget.pieces, np.full((len(budget.pieces), 1), -1.0)])
                rows.add(spent, np.append(self._entries(at), m * k + j * m + at))
        self.of_pieces = rows.height
        for j in range(budgets):
            rows.add(np.ones((1, m)), m * k + j * m + np.arange(m))
        for condition in form.conditions:
            costs = np.concatenate([condition.costs[i] for i, _ in self.columns])
            rows.add(costs[None], np.arange(m * k))
        limits = [budget.most for budget in form.budgets] + [one.most for one in form.conditions]
        self.rows = rows.build(self.width) if rows.blocks else csr_array((0, self.width))
        self.units = _units(self.rows)
        self.rows = self.rows / self.units[:, None]
        self.most = np.concatenate([np.zeros(self.of_pieces), limits]) / self.units
        sums = _Rows()
        sums.add(np.tile(np.eye(k), m), np.arange(m * k))
        self.sums = sums.build(self.width)

    def _entries(self, at: int) -> Indices:
        k = self.form.inputs
        return np.arange(at * k, (at + 1) * k)

    def inner(self, limits: Limits) -> Array | None:
        """Find a mechanism with the most room in all rows and entries that can have any; None if none.

        What has room in some mechanism has it in their mean: the first program, in which no row counts
        for more than a little room, tells which. Room is measured by the size of a row.
        """
        rows = vstack([self.rows, -eye_array(self.form.inputs * len(self.columns), self.width)])
        most = np.append(self.most, np.zeros(rows.shape[0] - len(self.most)))
        size = np.asarray(abs(rows).sum(axis=1)).ravel()
        own = self._most_room(rows, most, diags_array(size), A_LITTLE, limits)
        if own is None:
            return None
        open_rows = size * (own[self.width :] > A_LITTLE / 2)
        found = self._most_room(rows, most, csr_array(open_rows[:, None]), 1.0, limits)
        if found is None:
            return None
        entries = found[: rows.shape[0] - self.rows.shape[0]] * (open_rows[self.rows.shape[0] :] > 0)
        return self._matrix(entries)

    def _most_room(
        self, rows: Any, most: Array, room: Any, largest: float, limits: Limits
    ) -> Array | None:
        """Maximise Σ s over mechanisms with rows·w + room·s ≤ most and 0 ≤ s ≤ largest."""
        count = room.shape[1]
        capped = hstack([csr_array((count, self.width)), eye_array(count)])
        rows = vstack([hstack([rows, room]), capped])
        objective = np.append(np.zeros(self.width), np.ones(count))
        sums = hstack([self.sums, csr_array((self.form.inputs, count))])
        limit = np.append(most, np.full(count, largest))
        found = highs.maximise(objective, rows, limit, sums, np.ones(self.form.inputs), limits)
        return None if found is None else found.point

    def _matrix(self, point: Array) -> Array:
        k, m = self.form.inputs, len(self.columns)
        return np.maximum(point[: m * k], 0).reshape(m, k).T

    def solution(
        self, point: Array, value: float, dual: Array, prices: Array, limits: Limits
    ) -> FormSolution:
        """Translate an optimal point and its multipliers.

        Args:
            point: the variables.
            value: the optimum.
            dual: the multipliers of the sums Σ w_ic = 1.
            prices: the multipliers of the rows ≤ ``most``, at least 0.
            limits: the time.
        """
        form, m, matrix = self.form, len(self.columns), self._matrix(point)
        prices = prices / self.units
        numbers = np.array([c for _, c in self.columns])
        kept = np.full(m, True) if form.conditions else matrix.sum(axis=0) > 0
        budgets = len(form.budgets)
        ends = prices[self.of_pieces :]
        proof = {
            "dual": dual.tolist(),
            "prices": ends[:budgets].tolist(),
            "costs": ends[budgets:].tolist(),
            "rows": self._row_multipliers(prices[: self.of_cones]),
            "budgets": self._budget_multipliers(prices[self.of_cones : self.of_pieces]),
        }
        limit = [one.most for one in form.budgets] + [one.most for one in form.conditions]
        bound = float(dual.sum() + ends @ np.array(limit))
        inner = self.inner(limits) if form.conditions else None
        assigned = Assigned(matrix[:, kept], numbers[kept], inner)
        return FormSolution(Status.OPTIMAL, assigned, value, bound, proof)

    def _row_multipliers(self, prices: Array) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {"piece": [], "cone": [], "row": [], "times": []}
        start = 0
        for i, c in self.columns:
            mine = prices[start : (start := start + len(self.form.cones[c]))]
            for r in np.flatnonzero(mine):
                _append(found, i, c, int(r), float(mine[r]))
        return found

    def _budget_multipliers(self, prices: Array) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {"piece": [], "cone": [], "budget": [], "part": [], "times": []}
        start = 0
        for j, budget in enumerate(self.form.budgets):
            for i, c in self.columns:
                mine = prices[start : (start := start + len(budget.pieces))]
                for part in np.flatnonzero(mine):
                    _append(found, i, c, j, int(part), float(mine[part]))
        return found


def _units(rows: Any) -> Array:
    """Return a unit for each row: the geometric mean of its largest entry, and of 1.

    e^ε and 1 then stand as e^(ε/2) and e^(−ε/2): HiGHS takes entries below 1e-9 for 0, and loses the
    digits of the others where one is beyond 1e10. Where no entry is so large or none so small, the one
    nearest to 1 stands for 1: a row may be written in any unit.
    """
    sizes = abs(rows)
    largest = sizes.max(axis=1).toarray().ravel()
    inverse = csr_array((1 / sizes.data, sizes.indices, sizes.indptr), sizes.shape)
    with np.errstate(divide="ignore"):
        smallest = 1 / inverse.max(axis=1).toarray().ravel()
    return np.where(largest > 0, np.sqrt(largest * np.clip(1.0, smallest, largest)), 1.0)


def _append(found: dict[str, list[Any]], *entries: float) -> None:
    for column, entry in zip(found.values(), entries, strict=True):
        column.append(entry)


def _taken(form: MechanismProgram) -> Literal[True] | str:
    if form.pieces is None:
        return "the objective is not the largest of linear functions"
    return True if form.pairs is None else TWO_REPORTS


class MechanismHighs(Solver[MechanismProgram]):
    """The linear program by HiGHS."""

    def accepts(self, form: MechanismProgram) -> Literal[True] | str:
        """Accept objectives of linear pieces."""
        return _taken(form)

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """Build, solve, translate."""
        program = LinearProgram(form)
        ones = np.ones(form.inputs)
        found = highs.maximise(program.objective, program.rows, program.most, program.sums, ones, limits)
        if found is None:
            return FormSolution(Status.INFEASIBLE)
        return program.solution(*found, limits)


class MechanismCvxpy(Solver[MechanismProgram]):
    """The same linear program through cvxpy: a second opinion, and a way to any solver that it knows.

    Args:
        backend: the name of a solver that cvxpy knows.
    """

    def __init__(self, backend: str = "CLARABEL") -> None:
        self.backend = backend

    def accepts(self, form: MechanismProgram) -> Literal[True] | str:
        """Accept objectives of linear pieces."""
        return _taken(form)

    def suits(self, form: MechanismProgram) -> Literal[True] | str:
        """Decline to be chosen by ``auto``."""
        return "slower than mechanism-highs"

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """Build, solve, translate."""
        import cvxpy

        limits.check()
        program = LinearProgram(form)
        point = cvxpy.Variable(program.width, nonneg=True)
        sums, rows = program.sums @ point == 1, program.rows @ point <= program.most
        constraints = [sums, rows] if program.rows.shape[0] else [sums]
        model = cvxpy.Problem(cvxpy.Maximize(program.objective @ point), constraints)
        try:
            model.solve(solver=self.backend)
        except cvxpy.SolverError as error:
            raise SolverError(f"{self.backend} failed: {error}") from None
        if model.status == cvxpy.INFEASIBLE:
            return FormSolution(Status.INFEASIBLE)
        if model.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE):
            raise SolverError(f"{self.backend} ended with {model.status}")
        prices = rows.dual_value if program.rows.shape[0] else np.zeros(0)
        # of a maximisation, cvxpy gives the multipliers of the minimised negative
        found = np.asarray(point.value)
        return program.solution(
            found, float(model.value), sums.dual_value, np.maximum(prices, 0), limits
        )
