"""The benchmark: several solvers on the same instances in one process, which must agree."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from matplotlib.figure import Figure

from ldpopt.errors import InvalidInputError, UnknownNameError
from ldpopt.problem import Problem
from ldpopt.problems import PROBLEMS
from ldpopt.result import Result, verify
from ldpopt.solvers import SOLVERS
from ldpopt.solving import accepting, solve
from ldpopt.sweep import Row


@dataclass(frozen=True)
class Benchmark:
    """The table of a benchmark: one row per instance and solver."""

    rows: list[Row]
    baseline: str

    @property
    def disagreements(self) -> list[str]:
        """Instances on which two solvers contradict each other, or a certificate is refuted."""
        return [row["instance"] for row in self.rows if not (row["agrees"] and row["verified"])]


def targets(name: str) -> list[type[Problem]]:
    """The problems that a form's or a problem's name stands for."""
    if name in PROBLEMS:
        return [PROBLEMS[name]]
    by_form: dict[str, list[type[Problem]]] = {}
    for kind in PROBLEMS:
        problem = next(iter(PROBLEMS[kind].examples())).problem
        for form in {form.name for form in problem.forms()}:
            by_form.setdefault(form, []).append(PROBLEMS[kind])
    if name not in by_form:
        raise UnknownNameError("form or problem", name, [*by_form, *PROBLEMS])
    return by_form[name]


def run(
    name: str,
    *,
    sizes: Sequence[int] | None = None,
    solvers: Sequence[str] | None = None,
    repeats: int = 1,
    gap: float = 1e-9,
    time_limit: float = 60.0,
    progress: Callable[[Row], None] | None = None,
) -> Benchmark:
    """Solve random instances of every size by every solver that accepts them.

    Args:
        name: a form (``column-program``) or a problem (``staircase``).
        sizes: instance sizes, as each problem's ``random`` understands them; by default its own list.
        solvers: registered names; by default every solver that accepts and suits a comparison.
        repeats: how many random instances of each size and setting.
        gap: the relative gap asked for.
        time_limit: seconds per solve.
        progress: called with every finished row.
    """
    for solver in solvers or ():
        SOLVERS[solver]
    rows: list[Row] = []
    for kind in targets(name):
        if not (sizes or kind.bench_sizes):
            raise InvalidInputError(f"{kind.kind} has no random instances to benchmark")
        for size, seed in product(sizes or kind.bench_sizes, range(repeats)):
            for label, instance in kind.random(size, np.random.default_rng(seed)):
                group = list(_compare(f"{kind.kind} {label}", instance, solvers, gap, time_limit))
                _judge(group)
                for row in group:
                    rows.append({"size": size, "seed": seed, **row})
                    if progress is not None:
                        progress(rows[-1])
    if not rows:
        raise InvalidInputError(
            f"no solver of {list(solvers or SOLVERS)} accepts any instance of {name}"
        )
    return Benchmark(rows, _rate(rows))


def _compare(
    label: str, problem: Problem, names: Sequence[str] | None, gap: float, limit: float
) -> Iterator[Row]:
    for solver, _ in accepting(problem):
        if names is None or solver in names:
            with peak_memory() as memory:
                result = solve(problem, solver, gap=gap, time_limit=limit)
            yield {"instance": label, "solver": solver, **_measurements(result), **memory}


def _measurements(result: Result) -> Row:
    return {
        "seconds": result.seconds,
        "status": result.status.value,
        "value": result.value,
        "bound": result.bound,
        "gap": result.gap,
        "iterations": result.stats.get("iterations"),
        "columns": result.stats.get("columns"),
        "verified": result.value is None or bool(verify(result)),
    }


def _judge(group: list[Row]) -> None:
    """No solver's value may pass another's proven bound (the checker's margin aside)."""
    bounds = [row["bound"] for row in group if row["bound"] is not None]
    for row in group:
        row["agrees"] = row["value"] is None or all(_compatible(row, bound) for bound in bounds)


def _compatible(row: Row, bound: float) -> bool:
    kind = PROBLEMS[row["instance"].split()[0]]
    sign = 1 if kind.sense == "maximise" else -1
    return bool(sign * (row["value"] - bound) <= 1e-12 * max(abs(row["value"]), 1.0))


def _rate(rows: list[Row]) -> str:
    """Add to every row how often its time goes into the baseline's: that of the slowest solver."""
    total: dict[str, float] = {}
    for row in rows:
        total[row["solver"]] = total.get(row["solver"], 0.0) + row["seconds"]
    baseline = max(total, key=lambda solver: total[solver])
    reference = {_key(row): row["seconds"] for row in rows if row["solver"] == baseline}
    for row in rows:
        base = reference.get(_key(row))
        row["speedup"] = None if base is None else base / row["seconds"]
    return baseline


def _key(row: Row) -> tuple[Any, ...]:
    return row["instance"], row["size"], row["seed"]


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """How many megabytes the process grew at most, sampled every few milliseconds."""
    process, found = psutil.Process(), {"megabytes": 0.0}
    _return_free_memory()
    start, done = process.memory_info().rss, threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            grown = (process.memory_info().rss - start) / 1e6
            found["megabytes"] = max(found["megabytes"], grown)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def _return_free_memory() -> None:
    """Give what earlier solves freed back to the system (glibc keeps it), so that growth shows."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def draw_profile(benchmark: Benchmark, path: Path) -> None:
    """The performance profile: how many instances each solver answers within a factor of the best."""
    best: dict[tuple[Any, ...], float] = {}
    solved = [row for row in benchmark.rows if row["status"] == "optimal"]
    for row in solved:
        best[_key(row)] = min(best.get(_key(row), np.inf), row["seconds"])
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    names = sorted({row["solver"] for row in benchmark.rows})
    for i, solver in enumerate(names):
        ratios = sorted(row["seconds"] / best[_key(row)] for row in solved if row["solver"] == solver)
        share = np.arange(1, len(ratios) + 1) / max(len(best), 1)
        axes.step(
            [1, *ratios, 1e9],
            [0, *share, share[-1] if len(share) else 0],
            styles[i % 4],
            where="post",
            label=solver,
            linewidth=2,
        )
    slowest = max((row["seconds"] / best[_key(row)] for row in solved), default=10.0)
    axes.set(
        xscale="log",
        xlim=(1, max(10.0, 2 * slowest)),
        ylim=(0, 1.05),
        xlabel="time relative to the fastest solver of the instance",
        ylabel="share of instances proven optimal",
    )
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
