"""Tables of any length, read in batches: files, directories of them, frames, the embedded census.

The parts of a directory or of a Dask frame can be worked on at once, on one machine or on many.

>>> open_table("adult:sex-race").columns
['sex', 'race']
>>> open_table({"sex": ["f", "m"], "age": [1, 2]}).columns
['sex', 'age']
"""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import joblib
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ldpopt.core.errors import InvalidInputError, UnknownNameError, UnreadableFileError, from_ctrl_c
from ldpopt.core.exact import unshown
from ldpopt.core.workers import Parallel
from ldpopt.tables import datasets
from ldpopt.tables.census import EMBEDDED, embedded_tables
from ldpopt.tables.unpacking import bounded_batches, check_columns, names_in

Batch = Any
"""A pyarrow.RecordBatch; pyarrow has no types."""
Found = TypeVar("Found")

BATCH_BYTES = 1 << 22
BATCH_ROWS = 1 << 17
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""The separator of a text file by its ending, unless another is given; .gz may follow the ending."""
STANDARD_INPUT = "-"


class TableReader(ABC):
    """A table whose rows can be read again and again, a batch at a time."""

    name: str
    columns: list[str]

    def batches(self, columns: Sequence[str], *, part: bool = False) -> Iterator[Batch]:
        """Yield the chosen columns, a batch of rows at a time.

        Args:
            columns: their names.
            part: whether the table is a part of another one; only a part may have no rows.
        """
        for name in columns:
            if name not in self.columns:
                raise UnknownNameError(f"column of {self.name}", name, self.columns)
            if bad := unshown(name):
                raise InvalidInputError(
                    f"the name of column {self.columns.index(name) + 1} of {self.name} holds the "
                    f"character {bad}: a name must have no control characters, ends of lines, marks "
                    "that change the direction of text or characters that show nothing; rename it"
                )
        rows = 0
        for batch in self._read(list(columns)):
            rows += batch.num_rows
            yield batch
        if rows == 0 and not part:
            raise InvalidInputError(f"{self.name} has no rows")

    def read(self) -> Any:
        """Read the whole table, as a pyarrow.Table."""
        return pa.Table.from_batches(self.batches(self.columns))

    def map_parts(self, work: Callable[..., Found], parallel: Parallel) -> Iterator[Found]:
        """Do a piece of work on every part of the table: a file of a directory, or all of it.

        Args:
            work: called with the number of the part, from 0, and the part, itself a table; perhaps on
                another machine.
            parallel: what runs the pieces, and returns what they found in the order of the parts.
        """
        yield from parallel([joblib.delayed(work)(0, self)])

    @abstractmethod
    def _read(self, columns: list[str]) -> Iterator[Batch]: ...


def open_table(table: Any, *, sep: str | None = None, encoding: str = "utf-8") -> TableReader:
    """Open a file or a directory of them, a frame (of Dask, too), columns by name, or an embedded table.

    The embedded census tables are called "adult" (sex, income, race, workclass) and "adult:PAIR" for
    the pairs of :func:`ldpopt.tables.datasets.tables`, a row per person in a fixed random order. "-" is
    standard input, kept in memory, as a table is read more than once.

    Args:
        table: what to open; a table that is open stays as it is.
        sep: the character between the columns of a text file; if not given, the file's ending decides.
        encoding: the encoding of a text file.
    """
    if isinstance(table, TableReader):
        return table
    if isinstance(table, (str, os.PathLike)):
        return _named(os.fspath(table), sep, encoding)
    if hasattr(table, "to_delayed") and hasattr(table, "columns"):
        return _DaskFrame(table)
    try:
        if (frame := _frame(table)) is not None:
            return _Frame(frame, "the table")
    except (ValueError, TypeError, NotImplementedError) as error:  # raised by pandas or pyarrow
        said = _sentence(error)
        what = (
            "a column of the table mixes types" if "ould not convert" in said else "this is not a table"
        )
        raise InvalidInputError(f"{what}: {said}") from None
    shown = " ".join(repr(table).split())
    raise InvalidInputError(f"a table is a file, a data frame or columns by name, not {shown:.60}")


def _frame(table: Any) -> Any:
    """Return a frame or columns by name as a pyarrow.Table; None for anything else."""
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, Mapping):
        return pa.table(dict(table))
    if hasattr(table, "to_arrow"):  # polars
        return table.to_arrow()
    if hasattr(table, "iloc") and table.ndim == 2:  # pandas
        return pa.Table.from_pandas(table, preserve_index=False)
    return None


def _named(name: str, sep: str | None, encoding: str) -> TableReader:
    """Open standard input, an embedded table, or a file."""
    # import pandas, if it is there, before pyarrow does: with it, Ctrl-C meanwhile is not lost
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        if from_ctrl_c(error):
            raise KeyboardInterrupt from error
    if name == STANDARD_INPUT:
        return _Csv(sys.stdin.buffer.read(), "standard input", sep or ",", encoding)
    if name == EMBEDDED or name.startswith(f"{EMBEDDED}:"):
        return _Frame(pa.table(datasets.people(name)), name)
    return _file(Path(name), sep, encoding)


def check_name(path: Path) -> None:
    """Refuse a name of a table that pyarrow cannot open: one that is not UTF-8."""
    try:
        os.fspath(path.absolute()).encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"the name of a table must be UTF-8, not {path}: rename it") from None


def _file(path: Path, sep: str | None, encoding: str) -> TableReader:
    check_name(path)
    if not path.exists():
        raise InvalidInputError(
            f"there is no file {path}; embedded tables: {', '.join(embedded_tables())}"
        )
    if path.is_dir():
        return _Directory(path, sep, encoding)
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a regular file, and a table is read more than once")
    if not os.access(path, os.R_OK):
        raise UnreadableFileError(f"cannot read {path}: permission denied")
    name = path.name.lower().removesuffix(".gz")
    if (kind := Path(name).suffix) in SEPARATORS:
        return _Csv(path.absolute(), str(path), sep or SEPARATORS[kind], encoding)
    if path.name.lower().endswith(".parquet"):
        return _Parquet(path)
    raise InvalidInputError(
        f"a table must end in {', '.join(SEPARATORS)}, one of these followed by .gz, or .parquet, "
        f"not {path.name!r}"
    )


class _Frame(TableReader):
    def __init__(self, table: Any, name: str) -> None:
        self.table, self.name, self.columns = table, name, _distinct(table.column_names, name)

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        yield from self.table.select(columns).combine_chunks().to_batches(BATCH_ROWS)


class _DaskFrame(TableReader):
    """A Dask frame, whose partitions are its parts; each is computed when it is read."""

    def __init__(self, frame: Any) -> None:
        self.frame, self.name = frame, "the Dask frame"
        self.columns = _distinct(list(frame.columns), self.name)

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        for partition in self.frame[columns].to_delayed():
            yield from open_table(partition.compute())._read(columns)

    def map_parts(self, work: Callable[..., Found], parallel: Parallel) -> Iterator[Found]:
        """Do the work where Dask computes the partitions: on the scheduler that is connected."""
        from dask.base import compute
        from dask.delayed import delayed

        opened = map(delayed(open_table), self.frame.to_delayed())
        yield from compute(*(delayed(work)(i, part) for i, part in enumerate(opened)))


class _Csv(TableReader):
    """Every cell is text: "01" stays "01". Spaces around the names of columns do not count."""

    def __init__(self, source: Path | bytes, name: str, sep: str, encoding: str) -> None:
        self.source, self.name, self.sep, self.encoding = source, name, sep, encoding
        if len(sep) != 1 or sep in '"\r\n' or not sep.isascii():
            raise InvalidInputError(f"the separator must be one ASCII character, not {sep!r}")
        try:
            "".encode(encoding)
        except (LookupError, UnicodeError):
            raise InvalidInputError(
                f"the encoding must be one that Python knows, such as utf-8, latin-1 or utf-16, "
                f"not {encoding!r}"
            ) from None

    @cached_property
    def columns(self) -> list[str]:  # type: ignore[override]
        """The names of the first line."""
        names = [name.strip() for name in self._header]
        separator = next((mark for mark in ",;\t|" if len(names) == 1 and mark in names[0]), None)
        if separator is not None:
            raise InvalidInputError(
                f"{self.name} has {separator!r} between its columns, not {self.sep!r}: say so with --sep"
            )
        return _distinct(names, self.name)

    @cached_property
    def _header(self) -> list[str]:
        try:
            with self._stream() as stream:
                first = stream.read(BATCH_BYTES).decode(self.encoding, "replace")
            check_columns(names_in(first, self.sep), self.name)
            return list(self._open(None).schema.names)
        except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from None

    @property
    def _packed(self) -> bool:
        return isinstance(self.source, Path) and self.source.suffix.lower() == ".gz"

    def _stream(self) -> Any:
        if isinstance(self.source, bytes):
            return pa.BufferReader(self.source)
        return pa.input_stream(str(self.source), compression="gzip" if self._packed else None)

    def _open(self, columns: list[str] | None) -> Any:
        chosen = {name: pa.string() for name in columns or ()}
        # an empty line is skipped if there are several columns; with a single one it is an empty cell
        single = columns is not None and len(self._header) == 1
        return pa.csv.open_csv(
            self._stream(),
            read_options=pa.csv.ReadOptions(block_size=BATCH_BYTES, encoding=self.encoding),
            parse_options=pa.csv.ParseOptions(
                delimiter=self.sep, newlines_in_values=True, ignore_empty_lines=not single
            ),
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
        except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> UnreadableFileError:
        said = _sentence(error)
        if not self._packed and self._starts_like_no_text():
            said = "it is compressed, in UTF-16, or not text at all; "
            said += "if it is in UTF-16, say --encoding utf-16, else save it as CSV in UTF-8"
        elif isinstance(error, UnicodeDecodeError) or "invalid UTF8" in said:
            said = (
                f"it is not in {self.encoding}; say which encoding it has (--encoding latin-1), or save "
            )
            said += "it as CSV in UTF-8"
        elif "straddling" in said:
            said = f"one of its lines is longer than {BATCH_BYTES >> 20} MB"
        elif "Empty CSV file" in said:
            said = "Empty CSV file: it needs a line with the names of columns, and rows"
        return _unreadable(self.name, ValueError(said))

    def _starts_like_no_text(self) -> bool:
        """Return whether the first bytes are those of UTF-16, gzip or zip (Excel's format)."""
        if isinstance(self.source, bytes):
            first = self.source[:2]
        else:
            with self.source.open("rb") as file:
                first = file.read(2)
        return first in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK")


class _Parquet(TableReader):
    def __init__(self, path: Path) -> None:
        self.path, self.name = path.absolute(), str(path)
        try:
            names = pa.parquet.read_schema(path).names
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(self.name, error) from None
        check_columns(len(names), self.name)
        self.columns = _distinct(names, self.name)

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        try:
            yield from bounded_batches(self.path, columns, BATCH_ROWS)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.name, error) from None


class _Directory(TableReader):
    """The rows of all files in a directory, in the order of their names; hidden files do not count."""

    def __init__(self, path: Path, sep: str | None, encoding: str) -> None:
        self.name = str(path)
        files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
        if not files:
            raise InvalidInputError(f"the directory {path} has no files: a table needs one or more")
        nested = next((file for file in files if file.is_dir()), None)
        if nested is not None:
            raise InvalidInputError(f"the directory {path} must hold files alone, not {nested.name!r}")
        self._files = [_file(file, sep, encoding) for file in files]
        self.columns = self._files[0].columns
        for file in self._files[1:]:
            if set(file.columns) != set(self.columns):
                raise InvalidInputError(
                    f"the files of a directory must have the same columns: {self._files[0].name} has "
                    f"{', '.join(self.columns)}, and {file.name} has {', '.join(file.columns)}"
                )

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        for file in self._files:
            yield from file._read(columns)

    def map_parts(self, work: Callable[..., Found], parallel: Parallel) -> Iterator[Found]:
        """Do the work on every file."""
        yield from parallel(joblib.delayed(_on_file)(work, *part) for part in enumerate(self._files))


def _on_file(work: Callable[..., Found], number: int, file: TableReader) -> Found:
    """Do a piece of work on a file of a directory; an error names the file."""
    try:
        return work(number, file)
    except InvalidInputError as error:
        said = str(error)
        raise InvalidInputError(said if file.name in said else f"{file.name}: {said}") from None


UNEVEN = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
"""The beginning of pyarrow's message about a row with too many or too few cells; the number of the row
may be missing. The rest of the message is the row itself, which must not be shown."""


def _unreadable(name: str, error: Exception) -> UnreadableFileError:
    return UnreadableFileError(f"cannot read {name}: {_sentence(error)}")


def _sentence(error: Exception) -> str:
    """Return the first line of a pyarrow error, without its lists of values and without the row."""
    text = "; ".join(map(str, error.args)).split("\n", maxsplit=1)[0].removeprefix("CSV parse error: ")
    if uneven := UNEVEN.match(text):
        row, expected, got = uneven.groups()
        if "1" in (expected, got):
            return f"{uneven[0]}; name the separator of the columns with --sep (for instance --sep ';')"
        where = "a row" if row is None else f"row {row}, the line with the names counted as the first,"
        return (
            f"{where} has {got} cells, not {expected}: a cell with the separator in it belongs in "
            "double quotes"
        )
    return text if len(text) <= 160 else text[:160] + " …"


def _distinct(names: list[str], where: str) -> list[str]:
    name, times = Counter(names).most_common(1)[0] if names else ("", 1)
    if times > 1:
        raise InvalidInputError(f"{where} has two columns called {name!r}")
    return list(names)
