"""The best unbiased reports of a number: one conic program over the intervals of a grid, by Clarabel."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import normalised, numeric_bound_below
from ldpopt.core.forms.numeric_program import NumericProgram, Reports
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.measures.numeric_report_variance import mean_variance, worst_variance

PRECISE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
TOUCH = 1e-10
"""The share of equal weights in a proof of the worst variance: the checker needs positive ones."""
MARGIN, MARGINS = 2.0**-50, 20
"""By which share α is raised at first, and how often that is doubled, until the checker accepts it."""
NEGLIGIBLE = 1e-11
"""Columns of less weight are left out."""


class Duals(NamedTuple):
    """α, β and λ of a proof: (β·v)² ≤ 4 (λ·v)(α·v) for every column v."""

    alpha: Array
    beta: Array
    weights: Array

    def bound(self, x: Array) -> float:
        """Compute what they prove at the points x."""
        return float(self.beta @ x - self.alpha.sum() - self.weights @ x**2)


class NumericColumns(Solver[NumericProgram]):
    """Weight columns v ∈ {1, e^ε}^k so that unbiased reports have the least worst or mean variance.

    Minimise t with Σθ_v v = 1, Σ b_v v_x = x and Σ (b_v²/θ_v) v_x ≤ t_x + x²; column v reports b_v/θ_v.
    All t_x are the worst variance t, or t is their mean under the prior. For a report s, the best
    column has e^ε where λ_x s² − β_x s + α_x < 0. In every instance tried, that was an interval of the
    grid; so the columns are the k(k + 1)/2 intervals, and the proof is about all of them. Against the
    worst variance they are weighted once more, for the least one between the points, too.
    """

    def run(self, form: NumericProgram, limits: Limits) -> FormSolution:
        """Solve the program, and prove by its multipliers that nothing is better."""
        point, duals = _weighted(form)
        if form.question.prior is None:
            point, _ = _weighted(form, between=True)
        with limits.proving():
            proven, proof = _proven(form, duals)
        value = (
            worst_variance(*point)
            if form.prior is None
            else mean_variance(*point, form.grid, form.prior)
        )
        stats = {"columns": float(len(point.numbers))}
        return FormSolution(Status.GAP, point, value, proven, proof, stats)


def _weighted(form: NumericProgram, between: bool = False) -> tuple[Reports, Duals]:
    """Solve the conic program over all intervals.

    Reports are in units of (e^ε + 1)/(e^ε − 1), so that its numbers have one size at all levels. The
    rows of neighbours are subtracted: an interval changes at its ends alone, so few numbers are left.

    Args:
        form: the program.
        between: whether the variance counts between the points, too; the duals prove nothing then.
    """
    import cvxpy as cp
    from scipy import sparse

    k, unit = form.points, 1 / np.tanh(form.epsilon / 2)
    x, first, last = form.grid / unit, *np.triu_indices(k)
    inside = (first <= np.arange(k)[:, None]) & (np.arange(k)[:, None] <= last)
    columns = np.where(inside, 1.0, np.exp(-form.epsilon))
    differences = np.eye(k) - np.eye(k, k=-1)
    changes, n = sparse.csr_array(differences @ columns), len(first)
    theta, b, squares = cp.Variable(n, nonneg=True), cp.Variable(n), cp.Variable(n)
    moments, least = cp.Variable(k), cp.Variable(1 if form.prior is None else k)
    stochastic = changes @ theta == differences.sum(axis=1)
    unbiased = changes @ b == differences @ x
    small = [moments <= least + x**2]
    if between:
        # the line between two moments is below a tangent of the parabola t + x², in a point m
        m = cp.Variable(k - 1)
        small = [
            moments[side] + cp.square(m - x[side]) <= least + x[side] ** 2
            for side in (slice(None, -1), slice(1, None))
        ]
    cone = cp.SOC(theta + squares, cp.vstack([2 * b, theta - squares]), axis=0)
    told = [stochastic, unbiased, cone, changes @ squares == differences @ moments, *small]
    prior = np.ones(1) if form.prior is None else form.prior
    model = cp.Problem(cp.Minimize(prior @ least), told)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "inaccurate": the proof says how accurate
            model.solve(solver=cp.CLARABEL, **PRECISE)
    except cp.SolverError as error:
        raise SolverError(f"Clarabel: {error}") from None
    if theta.value is None or b.value is None:
        raise SolverError(f"Clarabel ended with the status {model.status}")
    used = theta.value > NEGLIGIBLE
    matrix = theta.value[used] * columns[:, used]
    reports = Reports(
        matrix / matrix.sum(axis=1, keepdims=True), unit * b.value[used] / theta.value[used]
    )
    alpha = unit**2 * differences.T @ stochastic.dual_value
    beta = -unit * differences.T @ unbiased.dual_value
    return reports, Duals(alpha, beta, np.maximum(small[0].dual_value, 0.0))


def _lacking(duals: Duals, epsilon: float) -> float:
    """Compute the most that a column lacks of (β·v)² ≤ 4(λ·v)(α·v), of those best for some report."""
    alpha, beta, weights = duals
    roots = np.sqrt(np.maximum(beta**2 - 4 * weights * alpha, 0.0))
    low, high = (beta - roots) / (2 * weights), (beta + roots) / (2 * weights)
    cuts = np.unique(np.concatenate([low, high]))
    reports = np.concatenate([[np.inf], (cuts[1:] + cuts[:-1]) / 2])[:, None]
    v = np.where((low < reports) & (reports < high), np.exp(epsilon), 1.0)
    return float(max(((v @ beta) ** 2 / (4 * v @ weights) - v @ alpha).max(), 0.0))


def _proven(form: NumericProgram, found: Duals) -> tuple[float | None, dict[str, Any] | None]:
    """Round the duals to a proof that the checker accepts; return what it proves, and the proof."""
    k, x, weights, stated, exact = form.points, form.grid, form.prior, {}, {}
    if weights is None:
        weights = (1 - TOUCH) * found.weights / found.weights.sum() + TOUCH / k
        stated = {"weights": weights.tolist()}
        exact = {"weights": normalised(list(stated.values()), "weights")[0]}
    kept = Duals((1 - TOUCH) * found.alpha, (1 - TOUCH) * found.beta, weights)
    nothing = Duals(weights * x**2, 2 * weights * x, weights)  # proves 0, by Cauchy–Schwarz
    lacking, duals = _lacking(kept, form.epsilon), kept
    if kept.bound(x) < lacking:
        lacking, duals = 0.0, nothing
    for step in 2.0 ** np.arange(MARGINS):
        alpha = duals.alpha + lacking / k + step * MARGIN * np.abs(duals.alpha).max()
        proof = {"alpha": alpha.tolist(), "beta": duals.beta.tolist()} | stated
        proven = numeric_bound_below(form.question, {**proof, **exact})
        if proven is not None:
            return certify.value_below(proven), proof
    return None, None
