"""A good mechanism for a list of queries, where the rays of the cone are too many to list.

An interior point (:mod:`ldpopt.solvers._query_interior`) weighs the columns taken so far; its prices
tell a local search (:mod:`ldpopt.solvers._query_columns`) which columns to take next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.query_program import QueryProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.solvers._query_columns import Climbed, determining
from ldpopt.solvers._query_interior import CENTRED, Optimum, QueryInterior
from ldpopt.solvers.query_design import MOST_INPUTS

OUTPUTS = 3
"""The most outputs per input."""
IMPROVED, PATIENCE = 0.02, 10
"""The search ends once ``PATIENCE`` rounds improve the error by less than the share ``IMPROVED``."""


class QueryClimb(Solver[QueryProgram]):
    """An interior-point method over columns that climbs find; without proof."""

    name: ClassVar[str] = "query-climb"

    def accepts(self, form: QueryProgram) -> Literal[True] | str:
        """Accept tables whose error can be certified."""
        if (k := form.cone.dimension) > MOST_INPUTS:
            return f"{k} > {MOST_INPUTS} inputs take too long to certify"
        return True

    def run(self, form: QueryProgram, limits: Limits) -> FormSolution:
        """Climb, and keep what every round finds."""
        limits.check()
        epsilon = form.cone.epsilon
        columns = Climbed(form.cone, form.prior, form.queries, epsilon, limits.generator())

        def solution(answer: Answer) -> FormSolution:
            stats = {"columns": float(len(columns.taken)), "outputs": float(answer.matrix.shape[1])}
            return FormSolution(Status.GAP, answer.matrix, answer.value, form.least, None, stats)

        def keep(answer: Answer) -> None:
            limits.keep(answer.value, form.least, lambda: solution(answer))

        return solution(best_climbed(form.prior, form.queries, epsilon, columns, limits.expired, keep))


class Answer(NamedTuple):
    """A mechanism and its error."""

    matrix: Array
    value: float


def best_climbed(
    p: Array,
    queries: Array,
    epsilon: float,
    columns: Climbed,
    expired: Callable[[], bool],
    found: Callable[[Answer], None],
) -> Answer:
    """Lower the error of the queries over mechanisms with such columns, while that gains something.

    Args:
        p: the distribution of the inputs.
        queries: c, one per row.
        epsilon: the level, of the randomised response that is blended in.
        columns: the columns, which contain those of a mechanism that leaves nothing open.
        expired: asked in every round whether the time is over.
        found: told of every answer that is better than those before.
    """
    program = QueryInterior(p, queries)
    best: Answer | None = None
    centred, values = 0.01, [math.inf] * PATIENCE
    for _ in range(200):
        now = program.solve(columns.taken, centred, expired)
        kept, fewer = _fewer(program, columns.taken, now)
        if best is None or fewer.value < best.value:
            best = Answer(determining(kept, fewer.weights, p, epsilon), fewer.value)
            found(best)
        if best.value > (1 - IMPROVED) * values[-PATIENCE] or expired():
            break
        values.append(best.value)
        if not columns.extend(now.Y, now.beta, now.weights):
            if centred == CENTRED:
                break
            centred = CENTRED
    assert best is not None
    return best


def _fewer(program: QueryInterior, columns: Array, now: Optimum) -> tuple[Array, Optimum]:
    """Keep the heaviest columns, if they are worth about as much and leave no query open."""
    most = OUTPUTS * columns.shape[1]
    if len(columns) <= most:
        return columns, now
    heaviest = columns[np.argsort(-now.weights * columns.sum(axis=1))[:most]]
    try:
        found = program.solve(heaviest, 1e-4, lambda: False)
    except np.linalg.LinAlgError:
        return columns, now
    full = np.abs(1 - heaviest.T @ found.weights).max() < 1e-9
    return (heaviest, found) if full and found.value < 1.01 * now.value else (columns, now)
