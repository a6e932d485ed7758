"""Read a table with values that its design has not seen, such as this year's with last year's design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import OTHER
from ldpopt.core.workers import Parallel
from ldpopt.tables.batches import Batch, Found, TableReader
from ldpopt.tables.cells import absent, numbered, quoted, trimmed
from ldpopt.tables.domain import Column

OTHERS = (OTHER, "other")
"""The values that stand for all others, the first that a column has; case does not count."""


def value_for_others(column: Column) -> tuple[str, str] | None:
    """Return the value of a column that stands for all others, and a cell that says it; None without."""
    cells = column.labelled if column.groups else zip(column.values, column.values, strict=True)
    found = {value.casefold(): (value, cell) for cell, value in cells}
    return next((found[name] for name in OTHERS if name in found), None)


class NewValues(TableReader):
    """A table whose words that a design does not know count as its value for others.

    Numbers and dates are in the first or the last bin, never new.

    Args:
        table: the table.
        columns: the columns of the design.

    >>> from ldpopt.tables.batches import open_table
    >>> table = open_table({"party": ["left", "pirates", "Other"]})
    >>> next(NewValues(table, [Column("party", ("Other", "left"))]).batches(["party"])).to_pydict()
    {'party': ['left', 'Other', 'Other']}
    """

    def __init__(self, table: TableReader, columns: Sequence[Column]) -> None:
        self.name, self.columns, self._table = table.name, table.columns, table
        self._words = {c.name: c for c in columns if not c.edges and c.range is None}

    @property
    def in_words(self) -> str:
        """What new values count as, by column."""
        named = ((name, value_for_others(column)) for name, column in self._words.items())
        said = ", ".join(f"{quoted(pair[0])} of {name}" for name, pair in named if pair)
        return f"values that the design does not know count as {said or 'nothing: they are refused'}"

    def map_parts(self, work: Callable[..., Found], parallel: Parallel) -> Iterator[Found]:
        """Do the work on every part."""
        return self._table.map_parts(partial(_on_part, work, list(self._words.values())), parallel)

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        for first_row, batch in numbered(self._table.batches(columns, part=True)):
            cells = [self._known(name, batch.column(name), first_row) for name in columns]
            yield pa.record_batch(cells, names=columns)

    def _known(self, name: str, cells: Any, first_row: int) -> Any:
        if (column := self._words.get(name)) is None:
            return cells
        words = trimmed(name, cells)
        coarse = column.coarse(words)
        of_a_value = pc.is_valid(coarse) if column.other else pc.is_in(coarse, pa.array(column.values))
        known = pc.or_(absent(words, column.text), of_a_value)
        if pc.all(known).as_py() is not False:
            return cells
        if (others := value_for_others(column)) is None:
            row = int(pc.index(known, False).as_py())
            raise InvalidInputError(
                f"row {first_row + row} of column {name!r} holds {quoted(words[row].as_py())}, and the "
                f"design has no value for others, {' or '.join(map(repr, OTHERS))}: design with one "
                f"(ldpopt design --top {name}=N tells the N most frequent values apart)"
            )
        return pc.if_else(known, words, others[1])


def _on_part(work: Callable[..., Found], columns: list[Column], number: int, part: TableReader) -> Found:
    return work(number, NewValues(part, columns))
