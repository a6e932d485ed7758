"""What bounds a run: the gap to be proven, the clock, the seed, and the display of progress."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np

from ldpopt.core.errors import UndecidedFileError
from ldpopt.core.exact import alarmed
from ldpopt.core.form import FormSolution


class Progress(Protocol):
    """Called during long work: the best value and the proven bound so far."""

    def __call__(self, value: float, bound: float, /) -> None:
        """Receive the best value and the proven bound so far."""


class OutOfTime(Exception):  # noqa: N818 (it is an event, as StopIteration is)
    """Raised by :meth:`Limits.check`: the run then ends with what the solver kept last."""


class Overdue(BaseException):
    """Raised by the alarm of :meth:`Limits.alarmed` in work that does not look at the clock.

    A handler of :class:`OutOfTime` inside a solver does not swallow it.
    """


@contextmanager
def _silent_where_lost() -> Iterator[None]:
    """Silence Python's report of an alarm that it ignored in a destructor: the alarm rings again."""
    before = sys.unraisablehook

    def hook(lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is not Overdue:
            before(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


LATEST, GRACE = 1.1, 2.0
"""Work that is held to a time limit ends within this many times the limit, and so many seconds."""
LATE = 0.5
"""Seconds between two rings of the alarm; work that begins after the alarm gets at least as many."""


@dataclass(frozen=True)
class Limits:
    """The bounds of one run of a solver, and the best solution that the run has so far.

    A solver calls :meth:`keep` whenever it has something better, :meth:`check` inside long loops, and
    :meth:`part` to reserve time for what comes after. When the time is over or the user presses
    Ctrl-C, :meth:`ldpopt.Solver.attempt` returns what was kept last.

    Args:
        gap: the relative gap at which value and bound count as equal.
        deadline: when to stop, on the clock of :func:`time.monotonic`; None for no limit.
        seed: for random numbers.
        progress: called with (value, bound) whenever something is kept.
        alarm: when work that does not look at the clock is interrupted; None for never.
        answered: whether there is an answer even if nothing is kept here.

    >>> Limits().remaining()
    inf
    >>> Limits(deadline=0.0).expired()
    True
    """

    gap: float = 1e-9
    deadline: float | None = None
    seed: int = 0
    progress: Progress | None = None
    alarm: float | None = None
    answered: bool = False
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
            seconds: how long the run may take; None for no limit.
            gap: the relative gap at which value and bound count as equal.
            seed: for random numbers.
            progress: called with (value, bound) whenever something is kept.
        """
        return cls(gap, None if seconds is None else time.monotonic() + seconds, seed, progress)

    def remaining(self) -> float:
        """Return the seconds that are left: at least 0, infinite without a deadline."""
        return math.inf if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def expired(self) -> bool:
        """Return whether the time is over."""
        return self.remaining() <= 0

    def check(self) -> None:
        """Raise :class:`OutOfTime` if the time is over."""
        if self.expired():
            raise OutOfTime

    def part(self, share: float) -> Self:
        """Return limits for a part of the work: a share of the time left, nothing kept yet."""
        deadline = self.deadline
        if deadline is not None:
            deadline = time.monotonic() + share * self.remaining()
        return replace(self, deadline=deadline, _kept=[])

    def leaving(self, share: float) -> Self:
        """Return limits that leave a share of the time for later work; their alarm is this deadline."""
        if self.deadline is None:
            return self
        return replace(self.part(1 - share), alarm=self.deadline)

    @contextmanager
    def alarmed(self) -> Iterator[None]:
        """Raise :class:`Overdue` inside the block when the alarm is due and there is an answer.

        An alarm of the caller rings all the same: :func:`ldpopt.checker.kernel.alarm.alarmed`.
        """
        if self.alarm is None:
            yield
            return

        def ring() -> None:
            if self._kept or self.answered:
                raise Overdue

        with _silent_where_lost(), alarmed(max(self.alarm, time.monotonic() + LATE), LATE, ring):
            yield

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

        def ring() -> None:
            worked, waited = time.process_time() - cpu, time.monotonic() - start
            if worked >= most / 2 or waited >= 10 * most:
                raise Overdue

        try:
            with _silent_where_lost(), alarmed(start + most, LATE, ring):
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
        start = time.perf_counter()
        try:
            yield
        finally:
            self._proofs.append(time.perf_counter() - start)

    def proof_seconds(self) -> float:
        """Return the time spent on proofs so far, parts included."""
        return sum(self._proofs)


UNLIMITED = Limits()
"""No deadline, the usual gap: for work that nobody waits for. Nothing is kept in it."""
