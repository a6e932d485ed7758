"""The benchmark: several solvers on the same instances in one process, which must agree."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ldpopt.bench.instances import Task, check_sizes, draw_all
from ldpopt.bench.memory import peak_memory
from ldpopt.bench.patience import TooLongError, patience
from ldpopt.core.errors import (
    InvalidInputError,
    LdpoptError,
    UndecidedFileError,
    UnknownNameError,
    UnreadableFileError,
)
from ldpopt.core.form import Form
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.engine.result import Result
from ldpopt.engine.solving import check_limits, solve
from ldpopt.engine.sweep import Row
from ldpopt.engine.verifying import verify
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS

EVERYTHING = "all"
"""The target that stands for every problem."""
GRACE = 10.0
"""Seconds beyond its time limit after which a solve, or the checker, is interrupted."""
MARGIN = 1e-12
"""How far a value may pass a bound, relative to at least 1: bounds are rounded to floats."""


@dataclass(frozen=True)
class Benchmark:
    """The table of a benchmark: one row per instance and solver, refusals and crashes included.

    Attributes:
        target: what was asked for: a form, a problem, or "all".
        rows: ``status`` is that of the result, "refused" or "crashed"; ``reason`` says why a solver
            refused, crashed, was refuted, or whom it contradicts.
        gap: the relative gap asked for.
        time_limit: seconds per solve.
        interrupted: only the rows that were done when the user interrupted.
        skipped: a sentence for every instance that could not be drawn in time.
    """

    target: str
    rows: list[Row]
    gap: float
    time_limit: float
    interrupted: bool = False
    skipped: tuple[str, ...] = ()

    @property
    def measured(self) -> list[Row]:
        """The rows of solvers that neither refused nor crashed."""
        return [row for row in self.rows if row["seconds"] is not None]

    @property
    def disagreements(self) -> list[str]:
        """One sentence for every solver that contradicts another, or whose proof is refuted."""
        return _sentences(row for row in self.measured if not row["agrees"] or row["verified"] is False)

    @property
    def crashes(self) -> list[str]:
        """One sentence for every solver that crashed on an instance."""
        return _sentences(row for row in self.rows if row["status"] == "crashed")


def _sentences(rows: Iterable[Row]) -> list[str]:
    """Write for every solver its first row, and how many more there are."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["solver"], []).append(row)
    return [
        f"{solver} on {found[0]['instance']} (seed {found[0]['seed']}): {found[0]['reason']}"
        + (f" – and on {len(found) - 1} more" if len(found) > 1 else "")
        for solver, found in groups.items()
    ]


class Entry(NamedTuple):
    """What the examples tell about a form: its class, its problems, the solvers that accept it."""

    form: type[Form]
    problems: list[str]
    solvers: list[str]


def catalogue(plugins: Sequence[type[Solver[Any]]] = ()) -> dict[str, Entry]:
    """Return every form that an example of a problem has, by name."""
    entries: dict[str, Entry] = {}
    solvers = _entrants(None, plugins)
    for kind, form in _example_forms():
        entry = entries.setdefault(form.name, Entry(type(form), [], []))
        if kind not in entry.problems:
            entry.problems.append(kind)
        fresh = (name for name in solvers if name not in entry.solvers)
        entry.solvers.extend([name for name in fresh if _might_solve(solvers[name], form)])
    return entries


@cache
def _example_forms() -> list[tuple[str, Form]]:
    examples = ((kind, example.problem) for kind in PROBLEMS for example in PROBLEMS[kind].examples())
    return [(kind, form) for kind, problem in examples for form in problem.forms()]


def _might_solve(solver: type[Solver[Any]], form: Form) -> bool:
    try:
        return solver().takes(form) is True
    except Exception:  # it will crash again, on an instance, and get a row for it
        return True


def targets(name: str, forms: Mapping[str, Entry] | None = None) -> list[type[Problem]]:
    """List the problems that a form's or a problem's name, or "all", stands for."""
    if name == EVERYTHING:
        return [PROBLEMS[kind] for kind in PROBLEMS]
    if name in PROBLEMS:
        return [PROBLEMS[name]]
    forms = catalogue() if forms is None else forms
    if name not in forms:
        raise UnknownNameError("form or problem", name, [*forms, *PROBLEMS, EVERYTHING])
    return [PROBLEMS[kind] for kind in forms[name].problems]


def run(
    name: str,
    *,
    sizes: Sequence[int] | None = None,
    full: bool = False,
    solvers: Sequence[str] | None = None,
    plugins: Sequence[type[Solver[Any]]] = (),
    repeats: int = 1,
    gap: float = 1e-9,
    time_limit: float = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> Benchmark:
    """Solve random instances of every size by every solver that accepts them.

    A solver's first solve is repeated before it counts, since it pays for imports. An interruption
    (Ctrl-C) ends the benchmark with the rows that are done.

    Args:
        name: a form (``column-program``), a problem (``staircase``), or "all".
        sizes: instance sizes, as the problems' ``random`` understands them; by default their own list.
        full: the longer of their own lists.
        solvers: registered names; by default every solver.
        plugins: solvers that are not registered, run beside the others and judged alike.
        repeats: how many random instances of each size and setting.
        gap: the relative gap asked for.
        time_limit: seconds per solve.
        progress: called with (finished, total) after every instance.
    """
    if sizes is not None and min(sizes, default=1) < 1:
        raise InvalidInputError(f"sizes must be whole numbers >= 1, not {min(sizes)}")
    if name == EVERYTHING and sizes is not None:
        raise InvalidInputError("sizes differ from problem to problem: choose one, or leave them out")
    check_limits(gap, time_limit)
    entrants = _entrants(solvers, plugins)
    forms = catalogue(plugins)
    kinds = targets(name, forms)
    if not (sizes or name == EVERYTHING):
        check_sizes(kinds, full)
    form = name if name in forms else None
    tasks, skipped = draw_all(kinds, sizes, full, repeats, form, time_limit)
    homeless = {p.name for p in plugins if not any(p.name in entry.solvers for entry in forms.values())}
    rows: list[Row] = []
    interrupted = False
    try:
        for finished, group in enumerate(_groups(tasks, entrants, gap, time_limit), start=1):
            rows += [row for row in group if _keep_row(row, forms, homeless)]
            if progress is not None:
                progress(finished, len(tasks))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        gc.unfreeze()
    if skipped and not rows and not interrupted:
        raise InvalidInputError("; ".join(skipped))
    if not interrupted and all(row["status"] == "refused" for row in rows):
        raise InvalidInputError(
            f"no solver of {list(entrants)} accepts any instance of {name}"
            + (f": {rows[0]['solver']}: {rows[0]['reason']}" if rows else "")
        )
    _rate(rows)
    return Benchmark(name, rows, gap, time_limit, interrupted, tuple(skipped))


def _groups(
    tasks: Iterable[Task], entrants: Mapping[str, type[Solver[Any]]], gap: float, limit: float
) -> Iterator[list[Row]]:
    """Yield the rows of every instance, judged; an interruption passes on after those that are done."""
    warm: set[str] = set()
    for task in tasks:
        group: list[Row] = []
        interruption = None
        try:
            for cls in entrants.values():
                group.append(_attempt(task, cls, gap, limit, warm))
        except KeyboardInterrupt as error:
            interruption = error
        _judge(group, task.problem.sense)
        yield group
        if interruption is not None:
            raise interruption


def _keep_row(row: Row, forms: Mapping[str, Entry], homeless: Container[str]) -> bool:
    """Return whether the table keeps this row.

    Refusals by solvers of other forms are dropped; a plugin that fits no form keeps its refusals, so
    that its author sees why.
    """
    of_form = forms[row["form"]].solvers if row["form"] in forms else []
    return row["status"] != "refused" or row["solver"] in of_form or row["solver"] in homeless


def _entrants(
    names: Sequence[str] | None, plugins: Sequence[type[Solver[Any]]]
) -> dict[str, type[Solver[Any]]]:
    chosen = {}
    for name in SOLVERS if names is None else names:
        try:
            chosen[name] = SOLVERS[name]
        except LdpoptError:  # a broken plug-in that nobody asked for; ldpopt list solvers says why
            if names is not None:
                raise
    for plugin in plugins:
        if plugin.name in SOLVERS or plugin.name in chosen:
            raise InvalidInputError(f"the solver name {plugin.name!r} of a plugin is taken")
        chosen[plugin.name] = plugin
    return chosen


def _attempt(task: Task, cls: type[Solver[Any]], gap: float, limit: float, warm: set[str]) -> Row:
    row: Row = {"form": task.form, "problem": task.kind}
    row |= {"instance": f"{task.kind} {task.label}", "size": task.size, "seed": task.seed}
    row |= {"solver": cls.name, "status": "refused", "reason": "", **dict.fromkeys(_MEASURED)}
    try:
        with patience(limit + GRACE):
            form, row["reason"] = _admit(cls, task.problem)
        if form is None:
            return row
        row["form"] = form.name
        if cls.name not in warm:
            with patience(limit + GRACE):
                _finished(task.problem, cls, gap, limit)
            warm.add(cls.name)
            gc.collect()
            gc.freeze()  # collections before every solve would go through all that is imported
        with peak_memory() as memory, patience(limit + GRACE):
            result = _finished(task.problem, cls, gap, limit)
        return row | _measurements(result, limit + GRACE) | memory
    except TooLongError:
        sentence = f"it did not end within {limit + GRACE:g} s, where its time limit is {limit:g} s"
        return row | {"status": "crashed", "reason": sentence}
    except (Exception, SystemExit) as error:  # one solver's crash must not lose the others' rows
        sentence = " ".join(f"{type(error).__name__}: {error}".split())
        return row | {"status": "crashed", "reason": sentence}


_MEASURED = (
    *("seconds", "speedup", "baseline", "value", "bound", "gap", "iterations", "columns"),
    *("megabytes", "verified", "agrees"),
)


def _admit(cls: type[Solver[Any]], problem: Problem) -> tuple[Form | None, str]:
    """Find the form that the solver takes, or the reason why it takes none."""
    reasons = []
    for form in problem.forms():
        if (reason := cls().takes(form)) is True:
            missing = cls.missing()
            return (None, f"needs the package {missing[0]!r}") if missing else (form, "")
        reasons.append(reason)
    return None, "; ".join(dict.fromkeys(reasons))


def _finished(problem: Problem, cls: type[Solver[Any]], gap: float, limit: float) -> Result:
    result = solve(problem, cls(), gap=gap, time_limit=limit)
    if result.stats.get("interrupted"):
        raise KeyboardInterrupt
    return result


def _measurements(result: Result, seconds: float) -> Row:
    verified, reason = _verified(result, seconds)
    return {
        "seconds": result.seconds,
        "status": result.status.value,
        "value": result.value,
        "bound": result.bound,
        "gap": result.gap,
        "iterations": result.stats.get("iterations"),
        "columns": result.stats.get("columns"),
        "verified": verified,
        "reason": reason,
    }


def _verified(result: Result, seconds: float) -> tuple[bool | None, str]:
    """Ask the checker, and say why it refuses; None where it has nothing to check or cannot know."""
    if result.value is None or result.problem.statement() is None:
        return None, ""
    try:
        with patience(seconds):
            found = verify(result, budget=seconds)
    except UnreadableFileError as error:
        return False, f"refuted: {error}"
    except (TooLongError, UndecidedFileError):
        return None, f"the checker did not decide it within {seconds:g} s"
    failed = [claim for claim in found.claims if not claim.holds]
    if found.verdict is None:
        return None, f"undecided: {failed[0].statement}"
    return not failed, f"refuted: {failed[0].statement}" if failed else ""


def _judge(group: list[Row], sense: str) -> None:
    """Mark rows whose value passes another solver's proven bound (the checker's margin aside).

    Of two rows that contradict each other, both are marked, unless the checker refutes one alone.
    """
    sign = 1 if sense == "maximise" else -1
    rows = [row for row in group if row["seconds"] is not None]
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


def _passes(row: Row, other: Row, sign: int) -> bool:
    """Return whether the value of one row is better than the other row claims to be possible."""
    value, bound = row["value"], other["bound"]
    if value is None:
        return False
    if other["status"] == "infeasible":
        return True
    return bound is not None and not sign * (value - bound) <= MARGIN * max(abs(value), 1.0)


def _rate(rows: list[Row]) -> None:
    """Add how often each row's time goes into the baseline's on the same instance.

    The baseline of a form's problem is the solver that answers most of its instances, and of these
    the slowest.
    """
    measured = [row for row in rows if row["seconds"] is not None]
    total: dict[tuple[str, str], dict[str, tuple[int, float]]] = {}
    for row in measured:
        of_problem = total.setdefault((row["form"], row["problem"]), {})
        count, seconds = of_problem.get(row["solver"], (0, 0.0))
        of_problem[row["solver"]] = count + 1, seconds + row["seconds"]
    for row in measured:
        of_problem = total[row["form"], row["problem"]]
        row["baseline"] = max(of_problem, key=lambda solver: of_problem[solver])
    reference = {
        instance_key(row): row["seconds"] for row in measured if row["solver"] == row["baseline"]
    }
    for row in measured:
        base = reference.get(instance_key(row))
        row["speedup"] = None if base is None else base / row["seconds"]


def instance_key(row: Row) -> tuple[Any, ...]:
    """Return what the rows of one instance share."""
    return row["form"], row["instance"], row["size"], row["seed"]


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
