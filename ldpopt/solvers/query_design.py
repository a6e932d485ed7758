"""The best mechanism for a list of queries, as an optimal design with a proof."""

from __future__ import annotations

from typing import ClassVar, Literal

from ldpopt.core.form import FormSolution
from ldpopt.core.forms.query_program import QueryProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.solvers._fidelity.query_columns import Climbed, Listed
from ldpopt.solvers._fidelity.query_weights import Answer, best_for_queries

MOST_RAYS = 200_000
"""The most rays that are all listed and checked; of more rays, some are found by local search."""
MOST_INPUTS = 200
"""Inputs for which the checker computes the error in seconds."""


class QueryDesign(Solver[QueryProgram]):
    """An interior-point method over rays of the cone.

    Few rays are all priced in every round, which proves the optimum; many are climbed to, without proof.
    """

    name: ClassVar[str] = "query-design"

    def accepts(self, form: QueryProgram) -> Literal[True] | str:
        """Accept tables whose error can be certified."""
        if (k := form.cone.dimension) > MOST_INPUTS:
            return f"{k} > {MOST_INPUTS} inputs take too long to certify"
        return True

    def run(self, form: QueryProgram, limits: Limits) -> FormSolution:
        """Solve, and keep what every round proves."""
        limits.check()
        cone, epsilon = form.cone, form.cone.epsilon
        columns: Listed | Climbed
        if cone.size() <= MOST_RAYS:
            columns = Listed(cone.rays().T, form.prior, epsilon)
        else:
            columns = Climbed(cone, form.prior, form.queries, epsilon, limits.generator())

        def solution(answer: Answer) -> FormSolution:
            proof = None
            if answer.beta is not None and answer.bound is not None and answer.bound > form.least:
                proof = {"Y": answer.Y.tolist(), "beta": answer.beta.tolist()}
            bound = form.least if proof is None else answer.bound
            stats = {"columns": float(len(columns.taken)), "outputs": float(answer.matrix.shape[1])}
            return FormSolution(Status.GAP, answer.matrix, answer.value, bound, proof, stats)

        def keep(answer: Answer) -> None:
            limits.keep(answer.value, answer.bound or form.least, lambda: solution(answer))

        return solution(
            best_for_queries(
                form.prior,
                form.queries,
                epsilon,
                columns,
                limits.gap / 4,
                limits.expired,
                keep,
            )
        )
