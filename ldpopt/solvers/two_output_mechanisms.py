"""The best mechanism with two outputs: a convex function is largest at a vertex, and all are listed."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ldpopt.core.forms.mechanism_program import Assigned, Design, MechanismProgram
from ldpopt.core.solver import FormSolution, Limits, Solver, Status


class MechanismPairs(Solver[MechanismProgram]):
    """Evaluate g(w) + g(1 − w) at the vertices of the polytope of all private w."""

    def accepts(self, form: MechanismProgram) -> Literal[True] | str:
        """Accept programs of at most two reports."""
        return "any number of reports is allowed" if form.pairs is None else True

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """List, evaluate, take the best."""
        assert form.pairs is not None
        assert not isinstance(form.utility, Design)
        columns, cones = limits.in_time(form.pairs)
        if not len(cones):
            return FormSolution(Status.INFEASIBLE)
        gains = form.utility(columns) + form.utility(1 - columns)
        if np.isinf(gains).any():
            return FormSolution(Status.UNBOUNDED)
        best = int(gains.argmax())
        first, value = columns[:, best], float(gains[best])
        pair = Assigned(np.column_stack([first, 1 - first]), cones[best])
        return FormSolution(Status.OPTIMAL, pair, value, value, {}, {"vertices": float(len(cones))})
