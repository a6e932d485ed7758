"""Convex problems over the probability simplex, many at a time: one row each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.validate import Array

Derivatives = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]
"""Maps points (rows) and the numbers of their problems to gradients and Hessians."""


def project(v: Array) -> Array:
    """Find the nearest distribution of every row, by sorting: max(v − τ, 0) with the right τ.

    >>> project(np.array([[0.9, 0.4, -0.3]]))
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
