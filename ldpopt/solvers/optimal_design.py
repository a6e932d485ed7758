"""The best mechanism for a known distribution, as an optimal design with a proof."""

from __future__ import annotations

from typing import ClassVar, Literal

from ldpopt.core.form import FormSolution
from ldpopt.core.forms.matrix_program import MatrixProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.mechanisms import randomized_response
from ldpopt.solvers._fidelity.moment_design import MOST_INPUTS, certified, optimal_design


class OptimalDesign(Solver[MatrixProgram]):
    """An interior-point method over staircase columns, all 2^K of them priced in every round."""

    name: ClassVar[str] = "optimal-design"

    def accepts(self, form: MatrixProgram) -> Literal[True] | str:
        """Accept α at a known distribution, any number of outputs."""
        if form.family != "broad" or not form.objective.is_design:
            return "the number of outputs must be free and the distribution known"
        if form.k > MOST_INPUTS:
            return f"{form.k} > {MOST_INPUTS} inputs make too many columns"
        return True

    def run(self, form: MatrixProgram, limits: Limits) -> FormSolution:
        """Solve, then prove with the optimum's own information matrix."""
        objective = form.objective
        point = randomized_response(form.k, form.epsilon).matrix
        start = FormSolution(Status.GAP, point, objective(point), form.bound)
        limits.keep(objective(point), form.bound, lambda: start)
        design = optimal_design(objective.prior, objective.loss, form.epsilon, limits.part(0.9).expired)
        stats = {"outputs": float(design.matrix.shape[1])}
        with limits.proving():
            bound, proof = certified(design, objective.prior, objective.loss, form.epsilon, form.bound)
        value = design.value
        found = FormSolution(Status.GAP, design.matrix, value, bound, proof, stats)
        limits.keep(value, bound, lambda: found)
        return found
