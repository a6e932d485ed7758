"""The best mechanism for a list of queries, with a proof: programs over more and more rays of the cone.

An interior point (:mod:`ldpopt.solvers._query_interior`) weighs the rays taken so far. Its vectors y_i
and prices β are a proof (:mod:`ldpopt.checker.kernel.proofs.query_bound`), once β is raised to dominate
all rays; those that it does not dominate are taken next. When there are none, Newton's method gives the
last digits. Where the queries leave some directions open, the best J is singular and the interior point
ends near it: a conic program without J⁻¹ (:mod:`ldpopt.solvers.mechanism_design`) goes on the same
way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from ldpopt.core.errors import SolverError
from ldpopt.core.forms.mechanism_program import Design
from ldpopt.core.forms.query_program import QueryProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.solvers._newton_steps import Best, sharpened
from ldpopt.solvers._query_columns import KEPT, determining, gains, once
from ldpopt.solvers._query_interior import CENTRED, QueryInterior
from ldpopt.solvers.mechanism_design import best_design, sparse_weights, typical_factor

MOST_INPUTS = 200
"""Inputs for which the checker computes the error in seconds."""
MOST_RAYS = 200_000
"""Rays that are all listed and priced."""
FIRST, MORE = 120, 80
"""Rays taken at first, and in each round at most."""
NEAR = 0.9
"""The conic program begins with the rays taken whose gain is at least this share of their price."""
NO_BUDGETS = np.zeros(0)


class QueryDesign(Solver[QueryProgram]):
    """An interior point, then conic programs by Clarabel, through cvxpy."""

    def accepts(self, form: QueryProgram) -> Literal[True] | str:
        """Accept cones whose rays can be listed."""
        if (k := form.cone.dimension) > MOST_INPUTS:
            return f"{k} > {MOST_INPUTS} inputs take too long to certify"
        if (size := form.cone.size()) > MOST_RAYS:
            return f"{size} > {MOST_RAYS} rays are too many to list"
        return True

    def run(self, form: QueryProgram, limits: Limits) -> FormSolution:
        """Keep the best mechanism and the best proof of every round, until they meet."""
        limits.check()
        search = _Search(form)
        for rounds in (search.by_interior_point, search.by_conic_programs):
            for found in rounds(limits):
                search.tell(found)
                limits.keep(search.value, search.bound, search.solution)
        return search.solution()


class _Search:
    """The rays taken so far, the best mechanism, and the best proof."""

    def __init__(self, form: QueryProgram) -> None:
        p, self.epsilon = form.prior, form.cone.epsilon
        listed = [randomized_response(len(p), self.epsilon).matrix.T, form.cone.rays().T]
        self.rays = once(np.vstack(listed))
        self.mass = self.rays @ p
        spread = np.linspace(len(p), len(self.rays) - 1, min(FIRST, len(self.rays))).astype(int)
        self.taken = np.union1d(np.arange(len(p)), spread)
        # only Σ_i c_i c_iᵀ matters of queries: at most as many rows as inputs stand for them
        self.turned, self.queries = np.linalg.qr(form.queries - (form.queries @ p)[:, None])
        self.design = Design(p, self.queries)
        self.value, self.point = np.inf, np.zeros((len(p), 0))
        self.bound, self.proof = form.least, dict[str, Any]()

    def open(self, limits: Limits) -> bool:
        """Return whether the gap is larger than asked for, and there is time to close it."""
        return self.left() > limits.gap / 4 and not limits.expired()

    def left(self) -> float:
        """Return how much of the value is above the bound."""
        return max(self.value - self.bound, 0.0) / self.value

    def by_interior_point(self, limits: Limits) -> Iterator[Best]:
        """Yield the optimum over the rays taken, until no other ray is worth its price."""
        p = self.design.prior
        program, centred = QueryInterior(p, self.queries), 0.01
        while True:
            now = program.solve(self.rays[self.taken], centred, limits.expired)
            found = Best(now.weights, now.Y, -now.value, now.beta, NO_BUDGETS)
            yield found
            if not self.open(limits):
                break
            if self._take(found):
                centred = min(centred, max(CENTRED, self.left() / 100))
            elif centred > CENTRED:
                centred = CENTRED
            else:
                break
        yield from self._sharper(found)
        tight = self._gains(found) > NEAR * (self.rays @ found.dual)
        self.taken = np.union1d(np.arange(len(p)), self.taken[tight[self.taken]])

    def by_conic_programs(self, limits: Limits) -> Iterator[Best]:
        """Yield the optimum over the rays taken, until no other ray is worth its price.

        Clarabel fails where entries differ by too many orders of magnitude: what was found stays.
        """
        while self.open(limits):
            try:
                columns = self.rays[self.taken].T
                factor = typical_factor(self.design.prior, columns, NO_BUDGETS, limits)
                found = best_design(self.design, columns, NO_BUDGETS, factor)
            except SolverError:
                break
            yield found
            yield from self._sharper(found)
            if not self._take(found):
                break

    def _sharper(self, found: Best) -> Iterator[Best]:
        """Yield what Newton's method makes of an optimum over the rays taken."""
        columns = self.rays[self.taken].T
        sharper = sharpened(found, self.design, columns, NO_BUDGETS, np.eye(len(columns)))
        if sharper is not None:
            yield sharper

    def tell(self, found: Best) -> None:
        """Keep the mechanism and the proof of an optimum over the rays taken if they are better."""
        p, columns = self.design.prior, self.rays[self.taken]
        X = columns.T / np.sqrt(self.mass[self.taken])
        weights = sparse_weights(found.weights, X, np.zeros((0, len(columns))))
        weights[weights < KEPT * weights.max()] = 0.0
        point = determining(columns, weights, p, self.epsilon)
        J = (point / (p @ point)) @ point.T
        error = float((self.queries * np.linalg.solve(J, self.queries.T).T).sum())
        # rows that do not sum to 1 are made private by about as much noise
        noise = point.shape[1] * np.abs(1 - weights @ columns).max() / math.expm1(self.epsilon)
        value = error * (1 + noise)
        if value < self.value:
            self.value, self.point = value, point
        Y = _centred(found.vectors)
        beta = self._raised(self._gains(found), found.dual)
        proven = float((self.queries * Y).sum()) ** 2 / beta.sum()
        if proven > self.bound:
            self.bound, self.proof = proven, {"Y": (self.turned @ Y).tolist(), "beta": beta.tolist()}

    def solution(self) -> FormSolution:
        """Return the best so far."""
        stats = {"columns": float(len(self.taken)), "outputs": float(self.point.shape[1])}
        return FormSolution(Status.GAP, self.point, self.value, self.bound, self.proof or None, stats)

    def _take(self, found: Best) -> bool:
        """Take the rays that exceed their price most; False if there are none."""
        excess = (self._gains(found) - self.rays @ found.dual) / self.rays.sum(axis=1)
        excess[self.taken] = -np.inf
        best = np.argsort(-excess)[:MORE]
        best = best[excess[best] > 0]
        self.taken = np.append(self.taken, best)
        return len(best) > 0

    def _gains(self, found: Best) -> Array:
        return gains(self.rays, self.mass, _centred(found.vectors))

    def _raised(self, needed: Array, beta: Array) -> Array:
        """Scale β, or add to it, until it dominates every ray."""
        paid = self.rays @ beta
        beta = beta * ((needed / paid).max() if (paid > 0).all() else 1.0)
        beta = beta + max(0.0, ((needed - self.rays @ beta) / self.rays.sum(axis=1)).max())
        return beta * (1 + 1e-12) + 1e-13 * np.abs(beta).max()


def _centred(vectors: Array) -> Array:
    """Take the mean off each row: it is 0 but for rounding."""
    return vectors - vectors.mean(axis=1, keepdims=True)
