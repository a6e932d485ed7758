"""Show objects as small HTML tables, and turn them into data frames, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ldpopt.core.errors import MissingDependencyError

if TYPE_CHECKING:
    from ldpopt.core.validate import Array

MOST = 12
"""The largest number of rows, and of columns, that a table shows of a matrix."""


def table(caption: str, rows: Iterable[Sequence[object]], header: Sequence[object] = ()) -> str:
    """Return an HTML table; the first cell of a row is its heading, and every text is escaped.

    Args:
        caption: what the table shows.
        rows: the cells of each row, its heading first.
        header: the headings of the columns; none if empty.

    >>> table("two < three", [("x", 2)])
    '<table><caption>two &lt; three</caption><tr><th>x</th><td>2</td></tr></table>'
    """
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(_row(*cells) for cells in rows)
    lines = (f"<tr>{head}</tr>" if head else "") + body
    return f"<table><caption>{escape(caption)}</caption>{lines}</table>"


def frame(rows: Any, index: Sequence[object] | None = None, columns: Any = None) -> Any:
    """Return a pandas.DataFrame; pandas is needed for nothing else.

    Args:
        rows: a matrix, or a dictionary per row.
        index: the labels of the rows; numbers if not given.
        columns: the labels of the columns; those of the dictionaries if not given.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingDependencyError("to_frame needs the package 'pandas'") from None
    return pd.DataFrame(rows, index=index, columns=columns)


def _row(heading: object, *cells: object) -> str:
    data = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
    return f"<tr><th>{escape(str(heading))}</th>{data}</tr>"


def matrix(
    caption: str,
    entries: Array,
    row_labels: Sequence[object],
    column_labels: Sequence[object],
) -> str:
    """Return a matrix as a table of rounded numbers, cut after MOST rows and columns.

    Args:
        caption: what the matrix is.
        entries: the numbers, row by row.
        row_labels: a label per row.
        column_labels: a label per column.
    """
    wide, tall = len(column_labels) > MOST, len(row_labels) > MOST
    rows: list[list[object]] = [
        [label, *(f"{entry:.4g}" for entry in row[:MOST]), *["…"] * wide]
        for label, row in zip(row_labels[:MOST], entries[:MOST], strict=True)
    ]
    if tall:
        rows.append(["…"] * len(rows[0]))
    return table(caption, rows, ["", *column_labels[:MOST], *["…"] * wide])
