"""Read a table whose numbers or dates are written in another way: 20399,20 or 31/01/2024."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ldpopt.core import validate
from ldpopt.tables.batches import Batch, TableReader

DECIMAL = {".": (), ",": ((r"^(\s*[+-]?\d+),(\d+\s*)$", r"\1.\2"),)}
"""For each decimal mark the patterns that are replaced, and by what."""
PADDED = ((r"^\s*(\d[/.-]\d\d?[/.-]\d{4})", r"0\1"), (r"^(\s*\d\d[/.-])(\d[/.-]\d{4})", r"\10\2"))
TWO = r"^\s*(\d\d)[/.-](\d\d)[/.-](\d{4})"
DATES = {
    "yyyy-mm-dd": (),
    "dd/mm/yyyy": (*PADDED, (TWO, r"\3-\2-\1")),
    "mm/dd/yyyy": (*PADDED, (TWO, r"\3-\1-\2")),
}
"""The same for each order of day and month; a point or a hyphen may stand for the stroke."""


class Rewritten(TableReader):
    """A table with its decimal commas as points, and its dates as 2024-01-31, in whatever column.

    Args:
        table: the table, which is read as a whole, by one process.
        decimal: the decimal mark of its numbers, of :data:`DECIMAL`.
        dates: how its dates are written, of :data:`DATES`.

    >>> from ldpopt.tables.batches import open_table
    >>> table = open_table({"paid": ["20399,20", "7"], "born": ["31/1/2024", "1.12.1980 12:30"]})
    >>> next(Rewritten(table, ",", "dd/mm/yyyy").batches(["paid", "born"])).to_pydict()
    {'paid': ['20399.20', '7'], 'born': ['2024-01-31', '1980-12-01 12:30']}
    """

    def __init__(self, table: TableReader, decimal: str = ".", dates: str = "yyyy-mm-dd") -> None:
        validate.choice("decimal", decimal, tuple(DECIMAL))
        validate.choice("dates", dates, tuple(DATES))
        self.name, self.columns, self._table = table.name, table.columns, table
        self._rules = (*DECIMAL[decimal], *DATES[dates])

    def _rewritten(self, cells: Any) -> Any:
        for pattern, written in self._rules if pa.types.is_string(cells.type) else ():
            cells = pc.replace_substring_regex(cells, pattern, written)
        return cells

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        for batch in self._table.batches(columns, part=True):
            yield pa.record_batch(list(map(self._rewritten, batch.columns)), names=columns)
