"""One row for each person, however often they appear."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ldpopt.core.errors import InvalidInputError
from ldpopt.tables.batches import Batch, TableReader
from ldpopt.tables.cells import numbered, text_cells


class FirstRows(TableReader):
    """A table with the first row of each person alone.

    A promise about one report is about a person who makes one. It is read as a whole, by one process.

    Args:
        table: the table.
        person: the column that says who it is.

    Attributes:
        dropped: how many rows the last reading left out.
        rows: how many rows it found, the dropped ones included.
    """

    def __init__(self, table: TableReader, person: str) -> None:
        if person not in table.columns:
            raise InvalidInputError(f"{table.name} has no column {person!r} of persons")
        self.name, self.dropped, self.rows = table.name, 0, 0
        self.columns = [name for name in table.columns if name != person]
        self._table, self._person = table, person

    @property
    def in_words(self) -> str:
        """How many rows were left out."""
        return (
            f"{self.dropped:,} of {self.rows:,} rows of {self.name} were left out: the first row of "
            f"each {self._person} counts, so that nobody makes two reports"
        )

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        self.dropped = self.rows = 0
        seen: set[str] = set()
        names = list(dict.fromkeys([*columns, self._person]))
        for first_row, batch in numbered(self._table.batches(names, part=True)):
            who = text_cells(self._person, batch.column(self._person), first_row, text=True).to_pylist()
            new = np.zeros(len(who), dtype=bool)
            for i, person in enumerate(who):
                if person not in seen:
                    seen.add(person)
                    new[i] = True
            self.rows += batch.num_rows
            self.dropped += batch.num_rows - int(new.sum())
            yield batch.filter(pa.array(new)).select(columns)
