"""Read files within bounds, however small they were packed: Parquet files in batches of bounded size.

A file of some kilobytes may unpack to gigabytes: a long word that is written once for a million rows, or
a page of zeros. What a file states of its sizes may be false, so the system limits the memory as well,
where it can: on Linux, in a process without other Python threads.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.memory_limit import confined

CELL_BYTES = 1 << 26
"""The most bytes that the cells of one column take in a batch."""
WORD_BYTES = 1 << 22
"""The most bytes of one cell that is a word; a line of a text file has no more, either."""
WORDS_BYTES = 1 << 28
"""The memory that the different words of one column may take, where all of them are kept."""
GROUP_BYTES = 1 << 27
"""The most bytes of one column in a row group, words numbered: its pages are unpacked whole."""
MOST_COLUMNS = 10_000
"""The most columns of a file: pyarrow takes kilobytes for each, however short the file is."""
READING_BYTES = 1 << 29
"""The memory that the reading of one batch may take, whatever the file states."""


def check_columns(count: int, where: str) -> None:
    """Refuse a file of more than :data:`MOST_COLUMNS` columns."""
    if count > MOST_COLUMNS:
        raise InvalidInputError(
            f"{where} must have at most {MOST_COLUMNS:,} columns, not {count:,}: leave out those that "
            "are not needed"
        )


def names_in(text: str, sep: str) -> int:
    """Count the names in the first line of a text file, before pyarrow reads it."""
    try:
        return len(next(csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=sep), []))
    except csv.Error as error:  # a name that is longer than this module reads
        raise pa.ArrowInvalid(f"its first line: {error}") from None


def check_words(name: str, words: dict[Any, int], known: int, size: int) -> int:
    """Return the bytes of the different words of a column that are kept, at most :data:`WORDS_BYTES`.

    Args:
        name: the name of the column.
        words: the words so far, in the order in which they were found.
        known: how many of them were there before.
        size: the bytes of those.
    """
    size += sum(map(sys.getsizeof, islice(reversed(words), len(words) - known)))
    if size > WORDS_BYTES:
        raise InvalidInputError(
            f"the different values of the column {name!r} take more than {WORDS_BYTES >> 20} MB: "
            "leave it out"
        )
    return size


def bounded_batches(path: Path, columns: list[str], rows: int) -> Iterator[Any]:
    """Yield the rows of some columns, at most so many at a time, each a pyarrow.RecordBatch.

    Words stay numbered, as the file has them, until a batch is cut so that its cells fit into
    :data:`CELL_BYTES`.

    Args:
        path: the file.
        columns: their names.
        rows: the most rows of a batch.

    Raises:
        InvalidInputError: a cell is a list or longer than :data:`WORD_BYTES`, or a part of the file is
            too large to be unpacked.
    """
    schema = pa.parquet.read_schema(path)
    widths = [_width(name, schema.field(name).type) for name in columns]
    with pa.parquet.ParquetFile(path, read_dictionary=columns) as file:
        widths += _stated_widths(path, file.metadata, set(columns))
        most = min(rows, CELL_BYTES // max(widths, default=1))
        for group in range(file.num_row_groups):  # one by one: pyarrow keeps the words of those before
            batches = file.iter_batches(max(1, most), row_groups=[group], columns=columns)
            while (batch := _next(path, batches)) is not None:
                yield from _cut(path, batch)


def _next(path: Path, batches: Iterator[Any]) -> Any:
    """Read the next batch, if there is one, within :data:`READING_BYTES`."""
    try:
        with confined(READING_BYTES):
            return next(batches, None)
    except MemoryError:
        raise InvalidInputError(
            f"a row group of {path.name} takes more than {READING_BYTES >> 20} MB of memory to be "
            "unpacked: write the file with smaller row groups, or shorter words"
        ) from None


def _width(name: str, kind: Any) -> int:
    """Return how many bytes a cell takes that is not a numbered word; refuse cells that are lists."""
    if pa.types.is_nested(kind):
        raise InvalidInputError(
            f"the column {name!r} holds cells of the type {kind!s:.60}, which are neither words nor "
            "numbers: convert it, or leave it out"
        )
    return kind.byte_width if pa.types.is_fixed_size_binary(kind) else 8


def _stated_widths(path: Path, metadata: Any, columns: set[str]) -> Iterator[int]:
    """Yield how many bytes a cell takes on average, as the row groups state it; refuse large ones."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for part in map(group.column, range(group.num_columns)):
            if part.path_in_schema not in columns:
                continue
            if part.total_uncompressed_size > GROUP_BYTES:
                raise InvalidInputError(
                    f"a row group of {path.name} has over {GROUP_BYTES >> 20} MB of the column "
                    f"{part.path_in_schema!r}, more than is unpacked at once: write the "
                    "file with smaller row groups"
                )
            yield part.total_uncompressed_size // max(1, group.num_rows)


def _cut(path: Path, batch: Any) -> Iterator[Any]:
    """Cut a batch into batches whose words, no longer numbered, fit into :data:`CELL_BYTES`."""
    longest = [_longest(column) for column in batch.columns]
    for name, length in zip(batch.schema.names, longest, strict=True):
        if length > WORD_BYTES:
            raise InvalidInputError(
                f"a cell of the column {name!r} of {path.name} has {length:,} bytes, and at most "
                f"{WORD_BYTES:,} are read: shorten it, or leave the column out"
            )
    rows = max(1, CELL_BYTES // max(longest, default=1))
    for first in range(0, batch.num_rows, rows):
        part = batch.slice(first, rows)
        cells = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in part.columns]
        yield pa.record_batch(cells, names=batch.schema.names)


def _longest(column: Any) -> int:
    """Return the bytes of the longest word of a column, at least 1."""
    words = column.dictionary if pa.types.is_dictionary(column.type) else column
    return (_is_text(words.type) and pc.max(pc.binary_length(words)).as_py()) or 1


def _is_text(kind: Any) -> bool:
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    return large or pa.types.is_string(kind) or pa.types.is_binary(kind)
