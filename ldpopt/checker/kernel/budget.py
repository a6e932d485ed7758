"""Keep every decision within a budget of time and memory; a claim that does not fit is *undecided*.

A section asks before it allocates (:func:`reserve`) and ticks while it searches (:func:`tick`). Both
raise :class:`UndecidedError` once the budget of the running :func:`limited` block is spent; what does
neither is interrupted. Outside such a block nothing is limited: problem classes call the same functions
while they solve.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .alarm import alarmed

SECONDS = 60.0
"""The default wall time of one file."""
MOST_SECONDS = 1e7
"""The largest wall time that can be asked for: some months."""
BYTES = 1_000_000_000
"""The memory of one file."""
LATE, LOOK = 1.0, 0.25
"""Seconds that code which forgets to tick has after its time, and between two looks at it."""
NUMBER = 120
"""Bytes that one number takes: a fraction, a pair of decimals, or a whole number, with its place."""


class UndecidedError(Exception):
    """A claim that cannot be decided within the budget; the message is one sentence."""


@dataclass(frozen=True)
class Budget:
    """What one file may cost."""

    deadline: float
    seconds: float
    bytes: int


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def limited(seconds: float = SECONDS, memory: int = BYTES) -> Iterator[None]:
    """Limit what runs inside to so many seconds of wall time and so many bytes.

    Code that forgets to ask is interrupted, in every thread: a second after the time is up, or when the
    process has grown by more than the bytes, and again from then on. A block inside another one ends
    with it.

    Args:
        seconds: of wall time.
        memory: bytes.
    """
    budget, outer = Budget(time.monotonic() + seconds, seconds, memory), _CURRENT.get()
    if outer is not None and outer.deadline < budget.deadline:
        budget = Budget(outer.deadline, outer.seconds, memory)
    before = _resident()

    def ring() -> None:
        if time.monotonic() > budget.deadline + LATE:
            raise UndecidedError(f"not decided within {budget.seconds!r} seconds")
        if _resident() - before > memory:
            raise UndecidedError(f"not decided within {memory // 1_000_000} MB of memory")

    token = _CURRENT.set(budget)
    try:
        with alarmed(time.monotonic() + LOOK, LOOK, ring):
            yield
    finally:
        _CURRENT.reset(token)


def _resident() -> int:
    """Return how many bytes of memory the process has; 0 where the system does not say it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0


@contextmanager
def confined(memory: int = BYTES) -> Iterator[None]:
    """Limit the memory of the process, as the estimates of :func:`reserve` may miss something.

    Inside, the process may take ``memory`` bytes of addresses more than it has. Beyond that the system
    raises a MemoryError, which counts as "undecided". Other threads would be refused memory as well, so
    where there are some, and where the system does not say how much is in use, this does nothing.

    Args:
        memory: bytes.
    """
    if threading.active_count() > 1:
        yield
        return
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    limits = [limit for limit in (before, most) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([used + memory, *limits]), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, most))


def tick() -> None:
    """Raise :class:`UndecidedError` if the time is up. Call it once per node, vertex or column."""
    budget = _CURRENT.get()
    if budget is not None and time.monotonic() > budget.deadline:
        raise UndecidedError(f"not decided within {budget.seconds!r} seconds")


def reserve(numbers: int, what: str) -> None:
    """Raise :class:`UndecidedError` if so many numbers do not fit into memory; call it before."""
    budget = _CURRENT.get()
    if budget is not None and numbers * NUMBER > budget.bytes:
        needed = counted(numbers * NUMBER // 1_000_000)
        raise UndecidedError(
            f"{what} would take {needed} MB, and {budget.bytes // 1_000_000} are allowed"
        )


def counted(number: int) -> str:
    """Write a count for a message; of a count above 10^18 only say that it is.

    >>> counted(4_000_001), counted(2**20_000)
    ('4000001', 'more than 10^18')
    """
    return str(number) if number <= 10**18 else "more than 10^18"
