"""Write a mechanism as a small program that draws reports where the data are: on a person's device.

A sampler is one file without dependencies. It holds the labels of the inputs, the cumulative sums of the
mechanism's rows as whole multiples of 2^−52, and test vectors: inputs and random bits with the report
that :class:`ldpopt.release.sampling.ExactSampler` draws from them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib.resources import files
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from ldpopt.checker.design import MISSING, OTHER
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import choice
from ldpopt.release.designing import AnyDesign
from ldpopt.release.publishing import NO_MATRIX
from ldpopt.release.reading import PREFIX
from ldpopt.release.releasing import check_certificate
from ldpopt.release.sampling import BITS, ExactSampler
from ldpopt.release.words import against, promise
from ldpopt.tables.domain import Column

MOST_VECTORS = 400


class Vector(NamedTuple):
    """What a correct sampler does with an input and 52 random bits."""

    x: int
    bits: int
    report: int


class Sampler:
    """What every exported program holds of a design.

    >>> from ldpopt.release.designing import design
    >>> made = design("adult:sex-race", secret="sex", public="race", epsilon=1.0, method="srr")
    >>> sampler = Sampler(made)
    >>> [column.name for column in sampler.columns], sampler.inputs[:2], sampler.ends[0][-1] == 2**52
    (['sex', 'race'], [(0, 0), (0, 1)], True)
    """

    def __init__(self, made: AnyDesign) -> None:
        if made.encoding is not None:
            raise InvalidInputError(
                f"the method {made.promise.method!r} cannot be exported: a program holds the rows of a "
                f"matrix, and {NO_MATRIX}; release its reports with ldpopt privatize"
            )
        check_certificate(made)
        domain = made.domain
        sides = [domain.secret, *([] if domain.public is None else [domain.public])]
        self.columns: list[Column] = [column for side in sides for column in side.columns]
        self.inputs = [sum(pair, ()) for pair in product(*(side.members for side in sides))]
        steps = (made.mechanism.matrix * 2.0**BITS).astype(np.int64)
        self.ends: list[list[int]] = np.cumsum(steps, axis=1).tolist()
        self.column = PREFIX + made.fingerprint
        self.promise = f"{promise(made)}, {against(made)}"
        self._mechanism = made.mechanism

    @cached_property
    def vectors(self) -> list[Vector]:
        """The first and the last bits of every report of every input; some of them, if too many."""
        edges = [
            (x, bits)
            for x, ends in enumerate(self.ends)
            for low, high in pairwise([0, *ends])
            if low < high
            for bits in sorted({low, high - 1})
        ]
        every = math.ceil(len(edges) / MOST_VECTORS)
        return [Vector(x, bits, self._report(x, bits)) for x, bits in edges[::every]]

    def _report(self, x: int, bits: int) -> int:
        """Draw the report of an input from given bits, with the sampler that ``privatize`` uses."""
        word = np.array([bits << (64 - BITS)], dtype=np.uint64)
        return int(ExactSampler(self._mechanism, lambda _: word).sample([x])[0])

    def values(self, x: int) -> list[str | float | None]:
        """Return values of the columns whose input is x."""
        return [_value(column, i) for column, i in zip(self.columns, self.inputs[x], strict=True)]


def _value(column: Column, i: int) -> str | float | None:
    """Return a cell with the code i: for bins, where they begin."""
    if i == column.missing_code:
        return None
    if column.groups:
        return next(word for word, label in column.labelled if label == column.values[i])
    if not column.edges:
        return column.values[i]
    return column.edges[i - 1] if i else math.nextafter(column.edges[0], -math.inf)


def export(made: AnyDesign, target: str) -> str:
    """Write the sampler of a design as a program: "js", "python" or "sql".

    A design whose certificate the checker refutes is not exported.
    """
    choice("target", target, tuple(TARGETS))
    return TARGETS[target](Sampler(made))


def _template(name: str) -> str:
    return files("ldpopt.release").joinpath("templates", name).read_text(encoding="utf-8")


# ------------------------------------------------------------ programs


def _javascript(sampler: Sampler) -> str:
    """Fill the template; "<" in cells is escaped, so that no cell can end the script of a page."""

    def plain(value: Any) -> str:
        return json.dumps(value, allow_nan=False).replace("<", "\\u003c")

    return _template("sampler.js").replace("__SAMPLER__", _object(sampler, plain))


def _python(sampler: Sampler) -> str:
    return _template("sampler.py.txt").replace("__SAMPLER__", _object(sampler, ascii))


def _object(sampler: Sampler, plain: Callable[[Any], str]) -> str:
    """Write what a sampler holds as a literal, a row to a line."""
    columns = [
        {
            "name": c.name,
            "values": [] if c.edges else list(c.values),
            "edges": list(c.edges),
            "unit": " of seconds since 1970-01-01 UTC" if c.time else "",
            "other": c.other_code,
            "missing": c.missing_code,
            "prefix": c.prefix,
            "groups": list(map(list, c.labelled)),
        }
        for c in sampler.columns
    ]
    vectors = [[sampler.values(v.x), v.bits, v.report] for v in sampler.vectors]
    parts = {
        "column": plain(sampler.column),
        "promise": plain(sampler.promise),
        "columns": _lines(map(plain, columns), "[", "]"),
        "inputs": plain([list(codes) for codes in sampler.inputs]),
        "ends": _lines(map(plain, sampler.ends), "[", "]"),
        "vectors": _lines(map(plain, vectors), "[", "]"),
    }
    return _lines((f'"{name}": {text}' for name, text in parts.items()), "{", "}")


def _lines(rows: Iterable[str], first: str, last: str) -> str:
    return first + "\n" + ",\n".join(rows) + "\n" + last


# ------------------------------------------------------------ SQL


def _sql(sampler: Sampler) -> str:
    names = [_name(column.name) for column in sampler.columns]
    labels = [
        [c.values[i] for c, i in zip(sampler.columns, codes, strict=True)] for codes in sampler.inputs
    ]
    steps = [
        (x, y, low, high)
        for x, ends in enumerate(sampler.ends)
        for y, (low, high) in enumerate(pairwise([0, *ends]))
        if low < high
    ]
    parts = {
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
    """Write the cell of a person as a label; that of a binned column by comparing it with the edges."""
    cell = f"p.{_name(column.name)}"
    empty = _text(MISSING) if column.missing else "NULL"
    if column.prefix:
        cell = f"SUBSTR({cell}, 1, {column.prefix})"
    if column.groups:
        cases = " ".join(
            f"WHEN {cell} = {_text(word)} THEN {_text(value)}" for word, value in column.labelled
        )
        return f"CASE WHEN {cell} IS NULL THEN {empty} {cases} END"
    if column.edges:
        known = " ".join(
            f"WHEN {cell} < {edge!r} THEN {_text(value)}"
            for edge, value in zip(column.edges, column.values, strict=False)
        )
        rest = _text(column.values[len(column.edges)])
    elif column.other:
        listed = ", ".join(map(_text, column.values))
        known, rest = f"WHEN {cell} IN ({listed}) THEN {cell}", _text(OTHER)
    else:
        return f"COALESCE({cell}, {empty})" if column.missing else cell
    return f"CASE WHEN {cell} IS NULL THEN {empty} {known} ELSE {rest} END"


TARGETS: dict[str, Callable[[Sampler], str]] = {"js": _javascript, "python": _python, "sql": _sql}
