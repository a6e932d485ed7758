"""The information that one report carries about P: J(p) = Σ_y W[:, y] W[:, y]ᵀ / (W[:, y]·p).

This is Q̃ᵀ D_p Q̃ of Lopuhaä-Zwakenberg et al. 2019, Definition 6.5. It is a sum over the outputs, so
mechanisms that use many sets in a symmetric way need not list them
(:mod:`ldpopt.measures.fisher`).

J(p) of a mechanism that reports sets, without listing the sets: counts by weight.

J(p) = Σ_S w(S) v_S v_Sᵀ/(v_S·p) with v_S = low (1 + c 1_S). Since 1/s = ∫ e^{−ts} dt, every entry is an
integral over t of sums over S of Π_{x∈S} z_x, z_x = e^{−tcp_x}. If the reference measure draws each
value with probability λ, the sum is a product, and J is a matrix of rank one per t plus a diagonal. Sets
of one size m are the coefficient of u^m in such a product: a contour integral through its saddle point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, expit, gammaln

from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.mechanisms.encodings import SetMechanism
from ldpopt.mechanisms.listings import subsets


def fisher_information(W: Array, q: Array) -> Array:
    """Compute J = Σ_y W[:, y] W[:, y]ᵀ / q_y, for an output law q, or for each row of a matrix of laws.

    Outputs that never occur are left out.
    """
    used = W.any(axis=0)
    return (W[:, used] / q[..., None, used]) @ W[:, used].T


def information(points: Array, columns: Array) -> Array:
    """Compute J(p) for every row p of ``points``: an array of N matrices of k × k."""
    return fisher_information(columns, points @ columns)


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


LISTED, LISTED_BY_SIZE = 10, 16
"""Up to this many inputs the sets are listed; beyond, generating functions sum over them."""
LARGEST_LEVEL = 9.0
"""The rule for 1/s is exact to 1e-12 up to s = e^9."""

Complex = NDArray[np.complexfloating[Any, Any]]


def mechanism_information(points: Array, mechanism: SetMechanism) -> Array:
    """Compute J(p) for every row p of ``points``: an array of N matrices of k × k.

    Args:
        points: the p, one per row, with positive entries.
        mechanism: the mechanism; where sets are not listed its level must be at most 9.

    Raises:
        InvalidInputError: more than 10 (sets of one size: 16) values at a level above 9.
    """
    if mechanism.k <= (LISTED_BY_SIZE if mechanism.inclusion is None else LISTED):
        return _listed(points, mechanism)
    if mechanism.epsilon() > LARGEST_LEVEL or mechanism.high < mechanism.low:
        raise InvalidInputError(
            f"the information of sets of {mechanism.k} values is computed for levels up to "
            f"{LARGEST_LEVEL:g}, not {mechanism.epsilon():.6g}"
        )
    if mechanism.inclusion is not None:
        return np.array([_independent(p, mechanism) for p in points])
    c = (mechanism.high - mechanism.low) / mechanism.low
    sizes = [(m, float(weight)) for m, weight in enumerate(mechanism.sizes) if weight > 0]
    averages = [sum(weight * _of_size(p, c, m) for m, weight in sizes) for p in points]
    return mechanism.low * np.array(averages)


def laplace_rule() -> tuple[Array, Array]:
    """Find points t and weights with 1/s = Σ w e^{−ts} for s in [1, ∞).

    The relative error is 1e-12 for s ≤ 1e4.

    It is the trapezoidal rule after t = exp(τ − e^{−τ}): both tails decay double-exponentially.
    """
    tau = np.arange(-4.2, 3.8, 0.06)
    t = np.exp(tau - np.exp(-tau))
    return t, 0.06 * t * (1 + np.exp(-tau))


def _listed(points: Array, mechanism: SetMechanism) -> Array:
    k, low, high = mechanism.k, mechanism.low, mechanism.high
    sets = subsets(k)
    columns = low + (high - low) * sets
    weight = (mechanism.sizes / comb(k, np.arange(k + 1)))[sets.sum(axis=1).astype(int)]
    used = (weight > 0) & columns.any(axis=1)
    columns, weight = columns[used], weight[used]
    # numbers that are held at a time
    step = max(1, 2_000_000 // columns.size)
    parts = [points[i : i + step] for i in range(0, len(points), step)]
    return np.concatenate(
        [(columns.T * (weight / (part @ columns.T))[:, None, :]) @ columns for part in parts]
    )


def _independent(p: Array, mechanism: SetMechanism) -> Array:
    """Sum over sets that contain each value with probability λ, independently."""
    lam = float(mechanism.inclusion or 0.0)
    c = (mechanism.high - mechanism.low) / mechanism.low
    t, weights = laplace_rule()
    z = np.exp(-t * c * p[:, None])
    share = lam * z / (1 - lam + lam * z)
    total = weights * np.exp(-t + np.log1p(lam * np.expm1(-t * c * p[:, None])).sum(axis=0))
    half = (1 + c * share) * np.sqrt(total)
    single = (share * (1 - share)) @ total
    return mechanism.low * (half @ half.T + c * c * np.diag(single))


def _of_size(p: Array, c: float, m: int) -> Array:
    """Average (1 + c 1_S)(1 + c 1_S)ᵀ/(1 + c p(S)) over the sets S of m values."""
    k = len(p)
    if m in (0, k):
        value = 1 + c * (m == k)
        return np.full((k, k), value)
    log_sets = float(gammaln(k + 1) - gammaln(m + 1) - gammaln(k - m + 1))
    result = np.zeros((k, k))
    for t, weight in zip(*laplace_rule(), strict=True):
        # terms below e^−50 of the sum do not change a float
        if t * (1 + c * float(np.sort(p)[:m].sum())) > 50.0:
            break
        log_uz, times = _half_circle(-t * c * p, m)
        share = 1 / (1 + np.exp(-log_uz))
        log_product = np.where(log_uz.real > 0, log_uz, 0) + np.log1p(
            np.exp(np.where(log_uz.real > 0, -log_uz, log_uz))
        )
        log_u = log_uz[0] + t * c * p[0]
        g = times * np.exp(log_product.sum(axis=0) - m * log_u - t - log_sets)
        half = (1 + c * share) * np.sqrt(g)
        single = (share * (1 - share) @ g).real
        result += weight * (half.real @ half.real.T - half.imag @ half.imag.T + c * c * np.diag(single))
    return result


def _half_circle(log_z: Array, m: int) -> tuple[Complex, Array]:
    """Choose u on a circle near the saddle point of Π (1 + u z)/u^m, enough for the coefficient of u^m.

    Nodes below the real axis are the conjugates of those above, which count twice.

    Returns:
        log(u z_x) as an array [x, node], and the weights of the nodes.
    """
    k, centre = len(log_z), math.log(m / (len(log_z) - m))
    low, high = centre - float(log_z.max()), centre - float(log_z.min())
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + log_z).sum() < m else (low, middle)
    chance = expit(low + log_z)
    spread = math.sqrt(float((chance * (1 - chance)).sum()))
    count = min(k + 1, math.ceil(9 * spread + 40))
    j = np.arange(count // 2 + 1)
    times = np.where((j == 0) | (2 * j == count), 1.0, 2.0) / count
    return low + log_z[:, None] + 2j * np.pi * j / count, times
