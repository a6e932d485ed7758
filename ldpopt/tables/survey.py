"""Find the domain of a table and count it: what ``ldpopt design`` begins with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import MISSING, bin_names
from ldpopt.tables.batches import TableReader, open_table
from ldpopt.tables.cells import (
    CompleteRows,
    absent,
    check_labels,
    check_looks,
    is_moment,
    is_number,
    moments,
    numbered,
    numbers,
    quoted,
    text_cells,
    trimmed,
    writing_hint,
)
from ldpopt.tables.coarser_levels import MOST_VALUES, Levels, coarsened
from ldpopt.tables.domain import Attribute, Codes, Column, Domain

Bins = int | Sequence[float] | Sequence[str]
"""How many bins, or the edges between them: numbers, or dates and times as text."""
MOST_FRACTIONS = 16
"""A column with more different numbers that are not whole is refused as continuous."""
MOST_BINNED = 30_000_000
"""The most rows among which quantiles are found, as all of the column is kept in memory."""
MOST_CELLS = 65_536
"""The most inputs (s, u) of an encoding; mechanisms that are matrices have fewer."""


class Survey(NamedTuple):
    """The columns of a table, and how often each (s, u) occurs in it."""

    domain: Domain
    counts: Codes


def survey(
    table: Any,
    secret: str | Sequence[str],
    public: str | Sequence[str] = (),
    bins: Mapping[str, Bins] | None = None,
    text: Iterable[str] = (),
    *,
    top: Mapping[str, int] | None = None,
    levels: Mapping[str, Levels] | None = None,
    missing: str = "refuse",
    warn: Callable[[str], None] | None = None,
) -> Survey:
    """Find the domain of a table, and count how often each (s, u) occurs in it.

    Args:
        table: a file, a data frame, columns by name, or an embedded table.
        secret: the column or columns to hide.
        public: the column or columns to release as well as hiding the secret allows.
        bins: for columns of numbers, dates or times, how many bins of about equal frequency, or the
            edges between them.
        text: columns whose cells are words even if some look like numbers or like "NA".
        top: for columns of words, how many of the most frequent ones are told apart; all others are the
            value "(other)".
        levels: for columns of words, a coarser level: how many first characters count, or the groups.
        missing: what becomes of rows with an empty cell: "refuse", "drop", or "category" ("(missing)").
        warn: called with what the choices above cost, and with bins that hold all rows.

    >>> domain, counts = survey("adult:sex-race", "sex", "race")
    >>> domain.secret.labels, counts.shape, int(counts.sum())
    (('Female', 'Male'), (2, 5), 32561)
    """
    validate.choice("missing", missing, ("refuse", "drop", "category"))
    table, secret, public = open_table(table), _names(secret), _names(public)
    if missing == "drop":
        table = complete = CompleteRows(table, [*secret, *public], text)
    names, words = [*secret, *public], set(text)
    bins, top, levels = dict(bins or {}), dict(top or {}), dict(levels or {})
    _check_names(names, secret, [*bins, *words, *top, *levels])
    if twice := set(bins) & {*top, *levels}:
        raise InvalidInputError(
            f"the column {min(twice)!r} is binned: top and levels are for columns of words"
        )
    empty = empty_columns(table, names, words) if missing == "category" else set()
    known = {name: binned(table, name, spec, name in empty) for name, spec in bins.items()}
    for name in (*levels, *(name for name in top if name not in levels)):
        known[name] = coarsened(
            table, name, levels.get(name), top.get(name), name in words, name in empty, warn
        )
    combinations, seen = _combinations(table, names, known, words, empty)
    columns = {
        name: known.get(name) or _column(name, seen[name], name in words, name in empty)
        for name in names
    }
    check_looks("names of columns", names)
    for name in names:
        check_looks(f"values of column {name!r}", columns[name].values)
    sides = [[columns[name] for name in side] for side in (secret, public)]
    codes = {name: {value: i for i, value in enumerate(columns[name].values)} for name in names}
    counted = Counter[tuple[tuple[int, ...], tuple[int, ...]]]()
    for row, times in combinations.items():
        code = [codes[name][cell] for name, cell in zip(names, row, strict=True)]
        counted[tuple(code[: len(secret)]), tuple(code[len(secret) :])] += times
    members = [sorted({pair[i] for pair in counted}) for i in range(2)]
    attributes = [Attribute(tuple(c), tuple(m)) for c, m in zip(sides, members, strict=True)]
    domain = Domain(attributes[0], attributes[1] if public else None)
    _check_size(domain)
    counts = np.zeros(domain.shape, dtype=np.int64)
    places = [{member: i for i, member in enumerate(side)} for side in members]
    for (s, u), times in counted.items():
        counts[places[0][s], places[1][u]] = times
    if warn is not None:
        for sentence in _remarks(domain, counts):
            warn(sentence)
        if missing == "drop":
            warn(complete.in_words)
    return Survey(domain, counts)


def _names(columns: str | Sequence[str]) -> list[str]:
    names = [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else [*columns]
    for name in names:
        if not isinstance(name, str):
            raise InvalidInputError(f"the name of a column is text, not {name!r}")
    return names


def _remarks(domain: Domain, counts: Codes) -> Iterator[str]:
    """Say which bins hold all rows, and how many rows have empty cells."""
    rows = int(counts.sum())
    sides = [(domain.secret, counts.sum(axis=1))]
    sides += [] if domain.public is None else [(domain.public, counts.sum(axis=0))]
    for attribute, times in sides:
        for i, column in enumerate(attribute.columns):
            codes = np.array([member[i] for member in attribute.members])
            found = np.bincount(codes, weights=times, minlength=len(column.values)).astype(int)
            if column.edges and found.max() == rows:
                name = column.values[int(found.argmax())]
                yield f"all {rows:,} rows of {column.name!r} are in the bin {name!r}: it says nothing"
            if column.missing:
                where = f"{found[-1]:,} of {rows:,} cells of {column.name!r}"
                yield f"{where} are empty, or say {MISSING}, and count as {MISSING}"


def _check_names(names: list[str], secret: Sequence[str], described: Sequence[str]) -> None:
    if not secret:
        raise InvalidInputError("at least one secret column is needed")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidInputError(f"the column {name!r} is named twice")
    for name in described:
        if name not in names:
            raise InvalidInputError(
                f"the column {name!r} of bins, text, top or levels is neither secret nor public"
            )


def _check_size(domain: Domain) -> None:
    a1, a2 = domain.shape
    if a1 < 2:
        raise InvalidInputError(
            f"the secret {domain.secret.name} has one value ({quoted(domain.secret.labels[0])}) in the "
            "whole table: there is nothing to hide"
        )
    if a1 * a2 > MOST_CELLS:
        raise InvalidInputError(
            f"{a1} secret × {a2} public values make {a1 * a2} combinations, more than {MOST_CELLS}: "
            "leave columns out or bin them (--bins COLUMN=4)"
        )


def empty_columns(table: TableReader, names: list[str], text: set[str]) -> set[str]:
    """Find the columns that have empty cells.

    Args:
        table: the data.
        names: the columns.
        text: those whose cells are words, "NA" too.
    """
    found: set[str] = set()
    for batch in table.batches(names):
        found |= {
            name
            for name in names
            if pc.any(absent(trimmed(name, batch.column(name)), name in text)).as_py()
        }
    return found


def _combinations(
    table: TableReader, names: list[str], known: Mapping[str, Column], text: set[str], empty: set[str]
) -> tuple[Counter[tuple[str, ...]], dict[str, set[str]]]:
    """Count how often each combination of values occurs, and list those of columns not yet known.

    Args:
        table: the data.
        names: the columns.
        known: those whose values are known, as they are binned or their rare values taken together.
        text: those whose cells are words, "NA" too.
        empty: those whose empty cells are a value.
    """
    total = Counter[tuple[str, ...]]()
    seen: dict[str, set[str]] = {name: set() for name in names if name not in known}
    for first_row, batch in numbered(table.batches(names)):
        cells = [
            pa.array(known[name].values).take(pa.array(known[name].codes(batch.column(name), first_row)))
            if name in known
            else _words(name, batch.column(name), first_row, name in text, name in empty)
            for name in names
        ]
        for name, column in zip(names, cells, strict=True):
            if name in seen:
                check_labels(name, column, first_row)
                seen[name].update(column.unique().to_pylist())
                _check_values(name, seen[name] - ({MISSING} if name in empty else set()), name in text)
        groups = pa.table(cells, names=[str(i) for i in range(len(names))])
        counted = groups.group_by(groups.column_names).aggregate([([], "count_all")])
        keys = zip(*(counted.column(str(i)).to_pylist() for i in range(len(names))), strict=True)
        total.update(dict(zip(keys, counted.column("count_all").to_pylist(), strict=True)))
        if len(total) > MOST_CELLS:
            raise InvalidInputError(
                f"{', '.join(names)} have more than {MOST_CELLS} combinations of values: leave columns "
                "out or bin them (--bins COLUMN=4)"
            )
    return total, seen


def _words(name: str, cells: Any, first_row: int, text: bool, empty: bool) -> Any:
    """Return the words of the cells, empty ones as "(missing)" where that is a value."""
    if not empty:
        return text_cells(name, cells, first_row, text)
    words = trimmed(name, cells)
    return pc.if_else(absent(words, text), MISSING, words)


def _check_values(name: str, values: set[str], text: bool) -> None:
    figures = [] if text else [value for value in values if is_number(value)]
    fractions = len(figures) == len(values) and any(float(f) % 1 for f in figures)
    if len(values) > MOST_VALUES or (fractions and len(values) > MOST_FRACTIONS):
        ordered = len(figures) == len(values) or (not text and all(map(is_moment, values)))
        advice = (
            f"bin it (--bins {name}=5), count it by its first characters (--levels {name}=2), or keep "
            f"the most frequent ones (--top {name}=20)"
            if ordered
            else f"keep the most frequent ones (--top {name}=20), take a coarser level "
            f"(--levels {name}=2: the first 2 characters; or a file of groups), or leave it out"
        )
        kind = "is continuous: it has" if fractions else "has"
        most = MOST_FRACTIONS if fractions else MOST_VALUES
        raise InvalidInputError(
            f"the column {name!r} {kind} more than {most} different values; {advice}"
            + ("" if text else writing_hint(min(values)))
        )


def _column(name: str, values: set[str], text: bool, empty: bool) -> Column:
    values = values - {MISSING} if empty else values
    if not values:
        raise InvalidInputError(f"every cell of the column {name!r} is empty")
    figures = [] if text else [value for value in values if is_number(value)]
    if figures and len(figures) < len(values):
        word = min(value for value in values if not is_number(value))
        raise InvalidInputError(
            f"the column {name!r} mixes numbers and words ({min(figures)!r} and {quoted(word)}); clean "
            f"it, or take all of it as words (--text {name})"
        )
    ordered = sorted(values, key=Decimal) if figures else sorted(values)
    for pair in pairwise(ordered if figures else ()):
        if Decimal(pair[0]) == Decimal(pair[1]):
            one, other = sorted(pair)
            raise InvalidInputError(
                f"the column {name!r} writes one number in two ways ({one!r} and {other!r}); clean it, "
                f"or take all of it as words (--text {name})"
            )
    return Column(name, (*ordered, *([MISSING] if empty else [])), text=text, missing=empty)


# ------------------------------------------------------------ bins


def binned(table: TableReader, name: str, spec: Bins, empty: bool) -> Column:
    """Bin a column of numbers, dates or times, into a number of bins or between given edges.

    Args:
        table: the data.
        name: the name of the column.
        spec: how many bins of about equal frequency, or the edges between them.
        empty: whether empty cells are a value.
    """
    if isinstance(spec, int | np.integer):
        time = _holds_times(table, name, empty)
        edges = _quantiles(table, name, int(spec), time, empty)
    else:
        time = isinstance(spec, list | tuple) and all(isinstance(e, str | date) for e in spec)
        where = f"the edges of the bins of {name!r}"
        if time:
            edges = moments(where, pa.array(list(map(str, spec)), pa.string()), 1).tolist()
        else:
            edges = validate.array(where, spec, 1).tolist()
        if any(a >= b for a, b in pairwise(edges)):
            raise InvalidInputError(f"the edges of the bins of {name!r} must increase, not {list(spec)}")
    if not edges:
        raise InvalidInputError(f"the column {name!r} cannot be binned: its values are all alike")
    values = (*bin_names(edges, time), *([MISSING] if empty else []))
    return Column(name, values, tuple(edges), time=time, missing=empty)


def _present(table: TableReader, name: str, empty: bool) -> TableReader:
    """Return the table, without the rows whose cell is empty where that is a value."""
    return CompleteRows(table, [name]) if empty else table


def _holds_times(table: TableReader, name: str, empty: bool) -> bool:
    """Return whether the first cells of a column are dates or times."""
    batch = next(_present(table, name, empty).batches([name]))
    cells = batch.column(0)
    if pa.types.is_timestamp(cells.type) or pa.types.is_date(cells.type):
        return True
    return batch.num_rows > 0 and is_moment(text_cells(name, cells[:1], 1, text=False)[0].as_py())


def _quantiles(table: TableReader, name: str, bins: int, time: bool, empty: bool) -> list[float]:
    """Find edges between bins of about equal frequency; they are values of the column."""
    if not 2 <= bins <= MOST_VALUES:
        raise InvalidInputError(f"{name!r} needs between 2 and {MOST_VALUES} bins, not {bins}")
    read = moments if time else numbers
    parts: list[NDArray[np.float64]] = []
    for row, batch in numbered(_present(table, name, empty).batches([name])):
        if row + batch.num_rows > MOST_BINNED + 1:
            raise InvalidInputError(
                f"the bins of {name!r} cannot be found among more than {MOST_BINNED:,} rows: give their "
                f"edges (--bins {name}=18,30,65)"
            )
        parts.append(read(name, batch.column(0), row))
    cells = np.concatenate(parts)
    inner = np.quantile(cells, np.arange(1, bins) / bins, method="closest_observation")
    above = cells[cells > cells.min()]  # where the least value fills whole bins, the next one ends them
    return np.unique(np.maximum(inner, above.min())).tolist() if above.size else []
