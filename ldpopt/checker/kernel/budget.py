"""Keep every decision within a budget of time and memory; a claim that does not fit is *undecided*.

A section asks before it allocates (:func:`reserve`) and ticks while it searches (:func:`tick`). Both
raise :class:`UndecidedError` once the budget of the running :func:`limited` block is spent; what does
neither is interrupted. Outside such a block nothing is limited: problem classes call the same functions
while they solve.

Work that does not look at the clock is interrupted in any thread (:func:`alarmed`). In the main thread
all alarms share the one timer of the process. Another thread is watched by a thread of its own, which
raises there what the alarm raised.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

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
            raise UndecidedError(f"not decided within {budget.seconds:g} seconds")
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


def tick() -> None:
    """Raise :class:`UndecidedError` if the time is up. Call it once per node, vertex or column."""
    budget = _CURRENT.get()
    if budget is not None and time.monotonic() > budget.deadline:
        raise UndecidedError(f"not decided within {budget.seconds:g} seconds")


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


# ------------------------------------------------------------ alarms

SOON = 1e-3
"""Seconds until an alarm that is already due rings; a timer set to 0 would never ring."""


@dataclass(eq=False)
class Alarm:
    """A function to call, when it is due (:func:`time.monotonic`), and the seconds between calls."""

    due: float
    every: float
    ring: Callable[[], None]


PENDING: list[Alarm] = []
"""The alarms that are set, the outermost first."""


@contextmanager
def alarmed(due: float, every: float, ring: Callable[[], None]) -> Iterator[None]:
    """Interrupt the block to call ``ring`` when it is due, and then at intervals.

    ``ring`` raises what should end the work, or does nothing. Python code is interrupted at once; a
    call of compiled code is finished first. Blocks may be nested: an alarm set inside leaves those
    outside set, and in the main thread, where several are due, the outermost rings first.

    Args:
        due: when to ring first, on the clock of :func:`time.monotonic`.
        every: seconds between two rings.
        ring: what to do.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        with _watched(due, every, ring):
            yield
        return
    before, start = signal.getsignal(signal.SIGALRM), time.monotonic()
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    alarm, outermost = Alarm(due, every, ring), not PENDING

    def remove() -> None:
        if alarm not in PENDING:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        del PENDING[PENDING.index(alarm) :]  # also those inside whose end an exception cut short
        if not outermost:
            _wind()
            return
        signal.signal(signal.SIGALRM, before)
        if left:  # a timer that somebody else had set goes on
            passed = time.monotonic() - start
            signal.setitimer(signal.ITIMER_REAL, max(left - passed, SOON), interval)

    try:
        try:
            PENDING.append(alarm)
            signal.signal(signal.SIGALRM, _ring)
            _wind()
            yield
        finally:
            remove()
    finally:  # an alarm may ring at the very moment at which one is removed
        remove()


def _wind() -> None:
    """Set the timer to the alarm that is due first."""
    wait = min(alarm.due for alarm in PENDING) - time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, max(wait, SOON))


def _ring(*_: object) -> None:
    """Ring every alarm that is due, after all are set for their next time."""
    now = time.monotonic()
    late = [alarm for alarm in PENDING if alarm.due <= now]
    for alarm in late:
        alarm.due = now + alarm.every
    if PENDING:
        _wind()
    for alarm in late:
        alarm.ring()


@contextmanager
def _watched(due: float, every: float, ring: Callable[[], None]) -> Iterator[None]:
    """Let another thread call ``ring``, and raise in this one what it raises.

    What is raised in a thread waits there until Python looks for it, which may be after the block. So
    when the block is over, no ring begins (``ended``), one that has begun is waited for (``ringing``),
    and what still waits then is taken back. An alarm outside whose error is taken back rings again.

    Args:
        due: when to ring first, on the clock of :func:`time.monotonic`.
        every: seconds between two rings.
        ring: what to do.
    """
    target, over, ringing = threading.get_ident(), threading.Event(), threading.Lock()
    ended, raised = False, list[type[BaseException]]()

    def watch() -> None:
        wait = due - time.monotonic()
        while not over.wait(max(wait, SOON)):
            wait = every
            with ringing:
                if ended:
                    return
                try:
                    ring()
                except BaseException as error:
                    raised.append(_late(error))
                    _raise_in(target, raised[-1])

    try:
        threading.Thread(target=watch, daemon=True).start()
        yield
    finally:
        ended = True
        while True:
            try:
                with ringing:
                    if raised:
                        _raise_in(target, None)
                over.set()
                break
            except tuple(raised):  # heard here, where the block is over
                pass


def _late(error: BaseException) -> type[BaseException]:
    """Return a class whose instances are like an error: a thread makes an instance by itself."""
    kind, said = type(error), error.args
    return type(kind.__name__, (kind,), {"__init__": lambda self: kind.__init__(self, *said)})


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an error in another thread, or take back one that waits there."""
    import ctypes

    given = ctypes.py_object() if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)
