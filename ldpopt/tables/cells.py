"""What the cells of a table say: words, numbers, dates and times, or nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import ABSENT, look, unshown
from ldpopt.core.workers import Parallel
from ldpopt.tables.batches import Batch, Found, TableReader

MOMENT = "1970-01-01"


def numbered(batches: Iterable[Batch]) -> Iterator[tuple[int, Batch]]:
    """Pair every batch with the number of its first row, counted from 1 (a header does not count)."""
    first = 1
    for batch in batches:
        yield first, batch
        first += batch.num_rows


class CompleteRows(TableReader):
    """A table without the rows in which a cell of some columns is empty.

    Args:
        table: the table.
        needed: the columns in which no cell may be empty.
        text: the columns whose cells are words, "NA" too.

    Attributes:
        dropped: how many rows the last reading left out.
        rows: how many rows it found, the dropped ones included.
    """

    def __init__(self, table: TableReader, needed: Sequence[str], text: Iterable[str] = ()) -> None:
        self.name, self.columns, self.dropped, self.rows = table.name, table.columns, 0, 0
        self._table, self._needed, self._text = table, needed, set(text)

    @property
    def in_words(self) -> str:
        """How many rows were left out."""
        return f"{self.dropped:,} of {self.rows:,} rows of {self.name} were left out: a cell is empty"

    def map_parts(self, work: Callable[..., Found], parallel: Parallel) -> Iterator[Found]:
        """Do the work on the complete rows of every part."""
        self.dropped = self.rows = 0
        task = partial(_on_complete_rows, work, self._needed, self._text)
        for dropped, rows, found in self._table.map_parts(task, parallel):
            self.dropped += dropped
            self.rows += rows
            yield found

    def _read(self, columns: list[str]) -> Iterator[Batch]:
        self.dropped = self.rows = 0
        for batch in self._table.batches(list(dict.fromkeys([*columns, *self._needed])), part=True):
            empty = pa.array(np.zeros(batch.num_rows, dtype=bool))
            for name in self._needed:
                words = trimmed(name, batch.column(name))
                empty = pc.or_(empty, absent(words, name in self._text))
            kept = batch.filter(pc.invert(empty)).select(columns)
            self.rows += batch.num_rows
            self.dropped += batch.num_rows - kept.num_rows
            yield kept


def _on_complete_rows(
    work: Callable[..., Found],
    needed: Sequence[str],
    text: Iterable[str],
    number: int,
    part: TableReader,
) -> tuple[int, int, Found]:
    complete = CompleteRows(part, needed, text)
    found = work(number, complete)
    return complete.dropped, complete.rows, found


def trimmed(name: str, cells: Any) -> Any:
    """Strip the spaces around the text of the cells; null stays null."""
    try:
        return pc.utf8_trim_whitespace(cells.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInputError(
            f"the column {name!r} holds cells of the type {cells.type!s:.60}, which are neither words "
            "nor numbers: convert it, or leave it out"
        ) from None


def absent(words: Any, text: bool) -> Any:
    """Mark the cells that say nothing: null, empty, or such as "NA" unless every cell is a word."""
    found = pc.or_kleene(pc.is_null(words), pc.fill_null(pc.equal(words, ""), True))
    return found if text else pc.or_(found, pc.is_in(words, value_set=pa.array(ABSENT)))


def text_cells(name: str, cells: Any, first_row: int, text: bool) -> Any:
    """Strip the spaces around the text of the cells; an empty cell is an error that names it.

    Args:
        name: the name of the column, for messages.
        cells: a pyarrow array.
        first_row: the number of its first row, for messages.
        text: whether "NA" and the like are words; otherwise they count as empty.

    Raises:
        InvalidInputError: a cell is empty, or the cells are neither words nor numbers.
    """
    words = trimmed(name, cells)
    bad = int(pc.index(absent(words, text), True).as_py())
    if bad >= 0:
        said = f" ({words[bad]})" if words[bad].as_py() else ""
        raise InvalidInputError(
            f"row {first_row + bad} of column {name!r} is empty{said}: fill it, or leave such rows out "
            "(--missing drop); ldpopt design can also count empty cells as a value (--missing category)"
        )
    return words


def check_labels(name: str, words: Any, first_row: int) -> None:
    """Check that cells can be labels; an error names the row, and does not show the cell.

    Args:
        name: the name of the column.
        words: the text of its cells, a pyarrow array.
        first_row: the number of its first row.
    """
    for word in words.unique().to_pylist():
        if unshown(word):
            row = first_row + int(pc.index(words, word).as_py())
            check_label(f"row {row} of column {name!r}", word)


def check_label(where: str, word: str) -> None:
    """Refuse a word that does not show what it says, as no file may hold it; it is not shown."""
    if bad := unshown(word):
        raise InvalidInputError(
            f"{where} holds the character {bad}: values and names must have no control characters, ends "
            "of lines, marks that change the direction of text or characters that show nothing; clean "
            "the table"
        )


def check_looks(what: str, names: Iterable[str]) -> None:
    """Refuse names that a reader could not tell apart.

    Args:
        what: what they are, for messages.
        names: the names, each different from the others.
    """
    seen: dict[str, str] = {"": ""}
    for name in names:
        same = seen.setdefault(look(name), name)
        if same != name:
            shown = f"{same!a} and {name!a} look the same" if same else f"{name!a} shows nothing"
            raise InvalidInputError(f"{what} must look different, and {shown}; clean the table")


def numbers(name: str, cells: Any, first_row: int) -> NDArray[np.float64]:
    """Read the cells as finite numbers; the error names a cell that does not hold one.

    Args:
        name: the name of the column, for messages.
        cells: a pyarrow array.
        first_row: the number of its first row, for messages.
    """
    words = text_cells(name, cells, first_row, text=False)
    try:
        result: NDArray[np.float64] = words.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        plain = words.to_pylist()
        bad = next((i for i, word in enumerate(plain) if not is_number(word)), None)
        if bad is not None:
            raise InvalidInputError(
                f"row {first_row + bad} of column {name!r} holds {quoted(plain[bad])}, which is not a "
                f"number{writing_hint(plain[bad])}"
            ) from None
        result = np.array([float(word) for word in plain])  # "+5", which pyarrow does not read
    if not np.isfinite(result).all():
        bad = int(np.argmin(np.isfinite(result)))
        raise InvalidInputError(
            f"row {first_row + bad} of column {name!r} must be a finite number, not {result[bad]}"
        )
    return result


def moments(name: str, cells: Any, first_row: int) -> NDArray[np.float64]:
    """Read the cells as times, in whole seconds since 1970; an error names a cell that holds no time.

    Args:
        name: the name of the column.
        cells: dates, timestamps, or text such as "2024-01-31" or "2024-01-31 12:30".
        first_row: the number of the first cell's row.
    """
    seconds = pa.timestamp("s")
    if pa.types.is_timestamp(cells.type) or pa.types.is_date(cells.type):
        text_cells(name, cells, first_row, text=False)  # no cell is empty
        found = cells.cast(seconds, safe=False)
    else:
        words = text_cells(name, cells, first_row, text=False)
        try:
            found = words.cast(seconds)
        except pa.ArrowInvalid:
            bad = next(i for i, word in enumerate(words) if not is_moment(word.as_py()))
            raise InvalidInputError(
                f"row {first_row + bad} of column {name!r} holds {quoted(words[bad].as_py())}, which is "
                "not a date such as 2024-01-31 or a time such as 2024-01-31 12:30; others are read with "
                "--dates dd/mm/yyyy or mm/dd/yyyy"
            ) from None
    return found.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)


def is_moment(word: str) -> bool:
    """Return whether a cell reads as a date or time."""
    try:
        pa.array([word]).cast(pa.timestamp("s"))
    except pa.ArrowInvalid:
        return False
    return True


def is_number(word: str) -> bool:
    """Return whether a cell reads as a finite number."""
    try:
        return math.isfinite(float(word)) and "_" not in word
    except ValueError:
        return False


def writing_hint(word: str) -> str:
    """Say how a number or a date is to be written, for a cell such as "20399,20" or "31.01.2024".

    >>> writing_hint("31.01.2024")
    '; write dates as 2024-01-31, or say how they are written (--dates dd/mm/yyyy or mm/dd/yyyy)'
    >>> writing_hint("180 cm")
    '; leave out what is beside the number, 180'
    """
    if "," in word and is_number(word.replace(".", "").replace(",", "")):
        return "; write numbers as 20399.20, or say that their decimal mark is a comma (--decimal ,)"
    if re.match(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}\b", word) and not is_moment(word):
        known = "--dates dd/mm/yyyy or mm/dd/yyyy"
        return f"; write dates as 2024-01-31, or say how they are written ({known})"
    if found := re.fullmatch(r"[€$£]?\s*([+-]?\d+(\.\d+)?)\s*[^\d\s.,:/-]{0,9}", word):
        return f"; leave out what is beside the number, {found[1]}" if found[1] != word else ""
    return ""


def quoted(word: str) -> str:
    """Quote a cell as a message shows it: its beginning if it is long."""
    return repr(word) if len(word) <= 60 else f"{word[:60]!r} …"
