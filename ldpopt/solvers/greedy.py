"""Add the row that covers most anew, group by group: at once, and never below half."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.forms.selection_program import SelectionProgram
from ldpopt.theory.leakage import selection


class Greedy(Solver):
    """Greedy for a monotone submodular function over a partition matroid.

    What the result covers, taken as prices, proves at most twice its value: a row of g gains at the
    end no more than the chosen row of g gained when it was chosen.
    """

    name: ClassVar[str] = "greedy"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Every selection program."""
        if not isinstance(form, SelectionProgram):
            return f"solves selection programs, not a {form.name}"
        return True

    def suits(self, form: Form) -> Literal[True] | str:
        """Never the first choice."""
        return "only within a factor 2 of the optimum"

    def run(
        self,
        form: Form,
        *,
        gap: float,
        time_limit: float | None,
        seed: int,
        progress: Progress | None,
        **options: Any,
    ) -> FormSolution:
        """Select greedily, bound by what is covered."""
        assert isinstance(form, SelectionProgram)
        point = selection.greedily(form)
        reached = selection.covered(form.matrix, point)
        # prices 0 prove the number of groups, prices max_θ W[θ, y] that no output is worth more
        candidates = [reached, np.zeros_like(reached), form.matrix.max(axis=0).toarray()]
        proof = selection.leaf(min(candidates, key=lambda prices: selection.price_bound(form, prices)))
        return FormSolution(
            status=Status.GAP,
            point=point,
            value=math.log(reached.sum()),
            bound=selection.exact_bound(form, proof),
            proof=proof,
        )
