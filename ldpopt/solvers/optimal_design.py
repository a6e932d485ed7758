"""The best mechanism for a known distribution, as an optimal design with a proof."""

from __future__ import annotations

from typing import ClassVar, Literal

from ldpopt.core.form import FormSolution
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.forms.matrix_program import MatrixProgram
from ldpopt.mechanisms import randomized_response
from ldpopt.theory.fidelity.moments import MomentObjective
from ldpopt.theory.fidelity.optimal_design import LINEAR_LOSSES, MOST_INPUTS, optimal_design


class OptimalDesign(Solver[MatrixProgram]):
    """Sequential quadratic programming over all 2^K staircase columns: a convex program."""

    name: ClassVar[str] = "optimal-design"

    def accepts(self, form: MatrixProgram) -> Literal[True] | str:
        """α of an f-divergence or of the mean squared error, any number of outputs."""
        if form.family != "broad" or not isinstance(form.objective, MomentObjective):
            return "the number of outputs must be free and the distribution known"
        if form.objective.loss not in LINEAR_LOSSES:
            return f"the objective {form.objective.loss!r} is not linear in the second moments"
        if form.k > MOST_INPUTS:
            return f"{form.k} > {MOST_INPUTS} inputs make too many columns"
        return True

    def run(self, form: MatrixProgram, limits: Limits) -> FormSolution:
        """Solve, then prove with the optimum's own information matrix."""
        assert isinstance(form.objective, MomentObjective)
        objective = form.objective
        point = randomized_response(form.k, form.epsilon).matrix
        start = FormSolution(Status.GAP, point, objective(point), form.bound)
        limits.keep(objective(point), form.bound, lambda: start)
        design = optimal_design(objective.prior, objective.loss, form.epsilon, limits)
        stats = {"outputs": float(design.matrix.shape[1])}
        bound, proof = design.better(form.bound)
        value = objective(design.matrix)
        found = FormSolution(Status.GAP, design.matrix, value, bound, proof, stats)
        limits.keep(value, bound, lambda: found)
        return found
