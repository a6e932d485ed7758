"""Find the domain of a table and count it: what ``ldpopt design`` begins with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ldpopt.checker.design import bin_names
from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.tables.domain import (
    Attribute,
    Codes,
    Column,
    Domain,
    is_number,
    numbered,
    numbers,
    quoted,
    text_cells,
)
from ldpopt.tables.files import TableReader

MOST_VALUES = 64
"""A column with more different values is refused: bin it."""
MOST_FRACTIONS = 16
"""A column with more different numbers that are not whole is refused as continuous."""
MOST_CELLS = 1024
"""Inputs (s, u) of a mechanism."""


def survey(
    table: TableReader,
    secret: Sequence[str],
    public: Sequence[str] = (),
    bins: Mapping[str, int | Sequence[float]] | None = None,
    text: Iterable[str] = (),
) -> tuple[Domain, Codes]:
    """Find the domain of a table, and count how often each (s, u) occurs in it.

    Args:
        table: the data.
        secret: the columns to hide.
        public: the columns to release as well as hiding the secret allows.
        bins: for numeric columns, how many bins of about equal frequency, or the edges between them.
        text: columns whose cells are words even if some look like numbers or like "NA".

    >>> from ldpopt.tables.files import open_table
    >>> domain, counts = survey(open_table("adult:sex-race"), ["sex"], ["race"])
    >>> domain.secret.labels, counts.shape, int(counts.sum())
    (('Female', 'Male'), (2, 5), 32561)
    """
    names, bins, words = [*secret, *public], dict(bins or {}), set(text)
    _check_names(names, secret, bins, words)
    binned = {name: _binned(table, name, spec) for name, spec in bins.items()}
    combinations, seen = _combinations(table, names, binned, words)
    columns = {name: binned.get(name) or _column(name, seen[name], name in words) for name in names}
    sides = [[columns[name] for name in side] for side in (secret, public)]
    counted = Counter[tuple[tuple[int, ...], tuple[int, ...]]]()
    for row, times in combinations.items():
        code = [columns[name].values.index(cell) for name, cell in zip(names, row, strict=True)]
        counted[tuple(code[: len(secret)]), tuple(code[len(secret) :])] += times
    members = [sorted({pair[i] for pair in counted}) for i in range(2)]
    attributes = [Attribute(tuple(c), tuple(m)) for c, m in zip(sides, members, strict=True)]
    domain = Domain(attributes[0], attributes[1] if public else None)
    counts = np.zeros(domain.shape, dtype=np.int64)
    for (s, u), times in counted.items():
        counts[members[0].index(s), members[1].index(u)] = times
    _check_size(domain)
    return domain, counts


def _check_names(
    names: list[str], secret: Sequence[str], bins: Mapping[str, Any], text: set[str]
) -> None:
    if not secret:
        raise InvalidInputError("at least one secret column is needed")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidInputError(f"the column {name!r} is named twice")
    for name in [*bins, *text]:
        if name not in names:
            raise InvalidInputError(f"the column {name!r} of bins or text is neither secret nor public")


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


def _combinations(
    table: TableReader, names: list[str], binned: Mapping[str, Column], text: set[str]
) -> tuple[Counter[tuple[str, ...]], dict[str, set[str]]]:
    """Count how often each combination of cells occurs, and list the cells of columns without bins."""
    total = Counter[tuple[str, ...]]()
    seen: dict[str, set[str]] = {name: set() for name in names if name not in binned}
    for first_row, batch in numbered(table.batches(names)):
        cells = [
            _bin_names(binned[name], batch.column(name), first_row)
            if name in binned
            else text_cells(name, batch.column(name), first_row, name in text)
            for name in names
        ]
        for name, column in zip(names, cells, strict=True):
            if name in seen:
                seen[name].update(column.unique().to_pylist())
                _check_values(name, seen[name], name in text)
        groups = pa.table(cells, names=[str(i) for i in range(len(names))])
        counted = groups.group_by(groups.column_names).aggregate([([], "count_all")])
        keys = zip(*(counted.column(str(i)).to_pylist() for i in range(len(names))), strict=True)
        total.update(dict(zip(keys, counted.column("count_all").to_pylist(), strict=True)))
    return total, seen


def _bin_names(column: Column, cells: Any, first_row: int) -> Any:
    return pa.array(column.values).take(pa.array(column.codes(cells, first_row)))


def _check_values(name: str, values: set[str], text: bool) -> None:
    figures = [] if text else [value for value in values if is_number(value)]
    fractions = len(figures) == len(values) and any(float(f) % 1 for f in figures)
    if len(values) > MOST_VALUES or (fractions and len(values) > MOST_FRACTIONS):
        numeric = len(figures) == len(values)
        advice = f"bin it (--bins {name}=5)" if numeric else "group its values first, or leave it out"
        kind = "is continuous: it has" if fractions else "has"
        most = MOST_FRACTIONS if fractions else MOST_VALUES
        raise InvalidInputError(
            f"the column {name!r} {kind} more than {most} different values; {advice}"
        )


def _column(name: str, values: set[str], text: bool) -> Column:
    figures = [] if text else [value for value in values if is_number(value)]
    if figures and len(figures) < len(values):
        word = min(value for value in values if not is_number(value))
        raise InvalidInputError(
            f"the column {name!r} mixes numbers and words ({min(figures)!r} and {quoted(word)}); clean "
            f"it, or take all of it as words (--text {name})"
        )
    ordered = sorted(values, key=float) if figures else sorted(values)
    for pair in pairwise(ordered if figures else ()):
        if float(pair[0]) == float(pair[1]):
            one, other = sorted(pair)
            raise InvalidInputError(
                f"the column {name!r} writes one number in two ways ({one!r} and {other!r}); clean it, "
                f"or take all of it as words (--text {name})"
            )
    return Column(name, tuple(ordered), text=text)


def _binned(table: TableReader, name: str, spec: int | Sequence[float]) -> Column:
    if isinstance(spec, int | np.integer):
        if not 2 <= spec <= MOST_VALUES:
            raise InvalidInputError(f"{name!r} needs between 2 and {MOST_VALUES} bins, not {spec}")
        parts = [numbers(name, batch.column(0), row) for row, batch in numbered(table.batches([name]))]
        cells = np.concatenate(parts)
        inner = np.quantile(cells, np.arange(1, spec) / spec, method="closest_observation")
        above = cells[
            cells > cells.min()
        ]  # where the least value fills whole bins, the next one ends them
        edges = np.unique(np.maximum(inner, above.min())).tolist() if above.size else []
    else:
        edges = validate.array(f"the edges of the bins of {name!r}", spec, 1).tolist()
        if any(a >= b for a, b in pairwise(edges)):
            raise InvalidInputError(f"the edges of the bins of {name!r} must increase, not {list(spec)}")
    if not edges:
        raise InvalidInputError(f"the column {name!r} cannot be binned: its values are all alike")
    return Column(name, tuple(bin_names(edges)), tuple(edges))
