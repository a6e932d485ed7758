"""What bounds a run: the gap to be proven, the clock, the seed, and the display of progress."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import UndecidedFileError
from ldpopt.core.exact import SECONDS, alarmed
from ldpopt.core.form import FormSolution

T = TypeVar("T")


class Progress(Protocol):
    """Called during long work: the best value and the proven bound so far."""

    def __call__(self, value: float, bound: float, /) -> None:
        """Receive the best value and the proven bound so far."""


class OutOfTime(Exception):  # noqa: N818 (it is an event, as StopIteration is)
    """The time is over. Raised in a solver, it ends the run with what was kept last."""


class Overdue(BaseException):
    """Raised by a clock, its argument, in work that does not look at the clock.

    No handler of usual errors inside the work swallows it.
    """


def wall_time() -> float:
    """Return the seconds of the clock on the wall."""
    return time.monotonic()


def processor_time() -> float:
    """Return the processor time of this process and of those that it started and that have ended."""
    return time.process_time() + ended_children_time()


def ended_children_time() -> float:
    """Return the processor time of the processes that this one started and that have ended."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


_CLOCK: ContextVar[Callable[[], float]] = ContextVar("clock", default=wall_time)


def now() -> float:
    """Return the time of the clock that limits count by."""
    return _CLOCK.get()()


@contextmanager
def on_processor_time() -> Iterator[None]:
    """Let the limits that are made within count processor time, so that a busy machine changes nothing.

    A library that counts its own limit, such as HiGHS, counts it on the wall.
    """
    token = _CLOCK.set(processor_time)
    try:
        yield
    finally:
        _CLOCK.reset(token)


class Child(NamedTuple):
    """What a process of :mod:`ldpopt.core.child_process` took.

    Attributes:
        start: its seconds of processor time beside its work: Python, imports, its end.
        megabytes: by how much it grew while it worked.
    """

    start: float
    megabytes: float


@contextmanager
def _interrupted(due: float, late: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Raise :class:`Overdue` in the block when a time has come and ``late`` agrees, until it ends.

    Args:
        due: when to ask first, on the clock of :func:`time.monotonic`; then every :data:`LATE` seconds.
        late: whether the block is to be ended now.

    Yields:
        The clock, which tells it from one around it.
    """
    before = sys.unraisablehook

    def silent_where_lost(lost: sys.UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, Overdue):  # what a destructor swallowed is raised again
            before(lost)

    def clock() -> None:
        if late():
            raise Overdue(clock)

    sys.unraisablehook = silent_where_lost
    try:
        with alarmed(due, LATE, clock):
            yield clock
    finally:
        sys.unraisablehook = before


IDLE = 10
"""Work that is limited in processor time is ended after so many times as many seconds, too."""
LATEST, GRACE = 1.1, 2.0
"""Work that is held to a time limit ends within this many times the limit, and so many seconds."""
CHECKED = 1.5
"""Of these seconds, those that the checker of a command may use up; the rest is for printing."""
LATE = 0.5
"""Seconds between two attempts to end work; work that begins late gets at least as many."""
LEAST_LEFT = 0.1
"""The least seconds that :meth:`Limits.left` gives to a step, however late it begins.

HiGHS reads a limit of zero seconds as none at all in some of its methods.
"""


@dataclass(frozen=True)
class Limits:
    """The bounds of one run of a solver, and the best solution that the run has so far.

    A solver calls :meth:`keep` whenever it has something better, :meth:`check` inside long loops, and
    :meth:`part` to reserve time for what comes after. When the time is over or the user presses
    Ctrl-C, :meth:`ldpopt.Solver.attempt` returns what was kept last.

    Args:
        gap: the relative gap at which value and bound count as equal.
        deadline: when to stop, on the clock; None for no limit.
        seed: for random numbers.
        progress: called with (value, bound) whenever something is kept.
        end: when work that does not look at the clock is ended; None for the deadline.
        start: when the work began.
        clock: counts the seconds, see :func:`on_processor_time`.
        children: the processes that the work started.

    >>> Limits().remaining()
    inf
    >>> Limits(deadline=0.0).expired()
    True
    """

    gap: float = 1e-9
    deadline: float | None = None
    seed: int = 0
    progress: Progress | None = None
    end: float | None = None
    start: float = field(default_factory=now)
    clock: Callable[[], float] = field(default_factory=_CLOCK.get, repr=False)
    children: list[Child] = field(default_factory=list, repr=False)
    _kept: list[Callable[[], FormSolution]] = field(default_factory=list, repr=False)
    _proofs: list[float] = field(default_factory=list, repr=False)

    @classmethod
    def within(
        cls,
        seconds: float | None,
        *,
        gap: float = 1e-9,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Self:
        """Return limits whose deadline is the given number of seconds ahead.

        Args:
            seconds: the time limit, a number > 0; None for no limit.
            gap: the relative gap at which value and bound count as equal.
            seed: for random numbers.
            progress: called with (value, bound) whenever something is kept.
        """
        gap, start = validate.share("gap", gap), now()
        if seconds is None:
            return cls(gap, None, seed, progress)
        deadline = start + validate.positive_number("time_limit", seconds)
        return cls(gap, deadline, seed, progress, start=start)

    def remaining(self) -> float:
        """Return the seconds that are left: at least 0, infinite without a deadline."""
        return math.inf if self.deadline is None else max(0.0, self.deadline - self.clock())

    def elapsed(self) -> float:
        """Return the seconds since the work began."""
        return self.clock() - self.start

    def resumed(self, elapsed: float) -> Self:
        """Return the limits of work that was put aside: so many seconds count as elapsed, none since.

        >>> Limits(start=now() - 100).resumed(2.0).elapsed().__round__()
        2
        """
        aside = self.elapsed() - elapsed
        deadline, end = (due if due is None else due + aside for due in (self.deadline, self.end))
        return replace(self, start=self.start + aside, deadline=deadline, end=end)

    def expired(self) -> bool:
        """Return whether the time is over."""
        return self.remaining() <= 0

    def check(self) -> None:
        """Raise :class:`OutOfTime` if the time is over."""
        if self.expired():
            raise OutOfTime

    def left(self, share: float = 1.0) -> float | None:
        """Return the time limit of a next step: a share of the time left; None without a deadline.

        It is at least :data:`LEAST_LEFT`, so that a step which begins late says what it could do.

        >>> Limits().left() is None, Limits(deadline=0.0).left()
        (True, 0.1)
        """
        return None if self.deadline is None else max(share * self.remaining(), LEAST_LEFT)

    def for_checker(self) -> float:
        """Return how long the checker may take so that a command ends with its limit, or soon after.

        Where the solver used up the time limit, the checker still has a third of it, so that a busy
        machine does not leave a good design undecided. Without a limit it has its usual time.
        """
        if self.deadline is None:
            return SECONDS
        whole = self.deadline - self.start
        late = LATEST * whole + CHECKED - self.elapsed()
        return min(SECONDS, max(1.0, whole / 3, late))

    def part(self, share: float, kept: FormSolution | None = None) -> Self:
        """Return limits for a part of the work.

        A part that does not look at the clock is interrupted at the end of the whole.

        Args:
            share: how much of the time left the part may use.
            kept: what counts as kept at its beginning.
        """
        begun = [] if kept is None else [lambda: kept]
        if self.deadline is None:
            return replace(self, _kept=begun)
        deadline = self.clock() + share * self.remaining()
        return replace(self, deadline=deadline, end=self.end or self.deadline, _kept=begun)

    def in_time(
        self, work: Callable[[], T], otherwise: Callable[[], T] | None = None, once_kept: bool = False
    ) -> T:
        """Return what the work returns, or where the time is over before, something else.

        Python code is interrupted at once, a call of compiled code at its end. Work inside other work
        that is interrupted ends with it.

        Args:
            work: what is interrupted.
            otherwise: what is done then; unless given, :class:`OutOfTime` is raised.
            once_kept: do not interrupt before something is kept.
        """
        end = self.deadline if self.end is None else self.end
        if end is None:
            return work()
        own, begun, most = None, time.monotonic(), max(end - self.clock(), LATE)

        def late() -> bool:
            waited = time.monotonic() - begun
            over = self.clock is wall_time or self.clock() >= end or waited >= IDLE * most
            return over and bool(self._kept or not once_kept)

        try:
            with _interrupted(begun + most, late) as own:
                return work()
        except Overdue as event:
            if event.args != (own,):
                raise
        if otherwise is None:
            raise OutOfTime
        return otherwise()

    @contextmanager
    def held(self) -> Iterator[None]:
        """End the block soon after the deadline, whatever it does; :data:`LATEST` says how soon.

        A process that got less than half of a core has longer, so that a busy machine does not end
        honest work; one that does not work at all is ended, too.

        Raises:
            UndecidedFileError: the block was ended.
        """
        if self.deadline is None:
            yield
            return
        start, cpu = time.monotonic(), time.process_time()
        most = LATEST * self.remaining() + GRACE

        def late() -> bool:
            worked, waited = time.process_time() - cpu, time.monotonic() - start
            return worked >= most / 2 or waited >= IDLE * most

        try:
            with _interrupted(start + most, late):
                yield
        except Overdue:
            said = "not done within the time limit; allow more (--time-limit)"
            raise UndecidedFileError(said) from None

    def keep(self, value: float, bound: float, solution: Callable[[], FormSolution]) -> None:
        """Keep the best solution so far, then tell ``progress`` of it.

        ``progress`` is called second, so that a user who interrupts it finds the solution kept.

        Args:
            value: the objective at the solution.
            bound: what is proven so far about every solution; infinite if nothing is.
            solution: builds the solution when it is asked for.
        """
        self._kept[:] = [solution]
        if self.progress is not None:
            self.progress(value, bound)

    def kept(self) -> FormSolution | None:
        """Return what was kept last, or None."""
        return self._kept[0]() if self._kept else None

    def generator(self) -> np.random.Generator:
        """Return a fresh generator of random numbers from the seed."""
        return np.random.default_rng(self.seed)

    @contextmanager
    def proving(self) -> Iterator[None]:
        """Count the time within as spent on the proof."""
        start = self.elapsed()
        try:
            yield
        finally:
            self._proofs.append(self.elapsed() - start)

    def proof_seconds(self) -> float:
        """Return the time spent on proofs so far, parts included."""
        return sum(self._proofs)


UNLIMITED = Limits()
"""No deadline, the usual gap: for work that nobody waits for. Nothing is kept in it."""
