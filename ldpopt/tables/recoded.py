"""A table with coarser columns, for what is told of its rows without noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError, UnknownNameError
from ldpopt.core.exact import MISSING
from ldpopt.tables.batches import Batch, TableReader
from ldpopt.tables.cells import CompleteRows, absent, numbered, trimmed
from ldpopt.tables.coarser_levels import Levels, coarsened
from ldpopt.tables.survey import Bins, binned, empty_columns


class Recoded(TableReader):
    """A table whose cells are text, some columns binned or by coarser levels.

    Args:
        table: the table.
        names: the columns.
        bins: for columns of numbers, dates or times: how many bins, or the edges between them.
        levels: for columns of words: how many first characters count, or the groups.
        missing: what becomes of rows with an empty cell: "refuse", "drop", or "category" ("(missing)").
    """

    def __init__(
        self,
        table: TableReader,
        names: Sequence[str],
        bins: Mapping[str, Bins],
        levels: Mapping[str, Levels],
        missing: str,
    ) -> None:
        validate.choice("missing", missing, ("refuse", "drop", "category"))
        self.name, self.columns = table.name, list(names)
        if len(set(names)) < len(self.columns):
            raise InvalidInputError(f"columns must be different, not {', '.join(names)}")
        self._table = CompleteRows(table, self.columns) if missing == "drop" else table
        for name in (*bins, *levels):
            if name not in self.columns:
                raise UnknownNameError("column in question", name, self.columns)
        empty = set() if missing == "drop" else empty_columns(table, self.columns, set())
        if missing == "refuse" and empty:
            raise InvalidInputError(
                f"the column {min(empty)!r} has empty cells: leave their rows out (--missing drop), or "
                f"take them as the value {MISSING} (--missing category)"
            )
        self._known = {
            name: binned(self._table, name, spec, name in empty) for name, spec in bins.items()
        }
        for name, level in levels.items():
            self._known[name] = coarsened(self._table, name, level, None, False, name in empty, None)

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        for first_row, batch in numbered(self._table.batches(columns)):
            cells = [self._cells(name, batch.column(name), first_row) for name in columns]
            yield pa.record_batch(cells, names=columns)

    def _cells(self, name: str, cells: Any, first_row: int) -> Any:
        if (column := self._known.get(name)) is not None:
            return pa.array(column.values).take(pa.array(column.codes(cells, first_row)))
        words = trimmed(name, cells)
        return pc.if_else(absent(words, text=False), MISSING, words)
