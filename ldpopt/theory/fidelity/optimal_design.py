"""The best mechanism for a known distribution is an optimal design: a convex program with a proof.

With staircase columns v ∈ {1, E}^K and weights θ, Σ θ_v v = 1, the information M = Σ θ_v v vᵀ/(v·p) is
linear in θ and tr(C M⁻¹) is convex. For every matrix Y, with G = Y C Yᵀ,

    tr(C M⁻¹) ≥ 2 tr(C Y) − tr(G M),    tr(G M) ≤ Σ β  if  β·v ≥ vᵀ G v/(v·p) for all v,

so the Y and β of an optimum prove it; scaling Y for the best makes the bound tr(C Y)²/Σ β.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize

from ldpopt.checker.moments import design_bound_below, read_source
from ldpopt.core import certify
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.validate import Array
from ldpopt.theory.columns.cones import staircase_cone
from ldpopt.theory.columns.linear_program import solve_listed

LINEAR_LOSSES = ("f-divergence", "mse")
"""The losses whose α is linear in the second moments."""
MOST_INPUTS = 7
"""2^K columns are listed."""


class Design(NamedTuple):
    """A mechanism, a lower bound on the α of all mechanisms, and its proof (Y and β).

    The bound is None if rounding broke the proof.
    """

    matrix: Array
    bound: float | None
    proof: dict[str, list[list[float]] | list[float]]

    def better(self, known: float) -> tuple[float, dict[str, Any] | None]:
        """The design's bound with its proof, or the known one, which needs none, if that is as good."""
        if self.bound is None or self.bound <= known * (1 + 1e-9):
            return known, None
        return self.bound, dict(self.proof)


def optimal_design(p: Array, loss: str, epsilon: float, limits: Limits = UNLIMITED) -> Design:
    """Minimise α(W, p) over all ε-LDP mechanisms, for a loss of :data:`LINEAR_LOSSES`.

    Raises:
        OutOfTime: the limits are over before the minimum.
    """
    weights = _weights(p, loss)
    rays = staircase_cone(len(p), epsilon).rays()[:, 1:]  # the all-ones column is the last one, scaled
    columns = rays / rays.sum(axis=0)
    single = (rays > 1).sum(axis=0) == 1
    theta = np.where(single, 1.0, 0.01)
    theta = _minimised(columns, theta / (columns @ theta).mean(), p, weights, limits)
    kept = theta > 1e-9
    matrix = columns[:, kept] * _polished(columns[:, kept], theta[kept], p, weights)
    matrix = matrix[:, matrix.any(axis=0)] / matrix.sum(axis=1, keepdims=True)
    bound, proof = _proof(matrix, p, loss, epsilon)
    return Design(matrix, bound, proof)


def _weights(p: Array, loss: str) -> Array:
    """The diagonal of C: α is an increasing function of tr(C M⁻¹)."""
    return 1 / p if loss == "f-divergence" else np.ones(len(p))


def _minimised(columns: Array, start: Array, p: Array, weights: Array, limits: Limits) -> Array:
    """The weights θ ≥ 0 with Σ θ_v v = 1 of least log tr(C M⁻¹)."""
    q = p @ columns

    def log_slope(theta: Array) -> tuple[float, Array]:
        limits.check()
        inverse = np.linalg.inv((columns * (theta / q)) @ columns.T)
        cost = float(np.diag(inverse) @ weights)
        G = (inverse * weights) @ inverse
        gradient = -((G @ columns) * columns).sum(axis=0) / q
        return math.log(cost), gradient / cost

    found = minimize(
        log_slope,
        start,
        jac=True,
        method="SLSQP",
        bounds=Bounds(0, np.inf),
        constraints=[LinearConstraint(columns, 1, 1)],
        options={"maxiter": 500, "ftol": 1e-16},
    )
    return found.x


def _polished(columns: Array, theta: Array, p: Array, weights: Array) -> Array:
    """Newton steps on the support, as the proof is only as good as the optimum is exact.

    A weight that a step would make negative is set to zero and leaves the support.
    """
    theta = theta.copy()
    for _ in range(20):
        support = np.flatnonzero(theta > 0)
        step = _newton_step(columns[:, support], theta[support], p, weights)
        shrink = np.where(step < 0, -step / theta[support], 0.0)
        theta[support] += step / max(1.0, shrink.max())
        theta[support[(shrink >= 1) & (shrink == shrink.max())]] = 0.0
        if np.abs(step).max() < 1e-13:
            break
    return theta


def _newton_step(columns: Array, theta: Array, p: Array, weights: Array) -> Array:
    q = p @ columns
    inverse = np.linalg.inv((columns * (theta / q)) @ columns.T)
    near, far = columns.T @ inverse @ columns, columns.T @ (inverse * weights) @ inverse @ columns
    k, count = columns.shape
    hessian = 2 * near * far / np.outer(q, q)
    system = np.block([[hessian, columns.T], [columns, np.zeros((k, k))]])
    right = np.append(np.diag(far) / q, 1 - columns @ theta)
    # rows of very different size are balanced, as lstsq drops what is small
    scale = np.append(np.full(count, 1 / np.abs(hessian).max()), np.ones(k))
    return np.linalg.lstsq(system * scale[:, None], right * scale, rcond=1e-14)[0][:count]


def _proof(
    matrix: Array, p: Array, loss: str, epsilon: float
) -> tuple[float | None, dict[str, list[list[float]] | list[float]]]:
    """The bound that the mechanism's own information proves."""
    rays = staircase_cone(len(p), epsilon).rays()
    Y = np.asarray(np.linalg.inv((matrix / (p @ matrix)) @ matrix.T), dtype=np.float64)
    G = (Y * _weights(p, loss)) @ Y.T
    gains = ((G @ rays) * rays).sum(axis=0) / (p @ rays)
    listed = solve_listed(rays, gains, Limits(gap=1e-11))
    assert listed.proof is not None
    beta: list[float] = listed.proof["dual"]
    source = read_source(p.tolist())
    below = design_bound_below(source, epsilon, loss, Y.tolist(), beta)
    bound = certify.value_below(below) if below.is_finite() else None
    return bound, {"Y": Y.tolist(), "beta": beta}
