"""The best mechanism for a known distribution is an optimal design: a convex program with a proof.

Every ε-LDP mechanism can be refined to staircase columns v = 1 + (E−1) s, s ∈ {0, 1}^K, with weights θ
≥ 0 and Σ θ_v v = 1. With q_v = p·v and a basis U of the vectors that sum to 0, the information J = Uᵀ M
U is (E−1)² Σ θ_v (Uᵀs)(Uᵀs)ᵀ/q_v, well conditioned at every ε, and Σ = U J⁻¹ Uᵀ is the covariance of an
efficient estimate. α is an increasing function of Σ_k C_k Σ_kk ("f-divergence": C_k = 1/p_k, "mse": 1)
or of Σ_k √Σ_kk ("tv"), and all three are convex in θ: Σ_kk = 1/min {δᵀMδ : δ_k = 1, Σ δ = 0} is one
over a concave function, and so is its root.

The dual. For vectors y_k that sum to 0, Σ_kk ≥ y_kk²/(y_kᵀMy_k); if Σ_k C_k (y_k·v)² ≤ (β·v)(p·v) at
every staircase column, Σ_k C_k y_kᵀMy_k ≤ Σ β for all mechanisms, and

    Σ_k C_k Σ_kk ≥ (Σ_k C_k y_kk)²/Σβ,    (Σ_k √Σ_kk)² ≥ (Σ_k y_kk^{2/3})³/Σβ.

The rows of the best Σ (for "tv" divided by Σ_kk^{1/4}) prove their own optimality. All 2^K columns are
priced in each round; the program itself holds those that matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, null_space

from ldpopt.core import certify
from ldpopt.core.exact import exp_above, moment_design_bound
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.matrix_program import MatrixProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.measures.estimation_fidelity import alpha_of
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.solvers._columns.compact_program import BACK_OFF, longest_step

GAP = 1e-11
"""The relative gap at which a design counts as optimal; rounding the mechanism costs more."""
MOST_INPUTS = 16
"""The largest K: all 2^K columns are priced, and the checker visits them."""


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


class Design(NamedTuple):
    """A mechanism, its α, and numbers that prove a lower bound on the α of all mechanisms."""

    matrix: Array
    value: float
    bound: float
    Y: Array
    beta: Array

    def proof(self) -> dict[str, Any]:
        """Return the numbers that the checker reads."""
        return {"Y": self.Y.tolist(), "beta": self.beta.tolist()}


def never() -> bool:
    """Return False: there is no time limit."""
    return False


def optimal_design(p: Array, loss: str, epsilon: float, expired: Callable[[], bool] = never) -> Design:
    """Minimise α(W, p) over all ε-LDP mechanisms, to a relative :data:`GAP` or until the time is over.

    The design that is returned proves its bound in both cases; if the time is over, the gap is larger.

    Args:
        p: the distribution to be learnt, all entries positive.
        loss: "f-divergence", "mse" or "tv".
        epsilon: the level ε, in nats.
        expired: asked in every round whether the time is over.
    """
    program = _Listed(p / p.sum(), loss, epsilon, expired)
    while True:
        design = program.solve()
        close = design.value - design.bound <= GAP * design.value
        if close or expired() or not program.extend(design):
            return design


def certified(design: Design, p: Array, loss: str, epsilon: float, known: float) -> tuple[float, Any]:
    """Compute the bound that the design proves exactly, with its proof, if it exceeds a known one.

    Args:
        design: what :func:`optimal_design` found.
        p: the distribution to be learnt.
        loss: "f-divergence", "mse" or "tv".
        epsilon: the level ε, in nats.
        known: the bound that is proven without the design.

    Returns:
        The larger of the two bounds; the proof is None if that is the known one.
    """
    exact = [Fraction(x) for x in p.tolist()]
    total = sum(exact)
    source = [x / total for x in exact]
    below = moment_design_bound(
        source, exp_above(epsilon), loss, design.Y.tolist(), design.beta.tolist()
    )
    if below is None or certify.value_below(below) <= known:
        return known, None
    return certify.value_below(below), design.proof()


class Optimum(NamedTuple):
    """The best mechanism of some columns, its α, its covariance Σ and the prices β of the inputs."""

    matrix: Array
    value: float
    covariance: Array
    beta: Array


class DesignProgram:
    """The design problem over the columns taken so far, of a list of sets of inputs.

    Args:
        p: the distribution to be learnt.
        loss: "f-divergence", "mse" or "tv".
        epsilon: the level ε, in nats.
        sets: the inputs at which a column is E, one row of 0 and 1 for each; all single inputs are
            among them.
        expired: asked in every step whether the time is over.
    """

    def __init__(
        self, p: Array, loss: str, epsilon: float, sets: Array, expired: Callable[[], bool]
    ) -> None:
        k = len(p)
        self.p, self.loss, self.k, self.excess = p, loss, k, math.expm1(epsilon)
        self.expired = expired
        self.sets = sets
        self.basis = null_space(np.ones((1, k)))
        self.q = 1 + self.excess * sets @ p
        self.taken = np.arange(len(sets))
        self.theta = self._start()

    def _start(self) -> Array:
        """Find weights with Σ θ v = 1 up to a residual that Newton's method removes."""
        single = self.sets[self.taken].sum(axis=1) == 1
        weights = np.where(single, 1.0, 1.0 / len(self.taken))
        return weights / (weights * (1 + self.excess * self.sets[self.taken].mean(axis=1))).sum()

    def optimum(self) -> Optimum:
        """Find the optimum over the columns taken."""
        sets, q = self.sets[self.taken], self.q[self.taken]
        columns = 1 + self.excess * sets
        theta, beta = self._interior_point(sets, q, columns)
        self.theta = theta
        kept = theta > 1e-10 * theta.max()
        matrix = (columns[kept] * theta[kept, None]).T
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
        covariance = self._covariance(sets, q, theta)
        value = alpha_of(np.diag(covariance) + self.p**2, self.p, self.loss)
        return Optimum(matrix, value, covariance, beta)

    def _interior_point(self, sets: Array, q: Array, columns: Array) -> tuple[Array, Array]:
        """Minimise over θ ≥ 0 with Σ θ_v v = 1 by primal-dual Newton steps; returns θ and the prices β.

        At the optimum −∂cost/∂θ_v = β·v − slack_v, with slack_v θ_v = μ → 0.
        """
        theta = self.theta
        cost, gradient, hessian = self._slope(sets, q, theta)
        k = columns.shape[1]
        beta = np.full(k, -(gradient @ theta) / k)
        slack = np.maximum(gradient + columns @ beta, 0.1 * np.abs(gradient).mean())
        for _ in range(100):
            gap = float(slack @ theta)
            residual = 1 - columns.T @ theta
            dual = gradient + columns @ beta - slack
            exact = (
                np.abs(residual).max() < 1e-14 and np.abs(dual).max() < 1e-13 * np.abs(gradient).max()
            )
            late = self.expired() and np.abs(residual).max() < 1e-9
            if (gap < 1e-14 * cost and exact) or late:
                break
            mu = gap / len(theta) * (0.1 if gap > 1e-10 * cost else 0.02)
            system = hessian + np.diag(slack / theta)
            system[np.diag_indices_from(system)] *= 1 + 1e-14
            right = mu / theta - slack - dual
            try:
                factor = cho_factor(system)
            except np.linalg.LinAlgError:
                break
            solved = cho_solve(factor, np.column_stack([right, columns]))
            free, pull = solved[:, 0], solved[:, 1:]
            change = np.linalg.lstsq(columns.T @ pull, columns.T @ free - residual, rcond=None)[0]
            step = free - pull @ change
            rise = mu / theta - slack - slack / theta * step
            primal = longest_step([(theta, step)], BACK_OFF)
            length = min(primal, longest_step([(slack, rise)], BACK_OFF))
            theta, beta, slack = theta + length * step, beta + length * change, slack + length * rise
            cost, gradient, hessian = self._slope(sets, q, theta)
        return theta, beta

    def weights(self) -> Array:
        """Return the weights C of the variances."""
        return 1 / self.p if self.loss == "f-divergence" else np.ones(self.k)

    def _covariance(self, sets: Array, q: Array, theta: Array) -> Array:
        rooted = self.excess * sets @ self.basis
        J = (rooted * (theta / q)[:, None]).T @ rooted
        return self.basis @ np.linalg.solve(J, self.basis.T)

    def _slope(self, sets: Array, q: Array, theta: Array) -> tuple[float, Array, Array]:
        """Compute the cost, its gradient and its Hessian with respect to θ."""
        covariance = self._covariance(sets, q, theta)
        variances = np.diag(covariance)
        images = self.excess * sets @ covariance  # [v, k] = (Σ v)_k
        near = images @ (self.excess * sets).T  # vᵀ Σ w
        scaled = images / q[:, None]
        if self.loss == "tv":
            weights = 0.5 / np.sqrt(variances)
            cost = float(np.sqrt(variances).sum())
        else:
            weights = self.weights()
            cost = float(variances @ weights)
        gradient = -(images * scaled) @ weights
        far = (scaled * weights) @ scaled.T
        hessian = 2 * near * far
        if self.loss == "tv":
            pull = images * scaled  # −∂Σ_kk/∂θ_v
            hessian -= (pull * (0.25 / variances**1.5)) @ pull.T
        return cost, gradient, hessian


class _Listed(DesignProgram):
    """The design problem with all 2^K columns listed, so that each round prices all."""

    def __init__(self, p: Array, loss: str, epsilon: float, expired: Callable[[], bool]) -> None:
        k = len(p)
        sets = ((np.arange(1, 2**k - 1)[:, None] >> np.arange(k)) & 1).astype(float)
        super().__init__(p, loss, epsilon, sets, expired)
        sizes = sets.sum(axis=1)
        # a list of at most this many columns is taken as a whole
        if len(sizes) > 400:
            # the step mechanism, its complement, and subsets of the best size that are spread out
            near = np.flatnonzero((sizes == 1) | (sizes == k - 1))
            middle = np.flatnonzero(sizes == max(1, round(k / (self.excess + 2))))
            self.taken = np.union1d(near, middle[:: max(1, len(middle) // (3 * k))])
            self.theta = self._start()

    def solve(self) -> Design:
        """Find the optimum over the columns taken, and the bound that its covariance proves over all."""
        found = self.optimum()
        scale = np.diag(found.covariance) ** -0.25 if self.loss == "tv" else np.ones(self.k)
        Y = found.covariance * scale[:, None]
        beta, bound = self._proof(Y, found.beta)
        return Design(found.matrix, found.value, bound, Y, beta)

    def extend(self, design: Design) -> bool:
        """Take the columns that the dual prices highest; False if there are none."""
        excess = self.gains(design.Y) / self.q - (1 + self.excess * self.sets) @ design.beta
        excess[self.taken] = -np.inf
        # columns that one round of pricing adds, at least
        count = max(40, len(self.taken) // 4)
        best = np.argsort(-excess)[:count]
        best = best[np.isfinite(excess[best])]
        keep = self.theta > 1e-12 * self.theta.max()
        self.taken = np.concatenate([self.taken[keep], best])
        self.theta = np.concatenate(
            [self.theta[keep], np.full(len(best), 1e-3 * self.theta[keep].mean())]
        )
        return len(best) > 0

    def gains(self, Y: Array) -> Array:
        """Compute Σ_k C_k (y_k·v)² of every staircase column."""
        return ((self.excess * self.sets @ Y.T) ** 2) @ self.weights()

    def _proof(self, Y: Array, beta: Array) -> tuple[Array, float]:
        """Raise β until it dominates all columns, and compute the bound that it proves with Y."""
        needed = self.gains(Y) / self.q
        columns = 1 + self.excess * self.sets
        scale = (needed / (columns @ beta)).max() if (columns @ beta > 0).all() else 1.0
        beta = beta * scale
        beta = beta + max(0.0, ((needed - columns @ beta) / columns.sum(axis=1)).max())
        beta = beta * (1 + 1e-13) + 1e-15 * abs(beta).max()
        own = np.diag(Y)
        if self.loss == "tv":
            clear = np.sqrt(self.p - self.p**2).sum() ** 2
            return beta, float((own ** (2 / 3)).sum() ** 3 / beta.sum() / clear)
        clear = self.k - 1 if self.loss == "f-divergence" else 1 - self.p @ self.p
        return beta, float((own @ self.weights()) ** 2 / beta.sum() / clear)
