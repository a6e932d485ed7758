"""The best mechanism for a list of queries, as an optimal design with a proof."""

from __future__ import annotations

from typing import ClassVar, Literal

from ldpopt.core.form import FormSolution
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.forms.query_program import QueryProgram
from ldpopt.theory.fidelity.query_design import Answer, Listed, best_for_queries

MOST_RAYS = 200_000
"""Rays that are listed and, in exact arithmetic, visited by the checker."""


class QueryDesign(Solver[QueryProgram]):
    """An interior-point method over rays of the cone, all of which are priced in every round."""

    name: ClassVar[str] = "query-design"

    def accepts(self, form: QueryProgram) -> Literal[True] | str:
        """Accept cones whose rays can be listed."""
        if form.cone.size() > MOST_RAYS:
            return f"the cone has more than {MOST_RAYS} rays"
        return True

    def run(self, form: QueryProgram, limits: Limits) -> FormSolution:
        """Solve, and keep what every round proves."""
        limits.check()
        columns = Listed(form.cone.rays().T, form.prior, form.cone.epsilon)

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
                form.cone.epsilon,
                columns,
                limits.gap / 4,
                limits.expired,
                keep,
            )
        )
