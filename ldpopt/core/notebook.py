"""Show objects as small HTML tables and pictures, as data frames and as axes, for notebooks."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ldpopt.core.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpopt.core.validate import Array

MOST = 12
"""The largest number of rows, and of columns, that a table shows of a matrix."""
MOST_DRAWN = 200
"""The largest number of rows, and of columns, that a picture shows of a matrix."""


def text(heading: str, rows: Iterable[tuple[str, object]]) -> str:
    """Return what a screen shows of an object: a heading, and a line of at most 80 signs for each row.

    Args:
        heading: what is shown.
        rows: the name of each line, and what it says; of more than MOST, the first are shown.

    >>> print(text("a pair", [("x", 2), ("other", 3.5)]))
    a pair
      x      2
      other  3.5
    """
    listed = list(rows)
    width = max((len(name) for name, _ in listed[:MOST]), default=0)
    lines = [f"  {name:{width}}  {shown!s}"[:80] for name, shown in listed[:MOST]]
    more = [f"  … and {len(listed) - MOST} more"] if len(listed) > MOST else []
    return "\n".join([heading, *lines, *more])


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
        raise MissingDependencyError("to_frame", "pandas") from None
    return pd.DataFrame(rows, index=index, columns=columns)


def axes(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    """Return the axes to draw on: those given, or those of a new figure, which a notebook shows.

    Args:
        ax: the caller's own axes, or None.
        width: of a new figure, in inches.
        height: of a new figure, in inches.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def heat_map(
    ax: Axes | None, entries: Array, row_labels: Sequence[object], column_labels: Sequence[object]
) -> Axes:
    """Draw a mechanism, the lighter the more probable; at most MOST rows and columns are named.

    Args:
        ax: where to draw; a new figure if None.
        entries: the probabilities, a row per input.
        row_labels: a label per input.
        column_labels: a label per report.
    """
    on = axes(ax)
    image = on.imshow(entries, "cividis", aspect="auto", vmin=0, interpolation="nearest")
    if len(row_labels) <= MOST:
        on.set_yticks(range(len(row_labels)), [str(label) for label in row_labels])
    if len(column_labels) <= MOST:
        on.set_xticks(range(len(column_labels)), [str(label) for label in column_labels])
    on.set(xlabel="report", ylabel="input")
    on.figure.colorbar(image, ax=on, label="probability")
    return on


def _row(heading: object, *cells: object) -> str:
    data = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
    return f"<tr><th>{escape(str(heading))}</th>{data}</tr>"


def matrix(
    caption: str,
    entries: Array,
    row_labels: Sequence[object],
    column_labels: Sequence[object],
) -> str:
    """Return a matrix as a table of rounded numbers, cut after MOST rows and columns, and as a picture.

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
    return table(caption, rows, ["", *column_labels[:MOST], *["…"] * wide]) + picture(entries)


def picture(probabilities: Array) -> str:
    """Return a matrix as an image with a pixel per cell; darker is more probable."""
    shown = probabilities[:MOST_DRAWN, :MOST_DRAWN]
    high, wide = shown.shape
    largest = float(shown.max(initial=0.0)) or 1.0
    grey = (255 * (1 - shown / largest)).round().astype("uint8")
    data = base64.b64encode(_png(grey.tobytes(), wide, high)).decode("ascii")
    words = f"The matrix as a picture, {high} × {wide}: a row per input; the more probable, the darker"
    side = max(4, min(20, 320 // max(high, wide)))
    style = f"image-rendering:pixelated;width:{side * wide}px;height:{side * high}px"
    return f'<img alt="{words}" style="{style}" src="data:image/png;base64,{data}">'


def _png(grey: bytes, wide: int, high: int) -> bytes:
    """Write pixels as a PNG file of eight bits of grey, without a library for images."""
    rows = b"".join(b"\0" + grey[start : start + wide] for start in range(0, wide * high, wide))
    head = struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
