"""End work that does not end by itself: an alarm of the operating system interrupts it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ldpopt.core.exact import alarmed


class TooLongError(BaseException):
    """The work was interrupted. A handler of all usual errors does not swallow it."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise :class:`TooLongError` in a block that takes longer, and again every second until it ends.

    An alarm set inside the block does not replace it: :func:`ldpopt.checker.kernel.alarm.alarmed`.
    """

    def ring() -> None:
        raise TooLongError

    with alarmed(time.monotonic() + seconds, 1, ring):
        yield
