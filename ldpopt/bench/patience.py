"""End work that does not end by itself: an alarm of the operating system interrupts it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TooLongError(BaseException):
    """The work was interrupted. A handler of all usual errors does not swallow it."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise :class:`TooLongError` in what takes longer, and again every second until it ends.

    Python code ends at once; a call of compiled code ends first. Only the main thread of a process can
    be interrupted, where the system has such alarms; elsewhere nothing happens.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
