"""Count the numbers of a column, of which the mean is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import point_names
from ldpopt.tables.batches import open_table
from ldpopt.tables.cells import CompleteRows, numbered, numbers
from ldpopt.tables.domain import Attribute, Column, Domain
from ldpopt.tables.survey import Survey

POINTS = 41
"""The points of a range to which numbers are rounded.

At levels up to 4 the best mechanism on these has a variance within 1 % of the least on the whole range.
"""


def number_survey(
    table: Any,
    name: str,
    ends: Sequence[float],
    *,
    missing: str = "refuse",
    warn: Callable[[str], None] | None = None,
) -> Survey:
    """Count a column of numbers, rounded to equally spaced points of their range.

    Every point is an input of the mechanism, whether the table has a number near it or not: which points
    there are tells nothing of the table.

    Args:
        table: a file, a data frame, columns by name, or an embedded table.
        name: the column.
        ends: the least and the greatest number that counts; others count as the nearer of the two.
        missing: what becomes of rows with an empty cell: "refuse" or "drop".
        warn: called with how many numbers lie outside the range, and how many rows were dropped.

    >>> domain, counts = number_survey({"age": [20, 20, 35.5]}, "age", (0, 80))
    >>> domain.secret.labels[9:12], counts[9:12, 0].tolist()
    (('18', '20', '22'), [0, 2, 0])
    """
    validate.choice("missing", missing, ("refuse", "drop"))
    if len(ends) != 2 or not 0 < (ends[1] - ends[0]) * POINTS < np.inf:
        raise InvalidInputError(
            f"the range must be two finite numbers, the least and the greatest, not {list(ends)}"
        )
    low, high = map(float, ends)
    reader = open_table(table)
    if missing == "drop":
        reader = complete = CompleteRows(reader, [name])
    column = Column(name, tuple(point_names((low, high), POINTS)), range=(low, high))
    domain = Domain(Attribute((column,), tuple((i,) for i in range(POINTS))), None)
    counts, outside = np.zeros(POINTS, dtype=np.int64), 0
    if len(set(column.values)) < POINTS:
        raise InvalidInputError(f"the range from {low!r} to {high!r} is too short to be divided")
    for first_row, batch in numbered(reader.batches([name])):
        found = numbers(name, batch.column(0), first_row)
        outside += int(((found < low) | (found > high)).sum())
        counts += np.bincount(column.codes(batch.column(0), first_row), minlength=POINTS)
    if not counts.any():
        raise InvalidInputError(f"{reader.name} has no rows")
    if warn is not None and outside:
        warn(
            f"{outside:,} of {counts.sum():,} numbers of {name!r} lie outside {low:g} to {high:g} and "
            "count as its nearer end: the mean is that of the numbers so changed"
        )
    if warn is not None and missing == "drop":
        warn(complete.in_words)
    return Survey(domain, counts[:, None])
