"""Design under a bound on the leakage: a linear program inside, cuts from outside, until they meet."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from ldpopt.core.errors import SolverError
from ldpopt.core.exact import LeakageStatement
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.selections import LeakageProgram, SelectionProgram
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.measures import row_selection
from ldpopt.measures.row_selection_lp import Branching
from ldpopt.solvers._leakage.inner_program import constant_release, inner_program
from ldpopt.solvers._leakage.outer_program import OuterLP
from ldpopt.solvers._leakage.repair import cost_below, repair_leakage

MOST_VARIABLES = 40_000
MOST_NODES = 2000
"""Of the tree that finds the selection which a candidate covers most of, and proves that it is."""


class LeakageCuts(Solver[LeakageProgram]):
    """Close in on the optimum by two LPs: an inner one with prices, an outer one with cuts.

    Inside: W, v, u with Σ_y v_y + Σ_g u_g ≤ e^b and u_g ≥ Σ_y (W[θ,y] − v_y)⁺. Its mechanism is within
    the budget. Outside: cuts Σ_y W[θ_g(y), y] ≤ e^b found by local search over selections, and by
    branching where that finds none. Its value is a lower bound for every mechanism, with the duals as
    proof; where no selection is beyond the budget, its mechanism is the best one.
    """

    name: ClassVar[str] = "leakage-cuts"

    def accepts(self, form: LeakageProgram) -> Literal[True] | str:
        """Accept leakage programs of bearable size."""
        most = MOST_VARIABLES if form.epsilon is None else MOST_VARIABLES // 4
        if form.counts.size > most:
            return f"the mechanism has {form.counts.size} entries, more than {most}"
        return True

    def run(self, form: LeakageProgram, limits: Limits) -> FormSolution:
        """Solve inside, then cut from outside until the bound meets it.

        Where a linear program of the cuts is beyond floats, the bound of the round before is the answer,
        and ``failed_programs`` of the statistics is 1.
        """
        # the share of the time for the search; the exact bound takes a tenth of a second
        search = limits.part(0.95)
        matrix, prices = constant_release(form)
        tree = row_selection.leaf(prices)
        outer = OuterLP(form)
        rounds = failed = 0

        def found() -> FormSolution:
            proof = outer.proof()
            return FormSolution(
                status=Status.GAP,
                point=matrix,
                value=_worst_cost(form, matrix),
                bound=cost_below(_exactly(form), proof),
                proof={"privacy": tree, **proof},
                stats={"rounds": rounds, "cuts": len(outer.cuts), "failed_programs": failed},
            )

        limits.keep(_worst_cost(form, matrix), 0.0, found)
        with suppress(OutOfTime):
            inner = inner_program(form, limits.part(0.5))
            priced = row_selection.leaf(inner.prices)
            matrix, tree = repair_leakage(inner.matrix, priced, form.groups, form.leakage, form.epsilon)
            value = _worst_cost(form, matrix)
            rng = limits.generator()
            outer.draw(inner, rng)
            while not search.expired():
                try:
                    candidate, bound = outer.solve(search)
                except SolverError:  # beyond floats: the bound of the round before is the answer
                    failed = 1
                    break
                rounds += 1
                limits.keep(value, bound, found)
                if bound >= value * (1 - limits.gap / 4):
                    break
                if outer.cut(inner.matrix, candidate, rng, search):
                    continue
                program = SelectionProgram(csr_array(candidate), form.groups)
                first = row_selection.first_rows(program)
                chosen, proven = Branching(search, MOST_NODES).run(program, first)
                if outer.rule_out(candidate, chosen, candidate[chosen].argmax(axis=0)):
                    continue
                exact = repair_leakage(candidate, proven, form.groups, form.leakage, form.epsilon)
                if _worst_cost(form, exact[0]) < value:
                    matrix, tree = exact
                break
        with limits.proving():
            return found()


def _worst_cost(form: LeakageProgram, matrix: Array) -> float:
    return float((matrix * form.costs).sum(axis=1).max())


def _exactly(form: LeakageProgram) -> LeakageStatement:
    groups = [np.flatnonzero(form.groups == g).tolist() for g in range(int(form.groups.max()) + 1)]
    counts = form.counts.tolist()
    return LeakageStatement(counts, form.scale, groups, form.leakage, None, form.epsilon)
