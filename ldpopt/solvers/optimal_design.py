"""The best mechanism for a known distribution, as an optimal design with a proof."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.forms.matrix_program import MatrixProgram
from ldpopt.theory.fidelity.moments import MomentObjective
from ldpopt.theory.fidelity.optimal_design import LINEAR_LOSSES, MOST_INPUTS, optimal_design


class OptimalDesign(Solver):
    """Sequential quadratic programming over all 2^K staircase columns: a convex program."""

    name: ClassVar[str] = "optimal-design"

    def accepts(self, form: Form) -> Literal[True] | str:
        """α of an f-divergence or of the mean squared error, any number of outputs."""
        if not isinstance(form, MatrixProgram):
            return f"solves matrix programs, not a {form.name}"
        if form.family != "broad" or not isinstance(form.objective, MomentObjective):
            return "the number of outputs must be free and the distribution known"
        if form.objective.loss not in LINEAR_LOSSES:
            return f"the objective {form.objective.loss!r} is not linear in the second moments"
        if form.k > MOST_INPUTS:
            return f"{form.k} > {MOST_INPUTS} inputs make too many columns"
        return True

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
        """Solve, then prove with the optimum's own information matrix."""
        assert isinstance(form, MatrixProgram)
        assert isinstance(form.objective, MomentObjective)
        objective = form.objective
        design = optimal_design(objective.prior, objective.loss, form.epsilon)
        stats = {"outputs": float(design.matrix.shape[1])}
        bound, proof = design.better(form.bound)
        return FormSolution(Status.GAP, design.matrix, objective(design.matrix), bound, proof, stats)
