"""One solver on one instance: its row of the table, and what it knew at which time."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from ldpopt.bench.instances import Task
from ldpopt.core.errors import UndecidedFileError, UnreadableFileError, from_ctrl_c
from ldpopt.core.form import Form
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.engine.result import Result
from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Row
from ldpopt.engine.verifying import verify

GRACE = 10.0
"""Seconds beyond its time limit after which a solve, or the checker, is interrupted."""
MEASURED = (
    *("seconds", "cpu", "speedup", "baseline", "value", "bound", "gap", "known_gap", "iterations"),
    *("columns", "megabytes", "verified", "agrees"),
)
"""The columns that a refusal leaves empty."""


class Curve:
    """What a solve knew on its way: (seconds, value, bound), infinite ones as None."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.points: list[tuple[float, float | None, float | None]] = []

    def __call__(self, value: float, bound: float, /) -> None:
        """Note the best value and the proven bound so far."""
        finite = [number if math.isfinite(number) else None for number in (value, bound)]
        self.points.append((self.limits.elapsed(), finite[0], finite[1]))

    def rows(self, row: Row) -> list[Row]:
        """Return a row per note and one for the result, with what names the solve."""
        names = ("form", "problem", "instance", "size", "seed", "solver")
        which = {name: row[name] for name in names}
        told = [*self.points, (row["seconds"], row["value"], row["bound"])]
        return [which | {"seconds": at, "value": v, "bound": b} for at, v, b in told]


def attempt(
    task: Task, solver: type[Solver[Any]], gap: float, limit: float, warm: set[str]
) -> tuple[Row, list[Row]]:
    """Let a solver answer an instance; return its row, and what it knew over time.

    Args:
        task: the instance.
        solver: its class.
        gap: the relative gap asked for.
        limit: seconds.
        warm: the solvers that ran before; the first solve of one is repeated, as it pays for imports.
    """
    row: Row = {"form": task.forms[0].name, "problem": task.kind}
    row |= {"instance": f"{task.kind} {task.label}", "size": task.size, "seed": task.seed}
    row |= {"solver": solver.name, "status": "refused", "reason": "", **dict.fromkeys(MEASURED)}
    try:
        form, row["reason"] = Limits.within(limit + GRACE).in_time(lambda: admit(solver, task.problem))
        if form is None:
            return row, []
        row["form"] = form.name
        if solver.name not in warm:
            Limits.within(limit + GRACE).in_time(lambda: _finished(task.problem, solver, gap, limit))
            warm.add(solver.name)
            gc.collect()
            gc.freeze()  # collections before every solve would go through all that is imported
        with peak_memory() as memory:
            allowed = Limits.within(limit + GRACE)
            curve, cpu = Curve(allowed), _processor_time()
            result = allowed.in_time(lambda: _finished(task.problem, solver, gap, limit, curve))
            cpu = _processor_time() - cpu
        row["verified"], row["reason"] = _verified(result, limit + GRACE)
        row |= memory | {"cpu": cpu, "status": result.status.value}
        row |= {name: getattr(result, name) for name in ("seconds", "value", "bound", "gap")}
        row |= {name: result.stats.get(name) for name in ("iterations", "columns")}
        return row, curve.rows(row)
    except OutOfTime:
        sentence = f"it did not end within {limit + GRACE:g} s, where its time limit is {limit:g} s"
        return row | {"status": "crashed", "reason": sentence}, []
    except (Exception, SystemExit) as error:  # one solver's crash must not lose the others' rows
        if from_ctrl_c(error):
            raise KeyboardInterrupt from error
        sentence = " ".join(f"{type(error).__name__}: {error}".split())
        return row | {"status": "crashed", "reason": sentence}, []


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Measure by how many megabytes the process grew at most.

    The memory is sampled every few milliseconds and at the end.
    """
    process, found = psutil.Process(), {"megabytes": 0.0}
    gc.collect()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)  # glibc keeps freed memory, and growth within it would not be seen
    start, done = process.memory_info().rss, threading.Event()

    def look() -> None:
        grown = (process.memory_info().rss - start) / 1e6
        found["megabytes"] = max(found["megabytes"], grown)

    def watch() -> None:
        while not done.wait(0.005):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()
        look()


def _processor_time() -> float:
    """Return the processor time of this process and of those that it started and that have ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def admit(solver: type[Solver[Any]], problem: Problem) -> tuple[Form | None, str]:
    """Find the form that the solver takes, or the reason why it takes none."""
    reasons = []
    for form in problem.forms():
        if (reason := solver().takes(form)) is True:
            missing = solver.missing()
            return (None, f"needs the package {missing[0]!r}") if missing else (form, "")
        reasons.append(reason)
    return None, "; ".join(dict.fromkeys(reasons))


def _finished(
    problem: Problem, solver: type[Solver[Any]], gap: float, limit: float, curve: Curve | None = None
) -> Result:
    result = solve(problem, solver(), gap=gap, time_limit=limit, progress=curve)
    if result.stats.get("interrupted"):
        raise KeyboardInterrupt
    return result


PRIVACY_ALONE = (
    "its privacy is verified; value, bound and status are not: the checker knows no such utility"
)
"""Why a result of another package's problem is not called verified."""


def _verified(result: Result, seconds: float) -> tuple[bool | None, str]:
    """Ask the checker for its verdict and reason; None where it has nothing to check or cannot know."""
    if result.value is None or result.problem.statement() is None:
        return None, ""
    try:
        found = Limits.within(seconds).in_time(lambda: verify(result, budget=seconds))
    except UnreadableFileError as error:
        return False, f"refuted: {error}"
    except (OutOfTime, UndecidedFileError):
        return None, f"the checker did not decide it within {seconds:g} s"
    failed = [claim for claim in found.claims if not claim.holds]
    if found.verdict is None:
        return None, f"undecided: {failed[0].statement}"
    if not failed and not found.certifies_utility:
        return None, PRIVACY_ALONE
    return not failed, f"refuted: {failed[0].statement}" if failed else ""
