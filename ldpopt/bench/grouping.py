"""Group the rows of a benchmark, and take medians of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from ldpopt.engine.sweep import Row


def by(name: str, rows: Iterable[Row]) -> list[tuple[Any, list[Row]]]:
    """Group the rows by a column, in the order of first appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    return list(groups.items())


def known(name: str, rows: Iterable[Row]) -> list[float]:
    """List the values of a column that are there."""
    return [row[name] for row in rows if row[name] is not None]


def middle(name: str, rows: Iterable[Row]) -> float | None:
    """Return the median of the values of a column that are there; None if there is none."""
    values = known(name, rows)
    return median(values) if values else None
