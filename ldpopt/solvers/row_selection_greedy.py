"""Take, group by group, the row that covers most of what is left: fast, at least half of the optimum."""

from __future__ import annotations

from typing import Literal

from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.solver import FormSolution, Limits, Solver
from ldpopt.measures import row_selection
from ldpopt.solvers._leakage.selection_proof import keep_priced


class Greedy(Solver[SelectionProgram]):
    """Greedy for a monotone submodular function over a partition matroid.

    What the result covers, taken as prices, proves at most twice its value: a row of g gains at the
    end no more than the chosen row of g gained when it was chosen.
    """

    def suits(self, form: SelectionProgram) -> Literal[True] | str:
        """Leave the first choice to other solvers."""
        return "only within a factor 2 of the optimum"

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """Select greedily, bound by what is covered."""
        keep_priced(form, row_selection.greedily(form, limits), {}, limits)
        with limits.proving():
            solution = limits.kept()
        assert solution is not None
        return solution
