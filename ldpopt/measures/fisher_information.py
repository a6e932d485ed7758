"""The Fisher information that one report carries about the distribution of the inputs."""

from __future__ import annotations

from ldpopt.core.validate import Array


def fisher_information(W: Array, q: Array) -> Array:
    """Compute J = Σ_y W[:, y] W[:, y]ᵀ / q_y, for an output law q, or for each row of a matrix of laws.

    Outputs that never occur are left out.
    """
    used = W.any(axis=0)
    return (W[:, used] / q[..., None, used]) @ W[:, used].T
