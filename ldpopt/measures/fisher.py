"""The information that one report carries about P: J(p) = Σ_y W[:, y] W[:, y]ᵀ / (W[:, y]·p).

This is Q̃ᵀ D_p Q̃ of Lopuhaä-Zwakenberg et al. 2019, Definition 6.5. It is a sum over the outputs, so
mechanisms that use many sets in a symmetric way need not list them
(:mod:`ldpopt.measures.subset_fisher`).
"""

from __future__ import annotations

import numpy as np

from ldpopt.core.validate import Array
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
