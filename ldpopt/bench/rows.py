"""The rows of a benchmark: group them, judge who contradicts whom, rate how fast each solver is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import numpy as np

from ldpopt.core.form import relative_gap
from ldpopt.engine.sweep import Row

MARGIN = 1e-12
"""How far a value may pass a bound, relative to at least 1: bounds are rounded to floats."""


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


def judge(group: list[Row], sense: str) -> None:
    """Mark rows whose value is better than another solver's proven bound, beyond the checker's margin.

    Of two rows that contradict each other, both are marked, unless the checker refutes one alone.
    """
    sign = 1 if sense == "maximise" else -1
    rows = [row for row in group if row["cpu"] is not None]
    for row in rows:
        opponents = [
            other["solver"]
            for other in rows
            if (_passes(row, other, sign) or _passes(other, row, sign))
            and (row["verified"] is False or other["verified"] is not False)
        ]
        row["agrees"] = not opponents
        if opponents:
            whom = ", ".join("itself" if name == row["solver"] else name for name in opponents)
            row["reason"] = "; ".join(filter(None, [row["reason"], f"contradicts {whom}"]))
    bounds = [
        sign * row["bound"]
        for row in rows
        if row["bound"] is not None and row["agrees"] and row["verified"] is not False
    ]  # a heuristic proves nothing itself, and is judged by its gap to the sharpest of these
    best = sign * min(bounds) if bounds else None
    for row in rows:
        row["known_gap"] = None if row["value"] is None else relative_gap(row["value"], best)


def _passes(row: Row, other: Row, sign: int) -> bool:
    """Return whether the value of one row is better than the other row claims to be possible."""
    value, bound = row["value"], other["bound"]
    if value is None:
        return False
    if other["status"] == "infeasible":
        return True
    return bound is not None and not sign * (value - bound) <= MARGIN * max(abs(value), 1.0)


def rate(rows: list[Row], limit: float, baseline: str | None = None) -> None:
    """Say of each row whether it solved its instance, and how many times faster than the baseline.

    An instance is *solved* by a result that is optimal within the gap asked for, in the time limit,
    neither refuted nor contradicted. Times of runs that did not solve it are no times to compare with:
    only where both solved an instance is one faster.

    Args:
        rows: the rows, judged.
        limit: the time limit in processor seconds.
        baseline: the solver to compare with; by default, for each form of a problem, the one that
            solves most of its instances, and of these the slowest.
    """
    measured = [row for row in rows if row["cpu"] is not None]
    total: dict[tuple[str, str], dict[str, tuple[int, float]]] = {}
    for row in measured:
        sound = row["agrees"] and row["verified"] is not False
        row["solved"] = bool(sound and row["status"] == "optimal" and row["cpu"] <= limit)
        of_problem = total.setdefault((row["form"], row["problem"]), {})
        count, seconds = of_problem.get(row["solver"], (0, 0.0))
        of_problem[row["solver"]] = count + row["solved"], seconds + row["cpu"]
    for row in measured:
        of_problem = total[row["form"], row["problem"]]
        row["baseline"] = baseline or max(of_problem, key=lambda solver: of_problem[solver])
    solved = {(*instance_key(row), row["solver"]): row["cpu"] for row in measured if row["solved"]}
    for row in measured:
        base = solved.get((*instance_key(row), row["baseline"]))
        row["speedup"] = base / row["cpu"] if base and row["cpu"] and row["solved"] else None


def instance_key(row: Row) -> tuple[Any, ...]:
    """Return what the rows of one instance share, whatever form of it a solver takes."""
    return row["instance"], row["size"], row["seed"]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """Fit the a of values ≈ c · sizes^a by least squares of the logarithms; None below three sizes.

    >>> round(exponent([2, 4, 8], [3, 12, 48]), 9)
    2.0
    """
    points = [(math.log(s), math.log(v)) for s, v in zip(sizes, values, strict=True) if s > 0 and v > 0]
    if len({x for x, _ in points}) < 3:
        return None
    x, y = np.array(points).T
    x -= x.mean()
    return float(x @ y / (x @ x))
