"""The benchmark: several solvers on the same instances in one process, which must agree."""

from __future__ import annotations

import gc
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ldpopt.bench import comparison, peers
from ldpopt.bench.attempt import GRACE, attempt
from ldpopt.bench.instances import Task, check_sizes, draw_all
from ldpopt.bench.rows import judge, rate
from ldpopt.core.errors import InvalidInputError, LdpoptError, UnknownNameError
from ldpopt.core.limits import Limits
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.engine.sweep import Row
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import BY_FORM, SOLVERS, solvers_of

EVERYTHING = "all"
"""The target that stands for every problem."""
PEERS = "peers"
"""The target that stands for the comparison with other packages alone."""


@dataclass(frozen=True)
class Benchmark:
    """The table of a benchmark: one row per instance and solver, refusals and crashes included.

    Attributes:
        target: what was asked for: a form, a problem, "peers" or "all".
        rows: ``status`` is that of the result, "refused" or "crashed"; ``reason`` says why a solver
            refused, crashed, was refuted, or whom it contradicts.
        gap: the relative gap asked for.
        time_limit: seconds per solve.
        interrupted: only the rows that were done when the user interrupted.
        skipped: a sentence for every instance that could not be drawn in time.
        curves: what each solve knew at which second: a row for each pair of value and bound.
        peers: the rows of the comparison with other packages, for "all" and "peers".
    """

    target: str
    rows: list[Row]
    gap: float
    time_limit: float
    interrupted: bool = False
    skipped: tuple[str, ...] = ()
    curves: tuple[Row, ...] = ()
    peers: tuple[Row, ...] = ()

    @property
    def measured(self) -> list[Row]:
        """The rows of solvers that neither refused nor crashed."""
        return [row for row in self.rows if row["seconds"] is not None]

    @property
    def disagreements(self) -> list[str]:
        """One sentence for every solver that contradicts another, or whose proof is refuted.

        And one for every other package whose answer is not ldpopt's.
        """
        wrong = (row for row in self.measured if not row["agrees"] or row["verified"] is False)
        return [*_sentences(wrong), *comparison.disagreements(self.peers)]

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


def targets(name: str) -> list[type[Problem]]:
    """List the problems that a form's or a problem's name, or "all", stands for.

    The problems of a form are those of which an example has it.
    """
    if name == EVERYTHING:
        return [PROBLEMS[kind] for kind in PROBLEMS]
    if name in PROBLEMS:
        return [PROBLEMS[name]]
    found = [
        problem
        for problem in (PROBLEMS[kind] for kind in PROBLEMS)
        if any(form.name == name for example in problem.examples() for form in example.problem.forms())
    ]
    if not found:
        raise UnknownNameError("form or problem", name, [*BY_FORM, *PROBLEMS, PEERS, EVERYTHING])
    return found


class Doing(Protocol):
    """A function that is told how far a benchmark is."""

    def __call__(self, finished: int, total: int, doing: str, /) -> None:
        """Receive how far it is.

        Args:
            finished: the number of finished instances.
            total: the number of all instances.
            doing: what is being done now.
        """


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
    progress: Doing | None = None,
) -> Benchmark:
    """Solve random instances of every size by every solver that accepts them.

    A solver's first solve is repeated before it counts, since it pays for imports. An interruption
    (Ctrl-C) ends the benchmark with the rows that are done. "all" compares ldpopt with other packages
    too, unless some of its solvers are chosen.

    Args:
        name: a form (``column-program``), a problem (``staircase``), "peers" for other packages alone,
            or "all".
        sizes: instance sizes, as the problems' ``random`` understands them; by default their own list.
        full: the longer of their own lists.
        solvers: registered names; by default every solver.
        plugins: solvers that are not registered, run beside the others and judged alike.
        repeats: how many random instances of each size and setting.
        gap: the relative gap asked for.
        time_limit: seconds per solve.
        progress: called with (finished, total, what is being done) before every solve.
    """
    Limits.within(time_limit, gap=gap)  # refuses what is no limit
    if sizes is not None and min(sizes, default=1) < 1:
        raise InvalidInputError(f"sizes must be whole numbers >= 1, not {min(sizes)}")
    if name in (EVERYTHING, PEERS) and sizes is not None:
        raise InvalidInputError("sizes differ from problem to problem: choose one, or leave them out")
    if name == PEERS and (solvers or plugins):
        raise InvalidInputError("other packages are compared with the solver that ldpopt chooses itself")
    work = _Work(gap, time_limit, progress or (lambda *_: None))
    frozen = gc.get_freeze_count()
    try:
        if name != PEERS:
            work.solve(name, sizes, full, repeats, solvers, plugins)
        if name == PEERS or (name == EVERYTHING and solvers is None):
            work.compare(full)
    except KeyboardInterrupt:
        work.interrupted = True
    finally:
        if not frozen:  # else the caller has frozen objects, and they stay so
            gc.unfreeze()
    return work.benchmark(name)


class _Work:
    """The rows of a benchmark that are done."""

    def __init__(self, gap: float, limit: float, progress: Doing) -> None:
        self.gap, self.limit, self.progress = gap, limit, progress
        self.rows: list[Row] = []
        self.curves: list[Row] = []
        self.peers: list[Row] = []
        self.skipped: list[str] = []
        self.interrupted = False

    def solve(
        self,
        name: str,
        sizes: Sequence[int] | None,
        full: bool,
        repeats: int,
        solvers: Sequence[str] | None,
        plugins: Sequence[type[Solver[Any]]],
    ) -> None:
        """Add the rows of every instance and solver.

        Args:
            name: the target.
            sizes: the sizes of the instances; None for those of the problems.
            full: the longer of their lists.
            repeats: how many instances of a size.
            solvers: the names of the solvers; None for those of the forms of the instances.
            plugins: solvers that are not registered.
        """
        kinds = targets(name)
        entrants = {} if solvers is None else _registered(solvers)
        if not (sizes or name == EVERYTHING):
            check_sizes(kinds, full)
        form = None if name == EVERYTHING or name in PROBLEMS else name
        self.progress(0, 0, "drawing instances")
        tasks, self.skipped = draw_all(kinds, sizes, full, repeats, form, self.limit)
        forms = dict.fromkeys(form for task in tasks for form in task.forms)
        if solvers is None:
            of_forms = {name for form in forms for name in solvers_of(form)}
            entrants = _registered([name for name in SOLVERS if name in of_forms], broken=True)
        for plugin in plugins:
            if plugin.name in SOLVERS or plugin.name in entrants:
                raise InvalidInputError(f"the solver name {plugin.name!r} of a plugin is taken")
            entrants[plugin.name] = plugin
        # refusals by solvers of other forms are dropped, but the author of a plugin whose form nobody
        # else knows sees why it does nothing
        homeless = {
            cls.name
            for cls in entrants.values()
            if cls.form.name not in BY_FORM and not any(issubclass(form, cls.form) for form in forms)
        }
        for group in self._groups(tasks, entrants, homeless):
            self.rows += group
        if self.skipped and not self.rows:
            raise InvalidInputError("; ".join(self.skipped))
        if all(row["status"] == "refused" for row in self.rows):
            raise InvalidInputError(
                f"no solver of {list(entrants)} accepts any instance of {name}"
                + (f": {self.rows[0]['solver']}: {self.rows[0]['reason']}" if self.rows else "")
            )

    def _groups(
        self, tasks: Sequence[Task], entrants: Mapping[str, type[Solver[Any]]], homeless: Container[str]
    ) -> Iterator[list[Row]]:
        """Yield the rows of every instance, judged; an interruption passes on after what is done.

        A refusal is told of the solvers of the instance's first form, and of ``homeless`` ones.
        """
        warm: set[str] = set()
        for finished, task in enumerate(tasks):
            group: list[Row] = []
            interruption = None
            try:
                for cls in entrants.values():
                    self.progress(finished, len(tasks), f"{cls.name} on {task.kind} {task.label}")
                    row, curve = attempt(task, cls, self.gap, self.limit, warm)
                    of_form = issubclass(task.forms[0], cls.form) or cls.name in homeless
                    if row["status"] != "refused" or of_form:
                        group.append(row)
                    self.curves += curve
            except KeyboardInterrupt as error:
                interruption = error
            judge(group, task.problem.sense)
            yield group
            if interruption is not None:
                raise interruption

    def compare(self, full: bool) -> None:
        """Add the rows of the comparison with other packages."""
        contests = list(peers.contests(full, self.limit))
        self.progress(0, len(contests), "other packages")
        for finished, rows in enumerate(comparison.contest_rows(contests, self.limit + GRACE), start=1):
            self.peers += rows
            self.progress(finished, len(contests), f"other packages: {rows[0]['task']}")

    def benchmark(self, name: str) -> Benchmark:
        """Return what is done, with the ratios of the times."""
        rate(self.rows)
        return Benchmark(
            name,
            self.rows,
            self.gap,
            self.limit,
            self.interrupted,
            tuple(self.skipped),
            tuple(self.curves),
            tuple(self.peers),
        )


def _registered(names: Iterable[str], broken: bool = False) -> dict[str, type[Solver[Any]]]:
    """Import solvers by name; ``broken`` leaves out those of other packages that cannot be imported."""
    chosen = {}
    for name in names:
        try:
            chosen[name] = SOLVERS[name]
        except LdpoptError:  # nobody asked for it; ldpopt list solvers says why
            if not broken:
                raise
    return chosen
