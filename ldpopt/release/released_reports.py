"""Read the reports of a released file, or of a directory of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.core.workers import workers
from ldpopt.mechanisms.randomizer import Tally
from ldpopt.release.designing import AnyDesign
from ldpopt.tables.batches import TableReader, open_table
from ldpopt.tables.cells import absent, numbered, numbers, trimmed

DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
PREFIX = "ldpopt-"
"""The name of the column of reports: this prefix, then the fingerprint of the mechanism."""
SHORT = 12
"""Digits of a fingerprint in earlier versions: too few, as two mechanisms of one were found in 100 s."""


class Tallied(NamedTuple):
    """The reports of a released file, counted.

    Attributes:
        tally: how often each was made, as the estimates need it.
        reports: how many there are.
        people: how many people they stand for: as many, or the sum of their weights.
    """

    tally: Tally
    reports: int
    people: float


def report_counts(
    released: Any,
    made: AnyDesign,
    jobs: int = 1,
    scheduler: str | None = None,
    weights: str = "",
) -> Tallied:
    """Tally the reports; several workers can share the parts of a table.

    Args:
        released: what :func:`ldpopt.tables.batches.open_table` reads.
        made: the design of the mechanism that made the reports.
        jobs: worker processes on this machine.
        scheduler: the address of a Dask scheduler to run on instead; its workers read the files under
            the names that they have here.
        weights: the column that says how many people a report stands for; empty for one each.
    """
    reader = open_table(released)
    columns = [_report_column(reader, made), *([weights] if weights else [])]
    if weights and weights not in reader.columns:
        raise InvalidInputError(
            f"{reader.name} has no column {weights!r} of weights: ldpopt privatize writes it beside the "
            "reports (--weights)"
        )
    with workers(jobs, scheduler) as parallel:
        found = reader.map_parts(partial(_counted, columns, made), parallel)
        counts, tallies = zip(*found, strict=True)
    n, tally = sum(counts), sum(tallies)
    if not n:
        raise InvalidInputError(f"{reader.name} has no rows")
    of = made.randomizer
    if not weights:
        return Tallied(tally, n, n)
    people, squares = of.reported(tally[0]), of.reported(tally[1])
    if not people:
        raise InvalidInputError(f"the weights of {weights!r} are all 0: some must be above it")
    equal = people**2 / squares  # as many reports of equal weight would say as much
    return Tallied(tally * equal / [[people], [squares]], n, people)


def _counted(columns: list[str], made: AnyDesign, number: int, part: TableReader) -> tuple[int, Tally]:
    """Count the reports of a part of a released table; the number of the part is ignored."""
    of, n = made.randomizer, 0
    shape = (2, of.tally) if len(columns) > 1 else of.tally
    tally: Tally = np.zeros(shape, dtype=float if len(columns) > 1 else np.int64)
    for found, *weights in _reports(part, columns, made):
        n += len(found)
        tally += [of.tallied(found, w**k) for w in weights for k in (1, 2)] or of.tallied(found)
    return n, tally


def released_reports(released: Any, made: AnyDesign) -> Iterator[NDArray[Any]]:
    """Read the reports of a released file, a batch at a time; a file of another mechanism is refused."""
    reader = open_table(released)
    for found, *_ in _reports(reader, [_report_column(reader, made)], made, part=False):
        yield found


def _reports(
    reader: TableReader, columns: list[str], made: AnyDesign, part: bool = True
) -> Iterator[list[NDArray[Any]]]:
    """Read the reports, and behind them the weights, if there is a second column."""
    of, column = made.randomizer, columns[0]
    for first_row, batch in numbered(reader.batches(columns, part=part)):
        weights = [counts_of_people(name, batch.column(name), first_row) for name in columns[1:]]
        empty = int(pc.index(absent(trimmed(column, batch.column(0)), text=False), True).as_py())
        if empty >= 0:
            raise InvalidInputError(f"row {first_row + empty} of {reader.name} holds no report")
        if of.sets:
            sets = _sets(trimmed(column, batch.column(0)), made.inputs, reader.name, first_row)
            yield [sets, *weights]
            continue
        try:
            found = batch.column(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:  # "1.0" is a whole number, too
            found = numbers(column, batch.column(0), first_row)
        known = (found >= 0) & (found < of.outputs) & (found == np.floor(found))
        if not known.all():
            bad = int(np.argmin(known))
            raise InvalidInputError(
                f"row {first_row + bad} of {reader.name} holds the report {batch.column(0)[bad]}; "
                f"those of the mechanism are 0 to {of.outputs - 1}"
            )
        yield [found.astype(np.int64), *weights]


def counts_of_people(name: str, cells: Any, first_row: int) -> Array:
    """Read weights: finite numbers, not below 0.

    Args:
        name: the name of the column.
        cells: a pyarrow array.
        first_row: the number of its first row.
    """
    found = numbers(name, cells, first_row)
    if (found < 0).any():
        bad = int(np.argmax(found < 0))
        raise InvalidInputError(
            f"row {first_row + bad} of column {name!r} must be a weight, a number of people not below "
            f"0, not {found[bad]:g}"
        )
    return found


# ------------------------------------------------------------ reports that are sets


def written_sets(reports: NDArray[np.uint8]) -> pa.Array:
    """Write sets, eight inputs to a byte, as an x and hexadecimal digits, which are never a number.

    >>> written_sets(np.array([[0x0F, 0x80], [0xFF, 0x00]], dtype=np.uint8)).to_pylist()
    ['x0f80', 'xff00']
    """
    rows, size = len(reports), 1 + 2 * reports.shape[1]
    letters = np.full((rows, size), ord("x"), dtype=np.uint8)
    letters[:, 1::2], letters[:, 2::2] = DIGITS[reports >> 4], DIGITS[reports & 15]
    ends = np.arange(rows + 1, dtype=np.int32) * np.int32(size)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(letters.tobytes()))


def _sets(cells: Any, inputs: int, name: str, first_row: int) -> NDArray[np.uint8]:
    """Read the sets that :func:`written_sets` wrote; bits beyond the inputs must be 0."""
    size = 1 + 2 * -(-inputs // 8)
    known = pc.and_(
        pc.match_substring_regex(cells, "^x[0-9a-f]+$"), pc.equal(pc.binary_length(cells), size)
    )
    bad = int(pc.index(known, False).as_py())
    if bad < 0:
        text = "".join(cells.to_pylist()).encode()
        letters = np.frombuffer(text, dtype=np.uint8).reshape(len(cells), size)[:, 1:]
        values = np.searchsorted(DIGITS, letters).astype(np.uint8)
        found = np.asarray(values[:, ::2] << 4 | values[:, 1::2], dtype=np.uint8)
        spare = 8 * found.shape[1] - inputs
        over = np.flatnonzero(found[:, -1] & ((1 << spare) - 1))
        bad = int(over[0]) if over.size else -1
        if bad < 0:
            return found
    raise InvalidInputError(
        f"row {first_row + bad} of {name} holds the report {str(cells[bad])[:40]!r}; those of the "
        f"encoding are sets of {inputs} inputs: an x and {size - 1} hexadecimal digits"
    )


def _report_column(reader: TableReader, made: AnyDesign) -> str:
    marked = [name for name in reader.columns if name.startswith(PREFIX)]
    if not marked:
        raise InvalidInputError(
            f"{reader.name} has no column of reports: ldpopt privatize did not write it"
        )
    if PREFIX + made.fingerprint[:SHORT] in marked:
        raise InvalidInputError(
            f"{reader.name} has the short fingerprint of an earlier version as the name of its column; "
            f"if this mechanism released it, rename the column to {PREFIX}{made.fingerprint}"
        )
    if PREFIX + made.fingerprint not in marked:
        raise InvalidInputError(
            f"{reader.name} was released by another mechanism ({marked[0].removeprefix(PREFIX)}, not "
            f"{made.fingerprint})"
        )
    return PREFIX + made.fingerprint


def paired(made: AnyDesign, table: Any, released: Any) -> Iterator[tuple[Whole, NDArray[Any]]]:
    """Pair the inputs of a table with the reports released for its rows, a batch at a time.

    Args:
        made: the design by which the table was released.
        table: the data.
        released: what was released of them, in the order of the rows.

    Raises:
        InvalidInputError: one of the two has more rows than the other, or the inputs are numbers, which
            were rounded at random before they were reported.
    """
    if made.domain.of_numbers:
        raise InvalidInputError(
            "a released table of numbers is not tested row by row: each was rounded at random first, "
            "and nobody knows how"
        )
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
