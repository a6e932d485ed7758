"""Pair the rows of a table with the reports that were released for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.audit.black_box import Indices
from ldpopt.core.errors import InvalidInputError
from ldpopt.release.designing import AnyDesign
from ldpopt.release.reading import released_reports
from ldpopt.tables.files import open_table


def paired(made: AnyDesign, table: Any, released: Any) -> Iterator[tuple[Indices, NDArray[Any]]]:
    """Pair the inputs of a table with the reports released for its rows, a batch at a time.

    Args:
        made: the design by which the table was released.
        table: the data.
        released: what was released of them, in the order of the rows.

    Raises:
        InvalidInputError: one of the two has more rows than the other.
    """
    inputs, reports = made.domain.rows(open_table(table)), released_reports(released, made)
    rows, x = 0, np.zeros(0, np.int64)
    y: NDArray[Any] = np.zeros(0, np.int64)
    while True:
        x = x if len(x) else next(inputs, x)
        y = y if len(y) else next(reports, y)
        n = min(len(x), len(y))
        if n == 0:
            break
        yield x[:n], y[:n]
        rows, x, y = rows + n, x[n:], y[n:]
    if len(x) or len(y):
        shorter = "released table" if len(x) else "table"
        raise InvalidInputError(
            f"the {shorter} ends after row {rows} but the other goes on: they are not the same rows"
        )
