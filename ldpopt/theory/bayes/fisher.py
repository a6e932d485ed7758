"""The information that one report carries about P: J(p) = Σ_y W[:, y] W[:, y]ᵀ / (W[:, y]·p).

This is Q̃ᵀ D_p Q̃ of Lopuhaä-Zwakenberg et al. 2019, Definition 6.5. It is a sum over the outputs, so
mechanisms that use many sets in a symmetric way are handled set size by set size, without listing the
sets.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import comb

from ldpopt.core.validate import Array
from ldpopt.mechanisms.subsets import subsets
from ldpopt.theory.columns.fisher import fisher_information

LISTED = 10
"""Up to this many inputs the subsets are listed; beyond, generating functions sum over them."""


def information(points: Array, columns: Array) -> Array:
    """Compute J(p) for every row p of ``points``: an array of N matrices of k × k."""
    return fisher_information(columns, points @ columns)


def orbit_information(points: Array, low: float, high: float) -> Array:
    """Average v vᵀ/(v·p) over all sets of each size m, v being high on the set and low elsewhere.

    Args:
        points: the p, one a row.
        low: the entry of v outside of the set.
        high: the entry of v on the set.

    Returns:
        An array [point, m, x, x'] with m = 0 … k.
    """
    k = points.shape[1]
    return _listed(points, low, high) if k <= LISTED else _generated(points, low, high)


def _listed(points: Array, low: float, high: float) -> Array:
    k = points.shape[1]
    sets = subsets(k)
    columns = low + (high - low) * sets
    sizes = sets.sum(axis=1).astype(int)
    inverse = 1 / (points @ columns.T)
    result = np.empty((len(points), k + 1, k, k))
    for m in range(k + 1):
        v = columns[sizes == m]
        result[:, m] = (v.T * inverse[:, None, sizes == m]) @ v / len(v)
    return result


def differences(points: Array, matrix: Array) -> Array:
    """Compute F(p) = Σ_y D_y D_yᵀ/(W_y·p), D_y the entries of a column minus its last.

    det F = det J. J(p) has entries that are alike at small ε; F keeps their differences.
    """
    used = matrix[:, matrix.any(axis=0)]
    return fisher_information(used[:-1] - used[-1], points @ used)


def set_information(points: Array, c: float) -> Array:
    """Average d_S d_Sᵀ/(1 + c p(S)) over the sets of each size m, d_S(a) = 1[a ∈ S] − 1[k ∈ S].

    Returns:
        An array [point, m, a, b] with m = 0 … k and k − 1 values of a and b.
    """
    N, k = points.shape
    sets = subsets(k)
    sizes = sets.sum(axis=1).astype(int)
    result = np.empty((N, k + 1, k - 1, k - 1))
    for m in range(k + 1):
        chosen = sets[sizes == m]
        d = chosen[:, :-1] - chosen[:, -1:]
        inverse = 1 / (1 + c * (points @ chosen.T))
        for i in range(N):
            result[i, m] = (d.T * inverse[i]) @ d / len(chosen)
    return result


def laplace_rule() -> tuple[Array, Array]:
    """Find points t and weights with 1/s = Σ w e^{−ts} for s in [1, ∞).

    The relative error is 1e-12 for s ≤ 1e4.

    It is the trapezoidal rule after t = exp(τ − e^{−τ}): both tails decay double-exponentially.
    """
    tau = np.arange(-4.2, 3.8, 0.06)
    t = np.exp(tau - np.exp(-tau))
    return t, 0.06 * t * (1 + np.exp(-tau))


def _generated(points: Array, low: float, high: float) -> Array:
    """Sum over sets through e_m(z), z_x = e^{−t c p_x}: 1/(1 + c p(S)) = ∫ e^{−t} Π_{x∈S} z_x dt."""
    N, k = points.shape
    c = (high - low) / low
    pairs = np.array([(x, z) for x in range(k) for z in range(x, k)])
    sums = np.zeros((N, k + 1, len(pairs)))  # Σ over S ∋ x, x' of 1/(1 + c p(S))
    empty = np.zeros((N, k + 1))
    for t, weight in zip(*laplace_rule(), strict=True):
        z = np.exp(-t * c * points)
        scale = weight * math.exp(-t)
        empty += scale * _symmetric(z[:, :, None])[:, :, 0]
        factor = np.where(pairs[:, 0] == pairs[:, 1], z[:, pairs[:, 0]], z[:, pairs].prod(axis=2))
        kept = np.repeat(z[:, :, None], len(pairs), axis=2)
        kept[:, pairs[:, 0], np.arange(len(pairs))] = 0
        kept[:, pairs[:, 1], np.arange(len(pairs))] = 0
        left = _symmetric(kept) * (scale * factor)[:, None, :]
        single = pairs[:, 0] == pairs[:, 1]
        sums[:, 1:, single] += left[:, :-1, single]
        sums[:, 2:, ~single] += left[:, :-2, ~single]
    both = np.empty((N, k + 1, k, k))
    both[:, :, pairs[:, 0], pairs[:, 1]] = sums
    both[:, :, pairs[:, 1], pairs[:, 0]] = sums
    one = np.diagonal(both, axis1=2, axis2=3)
    total = empty[:, :, None, None] + c * (one[..., None] + one[..., None, :]) + c * c * both
    return low * total / comb(k, np.arange(k + 1))[:, None, None]


def _symmetric(z: Array) -> Array:
    """Compute the elementary symmetric polynomials e_0 … e_k along axis 1."""
    e = np.zeros((z.shape[0], z.shape[1] + 1, z.shape[2]))
    e[:, 0] = 1
    for x in range(z.shape[1]):
        e[:, 1:] = e[:, 1:] + z[:, x, None, :] * e[:, :-1]
    return e
