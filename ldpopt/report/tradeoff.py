"""The trade-off between privacy and utility around a result: the same question at other levels.

The time is limited: cheap methods come first, and what was left out is stated with its reason.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from ldpopt.core import notebook
from ldpopt.core.errors import InvalidInputError, LdpoptError, from_ctrl_c
from ldpopt.core.form import Status
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import EPSILON_RANGE
from ldpopt.engine.result import Result
from ldpopt.engine.solving import solve, whole_answers
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.release.accuracy import query_rows
from ldpopt.release.designed import Design
from ldpopt.release.method_summaries import SUMMARIES
from ldpopt.release.methods import METHODS, MOST_ROWS, Repeats, applicable
from ldpopt.release.question import Question

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FACTORS = (1 / 4, 1 / 2, 3 / 4, 1.0, 3 / 2, 2.0, 4.0)
"""The levels of a curve, as multiples of the result's own."""
GAP, SECONDS = 1e-4, 4.0
"""The relative gap to prove at a point of a curve, and the time limit of one solve."""
CUT = 0.25
"""A solve that took this share of a shorter limit may have stopped for it: its stages share the time."""


class Point(NamedTuple):
    """A level with the value that was reached there and the proven bound."""

    epsilon: float
    value: float
    bound: float | None


@dataclass(frozen=True)
class Series:
    """The points of one method, by rising level."""

    name: str
    summary: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class TradeOff:
    """A curve for every method, the result's own point, and what was not computed and why."""

    series: tuple[Series, ...]
    own: Point
    own_name: str
    omitted: tuple[str, ...]
    seconds: float
    mechanisms: Mapping[tuple[str, float], Mechanism]
    """The answers by method and level, where they are mechanisms."""

    @property
    def levels(self) -> list[float]:
        """Every level at which there is a point."""
        return sorted({point.epsilon for series in self.series for point in series.points})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the value over the level, a line per method, and the result's own point.

        Args:
            ax: where to draw; a new figure if not given.
        """
        axes = notebook.axes(ax)
        for series in self.series:
            axes.plot(
                *zip(*((p.epsilon, p.value) for p in series.points), strict=True),
                "o-",
                label=series.name,
            )
        axes.plot(self.own.epsilon, self.own.value, "k*", markersize=12, label="this result")
        axes.set(xlabel="ε", ylabel="value")
        axes.legend()
        return axes


class _Task(NamedTuple):
    """A way to answer a question at a level, within so many seconds, and what its answer is worth."""

    summary: str
    solve: Callable[[float, float], Result]
    worth: Callable[[Result], Worth]
    repeats: Repeats | None = None


class Worth(NamedTuple):
    """A value with the bound that is proven on it."""

    value: float | None
    bound: float | None


Progress = Callable[[int, int], None]


def precise(made: Design) -> list[str]:
    """Name the columns by whose ± the curve of a design compares; none where it compares information.

    They are those that the reports determine, of a design that was not made for information.
    """
    if made.informs and METHODS[made.method].build is None:
        return []
    return [part.name for part in made.accuracy() if math.isfinite(part.margin(made.rows))]


def of_design(made: Design, seconds: float, progress: Progress | None = None) -> TradeOff:
    """Compute the value of every applicable method at levels around a design's own.

    Args:
        made: the design.
        seconds: how long the solves may take.
        progress: called with (finished, total) solves.
    """
    question, columns = made.question, precise(made)
    if columns and question.queries is None and question.counts.size <= MOST_ROWS:
        asked = None if question.of_numbers else query_rows(made.domain, columns)
        question = dataclasses.replace(question, queries=asked)
    reasons = applicable(question)
    tasks = {
        name: _Task(
            SUMMARIES[name],
            partial(_at_level, question, name),
            partial(_worth, made, name, columns),
            method.repeats,
        )
        for name, method in METHODS.items()
        if name == made.method
        or (reasons[name] is None and (columns or (method.build is None and method.informs)))
    }
    work = _Work(made.result, question.epsilon, made.method, tasks, seconds, progress)
    refused = tuple(
        f"{name} does not apply: {_clause(reason)}."
        for name, reason in reasons.items()
        if reason is not None and name not in tasks
    )
    return work.done(refused)


def of_result(result: Result, seconds: float, progress: Progress | None = None) -> TradeOff:
    """Solve the same problem again at levels around its own; see :func:`has_level`.

    Args:
        result: an answer to a problem with a level.
        seconds: how long the solves may take.
        progress: called with (finished, total) solves.
    """
    problem = result.problem
    assert problem.level is not None

    def again(epsilon: float, limit: float) -> Result:
        return solve(problem.at_level(epsilon), result.solver, gap=GAP, time_limit=limit)

    task = _Task(
        f"solved by {result.solver} [{NOT_CHECKED}]", again, lambda at: Worth(at.value, at.bound)
    )
    return _Work(result, problem.level, problem.kind, {problem.kind: task}, seconds, progress).done(())


def _clause(reason: str) -> str:
    """Give a reason that begins with a verb its subject; a file may lack what its design was made for.

    >>> _clause("is made for the frequencies that are wanted, and none are named")
    'it is made for the frequencies that are wanted, and the file names none'
    >>> _clause("there is no public column of two or more values")
    'there is no public column of two or more values'
    """
    whole = reason.startswith(("the ", "there "))
    return f"{'' if whole else 'it '}{reason.replace('none are named', 'the file names none')}"


def has_level(result: Result) -> bool:
    """Return whether the problem has a level ε that can be varied, and the result a value at it.

    >>> from ldpopt import solve
    >>> from ldpopt.problems import Staircase
    >>> has_level(solve(Staircase(epsilon=1, prior=[0.5, 0.5])))
    True
    """
    return result.problem.has_free_level and result.value is not None


def _worth(made: Design, name: str, columns: list[str], result: Result) -> Worth:
    """Measure a method's answer: its information in nats, or the largest ± of some columns.

    Args:
        made: the design.
        name: the method.
        columns: the columns; none for information.
        result: the answer.
    """
    other = dataclasses.replace(made, result=result, method=name)
    if other.unanswered:
        return Worth(None, None)
    if not columns:
        return Worth(other.information, other.bound)
    largest = max(part.margin(made.rows) * (part.unit or 100) for part in other.accuracy(columns))
    if math.isinf(largest):
        raise InvalidInputError("its reports leave the share of some values open")
    return Worth(largest, None)


def _at_level(question: Question, name: str, epsilon: float, seconds: float) -> Result:
    return METHODS[name].solve(dataclasses.replace(question, epsilon=epsilon), GAP, seconds, None)


class _Work:
    """The solves of one curve within a time."""

    def __init__(
        self,
        result: Result,
        epsilon: float,
        own_name: str,
        tasks: dict[str, _Task],
        seconds: float,
        progress: Progress | None,
    ) -> None:
        value, bound = tasks[own_name].worth(result)
        assert value is not None
        self.own, self.own_name = Point(epsilon, value, bound), own_name
        self.tasks, self.seconds, self.progress = tasks, seconds, progress
        levels = [epsilon * factor for factor in FACTORS]
        self.levels = [level for level in levels if EPSILON_RANGE[0] <= level <= EPSILON_RANGE[1]]
        self.limits = Limits.within(seconds)
        single = tasks[own_name].repeats is None
        own_seconds = min(result.seconds, SECONDS) if single else result.seconds
        self.took = {name: [own_seconds] if name == own_name else [] for name in tasks}
        self.points: dict[str, list[Point]] = {name: [] for name in tasks}
        self.omitted: list[str] = []
        self.mechanisms: dict[tuple[str, float], Mechanism] = {}
        self._keep(own_name, epsilon, result)

    def _keep(self, name: str, epsilon: float, result: Result) -> None:
        if result.mechanism is not None:
            self.mechanisms[name, epsilon] = result.mechanism

    def done(self, refused: tuple[str, ...]) -> TradeOff:
        """Compute all points that the time allows, the result's own level first."""
        self.points[self.own_name].append(self.own)
        for name in reversed(self.tasks):  # the most useful, which come first, take longest
            if name != self.own_name and self.tasks[name].repeats is None:
                self._follow(name, [self.own.epsilon])
        for name in sorted(self.tasks, key=self._expected):
            if self.tasks[name].repeats is not None or self.points[name]:
                # levels near the result's own first
                there = {point.epsilon for point in self.points[name]}
                near = sorted(self.levels, key=lambda level: abs(math.log(level / self.own.epsilon)))
                self._follow(name, [level for level in near if level not in there])
        series = (
            Series(name, task.summary, tuple(sorted(self.points[name])))
            for name, task in self.tasks.items()
            if self.points[name]
        )
        omitted, spent = (*refused, *self.omitted), self.limits.elapsed()
        return TradeOff(tuple(series), self.own, self.own_name, omitted, spent, self.mechanisms)

    def _follow(self, name: str, levels: list[float]) -> None:
        """Solve at one level after the other while the time lasts."""
        for i, epsilon in enumerate(levels):
            left = self.limits.remaining()
            if self._expected(name) >= left:
                at = ", ".join(f"{level:.4g}" for level in sorted(levels[i:]))
                self.omitted.append(f"{name} at ε = {at}: {self._reason(name)}.")
                return
            try:
                self._solve(name, epsilon, min(left, SECONDS))
            except (Exception, SystemExit) as error:  # one failure must not lose the page
                if from_ctrl_c(error):
                    raise KeyboardInterrupt from error
                said = str(error) if isinstance(error, LdpoptError) else f"it failed, {error!r}"
                sentence = said.split("\n", maxsplit=1)[0].rstrip(".")
                self.omitted.append(f"{name} at ε = {epsilon:.4g}: {sentence}.")
            if self.progress is not None:
                finished = sum(map(len, self.points.values()))
                self.progress(finished, len(self.tasks) * len(self.levels))

    def _solve(self, name: str, epsilon: float, seconds: float) -> None:
        task, start = self.tasks[name], self.limits.elapsed()
        try:
            with whole_answers():  # what Ctrl-C leaves of a solve is not a point of the curve
                found = task.solve(epsilon, seconds)
        finally:
            self.took[name].append(self.limits.elapsed() - start)
        value, bound = task.worth(found)
        short = seconds < SECONDS and self.took[name][-1] > CUT * seconds
        if short and found.status is not Status.OPTIMAL:
            allowed = f"the {self.seconds:.3g} s that this curve may take"
            self.omitted.append(f"{name} at ε = {epsilon:.4g}: {allowed} may have cut its solve short.")
        elif value is None:
            self.omitted.append(f"{name} at ε = {epsilon:.4g}: no answer in {seconds:.3g} s.")
        else:
            self.points[name].append(Point(epsilon, value, bound))
            self._keep(name, epsilon, found)

    def _expected(self, name: str) -> float:
        """Predict the seconds of the next solve from the last ones, or from what the method repeats."""
        repeats = self.tasks[name].repeats
        if repeats is not None and not self.took[name]:
            return repeats.times * (self._expected(repeats.method) or SECONDS)
        return fmean(self.took[name]) if self.took[name] else 0.0

    def _reason(self, name: str) -> str:
        expected, allowed = self._expected(name), f"the {self.seconds:.3g} s that this curve may take"
        if expected == 0.0:
            return f"{allowed} were used up"
        return f"one more solve, of about {_seconds(expected)}, would exceed {allowed}"


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"
