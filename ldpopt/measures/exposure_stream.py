"""The exposure of a table that comes in parts: only the distinct rows are kept, never the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.exposure_curve import ExposureCurve
from ldpopt.tables.codes import rows_of

MOST_ROWS = 20_000_000
"""Distinct rows beyond which counting is refused."""


class ExposureStream:
    """Counts rows part by part; its answers are those of the whole table, exactly.

    Args:
        columns: the names (or, for matrices, the numbers) of the columns to count; None for all.
        most_rows: the largest number of distinct rows to keep.

    >>> stream = ExposureStream()
    >>> stream.add([(1, 0)] * 4).add([(0, 0)] + [(0, 1)] * 4).users
    9
    >>> float(stream.curve()(1 / 8)), stream.anonymity_level()
    (0.1111111111111111, 1)
    """

    def __init__(self, columns: Any = None, most_rows: int = MOST_ROWS) -> None:
        self.columns, self.most_rows = columns, most_rows
        self._counts: Counter[tuple[Hashable, ...]] = Counter()
        self.users = 0

    def add(self, part: Any) -> ExposureStream:
        """Count the rows of a part: a data frame, a dictionary of columns, or a matrix.

        Raises:
            InvalidInputError: there are more distinct rows than may be kept.
        """
        rows = rows_of(part, self.columns)
        self._counts.update(rows)
        self.users += len(rows)
        if len(self._counts) > self.most_rows:
            raise InvalidInputError(
                f"the columns may have {self.most_rows:,} distinct rows at most, "
                f"not {len(self._counts):,}"
            )
        return self

    def extend(self, parts: Iterable[Any]) -> ExposureStream:
        """Count all parts."""
        for part in parts:
            self.add(part)
        return self

    def curve(self) -> ExposureCurve:
        """Compute the exposure at every threshold, of all rows counted so far."""
        sizes, groups = np.unique(self._sizes(), return_counts=True)
        users = np.cumsum(sizes * groups)
        return ExposureCurve(sizes / users[-1], users / users[-1])

    def anonymity_level(self) -> int:
        """Compute the size of the smallest group."""
        return int(self._sizes().min())

    def _sizes(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        if not self.users:
            raise InvalidInputError("no row was counted yet: the exposure needs at least one")
        return np.fromiter(self._counts.values(), np.int64, len(self._counts))
