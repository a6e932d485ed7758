"""One solver on one instance: its row of the table, and what it knew at which time."""

from __future__ import annotations

import ctypes
import gc
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import psutil

from ldpopt.bench.entrants import Entrant
from ldpopt.bench.instances import Task
from ldpopt.core.errors import UndecidedFileError, UnreadableFileError, from_ctrl_c
from ldpopt.core.form import Form
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.problem import Problem
from ldpopt.engine.result import Result
from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Row
from ldpopt.engine.verifying import verify

GRACE = 10.0
"""Seconds of processor time beyond its limit after which a solve, or the checker, is interrupted."""
MEASURED = (
    *("cpu", "cpu_low", "cpu_high", "runs", "start", "solved", "speedup", "baseline", "value", "bound"),
    *("gap", "known_gap", "iterations", "columns", "megabytes", "child_megabytes", "verified", "agrees"),
)
"""The columns that a refusal leaves empty."""


class Rules(NamedTuple):
    """What holds for every solve of a benchmark.

    Attributes:
        gap: the relative gap asked for.
        limit: seconds of processor time.
        seed: for solvers that draw random numbers.
        repeats: how often a solve that reaches the gap is measured.
    """

    gap: float = 1e-9
    limit: float = 60.0
    seed: int = 0
    repeats: int = 1


class Curve:
    """What a solve knew on its way: (processor seconds, value, bound), infinite ones as None."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.points: list[tuple[float, float | None, float | None]] = []

    def __call__(self, value: float, bound: float, /) -> None:
        """Note the best value and the proven bound so far."""
        finite = [number if math.isfinite(number) else None for number in (value, bound)]
        self.points.append((self.limits.elapsed(), finite[0], finite[1]))

    def rows(self, row: Row) -> list[Row]:
        """Return a row per note and one for the result, with what names the solve.

        Notes come from the run that told them; none is later than the time of the result.
        """
        names = ("form", "problem", "instance", "size", "seed", "solver")
        which = {name: row[name] for name in names}
        told = [(min(at, row["cpu"]), v, b) for at, v, b in self.points]
        told.append((row["cpu"], row["value"], row["bound"]))
        return [which | {"cpu": at, "value": v, "bound": b} for at, v, b in told]


def attempt(task: Task, entrant: Entrant, rules: Rules, warm: set[str]) -> tuple[Row, list[Row]]:
    """Let a solver answer an instance; return its row, and what it knew over time.

    The time of a run that proves the gap is measured as often as the rules say; other runs, which
    mostly end with the limit, once.

    Args:
        task: the instance.
        entrant: the solver.
        rules: gap, limit, seed and repetitions.
        warm: the solvers that ran before; the first solve of one is repeated, as it pays for imports.
    """
    kind, limit = task.problem.kind, rules.limit
    row: Row = {"form": task.forms[0].name, "problem": kind, "instance": f"{kind} {task.label}"}
    row["instance"] = task.label if task.size is None else row["instance"]
    row |= {"size": task.size, "seed": task.seed}
    row |= {"solver": entrant.name, "status": "refused", "reason": "", **dict.fromkeys(MEASURED)}
    try:
        form, row["reason"] = Limits.within(limit + GRACE).in_time(lambda: admit(entrant, task.problem))
        if form is None:
            return row, []
        row["form"] = form.name
        if entrant.name not in warm:
            _timed(task.problem, entrant, rules)
            warm.add(entrant.name)
            gc.collect()
            gc.freeze()  # collections before every solve would go through all that is imported
        with peak_memory() as memory:
            result, cpu, curve = _timed(task.problem, entrant, rules)
        row["verified"], row["reason"] = _verified(result, limit + GRACE)
        row |= memory | {"status": result.status.value}
        row |= {name: getattr(result, name) for name in ("value", "bound", "gap")}
        row |= {name: result.stats.get(name) for name in ("iterations", "columns")}
        row["child_megabytes"] = result.stats.get("process_megabytes")
        runs = [(cpu, result.stats.get("process_starts", 0.0))]
        for _ in range(rules.repeats - 1 if row["status"] == "optimal" else 0):
            again, cpu, _ = _timed(task.problem, entrant, rules)
            runs.append((cpu, again.stats.get("process_starts", 0.0)))
        work = [cpu - start for cpu, start in runs]
        row |= dict(zip(("cpu_low", "cpu", "cpu_high"), quartiles(work), strict=True))
        row |= {"runs": len(runs), "start": quartiles([start for _, start in runs])[1] or None}
        return row, curve.rows(row)
    except OutOfTime:
        sentence = f"it did not end within {limit + GRACE:g} s, where its time limit is {limit:g} s"
        return row | {"status": "crashed", "reason": sentence}, []
    except (Exception, SystemExit) as error:  # one solver's crash must not lose the others' rows
        if from_ctrl_c(error):
            raise KeyboardInterrupt from error
        sentence = " ".join(f"{type(error).__name__}: {error}".split())
        return row | {"status": "crashed", "reason": sentence}, []


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile.

    >>> quartiles([4.0, 1.0, 2.0, 3.0, 5.0])
    (2.0, 3.0, 4.0)
    """
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return low, middle, high


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


def admit(entrant: Entrant, problem: Problem) -> tuple[Form | None, str]:
    """Find the form that the solver takes, or the reason why it takes none."""
    missing = entrant.solver.missing()
    reasons = []
    for form in problem.forms():
        if missing and issubclass(type(form), entrant.solver.form):
            return None, f"needs the package {missing[0]!r}"
        if (reason := entrant.configured().takes(form)) is True:
            return form, ""
        reasons.append(reason)
    return None, "; ".join(dict.fromkeys(reasons))


def _timed(problem: Problem, entrant: Entrant, rules: Rules) -> tuple[Result, float, Curve]:
    """Solve; return the result, the processor time from problem to certified result, and the curve."""
    allowed = Limits.within(rules.limit + GRACE)
    curve = Curve(allowed)

    def answer() -> Result:
        solver, seconds = entrant.configured(), rules.limit
        return solve(problem, solver, gap=rules.gap, time_limit=seconds, seed=rules.seed, progress=curve)

    result = allowed.in_time(answer)
    if result.stats.get("interrupted"):
        raise KeyboardInterrupt
    return result, allowed.elapsed(), curve


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
