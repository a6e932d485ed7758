"""Estimators of a distribution from the counts of privatised reports.

Pastore and Gastpar 2021, Section 4. All take a mechanism (or its matrix [x][y]) and counts of the
outputs: one vector, or many as the rows of a matrix, answered in one vectorised call. Square mechanisms
need no iteration where the inverted counts are a distribution; mechanisms of the form a·I + b (the step
mechanism, k-ary randomised response) need none at all.

>>> from ldpopt.mechanisms.balanced_designs import step_mechanism
>>> maximum_likelihood(step_mechanism(5, 1.5), [7, 5, 4, 3, 1]).round(6)
array([0.504471, 0.278275, 0.165176, 0.052078, 0.      ])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import validate
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.channel import full_support, inverse_information, matrix_of, right_inverse
from ldpopt.measures.frequency_intervals import intervals_at_once, score_intervals


def invert(W: Any, counts: Any) -> Array:
    """Compute the unbiased estimate t A, W A = I; entries may lie outside [0, 1].

    Pastore and Gastpar 2021, (2). For a square W, A = W⁻¹; for a broad one A has the least variance at
    the uniform distribution.

    >>> invert([[0.75, 0.25], [0.25, 0.75]], [10, 90])
    array([-0.3,  1.3])
    """
    matrix, t, shape = _read(W, counts)
    return _shaped(t @ _inverse(matrix), shape)


def project(W: Any, counts: Any) -> Array:
    """Find the distribution nearest to the inverted counts.

    >>> project([[0.75, 0.25], [0.25, 0.75]], [10, 90])
    array([0., 1.])
    """
    matrix, t, shape = _read(W, counts)
    return _shaped(nearest_distribution(t @ _inverse(matrix)), shape)


def maximum_likelihood(W: Any, counts: Any) -> Array:
    """Find the distribution that makes the reports most likely: min D(t ‖ pW).

    Pastore and Gastpar 2021, (11). For the step mechanism by water-filling, p = max(0, η t − 1)/(E − 1)
    (Section 5; printed there as the MMSE form), else by Newton's method on the simplex.
    """
    matrix, t, shape = _read(W, counts)
    if (spread := _step_spread(matrix)) is not None:
        return _shaped(_water_fill(t, spread), shape)

    def derivatives(p: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        ratio = t[which] / np.maximum(p @ matrix, 1e-100)  # outputs that no input gives
        curvature = np.divide(ratio**2, t[which], out=np.zeros_like(ratio), where=t[which] > 0)
        hessian: Array = (matrix[None] * curvature[:, None, :]) @ matrix.T
        return -ratio @ matrix.T, hessian

    return _shaped(_constrained(matrix, t, derivatives), shape)


def mmse(W: Any, counts: Any) -> Array:
    """Find the distribution whose output law is nearest to the counts: min ‖t − pW‖.

    Pastore and Gastpar 2021, (12). For the step mechanism it is the projection of the inverted counts to
    the simplex: p = max(0, (E + K − 1) t + η)/(E − 1) (Section 5; printed there as the ML form).
    """
    matrix, t, shape = _read(W, counts)
    if _step_spread(matrix) is not None:
        return project(W, counts)
    gram = matrix @ matrix.T

    def derivatives(p: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        return (p @ matrix - t[which]) @ matrix.T, np.repeat(gram[None], len(p), axis=0)

    return _shaped(_constrained(matrix, t, derivatives), shape)


def iterative_bayesian_update(
    W: Any, counts: Any, *, iterations: int = 1000, start: Any = None, tolerance: float = 1e-10
) -> Array:
    """Maximise the likelihood by expectation maximisation: p ← p ∘ W(t / pW).

    Every step raises the likelihood; the limit is :func:`maximum_likelihood`, reached slowly where it
    has zeros. Stopping early regularises.

    Args:
        W: the mechanism.
        counts: how often each output was reported; many such vectors as rows.
        iterations: the most steps.
        start: the first p, all entries positive; uniform if not given.
        tolerance: stop when no entry changes by more.
    """
    matrix, t, shape = _read(W, counts)
    k = len(matrix)
    first = np.full(k, 1 / k) if start is None else full_support("start", start, k)
    p = np.repeat(first[None], len(t), axis=0)
    for _ in range(iterations):
        q = p @ matrix
        updated = p * (np.divide(t, q, out=np.zeros_like(q), where=q > 0) @ matrix.T)
        change = np.abs(updated - p).max()
        p = updated
        if change < tolerance:
            break
    return _shaped(p, shape)


ESTIMATORS: dict[str, Callable[[Any, Any], Array]] = {
    "inversion": invert,
    "projection": project,
    "ml": maximum_likelihood,
    "mmse": mmse,
    "bayes": iterative_bayesian_update,
}
"""Every estimator by its name; each maps a mechanism and counts to estimates."""


def estimate(W: Any, counts: Any, estimator: str = "ml") -> Array:
    """Estimate the distribution by the estimator of this name.

    Args:
        W: the mechanism.
        counts: how often each output was reported; many such vectors as rows.
        estimator: a name of :data:`ESTIMATORS`.

    >>> estimate([[0.75, 0.25], [0.25, 0.75]], [50, 50], "mmse")
    array([0.5, 0.5])
    """
    return ESTIMATORS[validate.choice("estimator", estimator, tuple(ESTIMATORS))](W, counts)


# ---------------------------------------------------------------- how sure


def covariance(W: Any, p: Any, n: float) -> Array:
    """Compute the covariance (M⁻¹ − pᵀp)/n of an efficient estimate from n reports.

    M = W diag(pW)⁻¹ Wᵀ.

    Exact for :func:`invert` of a square mechanism, else the limit as n → ∞ (Pastore and Gastpar 2021,
    (64a)).

    Args:
        W: the mechanism.
        p: the distribution of the inputs, all entries positive.
        n: the number of reports.
    """
    matrix = matrix_of(W)
    prior = full_support("p", p, len(matrix))
    size = validate.positive_number("n", n)
    return (inverse_information(matrix, prior @ matrix) - np.outer(prior, prior)) / size


def squared_error(W: Any, frequencies: Any, n: float) -> float:
    """Compute E‖φ̂ − φ‖² of :func:`invert`, where φ are the frequencies of the n users themselves.

    Each user of input x adds Var = Σ_y W_xy ‖A_y‖² − 1, so n E‖φ̂ − φ‖² = Σ_x φ_x (Σ_y W_xy ‖A_y‖² − 1)
    (the loss of Lopuhaä-Zwakenberg et al. 2019, Definition 3.3). Over users drawn from P the trace of
    :func:`covariance` is larger by the variance of φ, (1 − ‖P‖²)/n.

    Args:
        W: the mechanism.
        frequencies: φ, a number at least 0 per input; they sum to 1.
        n: the number of users.

    >>> round(squared_error([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5], 100), 12)
    0.015
    """
    matrix = matrix_of(W)
    shares = validate.distribution("frequencies", frequencies)
    if len(shares) != len(matrix):
        raise InvalidInputError(
            f"frequencies must have {len(matrix)} entries, one per input, not {len(shares)}"
        )
    size = validate.positive_number("n", n)
    return float(shares @ (matrix @ (_inverse(matrix) ** 2).sum(axis=1) - 1)) / size


class Intervals(NamedTuple):
    """Lower and upper ends of one interval per input value."""

    low: Array
    high: Array


def confidence_intervals(
    W: Any, counts: Any, *, level: float = 0.95, simultaneous: bool = True
) -> Intervals:
    """Compute intervals of the frequencies; see :mod:`ldpopt.measures.frequency_intervals`.

    Normal intervals with the variance at the estimate would miss rare values where the noise is small,
    as a value that was not seen has none: with five values, ε = 8 and 200 reports, a nominal 95 % cover
    a value of probability 0.002 in 37 %, the score interval in 99 %.

    Args:
        W: the mechanism.
        counts: how often each output was reported.
        level: the probability with which they cover the truth.
        simultaneous: cover all values at once, else each one by itself, by score intervals.

    >>> confidence_intervals([[1.0, 0.0], [0.0, 1.0]], [0, 10], simultaneous=False).high.round(3)
    array([0.345, 1.   ])
    """
    matrix, t, axes = _read(W, counts)
    if axes != 1:
        raise InvalidInputError(f"counts must be one vector here, not {len(t)}")
    level = validate.share("level", level)
    _inverse(matrix)  # refuses what has no inverse
    rule = intervals_at_once if simultaneous else score_intervals
    found = rule(matrix, np.asarray(counts, np.float64), np.eye(len(matrix)), level)
    return Intervals(found.low, found.high)


# ---------------------------------------------------------------- shared steps


def _read(W: Any, counts: Any) -> tuple[Array, Array, int]:
    """Read the matrix, the frequencies as rows, and the number of axes that the caller used."""
    matrix = matrix_of(W)
    axes = np.ndim(counts)
    c = validate.array("counts", counts, 2 if axes == 2 else 1)
    rows = c[None] if axes == 1 else c
    if rows.shape[1] != matrix.shape[1]:
        raise InvalidInputError(
            f"counts must have {matrix.shape[1]} entries, one per output, not {rows.shape[1]}"
        )
    if (rows < 0).any():
        raise InvalidInputError(f"counts must be at least 0, not {rows.min():g}")
    totals = rows.sum(axis=1, keepdims=True)
    if (totals == 0).any():
        raise InvalidInputError("counts are all zero: without reports nothing can be estimated")
    return matrix, rows / totals, axes


def _shaped(rows: Array, axes: int) -> Array:
    return rows[0] if axes == 1 else rows


def _inverse(matrix: Array) -> Array:
    return right_inverse(matrix, matrix.mean(axis=0))


def _constrained(matrix: Array, t: Array, derivatives: Derivatives) -> Array:
    """Find the optimum on the simplex: the inverted counts, where these are a distribution."""
    k, outputs = matrix.shape
    p = np.full((len(t), k), -1.0)
    if k == outputs and np.linalg.cond(matrix) < 1e12:
        p = t @ _inverse(matrix)
    rest = np.flatnonzero((p < 0).any(axis=1))
    if rest.size:
        p[rest] = minimise(lambda x, which: derivatives(x, rest[which]), len(rest), k)
    return p


def _step_spread(matrix: Array) -> float | None:
    """Compute a/b if the matrix is a·I + b with a > 0, b > 0: for the step mechanism E − 1."""
    k, outputs = matrix.shape
    if k != outputs or k < 2:
        return None
    b = float(matrix[0, 1])
    a = float(matrix[0, 0]) - b
    expected = np.full((k, k), b)
    np.fill_diagonal(expected, a + b)
    alike = bool(np.abs(matrix - expected).max() < 1e-13)
    return a / b if alike and a > 0 and b > 0 else None


def _water_fill(t: Array, spread: float) -> Array:
    """Compute max(0, η t − 1)/(E − 1) with η such that the entries sum to 1; spread is E − 1."""
    ordered = -np.sort(-t, axis=1)
    levels = (spread + np.arange(1, t.shape[1] + 1)) / np.cumsum(ordered, axis=1)
    support = (levels * ordered > 1).sum(axis=1)
    level = levels[np.arange(len(t)), support - 1]
    return np.maximum(level[:, None] * t - 1, 0.0) / spread


Derivatives = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]
"""Maps points (rows) and the numbers of their problems to gradients and Hessians."""


def nearest_distribution(v: Array) -> Array:
    """Find the nearest distribution of every row, by sorting: max(v − τ, 0) with the right τ.

    >>> nearest_distribution(np.array([[0.9, 0.4, -0.3]]))
    array([[0.75, 0.25, 0.  ]])
    """
    ordered = -np.sort(-v, axis=1)
    sizes = np.arange(1, v.shape[1] + 1)
    shifts = (np.cumsum(ordered, axis=1) - 1) / sizes
    support = (ordered > shifts).sum(axis=1)
    shift = shifts[np.arange(len(v)), support - 1]
    return np.maximum(v - shift[:, None], 0.0)


def minimise(derivatives: Derivatives, count: int, k: int) -> Array:
    """Find the minimisers over the simplex of ``count`` convex functions of k variables.

    A primal-dual interior-point method runs on all of them at once, those that converged left out; then
    a Newton step on the support that it found makes the zeros exact.

    Args:
        derivatives: gradients and Hessians of the functions at given points.
        count: the number of functions.
        k: the number of variables.
    """
    p = np.full((count, k), 1 / k)
    gradient, _ = derivatives(p, np.arange(count))
    scale = 1e-3 + np.abs(gradient).max(axis=1, keepdims=True)
    s = gradient - gradient.min(axis=1, keepdims=True) + scale
    active = np.arange(count)
    for _ in range(100):
        done = (p[active] * s[active]).sum(axis=1) < 1e-13 * scale[active, 0]
        active = active[~done]
        if not active.size:
            break
        p[active], s[active] = _step(derivatives, active, p[active], s[active])
    return _polished(derivatives, p, s)


def _step(derivatives: Derivatives, which: NDArray[np.intp], p: Array, s: Array) -> tuple[Array, Array]:
    """Make one damped Newton step towards ∇f = s + λ, p s = μ, Σ p = 1."""
    gradient, hessian = derivatives(p, which)
    target = 0.15 * (p * s).mean(axis=1, keepdims=True)
    dp = _newton(hessian, s / p, target / p - gradient)
    ds = target / p - s - s / p * dp
    step = np.minimum(_length(p, dp), _length(s, ds))
    p = p + step * dp
    return p / p.sum(axis=1, keepdims=True), s + step * ds


def _newton(hessian: Array, barrier: Array, right: Array) -> Array:
    """Solve (H + diag(barrier)) dp = right − λ with Σ dp = 0, for every row."""
    system = hessian.copy()
    diagonal = np.einsum("nii->ni", system)
    diagonal += barrier + 1e-14 * (diagonal.max(axis=1, keepdims=True) + 1e-300)
    both = np.stack([right, np.ones_like(right)], axis=2)
    solved = np.linalg.solve(system, both)
    free, unit = solved[..., 0], solved[..., 1]
    multiplier = free.sum(axis=1, keepdims=True) / unit.sum(axis=1, keepdims=True)
    return free - multiplier * unit


def _length(x: Array, dx: Array) -> Array:
    """Compute the longest step, at most 1, that keeps x positive."""
    ratio = np.where(dx < 0, -dx / x, 0.0).max(axis=1, keepdims=True)
    return np.minimum(1.0, 0.995 / np.maximum(ratio, 1e-300))


def _polished(derivatives: Derivatives, p: Array, s: Array) -> Array:
    """Make Newton steps on the support p > s; kept where they end at a point that is optimal, too."""
    support, everyone = p > s, np.arange(len(p))
    x = np.where(support, p, 0.0)
    x /= x.sum(axis=1, keepdims=True)
    for _ in range(3):
        gradient, hessian = derivatives(x, everyone)
        both = support[:, :, None] & support[:, None, :]
        reduced = np.where(both, hessian, 0.0)
        outside = np.where(support, 0.0, 1e30 * (1 + hessian.max(axis=(1, 2))[:, None]))
        x = np.where(support, x + _newton(reduced, outside, -gradient), 0.0)
        # a coordinate that is zero without pressing against the bound comes out as a rounded zero
        sound = x.min(axis=1, keepdims=True) > -1e-9
        x = np.where(sound, np.maximum(x, 0.0), p)
    gradient, _ = derivatives(x, everyone)
    level = (x * gradient).sum(axis=1, keepdims=True)
    slack = 1e-9 * (1 + np.abs(gradient).max(axis=1, keepdims=True))
    optimal = (gradient >= level - slack).all(axis=1)
    return np.where(optimal[:, None], x, p)
