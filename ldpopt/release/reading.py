"""Read the reports of a released file, or of a directory of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.workers import workers
from ldpopt.release.designing import AnyDesign
from ldpopt.tables.cells import absent, numbered, numbers, trimmed
from ldpopt.tables.files import TableReader, open_table

PREFIX = "ldpopt-"
"""The name of the column of reports: this prefix, then the fingerprint of the mechanism."""


def report_counts(
    released: Any, made: AnyDesign, jobs: int = 1, scheduler: str | None = None
) -> NDArray[np.int64]:
    """Count how often each report was made; the parts of a table can be counted by several workers.

    Args:
        released: what :func:`ldpopt.tables.files.open_table` reads.
        made: the design of the mechanism that made the reports.
        jobs: worker processes on this machine.
        scheduler: the address of a Dask scheduler to run on instead; its workers read the files under
            the names that they have here.
    """
    reader = open_table(released)
    column, outputs = _report_column(reader, made), made.mechanism.shape[1]
    with workers(jobs, scheduler) as parallel:
        found = reader.map_parts(partial(_counted, column, outputs), parallel)
        counts = sum(found, np.zeros(outputs, dtype=np.int64))
    if not counts.any():
        raise InvalidInputError(f"{reader.name} has no rows")
    return counts


def _counted(column: str, outputs: int, number: int, part: TableReader) -> NDArray[np.int64]:
    """Count the reports of a part of a released table; the number of the part is ignored."""
    batches = (np.bincount(found, minlength=outputs) for found in _reports(part, column, outputs))
    return sum(batches, np.zeros(outputs, dtype=np.int64))


def released_reports(released: Any, made: AnyDesign) -> Iterator[NDArray[np.int64]]:
    """Read the reports of a released file, a batch at a time; a file of another mechanism is refused."""
    reader = open_table(released)
    return _reports(reader, _report_column(reader, made), made.mechanism.shape[1], part=False)


def _reports(
    reader: TableReader, column: str, outputs: int, part: bool = True
) -> Iterator[NDArray[np.int64]]:
    for first_row, batch in numbered(reader.batches([column], part=part)):
        empty = int(pc.index(absent(trimmed(column, batch.column(0)), text=False), True).as_py())
        if empty >= 0:
            raise InvalidInputError(f"row {first_row + empty} of {reader.name} holds no report")
        try:
            found = batch.column(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:  # "1.0" is a whole number, too
            found = numbers(column, batch.column(0), first_row)
        known = (found >= 0) & (found < outputs) & (found == np.floor(found))
        if not known.all():
            bad = int(np.argmin(known))
            raise InvalidInputError(
                f"row {first_row + bad} of {reader.name} holds the report {batch.column(0)[bad]}; "
                f"those of the mechanism are 0 to {outputs - 1}"
            )
        yield found.astype(np.int64)


def _report_column(reader: TableReader, made: AnyDesign) -> str:
    marked = [name for name in reader.columns if name.startswith(PREFIX)]
    if not marked:
        raise InvalidInputError(
            f"{reader.name} has no column of reports: ldpopt privatize did not write it"
        )
    if PREFIX + made.fingerprint not in marked:
        raise InvalidInputError(
            f"{reader.name} was released by another mechanism ({marked[0].removeprefix(PREFIX)}, not "
            f"{made.fingerprint})"
        )
    return PREFIX + made.fingerprint
