"""Weigh given columns so that the error of queries is smallest: an interior-point method.

The columns are rays v of a cone, with weights θ ≥ 0 and Σ θ_v v = 1. With a basis U of the vectors that
sum to 0 and x_v = Uᵀv/√(p·v), the information is J = Σ θ_v x_v x_vᵀ, and the error Σ_i c_iᵀ U J⁻¹ Uᵀ
c_i is convex in θ. The multipliers β and the vectors y_i = U J⁻¹ Uᵀ c_i are prices of other columns.

It is fast, some hundred columns taking milliseconds. Where the best J is singular, it comes near to it
only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, null_space

from ldpopt.core.validate import Array
from ldpopt.solvers._columns.compact_program import BACK_OFF, longest_step

CENTRED = 1e-10
"""The relative gap to which the last rounds are solved; the others stop earlier."""


class Optimum(NamedTuple):
    """The optimum over some columns: their weights, the prices β, and y_i as rows."""

    weights: Array
    beta: Array
    Y: Array
    value: float


class QueryInterior:
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
