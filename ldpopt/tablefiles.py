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

from ldpopt import datasets
from ldpopt.errors import InvalidInputError, UnknownNameError, UnreadableFileError

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
        """The chosen columns, a batch of rows at a time; no rows at all is an error."""
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
        """The whole table, as a pyarrow.Table."""
        return pa.Table.from_batches(self.batches(self.columns))

    @abstractmethod
    def _read(self, columns: list[str]) -> Iterator[Batch]: ...


def open_table(table: Any) -> TableReader:
    """A reader of a file, a pandas or polars frame, a dictionary of columns, or an embedded table.

    The embedded census tables are called "adult" (sex, income, race, workclass) and "adult:PAIR" for
    the pairs of :func:`ldpopt.datasets.tables`, a row per person in a fixed random order.
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
        if hasattr(table, "columns"):  # pandas
            return _Frame(pa.Table.from_pandas(table, preserve_index=False), "the table")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInputError(f"a column of the table mixes types: {_sentence(error)}") from None
    raise InvalidInputError(f"a table is a file, a data frame or columns by name, not {table!r:.60}")


def _file(path: Path) -> TableReader:
    if not path.is_file():
        raise InvalidInputError(
            f"there is no file {path}; embedded tables: {', '.join(_embedded_names())}"
        )
    if path.name.endswith((".csv", ".csv.gz")):
        return _Csv(path)
    if path.suffix == ".parquet":
        return _Parquet(path)
    raise InvalidInputError(f"{path} must end in {', '.join(FORMATS)}")


class _Frame(TableReader):
    def __init__(self, table: Any, name: str) -> None:
        self.table, self.name, self.columns = table, name, _distinct(table.column_names, name)

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        yield from self.table.select(columns).combine_chunks().to_batches(BATCH_ROWS)


class _Csv(TableReader):
    """Every cell is text: "01" stays "01"."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    @cached_property
    def columns(self) -> list[str]:  # type: ignore[override]
        """The names of the first line."""
        return _distinct(self._open(None).schema.names, self.name)

    def _open(self, columns: list[str] | None) -> Any:
        chosen = {name: pa.string() for name in columns or ()}
        try:
            return pa.csv.open_csv(
                self.path,
                read_options=pa.csv.ReadOptions(block_size=BATCH_BYTES),
                parse_options=pa.csv.ParseOptions(newlines_in_values=True),
                convert_options=pa.csv.ConvertOptions(
                    column_types=chosen, include_columns=columns, strings_can_be_null=False
                ),
            )
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(self.name, error) from None

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        reader = self._open(columns)
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except (pa.ArrowInvalid, OSError) as error:
                raise _unreadable(self.name, error) from None
            yield batch


class _Parquet(TableReader):
    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        try:
            self.columns = _distinct(pa.parquet.read_schema(path).names, self.name)
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(self.name, error) from None

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        with pa.parquet.ParquetFile(self.path) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=columns)


def _unreadable(name: str, error: Exception) -> UnreadableFileError:
    return UnreadableFileError(f"cannot read {name}: {_sentence(error)}")


def _sentence(error: Exception) -> str:
    """The first line of an error of pyarrow's, without its lists of values."""
    text = "; ".join(map(str, error.args)).split("\n", maxsplit=1)[0].removeprefix("CSV parse error: ")
    return text if len(text) <= 160 else text[:160] + " …"


def _distinct(names: list[str], where: str) -> list[str]:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InvalidInputError(f"{where} has two columns called {twice!r}")
    return list(names)


# ------------------------------------------------------------ the embedded census


def _embedded_names() -> list[str]:
    return [EMBEDDED, *(f"{EMBEDDED}:{pair}" for pair in datasets.tables())]


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
