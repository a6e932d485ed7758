"""A mechanism and the secret of each of its rows, read from common formats and checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import LEAKAGE_MATRIX, Labels, Schema, UnreadableError
from ldpopt.core.forms.selections import SelectionProgram


def read_matrix(matrix: Any) -> Any:
    """Read the rows P(·|θ): a sparse matrix stays sparse, everything else becomes a dense one.

    Args:
        matrix: dense, a scipy sparse matrix, a mechanism, or plain triples
            {"shape", "rows", "columns", "values"}.
    """
    sparse = issparse(matrix) or isinstance(matrix, dict)
    if sparse:
        return _normalised(_sparse(matrix))
    return _normalised(validate.array("matrix", getattr(matrix, "matrix", matrix), 2))


def read_secrets(secrets: Any) -> tuple[Any, ...]:
    """Read the labels of the rows, of any type that JSON knows; equal ones must be written alike.

    Raises:
        InvalidInputError: they are no labels, or not written alike (1 and 1.0).
    """
    if not isinstance(secrets, Iterable):
        raise InvalidInputError(f"secrets must be a list of labels, not {secrets!r}")
    return tuple(_by_schema(Labels(), [_label(secret) for secret in secrets], "secrets"))


def selection_program(matrix: Any, secrets: Any) -> SelectionProgram:
    """Group the rows by secret, in the order of first appearance."""
    rows = csr_array(read_matrix(matrix))
    rows.eliminate_zeros()
    rows.sort_indices()
    numbers: dict[Any, int] = {}
    labels = read_secrets(secrets)
    if len(labels) != rows.shape[0]:
        raise InvalidInputError(
            f"secrets must be {rows.shape[0]} labels, one per row of the matrix, not {len(labels)}"
        )
    return SelectionProgram(rows, np.array([numbers.setdefault(s, len(numbers)) for s in labels]))


def _sparse(matrix: Any) -> csr_array:
    if isinstance(matrix, dict):
        read = _by_schema(LEAKAGE_MATRIX, matrix, "matrix")
        try:
            places = (read["rows"], read["columns"])
            matrix = coo_array((read["values"], places), shape=tuple(read["shape"]))
        except ValueError as error:
            raise InvalidInputError(f"matrix must be a sparse matrix: {error}") from None
        if len(set(zip(*places, strict=True))) != len(read["values"]):
            raise InvalidInputError("matrix must have one entry at most at each place")
    result = csr_array(matrix, dtype=np.float64)
    result.sum_duplicates()
    return result


def _normalised(matrix: Any) -> Any:
    """Divide every row by its sum where that is not 1 up to rounding.

    The checker divides by the exact sum, so what is solved and what is verified are the same mechanism
    up to the rounding of floats.
    """
    rows = csr_array(matrix)
    bad = np.flatnonzero(~np.isfinite(rows.data) | (rows.data < 0))
    if len(bad):
        raise InvalidInputError(f"matrix has the entry {rows.data[bad[0]]}, not a probability")
    sums = validate.row_sums("matrix", rows)
    divisors = np.where(np.abs(sums - 1) > validate.ROUNDING, sums, 1.0)
    if (divisors == 1).all():
        return matrix
    if not issparse(matrix):
        scaled = matrix / divisors[:, None]
        scaled.setflags(write=False)
        return scaled
    rows.data /= np.repeat(divisors, np.diff(rows.indptr))
    return rows


def _by_schema(schema: Schema, value: Any, name: str) -> Any:
    """Read a value by the checker's schema."""
    try:
        return schema.read(value, name)
    except UnreadableError as error:
        raise InvalidInputError(str(error)) from None


def _label(secret: Any) -> Any:
    """Write a label as JSON has it."""
    if isinstance(secret, (list, tuple)):
        return [_label(part) for part in secret]
    return secret.item() if isinstance(secret, np.generic) else secret


def plain_secret(secret: Any) -> Any:
    """Write a label as JSON has it: tuples become lists."""
    return [plain_secret(part) for part in secret] if isinstance(secret, tuple) else secret


def plain_matrix(matrix: Any) -> Any:
    """Write dense rows as lists, a sparse matrix as triples."""
    if not isinstance(matrix, csr_array):
        return matrix.tolist()
    triples = matrix.tocoo()
    return {
        "shape": list(matrix.shape),
        "rows": triples.coords[0].tolist(),
        "columns": triples.coords[1].tolist(),
        "values": triples.data.tolist(),
    }
