"""Users and their features: how often each combination of values occurs in a table.

A table is a pandas or polars data frame, a dictionary of columns, or a matrix with a user per row.
Values may be of any type; two missing values (NaN) count as the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.validate import InvalidInputError, Whole

Codes = Whole


def column_names(table: Any) -> list[Any]:
    """List the names of the columns; numbers for a matrix.

    >>> column_names({"sex": ["m", "f"], "age": [1, 2]})
    ['sex', 'age']
    """
    if isinstance(table, Mapping):
        return list(table)
    if hasattr(table, "columns"):
        return list(table.columns)
    return list(range(_matrix(table).shape[1]))


def group_sizes(table: Any, columns: Any = None) -> Codes:
    """Count how many users share each combination of values that occurs.

    >>> group_sizes({"sex": ["m", "f", "m"], "age": [1, 2, 1]}).tolist()
    [2, 1]
    """
    combined: Codes | None = None
    span = 1
    for column in chosen_columns(table, columns):
        codes = value_codes(column)
        if combined is not None and len(codes) != len(combined):
            raise InvalidInputError(
                f"columns must have equally many values, not {len(combined)} and {len(codes)}"
            )
        size = int(codes.max()) + 1
        if combined is not None and span * size > 2**62:
            combined = _dense(combined)
            span = int(combined.max()) + 1
        combined = codes if combined is None else combined * size + codes
        span *= size
    assert combined is not None
    if span <= 4 * len(combined):
        sizes = np.bincount(combined)
        return sizes[sizes > 0]
    return np.unique(combined, return_counts=True)[1]


def value_codes(column: Any) -> Codes:
    """Give every value of a column a number, equal numbers for equal values.

    >>> value_codes(["b", None, "b", 1.5]).tolist()
    [0, 1, 0, 2]
    """
    values = column.to_numpy() if hasattr(column, "to_numpy") else _array(column)
    if values.ndim != 1 or values.size == 0:
        raise InvalidInputError(
            f"a column must be a list of at least one value, not an array of the shape {values.shape}"
        )
    if values.dtype.kind in "biufmM":
        return _dense(values)
    numbers: dict[Any, int] = {}
    try:
        told = (None if v != v else v for v in values.tolist())  # noqa: PLR0124 (NaN is not itself)
        coded = (numbers.setdefault(v, len(numbers)) for v in told)
        return np.fromiter(coded, np.int64, len(values))
    except TypeError as error:
        raise InvalidInputError(f"the values of a column cannot be compared: {error}") from None


def chosen_columns(table: Any, columns: Any = None) -> list[Any]:
    """Return the columns of these names or numbers; all columns if none are given."""
    known = column_names(table)
    single = isinstance(columns, (str, int))
    wanted: list[Any] = known if columns is None else [columns] if single else list(columns)
    if not wanted:
        raise InvalidInputError("at least one column is needed")
    for name in wanted:
        if name not in known:
            raise InvalidInputError(f"a column must be one of {known!r:.200}, not {name!r}")
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        return [table[name] for name in wanted]
    matrix = _matrix(table)
    return [matrix[:, name] for name in wanted]


def _matrix(table: Any) -> NDArray[Any]:
    rows = table if isinstance(table, np.ndarray) else _object_rows(table)
    if rows.ndim != 2 or rows.size == 0:
        raise InvalidInputError(
            f"a table must have a row per user and at least one column, not the shape {rows.shape}"
        )
    return rows


def _object_rows(table: Any) -> NDArray[Any]:
    """Return rows as a matrix of objects, so that 1 and "1" stay different."""
    try:
        rows = [tuple(row) for row in table]
    except TypeError:
        raise InvalidInputError(f"a table must be a list of rows, not {table!r:.80}") from None
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise InvalidInputError(
            f"the rows of a table must have the same length, not {sorted(lengths)!r:.80}"
        )
    matrix = np.empty((len(rows), lengths.pop()), dtype=object)
    for i, row in enumerate(rows):
        matrix[i] = row
    return matrix


def _array(column: Any) -> NDArray[Any]:
    if isinstance(column, np.ndarray):
        return column
    values = np.empty(len(column), dtype=object)
    values[:] = column
    return values


def _dense(values: NDArray[Any]) -> Codes:
    codes = np.unique(values, return_inverse=True)[1]
    return codes.astype(np.int64)
