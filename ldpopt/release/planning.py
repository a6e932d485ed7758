"""Find the level, or the number of rows, that gives frequencies of a wanted precision.

>>> found = plan("adult:sex-race", "sex", "race", target=0.05, epsilon=1.0)
>>> found.wanted.method, found.wanted.rows < found.n
('sampled', True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ldpopt.core import notebook, validate
from ldpopt.core.errors import InvalidInputError, LdpoptError
from ldpopt.core.limits import LEAST_LEFT, Limits
from ldpopt.engine.solving import whole_answers
from ldpopt.release import accuracy
from ldpopt.release.designing import GAP, SECONDS, sensitive_secrets
from ldpopt.release.levels_of_secrecy import multiples
from ldpopt.release.methods import BUILT, METHODS, MOST_ROWS, applicable
from ldpopt.release.question import Question, ranks
from ldpopt.tables.coarser_levels import Levels
from ldpopt.tables.one_row_per_person import FirstRows
from ldpopt.tables.part_of_rows import PartOfRows
from ldpopt.tables.survey import Bins, Survey, survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""The levels of the table."""
BISECTIONS = 6
"""Steps between two of these levels: a factor of 2^(1/64), about one percent."""
DIGITS = 3
"""Digits of the levels in between; what is said of a printed level was computed at that level."""


class Point(NamedTuple):
    """What the best mechanism of a level gives.

    Attributes:
        epsilon: the level, in nats.
        method: the method of the mechanism.
        margin: ± of the frequency that is known least, from as many rows as the table's, at 95 %;
            infinite where these do not determine it.
        rows: how many rows it takes for the target; infinite where no table is so large.
    """

    epsilon: float
    method: str
    margin: float
    rows: float


@dataclass(frozen=True)
class Plan:
    """What it takes for a target.

    Attributes:
        target: the wanted ± of every frequency, as a share.
        n: the rows of the table.
        wanted: the level at which the target is met with the table's rows, or the level that was given
            with the rows that it takes; None if no level of the table meets it.
        points: the levels of the table.
        raw: ± of the frequencies of the data as they are, from the table's rows, as a share.
    """

    target: float
    n: int
    wanted: Point | None
    points: tuple[Point, ...]
    raw: float

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ± against the level, with the target.

        Args:
            ax: where to draw; a new figure if not given.
        """
        known = [point for point in self.points if math.isfinite(point.margin)]
        levels, margins = [p.epsilon for p in known], [100 * p.margin for p in known]
        axes = notebook.axes(ax)
        axes.loglog(levels, margins, "o-", label=f"from {self.n:,} rows")
        axes.axhline(100 * self.target, color="C1", linestyle="--", label="the target")
        if self.wanted is not None and math.isfinite(self.wanted.margin):
            at, there = self.wanted.epsilon, 100 * self.wanted.margin
            axes.plot([at], [there], "D", color="C1", label=f"±{there:.2g} at ε = {at:.3g}")
        for point, margin in zip(known, margins, strict=True):
            place = (point.epsilon, margin)
            axes.annotate(point.method, place, (6, 6), textcoords="offset points", fontsize=8)
        axes.set_xticks(levels, [f"{level:.3g}" for level in levels])
        axes.set_yticks(margins, [f"{margin:.2g}" for margin in margins])
        axes.minorticks_off()
        axes.set_xlabel("level ε, in nats")
        axes.set_ylabel("± of the frequency known least, in points")
        axes.set_title("Precision by level (95 %, each value by itself)")
        axes.margins(x=0.12, y=0.12)
        axes.grid(alpha=0.3)
        axes.legend()
        return axes


def plan(
    table: Any,
    secret: str | Sequence[str],
    public: str | Sequence[str] = (),
    *,
    target: float,
    epsilon: float | None = None,
    queries: Sequence[str] = (),
    robust: str = "all",
    sensitive: Mapping[str, Sequence[str]] | None = None,
    secrecy: Any = None,
    alpha: float = 0.05,
    method: str = "auto",
    bins: Mapping[str, Bins] | None = None,
    text: Iterable[str] = (),
    top: Mapping[str, int] | None = None,
    levels: Mapping[str, Levels] | None = None,
    missing: str = "refuse",
    time_limit: float = SECONDS,
    progress: Callable[[int, int, str], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Plan:
    """Find the level, or with a level the number of rows, at which frequencies are known well enough.

    The margins are those of :mod:`ldpopt.release.accuracy`, for a population like the table.

    Args:
        table: a file, a data frame, columns by name, or an embedded table.
        secret: the column or columns to hide.
        public: the column or columns to release.
        target: the wanted ± of every frequency at 95 %, as a share: 0.01 is one point.
        epsilon: the level; if not given, the least level that the rows of the table allow is found.
        queries: the columns whose frequencies are wanted; all if not given.
        robust: the distributions for which the secret is hidden: "all", "chi2" or "known"; or "given".
        sensitive: for secret columns, the values that are sensitive; others may be told (with "all").
        secrecy: a table of pairs of secret values with the multiple of the level that is theirs.
        alpha: the significance level of the χ² set.
        method: the name of a method; "auto" takes at each level the best of
            :data:`ldpopt.release.methods.BUILT`, or "composed" where the promise takes that.
        bins: for columns of numbers, dates or times, how many bins, or the edges between them.
        text: columns whose cells are words.
        top: for columns of words, how many of the most frequent are told apart.
        levels: for columns of words, how many first characters count, or the groups of the words.
        missing: what becomes of rows with an empty cell: "refuse", "drop" or "category".
        time_limit: seconds for all solves together.
        progress: called with (finished, total, what is done now) before every level.
        warn: called with what was left out or taken together, and with bins that hold all rows.

    Where the time is over, the levels that were tried are returned, and ``warn`` says so.
    """
    validate.share("target", target)
    validate.choice("method", method, ("auto", *METHODS))
    limits = Limits.within(time_limit)
    with limits.held():
        about = survey(
            table, secret, public, bins, text, top=top, levels=levels, missing=missing, warn=warn
        )
    if warn is not None and isinstance(table, FirstRows | PartOfRows):
        warn(table.in_words)
    level, narrow = LEVELS[0] if epsilon is None else epsilon, about.counts.size <= MOST_ROWS
    accuracy.column_groups(about.domain, queries)  # refuses a name that is no column
    rows = accuracy.query_rows(about.domain, queries) if narrow else None
    few = sensitive_secrets(about.domain, sensitive or {})
    apart = () if secrecy is None else multiples(about.domain.secret, secrecy)
    first = Question(
        about.counts,
        level,
        robust,
        alpha,
        queries=rows,
        sensitive=few,
        secrecy=apart,
        ranks=ranks(about.domain.public),
    )
    ladder = sorted({*LEVELS, *([] if epsilon is None else [first.epsilon])})
    steps = len(ladder) + (BISECTIONS if epsilon is None else 0)
    search = _Search(about, first, target, queries, method, limits, steps)
    points: list[Point] = []
    for level in sorted(ladder, key=lambda level: level != epsilon):  # the level that is asked for first
        if points and limits.expired():
            break
        if progress is not None:
            progress(len(points), len(ladder), f"ε = {level:g} by {', '.join(search.names)}")
        points.append(search.at(level))
    wanted = search.least(points) if epsilon is None else points[0]
    if warn is not None and (late := search.unfinished(len(points), len(ladder))):
        warn(late)
    plain = accuracy.data_accuracies(about.counts, about.domain, queries)
    raw = max(part.margin(search.n) for part in plain)
    return Plan(target, search.n, wanted, tuple(sorted(points)), raw)


class _Search:
    """The best mechanisms for a table at any level."""

    def __init__(
        self,
        about: Survey,
        question: Question,
        target: float,
        queries: Sequence[str],
        method: str,
        limits: Limits,
        steps: int,
    ) -> None:
        self.domain, self.question = about.domain, question
        self.target, self.queries = target, queries
        known = ("composed",) if question.composed else BUILT
        built = [name for name in known if METHODS[name].automatic(question)]
        self.names = built if method == "auto" else [method]
        self.limits = limits
        self.ahead = steps * len(self.names)  # solves that share the time left, at most
        self.n = int(about.counts.sum())
        self.cut = False  # whether the time was over before the least level was found
        self.failed: list[float] = []  # the levels at which a method found no mechanism

    def at(self, epsilon: float) -> Point:
        """Design by every method at a level and keep the one with the smallest margin."""
        question = replace(self.question, epsilon=epsilon)
        reasons = applicable(question)
        points = [self._point(question, name) for name in self.names if reasons[name] is None]
        if not points:
            reason = next(reasons[name] for name in self.names)
            raise InvalidInputError(f"no method applies: {reason}")
        return min(points, key=lambda point: (point.margin, point.rows))

    def _point(self, question: Question, name: str) -> Point:
        """Compute what the mechanism of a method gives at a level."""
        seconds = max(self.limits.part(1 / max(self.ahead, 1)).remaining(), LEAST_LEFT)
        self.ahead -= 1
        try:
            with whole_answers():  # what Ctrl-C leaves of a solve is not the best of the level
                parts = self._accuracy(question, name, seconds)
        except LdpoptError:
            parts = ()
            self.failed.append(question.epsilon)
        if not parts:
            return Point(question.epsilon, name, math.inf, math.inf)
        worst = max(part.margin(self.n) for part in parts)
        return Point(question.epsilon, name, worst, max(part.rows_for(self.target) for part in parts))

    def _accuracy(self, question: Question, name: str, seconds: float) -> tuple[accuracy.Accuracy, ...]:
        """Build the mechanism of a method, exactly private; no value is stated, so none is computed."""
        made = METHODS[name].randomizer(question, GAP, seconds)
        return (
            () if made is None else accuracy.accuracies(made, question.counts, self.domain, self.queries)
        )

    def least(self, points: Sequence[Point]) -> Point | None:
        """Find the least level with the target's margin, between levels whose margins are known.

        Between two levels the methods that are best at one of them are tried. Where the time is over,
        it is the least level that was found so far.
        """
        good = next((i for i, point in enumerate(points) if point.margin <= self.target), None)
        if good is None:
            return None
        best = points[good]
        below = points[good - 1] if good else best._replace(epsilon=best.epsilon / 2)
        self.names, low = sorted({below.method, best.method}), below.epsilon
        for _ in range(BISECTIONS):
            if self.limits.expired():
                self.cut = True
                break
            middle = self.at(float(f"{math.sqrt(low * best.epsilon):.{DIGITS}g}"))
            low, best = (low, middle) if middle.margin <= self.target else (middle.epsilon, best)
        return best

    def unfinished(self, known: int, asked: int) -> str:
        """Say what the time limit left out; empty if nothing.

        Args:
            known: how many levels were tried.
            asked: how many were to be tried.
        """
        if known < asked:
            return f"the time was over after {known} of {asked} levels; allow more (--time-limit)"
        if len(self.names) == 1 and self.failed:
            where = ", ".join(f"{level:g}" for level in self.failed)
            return f"no mechanism was found at ε = {where} in the time; allow more (--time-limit)"
        over = "the time was over while the least level was sought: one below may do"
        return f"{over}; allow more (--time-limit)" if self.cut else ""
