"""Write a mechanism as a small program that draws reports where the data are: on a person's device.

A sampler is one file without dependencies. It holds the labels of the inputs, the probabilities of the
mechanism as whole multiples of 2^−52, and test vectors.

A program draws whole numbers below 2^52 at random. A test vector is an input, a first number in their
place, and the report; each further number is the one before plus :data:`STEP`, modulo 2^52. The reports
of the vectors are drawn by the samplers that ``privatize`` uses.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from importlib.resources import files
from itertools import count, pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ldpopt.core.exact import MISSING, OTHER
from ldpopt.core.validate import InvalidInputError, choice
from ldpopt.mechanisms.randomizer import BITS, Randomizer, RandomWords, Words
from ldpopt.release.designing import AnyDesign
from ldpopt.release.promises import against, promise
from ldpopt.release.released_reports import PREFIX
from ldpopt.release.releasing import check_certificate
from ldpopt.tables.domain import Column

MOST = sys.float_info.max
"""The largest finite number; infinity and, in PostgreSQL, NaN are above it, in SQLite all texts too."""


SPAN = 2**BITS
STEP = 0x9E3779B97F4A7
"""2^52 over the golden ratio: the multiples of an odd number differ, and these lie far apart."""
SPELT: dict[str, Callable[[Any], int | str]] = {
    "int32": int,
    "int64": str,
    "string": lambda report: f"x{report.tobytes().hex()}",
}
"""How a program writes a report: as text what may be a number beyond 2^53, a set in hexadecimal."""


class Vector(NamedTuple):
    """What a correct program does with an input and a first number."""

    x: int
    first: int
    report: int | str


class Sampler:
    """What every exported program holds of a design.

    >>> from ldpopt.release.designing import design
    >>> made = design("adult:sex-race", secret="sex", public="race", epsilon=1.0, method="srr")
    >>> sampler = Sampler(made)
    >>> [column.name for column in sampler.columns], sampler.inputs[:2], sampler.values(1)
    (['sex', 'race'], [(0, 0), (0, 1)], ['Female', 'Asian-Pac-Islander'])
    """

    def __init__(self, made: AnyDesign) -> None:
        check_certificate(made)
        domain = made.domain
        self.sides = domain.sides
        self.columns: list[Column] = domain.all_columns
        self.inputs = [sum(pair, ()) for pair in product(*(side.members for side in self.sides))]
        self.randomizer = made.randomizer
        self.column = PREFIX + made.fingerprint
        self.promise = made.verification.marked_promise(f"{promise(made)}, {against(made)}")
        self.recovery = made.recovery

    @cached_property
    def vectors(self) -> list[Vector]:
        """The test vectors."""
        found = []
        for x, place, bits in self.randomizer.edges():
            first = (bits - place * STEP) % SPAN
            report = self.randomizer.sample(np.array([x]), stated_words(first))[0]
            found.append(Vector(x, first, SPELT[self.randomizer.stored](report)))
        return found

    def lines(self) -> list[list[Any]]:
        """List the test vectors with the cells of a row in the place of its input.

        The first random numbers round the numbers of columns with a range; at a point they say nothing.
        """
        later = sum(column.range is not None for column in self.columns) * STEP
        found: list[list[Any]] = [
            [self.values(vector.x), (vector.first - later) % SPAN, vector.report]
            for vector in self.vectors
        ]
        if later and len(self.columns) == 1:
            found += _rounded_lines(self.columns[0], self.randomizer)
        return found

    def values(self, x: int) -> list[str | float | None]:
        """Return values of the columns whose input is x."""
        return [_value(column, i) for column, i in zip(self.columns, self.inputs[x], strict=True)]


def _rounded_lines(column: Column, of: Randomizer) -> list[list[Any]]:
    """List test vectors of numbers between two points, on both sides of the rounding, and beyond."""
    found = []
    for low, high in pairwise(column.points.tolist()):
        number = low + (high - low) / 4
        chance = int(column.place(np.array([number]))[0] % 1 * SPAN)
        found += [_rounded_line(column, of, number, first) for first in (chance - 1, chance + 1)]
    beyond = (column.points[0] - 1.0, column.points[-1] + 1.0)
    return [*found, *(_rounded_line(column, of, float(number), 0) for number in beyond)]


def _rounded_line(column: Column, of: Randomizer, number: float, first: int) -> list[Any]:
    words = stated_words(first)
    x = column.codes(pa.array([number]), 1, words)
    return [[number], first, SPELT[of.stored](of.sample(x, words)[0])]


def stated_words(first: int) -> RandomWords:
    """Draw the words whose first 52 bits are the numbers of a test vector.

    >>> words = stated_words(2**52 - 1)
    >>> [int(word) >> 12 == (2**52 - 1 + i * STEP) % 2**52 for i, word in enumerate(words(3))]
    [True, True, True]
    """
    places = count()

    def words(many: int) -> Words:
        drawn = [(first + next(places) * STEP) % SPAN << (64 - BITS) for _ in range(many)]
        return np.array(drawn, dtype=np.uint64)

    return words


def _value(column: Column, i: int) -> str | float | None:
    """Return a cell with the code i: for bins, where they begin; for a range, the point."""
    if i == column.missing_code:
        return None
    if column.range is not None:
        return float(column.points[i])
    if column.groups:
        return next(word for word, label in column.labelled if label == column.values[i])
    if not column.edges:
        return column.values[i]
    return column.edges[i - 1] if i else math.nextafter(column.edges[0], -math.inf)


def export(made: AnyDesign, target: str) -> str:
    """Write the sampler of a design as a program: "js", "python" or "sql".

    A design whose certificate the checker refutes is not exported. Encodings are, but to SQL.
    """
    choice("target", target, tuple(TARGETS))
    return TARGETS[target](Sampler(made))


def _template(name: str) -> str:
    return files("ldpopt.release").joinpath("templates", name).read_text(encoding="utf-8")


# ------------------------------------------------------------ programs


def _javascript(value: Any) -> str:
    """Write a value; "<" in cells is escaped, so that no cell can end the script of a page."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _program(sampler: Sampler, ending: str, gap: str, plain: Callable[[Any], str]) -> str:
    """Fill the template of a language with how it draws, and last with the cells: they stay as they are.

    Args:
        sampler: what the program holds.
        ending: of the names of the templates.
        gap: what stands between two functions.
        plain: writes a value in the language.
    """
    pieces = [_template(f"sets.{ending}")] * sampler.randomizer.sets
    drawn = gap.join([*pieces, sampler.randomizer.program(ending)])
    program = _template(f"sampler.{ending}").replace("__DRAWN__", drawn)
    return program.replace("__SAMPLER__", _object(sampler, plain))


def _object(sampler: Sampler, plain: Callable[[Any], str]) -> str:
    """Write what a sampler holds as a literal, an entry of a list to a line."""
    sides = [
        {
            "columns": [_column(column) for column in side.columns],
            "members": [list(codes) for codes in side.members],
        }
        for side in sampler.sides
    ]
    parts = {
        "column": sampler.column,
        "promise": sampler.promise,
        "counts": sampler.recovery,
        "sides": sides,
        **sampler.randomizer.numbers,
        "step": STEP,
        "vectors": sampler.lines(),
    }
    texts = {
        name: _lines(map(plain, part), "[", "]") if isinstance(part, list) else plain(part)
        for name, part in parts.items()
    }
    return _lines((f'"{name}": {text}' for name, text in texts.items()), "{", "}")


def _column(column: Column) -> dict[str, Any]:
    """Return what a program must know to read a cell of the column."""
    return {
        "name": column.name,
        "values": [] if column.edges else list(column.values),
        "edges": list(column.edges),
        "unit": " of seconds since 1970-01-01 UTC" if column.time else "",
        "other": column.other_code,
        "missing": column.missing_code,
        "prefix": column.prefix,
        "groups": list(map(list, column.labelled)),
        "range": [] if column.range is None else list(column.range),
    }


def _lines(rows: Iterable[str], first: str, last: str) -> str:
    return first + "\n" + ",\n".join(rows) + "\n" + last


# ------------------------------------------------------------ SQL


def _sql(sampler: Sampler) -> str:
    sampler.randomizer.as_matrix("export it as js or python: the target sql draws from rows of a matrix")
    if any(column.range is not None for column in sampler.columns):
        raise InvalidInputError(
            "export it as js or python: numbers are rounded at random, which the target sql does not do"
        )
    taken = {"ldpopt_x", "ldpopt_row"}
    for column in sampler.columns:
        if column.name.lower() in taken:
            raise InvalidInputError(
                f"to a database, the name {column.name!r} is that of another column, of the table or of "
                "the script, whatever the case: export it as js or python, or rename the column"
            )
        taken.add(column.name.lower())
    names = [_name(column.name) for column in sampler.columns]
    labels = [
        [c.values[i] for c, i in zip(sampler.columns, codes, strict=True)] for codes in sampler.inputs
    ]
    steps = [
        (x, y, low, high)
        for x, ends in enumerate(sampler.randomizer.numbers["ends"])
        for y, (low, high) in enumerate(pairwise([0, *ends]))
        if low < high
    ]
    parts = {
        "__PROMISE__": sampler.promise,
        "__COUNTS__": sampler.recovery,
        "__TYPED__": ", ".join(f"{name} TEXT NOT NULL" for name in names),
        "__COLUMNS__": ", ".join(names),
        "__INPUTS__": _rows([x, *map(_text, words)] for x, words in enumerate(labels)),
        "__STEPS__": _rows(steps),
        "__VECTORS__": _rows(sampler.vectors),
        "__MATCH__": " AND ".join(
            f"i.{name} = {_cell(column)}" for name, column in zip(names, sampler.columns, strict=True)
        ),
        "__REPORT__": _name(sampler.column),
    }
    script = _template("sampler.sql")
    head, *pieces = _split(script, list(parts))
    return head + "".join(
        parts[mark] + text for mark, text in zip(pieces[::2], pieces[1::2], strict=True)
    )


def _split(text: str, marks: Sequence[str]) -> list[str]:
    """Cut a template at its marks, so that a cell that looks like a mark stays as it is."""
    found = sorted((text.index(mark), mark) for mark in marks)
    pieces, start = [], 0
    for place, mark in found:
        pieces += [text[start:place], mark]
        start = place + len(mark)
    return [*pieces, text[start:]]


def _rows(rows: Iterable[Iterable[Any]]) -> str:
    return ",\n".join(f"  ({', '.join(map(str, row))})" for row in rows)


def _name(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def _cell(column: Column) -> str:
    """Write the cell of a person as a label; that of a binned column by comparing it with the edges.

    A cell that the program in Python refuses is NULL, which stops the script.
    """
    cell = f"p.{_name(column.name)}"
    # To SQLite the number 1 equals the labels '1' and '01', so labels are compared as text; a text is
    # above all numbers, but not in a column of text, which "+" makes it forget.
    cell = f"(+{cell})" if column.edges else f"({cell} || '')"
    empty = _text(MISSING) if column.missing else "NULL"
    if column.prefix:
        cell = f"SUBSTR({cell}, 1, {column.prefix})"
    if column.groups:
        cases = " ".join(
            f"WHEN {cell} = {_text(word)} THEN {_text(value)}" for word, value in column.labelled
        )
        return f"CASE WHEN {cell} IS NULL THEN {empty} {cases} END"
    if column.edges:
        known = f"WHEN {cell} < {-MOST!r} OR {cell} > {MOST!r} THEN NULL " + " ".join(
            f"WHEN {cell} < {edge!r} THEN {_text(value)}"
            for edge, value in zip(column.edges, column.values, strict=False)
        )
        rest = _text(column.values[len(column.edges)])
    elif column.other:
        listed = ", ".join(map(_text, column.values))
        known, rest = f"WHEN {cell} = '' THEN NULL WHEN {cell} IN ({listed}) THEN {cell}", _text(OTHER)
    else:
        return f"COALESCE({cell}, {empty})" if column.missing else cell
    return f"CASE WHEN {cell} IS NULL THEN {empty} {known} ELSE {rest} END"


TARGETS: dict[str, Callable[[Sampler], str]] = {
    "js": partial(_program, ending="js", gap="\n", plain=_javascript),
    "python": partial(_program, ending="py.txt", gap="\n\n", plain=ascii),
    "sql": _sql,
}
