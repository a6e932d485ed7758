"""Give the last digits to the best design, by Newton's method.

An interior point gives the z_i, β and λ of :mod:`ldpopt.solvers.mechanism_design` to some 8 digits. The
conditions of optimality of the rays (v, t) and the budgets in use,

    J z_i = c_i,   Σ_i (z_i·x_v)² = β·v + λ·t,   Σ θ_v v = 1,   Σ θ_v t = b,

are as many equations as unknowns θ, z, β and λ. For log det J the sum over i is x_vᵀ J⁻¹ x_v, and there
is no z.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ldpopt.core.forms.mechanism_program import Design
from ldpopt.core.validate import Array

IN_USE = 1e-5
"""The share of the most that a ray tells, or of the error, from which a ray or a budget is in use."""
NEAR = 1e-4
"""How far the steps may lead: farther away they have lost their way."""
STEPS = 3
"""Steps of Newton's method."""


class Best(NamedTuple):
    """The weights θ, the z_i as rows, the gain that they bound, β, and λ."""

    weights: Array
    vectors: Array
    value: float
    dual: Array
    prices: Array


class _Optimum(NamedTuple):
    """The z_i as rows, the prices (β, λ), and the weights θ of the rays in use."""

    vectors: Array
    prices: Array
    weights: Array


def sharpened(rough: Best, design: Design, rays: Array, most: Array, factor: Array) -> Best | None:
    """Take Newton's steps from a rough optimum; None where they lead below 0, far off or nowhere.

    Args:
        rough: the optimum.
        design: the objective, its queries with c_i·p = 0.
        rays: the rays (v, t), one per column.
        most: the budgets b.
        factor: L, in whose coordinates L⁻¹x and Lᵀz the steps are taken.
    """
    k, queries = len(design.prior), design.queries
    unit = 1.0 if queries is None else float(np.sqrt(max(-rough.value, 0.0)))
    if not unit:
        return None
    every = solve_triangular(factor, rays[:k] / np.sqrt(design.prior @ rays[:k]), lower=True)
    told = rough.weights * (every**2).sum(axis=0)
    on = told > IN_USE * told.max()
    tight = rough.prices * most > IN_USE * unit**2
    used, sizes, X = rays[:, on], most[tight], every[:, on]
    rows = np.vstack([solve_triangular(factor, used[:k], lower=True), used[k:][tight] / sizes[:, None]])
    right = np.append(solve_triangular(factor, np.ones(k), lower=True), np.ones(len(sizes)))
    prices = np.append(factor.T @ rough.dual, rough.prices[tight] * sizes) / unit**2
    found = _Optimum(rough.vectors @ factor / unit, prices, rough.weights[on])
    for _ in range(STEPS):
        try:
            if queries is None:
                found = _of_determinant(found, X, rows, right)
            else:
                asked = solve_triangular(factor, queries.T, lower=True).T
                found = _of_queries(found, asked / unit, X, rows, right)
        except np.linalg.LinAlgError:
            return None
        if not found.weights.min() > 0 or found.prices[k:].min(initial=0.0) < 0:
            return None
    weights, paid = np.zeros_like(rough.weights), np.zeros_like(most)
    weights[on], paid[tight] = found.weights, found.prices[k:] / sizes * unit**2
    vectors = solve_triangular(factor, found.vectors.T, lower=True, trans="T").T * unit
    beta = solve_triangular(factor, found.prices[:k], lower=True, trans="T") * unit**2
    spent = float(right @ found.prices) * unit**2
    if queries is None:
        offset = -k - 2 * float(np.linalg.slogdet(vectors)[1])
    else:
        offset = -2 * float((vectors * queries).sum())
    near = abs(spent + offset - rough.value) <= NEAR * max(abs(rough.value), unit**2)
    return Best(weights, vectors, spent + offset, beta, paid) if near else None


def _of_queries(now: _Optimum, asked: Array, X: Array, rows: Array, right: Array) -> _Optimum:
    """Take one step for queries ``asked``, the weights in units of what they are."""
    (z, prices, theta), (r, k) = now, asked.shape
    images, scaled = z @ X, rows * theta
    spread = theta[:, None] * (images.T[:, :, None] * X.T[:, None, :]).reshape(len(theta), -1)
    known, count = np.kron(np.eye(r), (X * theta) @ X.T), len(rows)
    system = np.block(
        [
            [known, np.zeros((r * k, count)), spread.T],
            [2 * spread, -scaled.T, np.zeros((len(theta), len(theta)))],
            [np.zeros((count, r * k + count)), scaled],
        ]
    )
    missing = [
        (asked - (images * theta) @ X.T).ravel(),
        theta * (prices @ rows - (images**2).sum(axis=0)),
        right - rows @ theta,
    ]
    change, rise, more = np.split(_solved(system, missing), [r * k, r * k + count])
    return _Optimum(z + change.reshape(r, k), prices + rise, theta * (1 + more))


def _of_determinant(now: _Optimum, X: Array, rows: Array, right: Array) -> _Optimum:
    """Take one step for log det J, likewise; the z_i are those of J⁻¹ = Zᵀ Z."""
    _, prices, theta = now
    roots, scaled = X * np.sqrt(theta), rows * theta
    products = roots.T @ np.linalg.solve(roots @ roots.T, roots)
    system = np.block([[-(products**2), -scaled.T], [scaled, np.zeros((len(rows), len(rows)))]])
    missing = [prices @ scaled - products.diagonal(), right - rows @ theta]
    more, rise = np.split(_solved(system, missing), [len(theta)])
    theta = theta * (1 + more)
    if not theta.min() > 0:
        return now._replace(weights=theta)
    lower = np.asarray(np.linalg.cholesky((X * theta) @ X.T), dtype=float)
    return _Optimum(solve_triangular(lower, np.eye(len(X)), lower=True), prices + rise, theta)


def _solved(system: Array, missing: list[Array]) -> Array:
    return np.asarray(np.linalg.lstsq(system, np.concatenate(missing), rcond=1e-13)[0], dtype=float)
