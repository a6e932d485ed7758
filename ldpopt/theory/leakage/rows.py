"""A mechanism and the secret of each of its rows, read from what people have and checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.forms.selection_program import SelectionProgram


def read_matrix(matrix: Any) -> Any:
    """Read the rows P(·|θ): a sparse matrix stays sparse, everything else becomes a dense one.

    Args:
        matrix: dense, a scipy sparse matrix, a :class:`Mechanism`, or plain triples
            {"shape", "rows", "columns", "values"}.
    """
    sparse = issparse(matrix) or isinstance(matrix, dict)
    read = _sparse(matrix) if sparse else _dense(matrix)
    _check_rows(csr_array(read))
    return read


def read_secrets(secrets: Any, rows: int) -> tuple[Any, ...]:
    """Read one label per row."""
    if not isinstance(secrets, Iterable):
        raise InvalidInputError(f"secrets must be a list of labels, not {secrets!r}")
    labels = tuple(_label(secret) for secret in secrets)
    if len(labels) != rows:
        raise InvalidInputError(f"secrets has {len(labels)} labels for {rows} rows of the matrix")
    return labels


def selection_program(matrix: Any, secrets: Any) -> SelectionProgram:
    """Group the rows by secret, in the order of first appearance."""
    rows = csr_array(read_matrix(matrix))
    rows.eliminate_zeros()
    rows.sort_indices()
    numbers: dict[Any, int] = {}
    labels = read_secrets(secrets, rows.shape[0])
    return SelectionProgram(rows, np.array([numbers.setdefault(s, len(numbers)) for s in labels]))


def _dense(matrix: Any) -> validate.Array:
    return validate.array("matrix", matrix.matrix if isinstance(matrix, Mechanism) else matrix, 2)


def _sparse(matrix: Any) -> csr_array:
    if isinstance(matrix, dict):
        try:
            places = (matrix["rows"], matrix["columns"])
            matrix = coo_array((matrix["values"], places), shape=tuple(matrix["shape"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"matrix is no sparse matrix: {error}") from None
    result = csr_array(matrix, dtype=np.float64)
    result.sum_duplicates()
    return result


def _check_rows(matrix: csr_array) -> None:
    bad = np.flatnonzero(~np.isfinite(matrix.data) | (matrix.data < 0))
    if len(bad):
        raise InvalidInputError(f"matrix has the entry {matrix.data[bad[0]]}, not a probability")
    sums = matrix.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > validate.SUM_TOLERANCE:
        raise InvalidInputError(
            f"row {worst} of the matrix sums to {sums[worst]:.12g}, off by {sums[worst] - 1:.3g}"
        )


def _label(secret: Any) -> Any:
    if isinstance(secret, (list, tuple)):
        return tuple(_label(part) for part in secret)
    plain = secret.item() if isinstance(secret, np.generic) else secret
    if not isinstance(plain, (str, int, float, bool)):
        raise InvalidInputError(f"a secret must be a string or a number, not {plain!r}")
    return plain


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
