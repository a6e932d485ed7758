"""Coarser levels of a column: the first characters of its words, or the groups of a mapping.

A postcode counts by its first two digits, a town by its region. A note says what is lost:
how many nats of the column no mechanism can release any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ldpopt.core.exact import MISSING, MOST_PREFIX, OTHER, look
from ldpopt.core.files import PathName
from ldpopt.core.number_text import at_most
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.tables.batches import TableReader, open_table
from ldpopt.tables.cells import absent, check_label, check_looks, numbered, quoted, text_cells, trimmed
from ldpopt.tables.domain import Column
from ldpopt.tables.unpacking import check_words

Levels = int | PathName | Mapping[str, str]
"""The number of first characters that count; or the group of every word, as a mapping or as a table
of two columns."""
MOST_VALUES = 200
"""The most values of a column that are told apart: for these the checker decides in seconds what
frequencies cost."""
MOST_WORDS = 1_000_000
"""The most different words of a column that are counted."""
MOST_GROUPED = 100_000
"""The most words of a mapping: the mechanism's file holds them all."""


def coarsened(
    table: TableReader,
    name: str,
    levels: Levels | None,
    kept: int | None,
    text: bool,
    empty: bool,
    warn: Callable[[str], None] | None,
) -> Column:
    """Describe a column by a coarser level, by its most frequent values, or by both.

    Args:
        table: the data.
        name: the name of the column.
        levels: how many first characters count, or the groups of the words; None for all of each word.
        kept: how many values are told apart; all others are "(other)".
        text: whether "NA" and the like are words.
        empty: whether empty cells are a value.
        warn: called with what is lost.
    """
    prefix, groups = _read_levels(name, levels)
    if kept is not None and (not isinstance(kept, int | np.integer) or not 1 <= kept < MOST_VALUES):
        raise InvalidInputError(
            f"top of {name!r} must be from 1 to {MOST_VALUES - 1} values, not {kept}"
        )
    words = _counted(table, name, text, empty)
    coarse = Column(name, (), prefix=prefix, groups=groups)
    times = Counter[str]()
    for word, count in words.items():
        times[word if word == MISSING else _level_of(coarse, word)] += count
    ranked = sorted(times, key=lambda word: (-times[word], word))
    values = [word for word in ranked if word not in (OTHER, MISSING)][:kept]
    if kept is not None and len(values) == len(times):
        raise InvalidInputError(
            f"top must be below {len(values)}, the number of values of the column {name!r}, not {kept}"
        )
    if len(values) > MOST_VALUES:
        raise InvalidInputError(
            f"the column {name!r} has {len(values):,} values at this level, more than {MOST_VALUES}: "
            f"take a coarser one, or keep the most frequent ones (--top {name}=20)"
        )
    for word in chain(values, *groups):
        check_label(f"a value of column {name!r}", word)
    if warn is not None:
        if levels is not None:
            warn(_level_cost(name, words, times, prefix))
        if kept is not None:
            warn(_top_cost(name, times, values))
    last = [*([OTHER] if kept is not None else []), *([MISSING] if empty else [])]
    return Column(
        name,
        (*sorted(values), *last),
        text=text,
        other=kept is not None,
        missing=empty,
        prefix=prefix,
        groups=groups,
    )


def _read_levels(name: str, levels: Levels | None) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return how many first characters count, or the groups of the words; 0 and none without levels."""
    if levels is None:
        return 0, ()
    if isinstance(levels, int | np.integer):
        if not 1 <= levels <= MOST_PREFIX:
            raise InvalidInputError(
                f"levels of {name!r} must be from 1 to {MOST_PREFIX} characters, not {levels}"
            )
        return int(levels), ()
    pairs = levels.items() if isinstance(levels, Mapping) else _read_mapping(levels)
    groups: dict[str, str] = {}
    seen: dict[str, str] = {}
    for word, group in pairs:
        if not (isinstance(word, str) and isinstance(group, str) and word.strip() and group.strip()):
            raise InvalidInputError(
                f"levels of {name!r} must map words to words, not {word!r} to {group!r}"
            )
        groups[word.strip()] = group.strip()
        if (other := seen.setdefault(look(word), group.strip())) != group.strip():
            raise InvalidInputError(
                f"levels of {name!r} must give each word one group: {quoted(word)} has {quoted(other)} "
                f"and {quoted(group)}; words that look the same are one"
            )
    check_looks(f"groups of {name!r}", groups.values())
    if not 1 <= len(groups) <= MOST_GROUPED:
        raise InvalidInputError(
            f"levels of {name!r} must have from 1 to {MOST_GROUPED:,} words, not {len(groups):,}"
        )
    return 0, tuple(sorted(groups.items()))


def _read_mapping(path: PathName) -> list[tuple[str, str]]:
    """Read the first two columns of a table: words and their groups."""
    table = open_table(path)
    if len(table.columns) < 2:
        raise InvalidInputError(f"{table.name} must have two columns: a value, and its group")
    pairs: dict[tuple[str, str], None] = {}
    names = table.columns[:2]
    for first_row, batch in numbered(table.batches(names)):
        cells = [text_cells(name, batch.column(name), first_row, text=True) for name in names]
        pairs |= dict.fromkeys(zip(*(column.to_pylist() for column in cells), strict=True))
        if len(pairs) > MOST_GROUPED:
            raise InvalidInputError(f"{table.name} must have at most {MOST_GROUPED:,} words")
    return list(pairs)


def _counted(table: TableReader, name: str, text: bool, empty: bool) -> Counter[str]:
    """Count the words of a column, empty cells as "(missing)" where that is a value."""
    times, size = Counter[str](), 0
    for first_row, batch in numbered(table.batches([name])):
        known = len(times)
        words: Any = trimmed(name, batch.column(0))
        if empty:
            words = words.filter(pc.invert(absent(words, text)))
            times[MISSING] += batch.num_rows - len(words)
        else:
            words = text_cells(name, batch.column(0), first_row, text)
        found = words.value_counts()
        pairs = zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)
        times.update(dict(pairs))
        size = check_words(name, times, known, size)
        if len(times) > MOST_WORDS:
            raise InvalidInputError(
                f"the column {name!r} has more than {MOST_WORDS:,} different values: bin it, or leave "
                "it out"
            )
    return +times


def _level_of(column: Column, word: str) -> str:
    if not column.groups:
        return word[: column.prefix] if column.prefix else word
    found = column.group_of.get(word)
    if found is None:
        raise InvalidInputError(f"the levels of {column.name!r} have no group for {quoted(word)}")
    return found


def _level_cost(name: str, words: Counter[str], times: Counter[str], prefix: int) -> str:
    by = f"by their first {prefix} character{'s' if prefix > 1 else ''}" if prefix else "by their groups"
    values = f"{len(words):,} values of {name!r} count {by}, as {len(times):,} values"
    return f"{values}; {_learnable(words, times)}"


def _top_cost(name: str, times: Counter[str], values: list[str]) -> str:
    """Say what taking the rarer values together loses: rows, and nats of the column's entropy."""
    rows, apart = times.total(), {*values, MISSING}
    others = sum(count for word, count in times.items() if word not in apart)
    merged = Counter({word: count for word, count in times.items() if word in apart})
    rare = len(times) - len(merged)
    merged[OTHER] += others
    what = f"1 value of {name!r} counts" if rare == 1 else f"{rare:,} values of {name!r} count"
    return (
        f"{what} as {OTHER}: {others:,} of {rows:,} rows, "
        f"{others / rows:.1%}; {_learnable(times, merged)}"
    )


def _learnable(before: Counter[str], after: Counter[str]) -> str:
    counts = (np.array(list(times.values())) / times.total() for times in (before, after))
    all_nats, left = map(_entropy, counts)
    return f"of the {all_nats:.3g} nats of the column at most {at_most(left, 3)} can be learnt"


def _entropy(p: Array) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())
