"""Read the columns and the counts of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.tables.cells import CompleteRows
from ldpopt.tables.domain import Domain
from ldpopt.tables.files import open_table
from ldpopt.tables.hierarchy import Levels
from ldpopt.tables.survey import Bins, survey


class Counted(NamedTuple):
    """The columns of a table, and how often each (s, u) occurs."""

    domain: Domain
    counts: NDArray[np.int64]


def counted(
    table: Any,
    secret: str | Sequence[str],
    public: str | Sequence[str],
    bins: Mapping[str, Bins] | None,
    text: Iterable[str],
    top: Mapping[str, int] | None,
    levels: Mapping[str, Levels] | None,
    missing: str,
    warn: Callable[[str], None] | None,
) -> Counted:
    """Count how often each combination of secret and public values occurs.

    Args:
        table: a file, a data frame, columns by name, or an embedded table.
        secret: the column or columns to hide.
        public: the column or columns to release.
        bins: for columns of numbers, dates or times, how many bins, or the edges between them.
        text: columns whose cells are words.
        top: for columns of words, how many of the most frequent are told apart.
        levels: for columns of words, how many first characters count, or the groups of the words.
        missing: what becomes of rows with an empty cell: "refuse", "drop" or "category".
        warn: called with what was left out or taken together, and with bins that hold all rows.
    """
    validate.choice("missing", missing, ("refuse", "drop", "category"))
    reader, columns = open_table(table), (_names(secret), _names(public))
    if missing == "drop":
        reader = complete = CompleteRows(reader, [*columns[0], *columns[1]], text)
    domain, counts = survey(
        reader,
        *columns,
        bins,
        text,
        top=top,
        levels=levels,
        missing=missing == "category",
        warn=warn,
    )
    if missing == "drop" and warn is not None:
        warn(complete.in_words)
    return Counted(domain, counts)


def _names(columns: str | Sequence[str]) -> list[str]:
    names = (
        list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else [columns]
    )
    for name in names:
        if not isinstance(name, str):
            raise InvalidInputError(f"the name of a column is text, not {name!r}")
    return names
