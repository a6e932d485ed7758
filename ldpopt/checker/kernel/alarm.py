"""Interrupt work that does not look at the clock, in any thread.

In the main thread all alarms share the one timer of the process. Another thread is watched by a thread
of its own, which raises there what the alarm raised.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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

    Args:
        due: when to ring first, on the clock of :func:`time.monotonic`.
        every: seconds between two rings.
        ring: what to do.
    """
    target, over, ringing = threading.get_ident(), threading.Event(), threading.Lock()

    def watch() -> None:
        wait = due - time.monotonic()
        while not over.wait(max(wait, SOON)):
            wait = every
            with ringing:
                if over.is_set():
                    return
                try:
                    ring()
                except BaseException as error:
                    _raise_in(target, error)

    def remove() -> None:
        over.set()
        with ringing:  # a ring that has begun is heard here
            pass

    try:
        try:
            threading.Thread(target=watch, daemon=True).start()
            yield
        finally:
            remove()
    finally:
        remove()


def _raise_in(thread: int, error: BaseException) -> None:
    """Raise an error in another thread, which takes a class and makes an instance of it by itself."""
    import ctypes

    kind, said = type(error), error.args
    late = type(kind.__name__, (kind,), {"__init__": lambda self: kind.__init__(self, *said)})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(late))
