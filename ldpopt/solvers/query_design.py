"""The best mechanism for a list of queries: a convex program over the weights of columns, with a proof.

The columns are rays v of a cone, with weights θ ≥ 0 and Σ θ_v v = 1. With a basis U of the vectors that
sum to 0 and x_v = Uᵀv/√(p·v), the information is J = Σ θ_v x_v x_vᵀ, and the error Σ_i c_iᵀ U J⁻¹ Uᵀ
c_i is convex in θ. A primal-dual interior point solves the program over the columns taken so far; its
multipliers β and the vectors y_i = U J⁻¹ Uᵀ c_i are the proof
(:mod:`ldpopt.checker.kernel.proofs.query_bound`), once β is raised to dominate all columns. Those that
it does not dominate are taken next.

Where the queries leave some directions open, the best J is singular. Then y_i is unique along those
directions only in the limit of the central path, which sees the columns that are not used in the end:
so a column that was taken is never dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, null_space

from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.query_program import QueryProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.solvers._columns.compact_program import BACK_OFF, longest_step
from ldpopt.solvers._query_columns import Climbed, Listed

CENTRED = 1e-10
"""The relative gap to which the last rounds are solved; the others stop earlier, at about a hundredth of
the gap that is left to prove."""
BLEND = 1e-10
"""The share of randomised response in a mechanism whose reports alone would not determine all
frequencies."""
OUTPUTS = 3
"""The most outputs per input of a mechanism about which nothing is proven."""
IMPROVED, PATIENCE = 0.02, 10
"""Where no bound is known, the search ends once ``PATIENCE`` rounds improve the error by less than the
share ``IMPROVED``."""


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
        # the most rays that are all listed and checked; of more rays, some are found by local search
        if cone.size() <= 200_000:
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


class Columns(Protocol):
    """The columns taken so far, one per row with largest entry 1, and the means to find others."""

    @property
    def taken(self) -> Array:
        """The columns taken so far."""

    def extend(self, Y: Array, beta: Array, weights: Array) -> bool:
        """Take columns that β does not dominate; False if there are none.

        Args:
            Y: the vectors y_i, one per row.
            beta: β.
            weights: θ of the columns taken so far.
        """

    def raised(self, Y: Array, beta: Array) -> Array | None:
        """Return β raised to dominate all columns; None if that cannot be known."""


class Answer(NamedTuple):
    """A mechanism, its error, and the numbers that prove a bound (which may be None)."""

    matrix: Array
    value: float
    bound: float | None
    Y: Array
    beta: Array | None


class Optimum(NamedTuple):
    """The optimum over some columns: their weights, the prices β, and y_i as rows."""

    weights: Array
    beta: Array
    Y: Array
    value: float


def best_for_queries(
    p: Array,
    queries: Array,
    epsilon: float,
    columns: Columns,
    gap: float,
    expired: Callable[[], bool],
    found: Callable[[Answer], None],
) -> Answer:
    """Minimise the error of the queries over mechanisms with such columns.

    Args:
        p: the distribution of the inputs.
        queries: c, one per row.
        epsilon: the level, of the randomised response that is blended in.
        columns: the columns, which contain those of a mechanism that leaves nothing open.
        gap: the relative gap between value and bound at which the search ends.
        expired: asked in every round whether the time is over.
        found: called with every round's answer.
    """
    program = _Program(p, queries)
    best: Answer | None = None
    centred, values = 0.01, [math.inf] * PATIENCE
    for _ in range(200):
        now = program.solve(columns.taken, centred, expired)
        raised = columns.raised(now.Y, now.beta)
        gain = float((queries * now.Y).sum())
        bound = None if raised is None or raised.sum() <= 0 else gain**2 / raised.sum()
        kept = (columns.taken, now) if raised is not None else _fewer(program, columns.taken, now)
        answer = Answer(_mechanism(*kept, p, epsilon), kept[1].value, bound, now.Y, raised)
        if best is not None and (best.bound or 0.0) > (bound or 0.0):
            answer = answer._replace(bound=best.bound, Y=best.Y, beta=best.beta)
        best = answer
        found(best)
        left = 1.0 if best.bound is None else max(best.value - best.bound, 0.0) / best.value
        slow = raised is None and best.value > (1 - IMPROVED) * values[-PATIENCE]
        if left <= gap or slow or expired():
            break
        values.append(best.value)
        if columns.extend(now.Y, now.beta, now.weights):
            centred = min(centred, max(CENTRED, left / 100))
        elif centred > CENTRED:
            centred = CENTRED
        else:
            break
    assert best is not None
    return best


def _fewer(program: _Program, columns: Array, now: Optimum) -> tuple[Array, Optimum]:
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


def _mechanism(columns: Array, optimum: Optimum, p: Array, epsilon: float) -> Array:
    """Build the mechanism of the columns that matter, with a touch of one that leaves nothing open."""
    weights = optimum.weights
    # columns of less weight, relative to the largest, are left out of the mechanism
    kept = weights > 1e-9 * weights.max()
    matrix = (columns[kept] * weights[kept, None]).T
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    spread = np.linalg.svd(matrix / np.sqrt(p @ matrix), compute_uv=False)
    other = randomized_response(len(p), min(epsilon, 1.0)).matrix  # no entry below the grid of floats
    narrow = np.linalg.svd(other / np.sqrt(p @ other), compute_uv=False)[-1]
    if len(spread) == len(p) and spread[-1] > math.sqrt(BLEND) * narrow:
        return matrix
    return np.hstack([(1 - BLEND) * matrix, BLEND * other])


class _Program:
    """The design problem for one list of queries."""

    def __init__(self, p: Array, queries: Array) -> None:
        self.p = p
        self.basis = null_space(np.ones((1, len(p))))
        self.queries = queries @ self.basis

    def solve(self, columns: Array, centred: float, expired: Callable[[], bool]) -> Optimum:
        """Minimise over θ ≥ 0 with Σ θ_v v = 1, by primal-dual Newton steps from the equal weights.

        At the optimum −∂error/∂θ_v = β·v − slack_v, with slack_v θ_v = μ → 0.

        Args:
            columns: the rays v, one per row with largest entry 1.
            centred: the relative gap at which to stop.
            expired: asked in every step whether the time is over.
        """
        m, k = columns.shape
        apart = columns - columns.min(axis=1, keepdims=True)
        X = apart @ self.basis / np.sqrt(columns @ self.p)[:, None]
        theta = np.full(m, 1 / columns.mean(axis=1).sum())
        unit = math.sqrt(self._slope(X, theta, 1.0)[0])
        cost, gradient, images = self._slope(X, theta, unit)
        beta = np.full(k, -(gradient @ theta) / k)
        slack = np.maximum(gradient + columns @ beta, np.abs(gradient).mean())
        length, last = 1.0, math.inf
        for _ in range(100):
            gap, residual = float(slack @ theta), 1 - columns.T @ theta
            feasible = np.abs(residual).max() < 1e-12
            if feasible and (gap < centred * cost or gap > 0.95 * last or expired()):
                break
            last = gap
            mu = gap / m * (0.1 if length > 0.8 else 0.2 if length > 0.3 else 0.5)
            dual = gradient + columns @ beta - slack
            system = 2 * (X @ np.linalg.solve((X * theta[:, None]).T @ X, X.T)) * (images @ images.T)
            system[np.diag_indices(m)] += slack / theta * (1 + 1e-14)
            try:
                factor = cho_factor(system)
                solved = cho_solve(factor, np.column_stack([mu / theta - slack - dual, columns]))
                free, pull = solved[:, 0], solved[:, 1:]
                change = np.linalg.lstsq(columns.T @ pull, columns.T @ free - residual, rcond=None)[0]
                step = free - pull @ change
                rise = mu / theta - slack - slack / theta * step
                length = longest_step([(theta, step), (slack, rise)], BACK_OFF)
                moved = theta + length * step
                cost, gradient, images = self._slope(X, moved, unit)
            except np.linalg.LinAlgError:
                break
            theta, beta, slack = moved, beta + length * change, slack + length * rise
        J = (X * theta[:, None]).T @ X
        Y = np.linalg.solve(J, self.queries.T).T @ self.basis.T
        return Optimum(theta, beta * unit**2, Y, cost * unit**2)

    def _slope(self, X: Array, theta: Array, unit: float) -> tuple[float, Array, Array]:
        """Compute the error, its gradient, and x_v·J⁻¹Uᵀc_i, of the queries divided by a unit.

        Raises:
            LinAlgError: the columns leave a query open, or so nearly that rounding hides the error.
        """
        queries = self.queries / unit
        J = (X * theta[:, None]).T @ X
        np.linalg.cholesky(J)
        solved = np.linalg.solve(J, queries.T)
        cost = float((queries.T * solved).sum())
        if not cost > 0:
            raise np.linalg.LinAlgError("the information of these columns is singular but for rounding")
        images = X @ solved
        return cost, -(images**2).sum(axis=1), images
