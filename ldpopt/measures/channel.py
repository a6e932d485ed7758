"""A mechanism seen as a channel: the linear algebra that fidelity and estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.core.mechanism import Channel, Mechanism, distribution_over
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.fisher import fisher_information


def mechanism_of(W: Any) -> Channel:
    """Return a mechanism as it is; build one from a matrix whose rows are distributions."""
    return W if isinstance(W, Channel) else Mechanism(W)


def matrix_of(W: Any) -> Array:
    """Return the matrix [x][y] of a mechanism, or check that a matrix is row-stochastic.

    >>> matrix_of([[0.75, 0.25], [0.25, 0.75]]).shape
    (2, 2)
    """
    return mechanism_of(W).matrix


def square_matrix(W: Any) -> Array:
    """Return the matrix of a mechanism with as many outputs as inputs."""
    matrix = matrix_of(W)
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"a square mechanism is needed here, not one of shape {matrix.shape}")
    return matrix


def full_support(name: str, p: Any, k: int) -> Array:
    """Check that a distribution over the k inputs has no zeros.

    Pastore and Gastpar 2021 supposes full support throughout.

    Args:
        name: the name of the parameter, for messages.
        p: the distribution.
        k: the number of inputs.

    Raises:
        InvalidInputError: p is not a distribution over k inputs, or has a zero.

    >>> full_support("p", [0.5, 0.5, 0.0], 3)
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: p[2] is 0, but every input must have a positive probability
    """
    prior = distribution_over(k, name, p)
    if (prior == 0).any():
        place = int(np.argmin(prior))
        raise InvalidInputError(
            f"{name}[{place}] is 0, but every input must have a positive probability"
        )
    return prior


def inverse_information(W: Array, q: Array) -> Array:
    """Invert the Fisher information; an error where distributions cannot be told apart."""
    k, outputs = W.shape
    if outputs < k:
        raise InvalidInputError(f"the mechanism has {outputs} outputs for {k} inputs: it has no inverse")
    if outputs == k:
        B = _solve(W, np.eye(k))
        return (B.T * q) @ B
    return _solve(fisher_information(W, q), np.eye(k))


def right_inverse(W: Array, q: Array) -> Array:
    """Compute the A with W A = I that has the least variance when the reports have distribution q.

    For a square W it is W⁻¹ whatever q is, else A = Q⁻¹Wᵀ(W Q⁻¹ Wᵀ)⁻¹ with Q = diag(q).
    """
    k, outputs = W.shape
    if outputs == k:
        return _solve(W, np.eye(k))
    used = W.any(axis=0)
    result = np.zeros((outputs, k))
    result[used] = (W[:, used] / q[used]).T @ inverse_information(W, q)
    return result


def _solve(matrix: Array, right: Array) -> Array:
    try:
        solution = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        solution = np.full_like(right, np.inf)
    residual = np.abs(matrix @ solution - right).max() if np.isfinite(solution).all() else np.inf
    if not residual < 1e-3:
        rank = np.linalg.matrix_rank(matrix)
        raise InvalidInputError(
            f"the mechanism has rank {rank} for {len(matrix)} inputs: distributions cannot be told apart"
        )
    return solution
