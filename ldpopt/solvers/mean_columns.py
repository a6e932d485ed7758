"""Generate the columns of the best unbiased reports of a number: a conic program by Clarabel."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import normalised, numeric_bound_below
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.numeric_program import NumericProgram, Reports
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.measures.report_variance import worst_variance

Patterns = NDArray[np.bool_]
"""Columns, one per row: true where the entry is e^ε times the others."""
PRECISE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
ENOUGH = 1e-3
"""Columns are generated until they could lower the variance by this share of what rounding costs."""
TOUCH = 1e-10
"""The share of equal weights in every proof: the checker needs positive ones."""
MARGIN, MARGINS = 2.0**-50, 20
"""By which share α is raised at first, and how often that is doubled, until the checker accepts it."""
SHARES = (1.0, 0.5, 0.2)
"""Columns are priced at the duals and at mixtures with the best ones before: a third of the rounds."""
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


class Weighted(NamedTuple):
    """The best weights θ and b of some columns, the least variance t on the grid, and the duals."""

    theta: Array
    b: Array
    least: float
    duals: Duals


class NumericColumns(Solver[NumericProgram]):
    """Weight columns v ∈ {1, e^ε}^k so that unbiased reports have the least worst variance.

    Minimise t with Σθ_v v = 1, Σ b_v v_x = x and Σ (b_v²/θ_v) v_x ≤ t + x²; column v reports b_v/θ_v.
    Pricing is exact: for a report s, the best column has e^ε where λ_x s² − β_x s + α_x < 0, so at most
    2k + 1 columns count, and these are listed. By symmetry a column and its mirror image have equal
    weights and opposite reports. In the end the columns found are weighted once more, for the least
    variance between the points of the grid, too.
    """

    name: ClassVar[str] = "numeric-columns"

    def run(self, form: NumericProgram, limits: Limits) -> FormSolution:
        """Alternate between the conic program over some columns and the search for better ones."""
        k, x = form.points, np.linspace(-1, 1, form.points)
        rounding = 1 / (k - 1) ** 2  # h²/4, the most that random rounding adds
        patterns = x >= x[:, None]  # thresholds, the constant column among them
        best, bound = Duals(x**2 / k, 2 * x / k, np.full(k, 1 / k)), 0.0  # by Cauchy–Schwarz
        rounds = 0

        def solution() -> FormSolution:
            point = _reports(patterns, _weighted(patterns, form.epsilon, between=True), form.epsilon)
            with limits.proving():
                proven, proof = _proven(form, best)
            stats = {"iterations": float(rounds), "columns": float(len(patterns))}
            return FormSolution(Status.GAP, point, worst_variance(*point), proven, proof, stats)

        while True:
            found = _weighted(patterns, form.epsilon)
            rounds, new = rounds + 1, []
            for share in SHARES:
                pairs = zip(found.duals, best, strict=True)
                duals = Duals(*(share * one + (1 - share) * other for one, other in pairs))
                corners, excess = _priced(duals, form.epsilon)
                if (raised := duals.bound(x) - max(excess.max(), 0.0)) > bound:
                    best, bound = duals, raised
                around = np.pad(excess, 1, constant_values=-np.inf)
                new.append(corners[(excess > 0) & (excess >= around[:-2]) & (excess >= around[2:])])
            limits.keep(found.least + rounding, bound, solution)
            more = _once(np.vstack([patterns, *new]))
            done = found.least - bound <= max(ENOUGH * rounding, limits.gap * found.least)
            if done or len(more) == len(patterns) or limits.expired():
                return solution()
            patterns = more


def _columns(patterns: Patterns, epsilon: float) -> Array:
    """Write columns with the largest entry 1."""
    return np.where(patterns, 1.0, np.exp(-epsilon))


def _once(patterns: Patterns) -> Patterns:
    """Keep one of a column and its mirror image, and each column once."""
    mirrored = patterns[:, ::-1]
    first = np.array([tuple(a) >= tuple(b) for a, b in zip(patterns, mirrored, strict=True)])
    return np.unique(np.where(first[:, None], patterns, mirrored), axis=0)


def _weighted(patterns: Patterns, epsilon: float, between: bool = False) -> Weighted:
    """Solve the conic program over some columns and their mirror images.

    Reports are in units of (e^ε + 1)/(e^ε − 1), so that its numbers have one size at all levels.

    Args:
        patterns: the columns, one of each pair of mirror images.
        epsilon: the level.
        between: whether the variance counts between the points, too; the duals prove nothing then.
    """
    import cvxpy as cp

    n, k = patterns.shape
    unit, x = 1 / np.tanh(epsilon / 2), np.linspace(-1, 1, k)[k // 2 :]  # by symmetry, x ≥ 0 suffices
    columns = _columns(patterns, epsilon).T
    mirrored = columns[::-1]
    theta, b, squares = cp.Variable(n, nonneg=True), cp.Variable(n), cp.Variable(n)
    least, moments = cp.Variable(), (columns + mirrored)[k // 2 :] @ squares
    stochastic = (columns + mirrored)[k // 2 :] @ theta == 1
    unbiased = unit * (columns - mirrored)[k // 2 :] @ b == x
    small = [moments <= least + (x / unit) ** 2]
    if between and len(x) > 1:
        # the line between two moments is below a tangent of the parabola t + x², in a point m
        m = cp.Variable(len(x) - 1)
        small = [
            end[side] + cp.square((m - x[side]) / unit) <= least + (x[side] / unit) ** 2
            for end, side in ((moments, slice(None, -1)), (moments, slice(1, None)))
        ]
    if between and k % 2 == 0:
        small.append(moments[0] <= least)  # the tangent in 0
    cone = cp.SOC(theta + squares, cp.vstack([2 * b, theta - squares]), axis=0)
    model = cp.Problem(cp.Minimize(least), [stochastic, unbiased, cone, *small])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "inaccurate": the proof says how accurate
            model.solve(solver=cp.CLARABEL, **PRECISE)
    except cp.SolverError as error:
        raise SolverError(f"Clarabel: {error}") from None
    if theta.value is None or b.value is None or least.value is None:
        raise SolverError(f"Clarabel ended with the status {model.status}")
    alpha, beta = unit**2 * stochastic.dual_value, -(unit**2) * unbiased.dual_value
    weights = np.maximum(small[0].dual_value, 0.0)
    duals = Duals(_whole(alpha, k), _whole(beta, k, -1.0), _whole(weights, k))
    return Weighted(theta.value, b.value, float(least.value) * unit**2, duals)


def _whole(half: Array, k: int, sign: float = 1.0) -> Array:
    """Divide multipliers for x ≥ 0 between x and −x, with a sign for −x."""
    upper = half[k % 2 :] / 2
    middle = half[: k % 2] if sign > 0 else np.zeros(k % 2)
    return np.concatenate([sign * upper[::-1], middle, upper])


def _priced(duals: Duals, epsilon: float) -> tuple[Patterns, Array]:
    """List the columns that are best for some report, and what each lacks of (β·v)² ≤ 4(λ·v)(α·v)."""
    alpha, beta, weights = duals.alpha, duals.beta, np.maximum(duals.weights, 1e-300)
    roots = np.sqrt(np.maximum(beta**2 - 4 * weights * alpha, 0.0))
    low, high = (beta - roots) / (2 * weights), (beta + roots) / (2 * weights)
    cuts = np.unique(np.concatenate([low, high]))
    reports = np.concatenate([[np.inf], (cuts[1:] + cuts[:-1]) / 2])[:, None]
    patterns = (low < reports) & (reports < high)
    v = np.exp(epsilon) * _columns(patterns, epsilon)
    return patterns, (v @ beta) ** 2 / (4 * v @ weights) - v @ alpha


def _reports(patterns: Patterns, found: Weighted, epsilon: float) -> Reports:
    """Build the mechanism of columns and mirror images."""
    used = found.theta > NEGLIGIBLE
    columns, theta = _columns(patterns[used], epsilon), found.theta[used]
    numbers = found.b[used] / theta / np.tanh(epsilon / 2)
    numbers[(patterns[used] == patterns[used, ::-1]).all(axis=1)] = 0.0
    halves = theta[:, None] * columns
    matrix = np.vstack([halves, halves[:, ::-1]]).T
    return Reports(matrix / matrix.sum(axis=1, keepdims=True), np.concatenate([numbers, -numbers]))


def _proven(form: NumericProgram, duals: Duals) -> tuple[float | None, dict[str, Any] | None]:
    """Round the duals to a proof that the checker accepts; return what it proves, and the proof."""
    k = form.points
    share = duals.weights / duals.weights.sum()
    mixed = Duals(*((1 - TOUCH) * part for part in (duals.alpha, duals.beta, share)))
    mixed = mixed._replace(weights=mixed.weights + TOUCH / k)
    lacking = max(_priced(mixed, form.epsilon)[1].max(), 0.0) / k
    for step in 2.0 ** np.arange(MARGINS):
        alpha = mixed.alpha + lacking + step * MARGIN * np.abs(mixed.alpha).max()
        proof = {"alpha": alpha.tolist(), "beta": mixed.beta.tolist(), "weights": mixed.weights.tolist()}
        exact = {**proof, "weights": normalised([proof["weights"]], "weights")[0]}
        proven = numeric_bound_below(form.question, exact)
        if proven is not None:
            return certify.value_below(proven), proof
    return None, None
