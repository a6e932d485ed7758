"""Strict schemas: what a file may say, written once and read by problem classes and checker.

A schema reads a plain JSON value and returns it cleaned, or raises :class:`UnreadableError` with one
sentence that names the place, what is allowed and what was given. Unknown keys are refused (so
that a misspelt one is noticed), a truth value is not a number, and every number has a range.

Distributions. A file holds floats, whose sum may be off by rounding. A sum off by more than
:data:`SUM_TOLERANCE` is refused; any other distribution *is* the list divided by its exact sum, as
fractions, and every claim is about that distribution. Fractions of floats keep a bit budget: k floats
in [0, 1] are whole multiples of 2^-1074, so numerators and denominators have at most 1074 + log2 k
bits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, islice
from typing import Any, ClassVar

from .claims import quoted
from .fixed_point import dyadic_rows
from .reading import UnreadableError, check_shown

SUM_TOLERANCE = Fraction(1, 10**9)
"""How far the sum of a distribution may be from 1 before it is refused."""


class Schema(ABC):
    """What one value may be."""

    @abstractmethod
    def words(self) -> str:
        """Say what is allowed, for messages: "a number from 0 to 1"."""

    @abstractmethod
    def read(self, value: Any, where: str) -> Any:
        """Return the clean value; ``where`` is its place in the file."""

    def read_all(self, values: list[Any], where: str) -> list[Any]:
        """Read the entries of a list."""
        return [self.read(entry, where) for entry in values]

    def refuse(self, value: Any, where: str) -> UnreadableError:
        """Build the error that says what is allowed and what was given."""
        return UnreadableError(f"{where} must be {self.words()}, not {quoted(value)}")


@dataclass(frozen=True)
class Number(Schema):
    """A finite number in a range; ``above`` and ``below`` are ends that do not belong to it.

    ``bits``: the number is a multiple of 2^−bits; 0 for whole numbers, as 2 and 2.0.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    bits: int | None = None

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        what = {None: "a finite number", 0: "a whole number"}
        parts = {"from": self.least, "above": self.above, "to": self.most, "below": self.below}
        said = " ".join(f"{word} {end!r}" for word, end in parts.items() if end is not None)
        return f"{what.get(self.bits, f'a multiple of 2^-{self.bits}')} {said}".strip()

    def read(self, value: Any, where: str) -> float:
        """Read the number as a float."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.refuse(value, where)
        try:
            number = float(value)
        except OverflowError:
            raise self.refuse("a larger number", where) from None
        if not math.isfinite(number) or not self._holds(number, number) or not self._steps([number]):
            raise self.refuse(value, where)
        if number != value:  # a whole number beyond 2^53: the claims would be about its neighbour
            raise UnreadableError(f"{where} must be a number that a double holds, not {value}")
        return number

    def read_all(self, values: list[Any], where: str) -> list[float]:
        """Read many numbers: if all are finite floats, only the least and the largest are compared."""
        finite = set(map(type, values)) == {float} and all(map(math.isfinite, values))
        inside = finite and self._holds(min(values), max(values)) and self._steps(values)
        return list(values) if inside else super().read_all(values, where)

    def _holds(self, low: float, high: float) -> bool:
        ends, strict = ((self.least, low), (high, self.most)), ((self.above, low), (high, self.below))
        return all(a is None or b is None or a <= b for a, b in ends) and all(
            a is None or b is None or a < b for a, b in strict
        )

    def _steps(self, numbers: list[float]) -> bool:
        return self.bits is None or all((number * 2.0**self.bits).is_integer() for number in numbers)


@dataclass(frozen=True)
class Whole(Schema):
    """A whole number in a range; 2.0 is not one."""

    least: int
    most: int

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        if self.least == self.most:
            return f"{self.most}"
        return f"a whole number from {self.least} to {self.most:,}"

    def read(self, value: Any, where: str) -> int:
        """Read the number."""
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise self.refuse(value, where)
        return value

    def read_all(self, values: list[Any], where: str) -> list[int]:
        """Read many numbers: if all are whole, only the least and the largest are compared."""
        inside = (
            set(map(type, values)) == {int} and self.least <= min(values) <= max(values) <= self.most
        )
        return list(values) if inside else super().read_all(values, where)


class Plain(Schema):
    """A value of one type, as JSON has it."""

    type: ClassVar[type]
    said: ClassVar[str]

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return self.said

    def read(self, value: Any, where: str) -> Any:
        """Return the value as it is."""
        if not isinstance(value, self.type):
            raise self.refuse(value, where)
        return value


class Flag(Plain):
    """True or false."""

    type, said = bool, "true or false"


class Mark(Flag):
    """True; a mark that is not set is left out, so that one thing is written in one way."""

    said = "true, or left out"

    def read(self, value: Any, where: str) -> Any:
        """See :meth:`Schema.read`."""
        if value is not True:
            raise self.refuse(value, where)
        return value


class Object(Plain):
    """An object with any keys."""

    type, said = dict, "an object"


class Word(Schema):
    """One of a few words."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return "one of " + ", ".join(self.allowed)

    def read(self, value: Any, where: str) -> str:
        """Read the word."""
        if not isinstance(value, str) or value not in self.allowed:
            raise self.refuse(value, where)
        return value


class Text(Plain):
    """A string that shows what it says; see :data:`~.reading.UNSHOWN`."""

    type, said = str, "a string"

    def read(self, value: Any, where: str) -> Any:
        """Read the string."""
        check_shown(super().read(value, where), where)
        return value


@dataclass(frozen=True)
class Anything(Schema):
    """Data that no claim rests on, or that is read later; ``said`` says what it is."""

    said: str = "anything"

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return self.said

    def read(self, value: Any, where: str) -> Any:
        """Return the value as it is."""
        return value


@dataclass(frozen=True)
class Nullable(Schema):
    """A value or null."""

    schema: Schema

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return f"{self.schema.words()}, or null"

    def read(self, value: Any, where: str) -> Any:
        """Read the value, or None."""
        return None if value is None else self.schema.read(value, where)


@dataclass(frozen=True)
class List(Schema):
    """A list of values of one schema."""

    item: Schema
    least: int = 0
    most: int | None = None

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        size = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return f"a list of {size} entries, each {self.item.words()}"

    def read(self, value: Any, where: str) -> list[Any]:
        """Read the entries."""
        if not isinstance(value, list) or len(value) < self.least:
            raise self.refuse(value, where)
        if self.most is not None and len(value) > self.most:
            raise self.refuse(value, where)
        try:
            return self.item.read_all(value, where)
        except UnreadableError:  # read one by one, so that the message names the entry
            for i, entry in enumerate(value):
                self.item.read(entry, f"{where}[{i}]")
            raise

    def read_all(self, values: list[Any], where: str) -> list[list[Any]]:
        """Read many lists: as entries are read one by one, those of all lists are read together."""
        sizes = list(map(len, values)) if set(map(type, values)) == {list} else []
        most = math.inf if self.most is None else self.most
        if not sizes or min(sizes) < self.least or max(sizes) > most:
            return super().read_all(values, where)
        entries = iter(self.item.read_all(list(chain.from_iterable(values)), where))
        return [list(islice(entries, size)) for size in sizes]


@dataclass(frozen=True)
class Matrix(Schema):
    """A rectangular list of rows of numbers, at least one row and one column."""

    item: Number = field(default_factory=Number)
    rows: int = 1
    columns: int = 1

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        size = f"at least {self.rows} rows and {self.columns} columns"
        return f"a rectangular matrix of {size}, each entry {self.item.words()}"

    def read(self, value: Any, where: str) -> list[list[float]]:
        """Read the rows."""
        found: list[list[float]] = List(List(self.item, self.columns), self.rows).read(value, where)
        if len({len(row) for row in found}) != 1:
            raise UnreadableError(f"{where} must be {self.words()}, but its rows differ in length")
        return found


@dataclass(frozen=True)
class Distribution(Schema):
    """Probabilities that sum to 1 up to rounding; read as fractions that sum to 1 exactly."""

    least: int = 1
    positive: bool = False

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        size = f"{self.least} or more {'positive' if self.positive else 'non-negative'} numbers"
        return f"a list of {size} that sum to 1 within 1e-9"

    def read(self, value: Any, where: str) -> list[Fraction]:
        """Read the distribution, divided by its exact sum."""
        most = 1 + float(SUM_TOLERANCE)
        item = Number(above=0, most=most) if self.positive else Number(0, most)
        numbers = List(item, self.least).read(value, where)
        return normalised([numbers], where)[0]


@dataclass(frozen=True)
class Joint(Schema):
    """A distribution on pairs (s, u) as a matrix [s][u]; read as fractions that sum to 1 exactly."""

    rows: int = 2
    columns: int = 1

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return f"a rectangular matrix of at least {self.rows} rows that sums to 1 within 1e-9"

    def read(self, value: Any, where: str) -> list[list[Fraction]]:
        """Read the matrix, divided by its exact sum."""
        item = Number(0, 1 + float(SUM_TOLERANCE))
        return normalised(Matrix(item, self.rows, self.columns).read(value, where), where)


def normalised(rows: list[list[float]], where: str) -> list[list[Fraction]]:
    """Divide numbers by their exact sum, which must be 1 up to :data:`SUM_TOLERANCE`."""
    whole, bits = dyadic_rows(rows)
    total, one = sum(map(sum, whole)), 1 << bits
    if abs(Fraction(total, one) - 1) > SUM_TOLERANCE:
        raise UnreadableError(f"{where} must sum to 1 within 1e-9, but sums to {total / one!r}")
    return [[Fraction(entry, total) for entry in row] for row in whole]


@dataclass(frozen=True)
class Record(Schema):
    """An object with the required keys, some of the optional ones, and no other."""

    required: Mapping[str, Schema]
    optional: Mapping[str, Schema] = field(default_factory=dict)

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return "an object with the keys " + ", ".join([*self.required, *self.optional])

    def read(self, value: Any, where: str = "") -> dict[str, Any]:
        """Read the fields; an optional field that is absent stays absent."""
        name = where or "the file"
        if not isinstance(value, dict):
            raise self.refuse(value, name)
        known = {**self.required, **self.optional}
        for key in value:
            if key not in known:
                raise UnreadableError(f"{name} has no key {quoted(key)}; allowed are {', '.join(known)}")
        for key in self.required:
            if key not in value:
                raise UnreadableError(f"{name} needs the key '{key}'")
        return {key: known[key].read(entry, _joined(where, key)) for key, entry in value.items()}


@dataclass(frozen=True)
class Either(Schema):
    """A list or an object: a list is read by one schema, an object by the other."""

    listed: Schema
    keyed: Schema

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return f"{self.listed.words()}, or {self.keyed.words()}"

    def read(self, value: Any, where: str) -> Any:
        """Read the value by the schema for its type."""
        return (self.keyed if isinstance(value, dict) else self.listed).read(value, where)


@dataclass(frozen=True)
class OneOf(Schema):
    """An object whose key ``kind`` says which record the rest of it is."""

    records: Mapping[str, Record]

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return "an object with the key kind, one of " + ", ".join(self.records)

    def read(self, value: Any, where: str) -> dict[str, Any]:
        """Read the object by the record of its kind."""
        if not isinstance(value, dict):
            raise self.refuse(value, where)
        kind = Word(*self.records).read(value.get("kind"), _joined(where, "kind"))
        rest = {key: entry for key, entry in value.items() if key != "kind"}
        return {"kind": kind, **self.records[kind].read(rest, where)}


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


LEAST_EPSILON, MOST_EPSILON = 1e-6, 30.0
EPSILON = Number(LEAST_EPSILON, MOST_EPSILON)
"""A privacy level in nats. Floats cannot express mechanisms of lower levels; higher ones hide little."""
DRAWN_BITS = 52
"""So many random bits fall below a multiple of 2^−52 with exactly its probability."""
