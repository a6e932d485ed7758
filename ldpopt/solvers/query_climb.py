"""A good mechanism for a list of queries, where the rays of the cone are too many to list.

An interior point (:mod:`ldpopt.solvers._query_interior`) weighs the columns taken so far; its prices
tell a local search (:mod:`ldpopt.solvers._query_columns`) which columns to take next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Literal, NamedTuple

import numpy as np

from ldpopt.core.forms.query_program import QueryProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.solvers._query_columns import Climbed, determining, once
from ldpopt.solvers._query_descent import Descent, Spectrum
from ldpopt.solvers._query_interior import CENTRED, Optimum, QueryInterior
from ldpopt.solvers.query_design import MOST_INPUTS

MOST_HIDDEN = 256
"""Inputs under ε-LDP for which the checker computes error and bound in some ten seconds."""
OUTPUTS = 3
"""The most outputs per input."""
IMPROVED, PATIENCE = 0.02, 10
"""The search ends once ``PATIENCE`` rounds improve the error by less than the share ``IMPROVED``."""


class QueryClimb(Solver[QueryProgram]):
    """An interior-point method over columns that climbs find; with a bound under ε-LDP alone."""

    def accepts(self, form: QueryProgram) -> Literal[True] | str:
        """Accept tables whose error can be certified."""
        most = MOST_HIDDEN if form.cone.hides_all else MOST_INPUTS
        if (k := form.cone.dimension) > most:
            return f"{k} > {most} inputs take too long to certify"
        return True

    def run(self, form: QueryProgram, limits: Limits) -> FormSolution:
        """Descend where that is possible, then climb; keep what every round finds."""
        limits.check()
        epsilon, bound, proof = form.cone.epsilon, form.least, None
        columns = Climbed(form.cone, form.prior, form.queries, epsilon, limits.generator())

        def solution(answer: Answer) -> FormSolution:
            stats = {"columns": float(len(columns.taken)), "outputs": float(answer.matrix.shape[1])}
            return FormSolution(Status.GAP, answer.matrix, answer.value, bound, proof, stats)

        def keep(answer: Answer) -> None:
            limits.keep(answer.value, bound, lambda: solution(answer))

        descended: list[Answer] = []
        if form.cone.hides_all:
            spectrum = Spectrum(form)
            bound, proof = max((bound, proof), spectrum.bound(), key=itemgetter(0))
            descent = Descent(form, spectrum.first_sets(limits.generator()))
            while descent.round(limits.expired):
                keep(Answer(descent.W, descent.value))
            descended = [Answer(descent.W, descent.value)]
            if form.cone.dimension > MOST_INPUTS:
                return solution(*descended)  # pricing by an interior point takes longer than it gains
            columns.taken = once(np.vstack([columns.taken, descent.W.T]))
        climbed = best_climbed(form.prior, form.queries, epsilon, columns, limits.expired, keep)
        return solution(min([climbed, *descended], key=attrgetter("value")))


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
        try:
            now = program.solve(columns.taken, centred, expired)
        except np.linalg.LinAlgError:  # the columns of some weight leave open what no query asks for
            if best is None:
                raise
            break
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
