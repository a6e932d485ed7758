"""Give the last digits to the best design for queries, by Newton's method.

An interior point gives the z_i of :mod:`ldpopt.solvers.mechanism_design` to some 8 digits. The
conditions of optimality of the rays in use,

    J z_i = c_i,   Σ_i (z_i·x_v)² = β·v,   Σ θ_v v = 1,

are as many equations as unknowns θ, z, β.
"""

from __future__ import annotations

import numpy as np

from ldpopt.core.validate import Array
from ldpopt.solvers.mechanism_design import Best

IN_USE = 1e-5
"""The share of the largest weight from which a ray counts as used."""
STEPS = 3
"""Steps of Newton's method."""


def sharpened(rough: Best, p: Array, queries: Array, rays: Array) -> Best | None:
    """Take Newton's steps from a rough optimum; None where they lead to weights below 0.

    Args:
        rough: the optimum.
        p: the distribution of the inputs.
        queries: the c_i, one per row, with c_i·p = 0.
        rays: the rays v, one per column.
    """
    unit = float(np.sqrt(-rough.value))
    r, k = queries.shape
    on = rough.weights > IN_USE * rough.weights.max()
    rows = rays[:, on]
    X = rows / np.sqrt(p @ rows)
    z, beta, theta = rough.vectors / unit, rough.dual / unit**2, rough.weights[on]
    for _ in range(STEPS):
        images = z @ X
        spread = (images.T[:, :, None] * X.T[:, None, :]).reshape(len(theta), -1)  # (z_i·x_v) x_v
        system = np.block(
            [
                [np.kron(np.eye(r), (X * theta) @ X.T), np.zeros((r * k, k)), spread.T],
                [2 * spread, -rows.T, np.zeros((len(theta), len(theta)))],
                [np.zeros((k, r * k + k)), rows],
            ]
        )
        missing = [
            (queries / unit - (images * theta) @ X.T).ravel(),
            beta @ rows - (images**2).sum(axis=0),
            1 - rows @ theta,
        ]
        step = np.linalg.lstsq(system, np.concatenate(missing), rcond=1e-12)[0]
        change, rise, more = np.split(step, [r * k, r * k + k])
        z, beta, theta = z + change.reshape(r, k), beta + rise, theta + more
        if theta.min() <= 0 or not np.isfinite(step).all():
            return None
    weights = np.zeros_like(rough.weights)
    weights[on] = theta
    value = float(beta.sum() - 2 * (z * queries).sum() / unit)
    return Best(weights, z * unit, value * unit**2, beta * unit**2)
