"""A part of the rows, drawn whatever they say: several questions are asked of different people."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ldpopt.core.validate import InvalidInputError
from ldpopt.tables.batches import Batch, TableReader
from ldpopt.tables.one_row_per_person import FirstRows

PARTS = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")
SEED = 20
"""The draw is the same every time, so that no row is in two parts, and no secret: parts are known."""


class PartOfRows(TableReader):
    """One of several parts of the rows; which row is in which follows from its number alone.

    So every part is a random sample of the rows, and a person who reports about one part's question
    makes one report. It is read as a whole, by one process.

    Args:
        table: the table.
        part: ``I/K``, the part I of K.

    >>> from ldpopt.tables.batches import open_table
    >>> table = open_table({"age": list(range(8))})
    >>> [PartOfRows(table, f"{i}/2").read()["age"].to_pylist() for i in (1, 2)]
    [[0, 1, 2, 4, 5, 6], [3, 7]]
    """

    def __init__(self, table: TableReader, part: str) -> None:
        found = PARTS.fullmatch(part)
        if found is None or int(found[1]) > int(found[2]):
            raise InvalidInputError(f"--part must look like 1/3, the first of three, not {part!r}")
        self.name, self.columns, self._table = table.name, table.columns, table
        self._part, self._parts = int(found[1]) - 1, int(found[2])

    @property
    def in_words(self) -> str:
        """Which rows are asked, and which were left out before."""
        before = f"{self._table.in_words}; " if isinstance(self._table, FirstRows) else ""
        return before + (
            f"the rows of {self.name} are divided among {self._parts} questions at random; these are "
            f"those of question {self._part + 1}"
        )

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        rng = np.random.Generator(np.random.PCG64(SEED))
        for batch in self._table.batches(columns, part=True):
            drawn = (rng.random(batch.num_rows) * self._parts).astype(np.int64)
            yield batch.filter(pa.array(drawn == self._part))
