"""What the data can say: the secret and the public columns of a table, their values and bins.

A row of the table is an input (s, u) of the mechanism: s the combination of its secret columns, u that
of its public ones, among those that the design has seen.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.core.exact import DOMAIN, OTHER, UnreadableError, range_points
from ldpopt.core.validate import Whole
from ldpopt.tables.batches import Batch, TableReader
from ldpopt.tables.cells import MOMENT, absent, moments, numbered, numbers, quoted, text_cells, trimmed

Codes = Whole
Rounding = Callable[[int], NDArray[np.uint64]]
"""Draws so many random words of 64 bits, one for each number that is rounded."""
BITS, EVEN = 52, 0x9E3779B97F4A7
"""Bits of a word that decide a rounding; 2^52 over the golden ratio, whose multiples spread evenly."""
WORD = re.compile(r"[\w%/()+-]+")
"""A name that stands in a sentence without quotes."""


def in_quotes(text: str) -> str:
    r"""Write text in double quotes, those in it escaped.

    >>> print(in_quotes('a "b"'))
    "a \"b\""
    """
    return json.dumps(text, ensure_ascii=False)


def _part(value: str) -> str:
    return in_quotes(value) if "," in value or '"' in value else value


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes:
        name: its name.
        values: what its cells can say, as text; or the names of the bins.
        edges: where one bin ends and the next begins; without them the column is not binned.
        text: whether every cell is a word, "NA" and "12" too.
        time: whether the cells are dates or times; the edges are then whole seconds since 1970.
        other: whether all other words are the value "(other)".
        missing: whether empty cells are the last value, "(missing)".
        prefix: how many of a word's first characters count; 0 for all of them.
        groups: pairs of a word and the group that it counts as; empty if every word counts by itself.
        range: the least and the greatest number of a column of which the mean is wanted. Its values are
            equally spaced points: a number is rounded at random to one of the two next to it, so that
            it is kept on average; one outside the range counts as the nearer end.
    """

    name: str
    values: tuple[str, ...]
    edges: tuple[float, ...] = ()
    text: bool = False
    time: bool = False
    other: bool = False
    missing: bool = False
    prefix: int = 0
    groups: tuple[tuple[str, str], ...] = ()
    range: tuple[float, float] | None = None

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """The points to which numbers of the range are rounded."""
        assert self.range is not None
        return np.array(range_points(self.range, len(self.values)))

    @cached_property
    def group_of(self) -> dict[str, str]:
        """The group of every word of :attr:`groups`."""
        return dict(self.groups)

    @property
    def labelled(self) -> list[tuple[str, str]]:
        """The words of :attr:`groups`, each with the value that it counts as."""
        known = set(self.values)
        return [(word, group if group in known else OTHER) for word, group in self.groups]

    @property
    def missing_code(self) -> int | None:
        """The number of the value "(missing)", if there is one."""
        return len(self.values) - 1 if self.missing else None

    @property
    def other_code(self) -> int | None:
        """The number of the value "(other)", if there is one."""
        return len(self.values) - 1 - self.missing if self.other else None

    def codes(self, cells: Any, first_row: int, rounding: Rounding | None = None) -> Codes:
        """Return the number of every cell's value; the error names an unknown value and its row.

        Args:
            cells: a pyarrow array.
            first_row: the number of its first row.
            rounding: what numbers of a range are rounded by. If not given, multiples of the golden ratio
                decide, the same for each row every time: to count a table, not to release it.
        """
        if self.range is not None:
            return self._rounded(numbers(self.name, cells, first_row), first_row, rounding)
        if self.missing_code is None:
            return self._codes(cells, first_row)
        words = trimmed(self.name, cells)
        empty = absent(words, self.text)
        word = self.groups[0][0] if self.groups else self.values[0]
        anything = MOMENT if self.time else repr(self.edges[0]) if self.edges else word
        found = self._codes(pc.if_else(empty, anything, words), first_row)
        found[empty.to_numpy(zero_copy_only=False)] = self.missing_code
        return found

    def place(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return which point each number is, as a fraction where it lies between two."""
        assert self.range is not None
        low, high = self.range
        share: NDArray[np.float64] = (np.clip(found, low, high) - low) / (high - low)
        return share * (len(self.values) - 1)

    def _rounded(self, found: NDArray[np.float64], first_row: int, rounding: Rounding | None) -> Codes:
        """Round numbers to points; the chance of the upper one is how far a number lies above the lower.

        A number of 52 bits is compared with it, so that the numbers of a range are kept on average up to
        the rounding of floats.
        """
        place = self.place(found)
        below = np.minimum(np.floor(place), len(self.values) - 2)
        if rounding is None:
            bits = (np.uint64(first_row) + np.arange(len(found), dtype=np.uint64)) * np.uint64(EVEN)
            bits = bits % np.uint64(1 << BITS)
        else:
            bits = rounding(len(found)) >> np.uint64(64 - BITS)
        return (below + (bits < (place - below) * 2.0**BITS)).astype(np.int64)

    def _codes(self, cells: Any, first_row: int) -> Codes:
        if self.edges:
            read = moments if self.time else numbers
            return np.searchsorted(self.edges, read(self.name, cells, first_row), side="right")
        words = text_cells(self.name, cells, first_row, self.text)
        coarse = self.coarse(words)
        found = pc.index_in(coarse, value_set=pa.array(self.values), skip_nulls=True)
        if self.other:
            found = pc.if_else(pc.is_valid(coarse), pc.fill_null(found, self.other_code), found)
        if found.null_count:
            bad, more = int(pc.index(pc.is_null(found), True).as_py()), len(self.values) - 6
            known = ", ".join(map(quoted, self.values[:6])) + (f" and {more} more" if more > 0 else "")
            raise InvalidInputError(
                f"row {first_row + bad} of column {self.name!r} holds {quoted(words[bad].as_py())}, "
                f"which the mechanism does not know; it knows {known}"
            )
        return found.to_numpy(zero_copy_only=False).astype(np.int64)

    def coarse(self, words: Any) -> Any:
        """Return the words at the level that counts; null where a word has no group."""
        if self.prefix:
            return pc.utf8_slice_codeunits(words, 0, self.prefix)
        if not self.groups:
            return words
        known, groups = (pa.array(column, pa.string()) for column in zip(*self.groups, strict=True))
        return groups.take(pc.index_in(words, value_set=known))


@dataclass(frozen=True)
class Attribute:
    """One or more columns that are taken together, with the combinations that the mechanism knows."""

    columns: tuple[Column, ...]
    members: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.members)

    @property
    def name(self) -> str:
        """The names of the columns, for sentences: a name that is not one word stands in quotes.

        Otherwise a column could be named like half a promise, and end the sentence that it stands in.
        """
        names = (column.name for column in self.columns)
        return " × ".join(name if WORD.fullmatch(name) else in_quotes(name) for name in names)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values in words, in the order of the mechanism's inputs.

        Of several columns, a value with a comma stands in quotes, so that different inputs differ.
        """
        if len(self.columns) == 1:
            return tuple(self.columns[0].values[i] for (i,) in self.members)
        named = (zip(self.columns, member, strict=True) for member in self.members)
        return tuple(", ".join(_part(column.values[i]) for column, i in pairs) for pairs in named)

    @cached_property
    def _steps(self) -> list[tuple[Codes, Codes]]:
        """For each column the combinations of the columns up to it: their keys in order, their numbers.

        The key of a combination is made of the number of what comes before it and of its last code. So
        the memory is that of the members, not of all combinations of values.
        """
        found, before = [], np.zeros(len(self.members), dtype=np.int64)
        for i, column in enumerate(self.columns):
            codes = np.array([member[i] for member in self.members], dtype=np.int64)
            keys, before = np.unique(before * len(column.values) + codes, return_inverse=True)
            found.append((keys, np.arange(len(keys))))
        keys = found[-1][0]
        last = np.zeros(len(keys), dtype=np.int64)
        last[before] = np.arange(len(self.members))
        return [*found[:-1], (keys, last)]

    def _numbers(self, parts: Sequence[Codes]) -> Codes:
        """Return the member at each combination of codes; −1 where there is none."""
        number = np.zeros(len(parts[0]), dtype=np.int64)
        unknown = np.zeros(len(parts[0]), dtype=bool)
        for column, codes, (keys, known) in zip(self.columns, parts, self._steps, strict=True):
            wanted = number * len(column.values) + codes
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            unknown |= keys[places] != wanted
            number = known[places]
        return np.where(unknown, -1, number)

    def codes(self, batch: Batch, first_row: int, rounding: Rounding | None = None) -> Codes:
        """Return the number of the combination that every row holds.

        Args:
            batch: some rows of the table.
            first_row: the number of the first, from 1.
            rounding: what numbers are rounded by; see :meth:`Column.codes`.
        """
        parts = [column.codes(batch.column(column.name), first_row, rounding) for column in self.columns]
        found = self._numbers(parts)
        if (found < 0).any():
            bad = int(np.argmax(found < 0))
            cells = zip(self.columns, parts, strict=True)
            words = ", ".join(
                f"{column.name} = {quoted(column.values[codes[bad]])}" for column, codes in cells
            )
            raise InvalidInputError(
                f"row {first_row + bad} holds {words}, a combination that the mechanism does not know"
            )
        return found


@dataclass(frozen=True)
class Domain:
    """The inputs of a mechanism: secret s and public u, or a secret alone."""

    secret: Attribute
    public: Attribute | None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets and of public values (1 without any)."""
        return len(self.secret), 1 if self.public is None else len(self.public)

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return [column.name for column in self.all_columns]

    @property
    def all_columns(self) -> list[Column]:
        """The columns, the secret ones first."""
        return [column for side in self.sides for column in side.columns]

    @property
    def sides(self) -> list[Attribute]:
        """The secret, and the public attribute if there is one."""
        return [self.secret] if self.public is None else [self.secret, self.public]

    @property
    def labels(self) -> tuple[str, ...]:
        """The inputs (s, u) in words, in the order of the mechanism's rows."""
        if self.public is None:
            return self.secret.labels
        return tuple(f"{s}, {u}" for s, u in product(self.secret.labels, self.public.labels))

    @property
    def of_numbers(self) -> bool:
        """Whether inputs are points of the range of a number, of which the mean is wanted."""
        return any(column.range is not None for column in self.all_columns)

    def codes(self, batch: Batch, first_row: int, rounding: Rounding | None = None) -> Codes:
        """Compute the input index s·a2 + u of every row.

        Args:
            batch: some rows of the table.
            first_row: the number of the first, from 1.
            rounding: what numbers are rounded by; see :meth:`Column.codes`.
        """
        s = self.secret.codes(batch, first_row, rounding)
        if self.public is None:
            return s
        return s * len(self.public) + self.public.codes(batch, first_row, rounding)

    def rows(
        self, table: TableReader, *, part: bool = False, rounding: Rounding | None = None
    ) -> Iterator[Codes]:
        """Yield the input indices of a table's rows, a batch at a time; missing columns are an error.

        Args:
            table: the data.
            part: whether the data are a part of a table, which may have no rows.
            rounding: what numbers are rounded by; see :meth:`Column.codes`.
        """
        for first_row, batch in self.batches(table, part=part):
            yield self.codes(batch, first_row, rounding)

    def batches(
        self, table: TableReader, beside: Sequence[str] = (), *, part: bool = False
    ) -> Iterator[tuple[int, Batch]]:
        """Yield the rows of a table, a batch at a time, each with the number of its first row.

        Args:
            table: the data.
            beside: other columns that are wanted.
            part: whether the data are a part of a table, which may have no rows.
        """
        for name in self.columns:
            if name not in table.columns:
                raise InvalidInputError(
                    f"{table.name} has no column {name!r}: the mechanism is made for "
                    f"{', '.join(self.columns)}"
                )
        wanted = list(dict.fromkeys([*self.columns, *beside]))
        yield from numbered(table.batches(wanted, part=part))

    def count(self, table: TableReader) -> Codes:
        """Count how often each (s, u) occurs in a table, as a matrix [s][u]."""
        inputs = math.prod(self.shape)
        total = sum(np.bincount(codes, minlength=inputs) for codes in self.rows(table))
        return np.reshape(total, self.shape)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "secret": _plain(self.secret),
            "public": None if self.public is None else _plain(self.public),
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read a domain from the plain data that :meth:`to_json` writes."""
        try:
            plain = DOMAIN.read(data, "domain")
            public = plain["public"]
            return cls(_attribute(plain["secret"]), None if public is None else _attribute(public))
        except UnreadableError as error:
            raise UnreadableFileError(f"not the description of a table: {error}") from None


FLAGS = ("time", "other", "missing", "prefix", "groups", "range")
"""Fields of a column that a file states only where they are set."""


def _plain(attribute: Attribute) -> dict[str, Any]:
    columns = [
        {
            **{key: part for key, part in asdict(column).items() if key not in FLAGS or part},
            "values": list(column.values),
            "edges": list(column.edges),
            **({"groups": list(map(list, column.groups))} if column.groups else {}),
            **({"range": list(column.range)} if column.range else {}),
        }
        for column in attribute.columns
    ]
    return {"columns": columns, "members": [list(member) for member in attribute.members]}


def _attribute(plain: dict[str, Any]) -> Attribute:
    """Build the columns that the checker's schema has read; their members must be values of them."""
    columns = []
    for column in plain["columns"]:
        listed = {key: tuple(part) for key, part in column.items() if isinstance(part, list)}
        groups = tuple(map(tuple, column.get("groups", ())))
        columns.append(Column(**{**column, **listed, "groups": groups}))
    for low, high, points in ((*c.range, len(c.values)) for c in columns if c.range is not None):
        if not (points > 1 and 0 < (high - low) * points < math.inf):
            raise UnreadableError(f"a range must be two increasing numbers, not {low} and {high}")
    for member in plain["members"]:
        if len(member) != len(columns) or any(
            i >= len(column.values) for i, column in zip(member, columns, strict=True)
        ):
            raise UnreadableError(f"{member} is not a combination of values")
    return Attribute(tuple(columns), tuple(map(tuple, plain["members"])))
