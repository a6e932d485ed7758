"""Tables of any length, read in batches: CSV and Parquet files, data frames, the embedded census.

>>> open_table("adult:sex-race").columns
['sex', 'race']
>>> open_table({"sex": ["f", "m"], "age": [1, 2]}).columns
['sex', 'age']
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ldpopt.core.errors import InvalidInputError, UnknownNameError, UnreadableFileError
from ldpopt.tables import datasets

Batch = Any
"""A pyarrow.RecordBatch; pyarrow has no types."""

BATCH_BYTES = 1 << 22
BATCH_ROWS = 1 << 17
EMBEDDED = "adult"
FORMATS = (".csv", ".csv.gz", ".parquet")


class TableReader(ABC):
    """A table whose rows can be read again and again, a batch at a time."""

    name: str
    columns: list[str]

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the chosen columns, a batch of rows at a time; a table without rows is an error."""
        for name in columns:
            if name not in self.columns:
                raise UnknownNameError(f"column of {self.name}", name, self.columns)
        rows = 0
        for batch in self._read(list(columns)):
            rows += batch.num_rows
            yield batch
        if rows == 0:
            raise InvalidInputError(f"{self.name} has no rows")

    def read(self) -> Any:
        """Read the whole table, as a pyarrow.Table."""
        return pa.Table.from_batches(self.batches(self.columns))

    @abstractmethod
    def _read(self, columns: list[str]) -> Iterator[Batch]: ...


def open_table(table: Any) -> TableReader:
    """Open a file, a pandas or polars frame, a dictionary of columns, or an embedded table.

    The embedded census tables are called "adult" (sex, income, race, workclass) and "adult:PAIR" for
    the pairs of :func:`ldpopt.tables.datasets.tables`, a row per person in a fixed random order.
    """
    if isinstance(table, (str, os.PathLike)):
        name = os.fspath(table)
        if name == EMBEDDED or name.startswith(f"{EMBEDDED}:"):
            return _Frame(_embedded(name), name)
        return _file(Path(name))
    try:
        if isinstance(table, pa.Table):
            return _Frame(table, "the table")
        if isinstance(table, Mapping):
            return _Frame(pa.table(dict(table)), "the table")
        if hasattr(table, "to_arrow"):  # polars
            return _Frame(table.to_arrow(), "the table")
        if hasattr(table, "iloc") and table.ndim == 2:  # pandas
            return _Frame(pa.Table.from_pandas(table, preserve_index=False), "the table")
    except (ValueError, TypeError, NotImplementedError) as error:  # of pandas, and those of pyarrow
        said = _sentence(error)
        what = (
            "a column of the table mixes types" if "ould not convert" in said else "this is not a table"
        )
        raise InvalidInputError(f"{what}: {said}") from None
    shown = " ".join(repr(table).split())
    raise InvalidInputError(f"a table is a file, a data frame or columns by name, not {shown:.60}")


def _file(path: Path) -> TableReader:
    if not path.exists():
        raise InvalidInputError(
            f"there is no file {path}; embedded tables: {', '.join(embedded_tables())}"
        )
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a regular file, and a table is read more than once")
    if not os.access(path, os.R_OK):
        raise UnreadableFileError(f"cannot read {path}: permission denied")
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return _Csv(path)
    if name.endswith(".parquet"):
        return _Parquet(path)
    raise InvalidInputError(f"a table must end in {', '.join(FORMATS)}, not {path.name!r}")


class _Frame(TableReader):
    def __init__(self, table: Any, name: str) -> None:
        self.table, self.name, self.columns = table, name, _distinct(table.column_names, name)

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        yield from self.table.select(columns).combine_chunks().to_batches(BATCH_ROWS)


class _Csv(TableReader):
    """Every cell is text: "01" stays "01". Spaces around the names of columns do not count."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    @cached_property
    def columns(self) -> list[str]:  # type: ignore[override]
        """The names of the first line."""
        names = [name.strip() for name in self._header]
        separator = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
        if separator is not None:
            raise InvalidInputError(
                f"{self.name} has {separator!r} between its columns: save it with commas"
            )
        return _distinct(names, self.name)

    @cached_property
    def _header(self) -> list[str]:
        try:
            return list(self._open(None).schema.names)
        except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from None

    def _open(self, columns: list[str] | None) -> Any:
        chosen = {name: pa.string() for name in columns or ()}
        packed = "gzip" if self.path.suffix.lower() == ".gz" else None
        # an empty line is nothing beside other columns, but the empty cell of a single one
        single = columns is not None and len(self._header) == 1
        return pa.csv.open_csv(
            pa.input_stream(str(self.path), compression=packed),
            read_options=pa.csv.ReadOptions(block_size=BATCH_BYTES),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=not single),
            convert_options=pa.csv.ConvertOptions(
                column_types=chosen, include_columns=columns, strings_can_be_null=False
            ),
        )

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        written = dict(zip(self.columns, self._header, strict=True))
        try:
            reader = self._open([written[name] for name in columns])
            for batch in reader:
                yield pa.record_batch(batch.columns, names=columns)
        except (pa.ArrowInvalid, OSError) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> UnreadableFileError:
        said, packed = _sentence(error), self.path.suffix.lower() == ".gz"
        if isinstance(error, UnicodeDecodeError) or (not packed and self._starts_like_no_text()):
            said = "it is compressed, in UTF-16, or no text at all; save it as CSV in UTF-8"
        elif "invalid UTF8" in said:
            said += "; save it as CSV in UTF-8"
        elif "straddling" in said:
            said = f"one of its lines is longer than {BATCH_BYTES >> 20} MB"
        elif "Empty CSV file" in said:
            said = "Empty CSV file: it needs a line with the names of columns, and rows"
        return _unreadable(self.name, ValueError(said))

    def _starts_like_no_text(self) -> bool:
        """Return whether the first bytes are those of UTF-16, gzip or zip (Excel's format)."""
        with self.path.open("rb") as file:
            return file.read(2) in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK")


class _Parquet(TableReader):
    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        try:
            self.columns = _distinct(pa.parquet.read_schema(path).names, self.name)
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(self.name, error) from None

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        try:
            with pa.parquet.ParquetFile(self.path) as file:
                yield from file.iter_batches(BATCH_ROWS, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.name, error) from None


def _unreadable(name: str, error: Exception) -> UnreadableFileError:
    return UnreadableFileError(f"cannot read {name}: {_sentence(error)}")


def _sentence(error: Exception) -> str:
    """Return the first line of a pyarrow error, without its lists of values."""
    text = "; ".join(map(str, error.args)).split("\n", maxsplit=1)[0].removeprefix("CSV parse error: ")
    return text if len(text) <= 160 else text[:160] + " …"


def _distinct(names: list[str], where: str) -> list[str]:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InvalidInputError(f"{where} has two columns called {twice!r}")
    return list(names)


# ------------------------------------------------------------ the embedded census


def embedded_tables() -> dict[str, str]:
    """Describe the embedded tables in a line each, by their names.

    >>> embedded_tables()["adult:sex-race"]
    'sex (2 values) and race (5 values) of 32,561 people'
    """
    features = datasets.adult_features()
    names = ", ".join(features.joint_names)
    found = {EMBEDDED: f"{names} of {int(features.joint.sum()):,} people of the Adult census"}
    for pair in datasets.tables():
        table = datasets.table(pair)
        secret = f"{table.secret} ({len(table.secret_values)} values)"
        public = f"{table.public} ({len(table.public_values)} values)"
        found[f"{EMBEDDED}:{pair}"] = f"{secret} and {public} of {table.n:,} people"
    return found


def _embedded(name: str) -> Any:
    if name == EMBEDDED:
        features = datasets.adult_features()
        names, counts = features.joint_names, features.joint
        values = [features.values[column] for column in names]
    else:
        pair = datasets.table(name.removeprefix(f"{EMBEDDED}:"))
        names, counts = (pair.secret, pair.public), pair.counts
        values = [pair.secret_values, pair.public_values]
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    people = np.random.default_rng(0).permutation(cells)
    codes = np.unravel_index(people, counts.shape)
    columns = [np.array(v, dtype=object)[c] for v, c in zip(values, codes, strict=True)]
    return pa.table(dict(zip(names, map(pa.array, columns), strict=True)))
