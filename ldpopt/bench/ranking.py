"""Rank solvers over many instances: shifted geometric means, times to a proven gap, clear ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ldpopt.bench.benchmark import Benchmark
from ldpopt.bench.rows import by, instance_key
from ldpopt.core.form import relative_gap
from ldpopt.engine.sweep import Row

SHIFT = 0.01
"""Seconds added before the logarithm: differences far below a hundredth of a second do not count."""
CLEARLY = 1.2
"""Ratio of two means from which a solver is clearly faster than another."""
ROUGH = 0.01
"""The gap of the other column: most of what a user needs is often known long before the proof ends."""

Steps = list[tuple[float, float]]
"""The gap that a solve had proven at which second: (second, gap), seconds up, gaps down."""


class Standing(NamedTuple):
    """How a solver did on the instances of a problem.

    Attributes:
        solver: its name.
        rank: one more than the number of solvers that are clearly faster; None if it solved none.
        solved: how many instances it solved.
        instances: how many there are.
        mean: the shifted geometric mean of its processor seconds; one that it did not solve, or
            refused, counts as the time limit.
        low: the same of the lower quartiles.
        high: the same of the upper quartiles.
        rough: the same of the seconds to a proven gap of :data:`ROUGH`.
        start: the largest of the seconds in which other processes started and ended.
    """

    solver: str
    rank: int | None
    solved: int
    instances: int
    mean: float
    low: float
    high: float
    rough: float
    start: float


def shifted_mean(seconds: Sequence[float]) -> float:
    """Compute the shifted geometric mean exp(mean of log(t + s)) − s.

    >>> round(shifted_mean([0.0, 0.01 * 3]), 6)
    0.01
    """
    return math.exp(sum(math.log(t + SHIFT) for t in seconds) / len(seconds)) - SHIFT


def standings(rows: Iterable[Row], found: Benchmark) -> list[Standing]:
    """Rank the solvers of one problem over all its instances, the best first.

    Args:
        rows: the rows of the problem, refusals included.
        found: the benchmark that they are from.
    """
    listed = list(rows)
    instances = {instance_key(row) for row in listed}
    steps, limit = gap_steps(found), found.rules.limit
    entries = []
    for solver, mine in by("solver", listed):
        if all(row["cpu"] is None and row["status"] == "refused" for row in mine):
            continue
        solved = {instance_key(row): row for row in mine if row["solved"]}
        mean, low, high = (
            shifted_mean([solved[key][column] if key in solved else limit for key in instances])
            for column in ("cpu", "cpu_low", "cpu_high")
        )
        to_gap = [time_to(steps.get((*key, solver), []), ROUGH, limit) for key in instances]
        start = max((row["start"] or 0.0 for row in mine), default=0.0)
        counts = len(solved), len(instances)
        entries.append(Standing(solver, None, *counts, mean, low, high, shifted_mean(to_gap), start))
    ranked = [entry._replace(rank=_rank(entry, entries)) for entry in entries]
    return sorted(ranked, key=lambda entry: (entry.rank or math.inf, entry.mean, entry.solver))


def _rank(entry: Standing, entries: Sequence[Standing]) -> int | None:
    """Count who is clearly faster: by a factor, even if the quartiles favour the other."""
    if not entry.solved:
        return None
    return 1 + sum(CLEARLY * (other.high + SHIFT) < entry.low + SHIFT for other in entries)


def gap_steps(found: Benchmark) -> Mapping[tuple[Any, ...], Steps]:
    """Compute which gap each solve had proven when, by instance and solver.

    On its way, a gap is that between the value and the bound that the solver reports; at the end it is
    that of the certified result. A solve that is refuted or contradicted has proven nothing.
    """
    sound = {
        (*instance_key(row), row["solver"])
        for row in found.measured
        if row["agrees"] and row["verified"] is not False
    }
    steps: dict[tuple[Any, ...], Steps] = {}
    for point in found.curves:
        key = (*instance_key(point), point["solver"])
        value, bound = point["value"], point["bound"]
        gap = None if value is None else relative_gap(value, bound)
        if key not in sound or gap is None:
            continue
        known = steps.setdefault(key, [])
        if not known or gap < known[-1][1]:
            known.append((point["cpu"], gap))
    return steps


def time_to(steps: Steps, gap: float, limit: float) -> float:
    """Return the seconds after which a gap was proven; the limit if it was not.

    Args:
        steps: what was proven when.
        gap: the relative gap.
        limit: seconds.

    >>> time_to([(0.5, 0.1), (2.0, 0.001)], 0.01, 60.0)
    2.0
    """
    return next((min(at, limit) for at, proven in steps if proven <= gap), limit)


def mean_log_gap(curves: Sequence[Steps], floor: float) -> Steps:
    """Compute the geometric mean of the gaps of several solves, and where it steps.

    A solve that has proven nothing yet has a gap of 1; gaps below the floor count as the floor.

    >>> mean_log_gap([[(1.0, 0.01)], []], 1e-9)
    [(1.0, 0.1)]
    """
    events = sorted((at, i, gap) for i, steps in enumerate(curves) for at, gap in steps)
    gaps = [1.0] * len(curves)
    found: Steps = []
    for at, i, gap in events:
        gaps[i] = min(max(gap, floor), 1.0)
        mean = math.exp(sum(map(math.log, gaps)) / len(gaps))
        found.append((at, round(mean, 12)))
    return found
