"""The benchmark: several solvers on the same instances in one process, which must agree.

Its clock is processor time, for limits and for what the rows say: see :mod:`ldpopt.core.limits`.
"""

from __future__ import annotations

import gc
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ldpopt.bench import comparison, entrants, peer_errors, peers
from ldpopt.bench.attempt import GRACE, Rules, attempt
from ldpopt.bench.entrants import Entrant
from ldpopt.bench.instances import Task, check_sizes, draw_all, from_files
from ldpopt.bench.journal import Journal
from ldpopt.bench.rows import judge, rate
from ldpopt.core import notebook, validate
from ldpopt.core.errors import InvalidInputError, UnknownNameError
from ldpopt.core.limits import Limits, on_processor_time
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.engine.questions import Questions, read_questions
from ldpopt.engine.sweep import Row
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import BY_FORM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVERYTHING = "all"
"""The target that stands for every problem."""
PEERS = "peers"
"""The target that stands for the comparison with other packages alone."""


@dataclass(frozen=True, repr=False)
class Benchmark:
    """The table of a benchmark: one row per instance and solver, refusals and crashes included.

    Attributes:
        target: what was asked for: a form, a problem, a file, a test set, "peers" or "all".
        rows: ``status`` is that of the result, "refused" or "crashed"; ``reason`` says why a solver
            refused, crashed, was refuted, or whom it contradicts. ``cpu`` is the median of the
            processor seconds of ``runs`` runs, ``cpu_low`` and ``cpu_high`` are their quartiles, without
            ``start``: the seconds that other processes took to start and to end.
        rules: gap, time limit, seed and repetitions.
        interrupted: only the rows that were done when the user interrupted.
        skipped: a sentence for every instance that could not be drawn in time.
        curves: what each solve knew at which second: a row for each pair of value and bound.
        peers: the rows of the comparison with other packages, for "all" and "peers".
        errors: the rows of the comparison of errors at equal promises, for the same.
        digest: the SHA-256 of the test set; empty if the instances were drawn.
        reused: how many rows an earlier run had measured.
        baseline: the solver that was chosen to compare times with.
    """

    target: str
    rows: list[Row]
    rules: Rules = field(default_factory=Rules)
    interrupted: bool = False
    skipped: tuple[str, ...] = ()
    curves: tuple[Row, ...] = ()
    peers: tuple[Row, ...] = ()
    errors: tuple[Row, ...] = ()
    digest: str = ""
    reused: int = 0
    baseline: str | None = None

    @property
    def measured(self) -> list[Row]:
        """The rows of solvers that neither refused nor crashed."""
        return [row for row in self.rows if row["cpu"] is not None]

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

    def __repr__(self) -> str:
        from ldpopt.bench.page import ranking

        said = f"bench {self.target}: {len(self.rows)} rows; rank, solver, solved, processor seconds"
        ranks = [(row[0], f"{row[1]}  {row[2]}  {row[3]}  {row[4]}") for row in ranking(self).rows]
        wrong = [("contradicted", sentence) for sentence in self.disagreements]
        return notebook.text(said, [*wrong, *ranks])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the median time of every solver against size, on logarithmic axes.

        Args:
            ax: where to draw; a new figure if not given.
        """
        from ldpopt.bench.figures import plot_times

        axes = plot_times(notebook.axes(ax), self.rows)
        axes.legend(fontsize="small")
        return axes


def _sentences(rows: Iterable[Row]) -> list[str]:
    """Write for every solver its first row, and how many more there are."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["solver"], []).append(row)
    return [
        f"{solver} on {_named(found[0])}: {found[0]['reason']}"
        + (f" – and on {len(found) - 1} more" if len(found) > 1 else "")
        for solver, found in groups.items()
    ]


def _named(row: Row) -> str:
    return row["instance"] + ("" if row["seed"] is None else f" (seed {row['seed']})")


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
    name: str | Path,
    *,
    sizes: Sequence[int] | None = None,
    full: bool = False,
    solvers: Sequence[str] | None = None,
    plugins: Sequence[type[Solver[Any]]] = (),
    draws: int = 1,
    repeats: int = 1,
    seed: int = 0,
    baseline: str | None = None,
    gap: float = 1e-9,
    time_limit: float = 60.0,
    journal: Path | None = None,
    progress: Doing | None = None,
) -> Benchmark:
    """Solve instances, drawn at random or read from files, by every solver that accepts them.

    A solver's first solve is repeated before it counts, since it pays for imports. An interruption
    (Ctrl-C) ends the benchmark with the rows that are done. "all" compares ldpopt with other packages
    too, unless some of its solvers are chosen.

    Args:
        name: a form (``column-program``), a problem (``staircase``), "peers" for other packages alone,
            or "all"; or the path of a question, or of a directory of them: a test set.
        sizes: instance sizes, as the problems' ``random`` understands them; by default their own list.
        full: the longer of their own lists.
        solvers: registered names, or ``file.py:CLASS``, each perhaps with options in parentheses
            (``descent(starts=3)``); by default every solver.
        plugins: solvers that are not registered, run beside the others and judged alike.
        draws: how many random instances of each size and setting.
        repeats: how often the time of the same instance is measured.
        seed: of the first random instance, and for solvers that draw random numbers.
        baseline: the solver that times are compared with.
        gap: the relative gap asked for.
        time_limit: seconds of processor time per solve.
        journal: a file of the rows that are done; those there are not measured again if problem,
            solver, rules, machine and code are the same.
        progress: called with (finished, total, what is being done) before every solve.
    """
    Limits.within(time_limit, gap=gap)  # refuses what is no limit
    least = {"repeats": (repeats, 1), "draws": (draws, 1), "seed": (seed, 0)}
    for what, (given, smallest) in least.items():
        validate.whole_number(what, given, smallest)
    if sizes is not None and min(sizes, default=1) < 1:
        raise InvalidInputError(f"sizes must be whole numbers >= 1, not {min(sizes)}")
    if name in (EVERYTHING, PEERS) and sizes is not None:
        raise InvalidInputError("sizes differ from problem to problem: choose one, or leave them out")
    if name == PEERS and (solvers or plugins or baseline):
        raise InvalidInputError("other packages are compared with the solver that ldpopt chooses itself")
    rules = Rules(gap, time_limit, seed, repeats)
    work = _Work(rules, baseline, journal, progress or (lambda *_: None))
    frozen = gc.get_freeze_count()
    try:
        with on_processor_time():
            if name != PEERS:
                chosen = None if solvers is None else [entrants.named(text) for text in solvers]
                drawn = work.instances(name, sizes, full, range(seed, seed + draws))
                work.solve(drawn, chosen, plugins)
            if name == PEERS or (name == EVERYTHING and solvers is None):
                work.compare(full)
    except KeyboardInterrupt:
        work.interrupted = True
    finally:
        if not frozen:  # else the caller has frozen objects, and they stay so
            gc.unfreeze()
    return work.benchmark(str(name))


class _Work:
    """The rows of a benchmark that are done."""

    def __init__(
        self, rules: Rules, baseline: str | None, journal: Path | None, progress: Doing
    ) -> None:
        self.rules, self.baseline, self.progress = rules, baseline, progress
        self.journal = Journal(journal)
        self.rows: list[Row] = []
        self.curves: list[Row] = []
        self.peers: list[Row] = []
        self.errors: list[Row] = []
        self.skipped: list[str] = []
        self.interrupted = False
        self.questions: Questions | None = None

    def instances(
        self, name: str | Path, sizes: Sequence[int] | None, full: bool, seeds: Sequence[int]
    ) -> list[Task]:
        """Draw the instances, or read them.

        Args:
            name: the target.
            sizes: the sizes of the instances; None for those of the problems.
            full: the longer of their lists.
            seeds: of the random numbers.
        """
        self.progress(0, 0, "drawing instances")
        limit = self.rules.limit
        if (path := _path(name)) is not None:
            if sizes is not None or full or len(seeds) > 1:
                raise InvalidInputError("sizes and draws are for random instances, not for files")
            self.questions = read_questions(path)
            tasks, self.skipped = from_files(self.questions, limit)
        else:
            name = str(name)
            kinds = targets(name)
            if not (sizes or name == EVERYTHING):
                check_sizes(kinds, full)
            form = None if name == EVERYTHING or name in PROBLEMS else name
            tasks, self.skipped = draw_all(kinds, sizes, full, seeds, form, limit)
        if self.skipped and not tasks:
            raise InvalidInputError("; ".join(self.skipped))
        return tasks

    def solve(
        self,
        tasks: Sequence[Task],
        chosen: Sequence[Entrant] | None,
        plugins: Sequence[type[Solver[Any]]],
    ) -> None:
        """Add the rows of every instance and solver.

        Args:
            tasks: the instances.
            chosen: the solvers; None for those of the forms of the instances.
            plugins: solvers that are not registered.
        """
        forms = dict.fromkeys(form for task in tasks for form in task.forms)
        there = entrants.together(entrants.of_forms(forms) if chosen is None else chosen, plugins)
        names = [entrant.name for entrant in there]
        if self.baseline is not None and self.baseline not in names:
            raise InvalidInputError(
                f"the baseline must be one of the solvers, {', '.join(names)}, not {self.baseline!r}"
            )
        # refusals by solvers of other forms are dropped, but the author of a plugin whose form nobody
        # else knows sees why it does nothing
        homeless = {
            entrant.name
            for entrant in there
            if entrant.solver.form.name not in BY_FORM
            and not any(issubclass(form, entrant.solver.form) for form in forms)
        }
        for group in self._groups(tasks, there, homeless):
            self.rows += group
        if all(row["status"] == "refused" for row in self.rows):
            raise InvalidInputError(
                f"no solver of {names} accepts any of the instances"
                + (f": {self.rows[0]['solver']}: {self.rows[0]['reason']}" if self.rows else "")
            )

    def _groups(
        self, tasks: Sequence[Task], there: Sequence[Entrant], homeless: Container[str]
    ) -> Iterator[list[Row]]:
        """Yield the rows of every instance, judged; an interruption passes on after what is done.

        A refusal is told of the solvers of the instance's first form, and of ``homeless`` ones.
        """
        warm: set[str] = set()
        for finished, task in enumerate(tasks):
            group: list[Row] = []
            interruption = None
            try:
                for entrant in there:
                    doing = f"{entrant.name} on {task.problem.kind} {task.label}"
                    self.progress(finished, len(tasks), doing)
                    row, curve = self.journal.remembered(
                        task, entrant, self.rules, partial(attempt, task, entrant, self.rules, warm)
                    )
                    of_form = issubclass(task.forms[0], entrant.solver.form) or entrant.name in homeless
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
        limit = self.rules.limit
        contests = list(peers.contests(full, limit))
        self.progress(0, len(contests), "other packages")
        for finished, rows in enumerate(comparison.contest_rows(contests, limit + GRACE), start=1):
            self.peers += rows
            self.progress(finished, len(contests), f"other packages: {rows[0]['task']}")
        for rows in peer_errors.error_rows(full, limit):
            self.errors += rows
            self.progress(0, 0, f"errors: {rows[0]['instance']}, {rows[0]['question']}")

    def benchmark(self, name: str) -> Benchmark:
        """Return what is done, with the ratios of the times."""
        rate(self.rows, self.rules.limit, self.baseline)
        questions = self.questions
        return Benchmark(
            name if questions is None else questions.name,
            self.rows,
            self.rules,
            self.interrupted,
            tuple(self.skipped),
            tuple(self.curves),
            tuple(self.peers),
            tuple(self.errors),
            "" if questions is None else questions.digest,
            self.journal.reused,
            self.baseline,
        )


def _path(name: str | Path) -> Path | None:
    """Return the path that a target names, if it names no form or problem."""
    if isinstance(name, str) and (name in PROBLEMS or name in (*BY_FORM, EVERYTHING)):
        return None
    path = Path(name)
    return path if isinstance(name, Path) or path.exists() or path.suffix == ".json" else None
