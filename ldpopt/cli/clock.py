"""The clock of a command: its time limit counts from its first line, imports and check included."""

from __future__ import annotations

import time

from ldpopt.core.exact import SECONDS

LEAST_LEFT = 0.1
"""The least seconds that a command gives to its work, whatever its imports took."""


class Clock:
    """When a command began, and how much of the machine it got since then."""

    def __init__(self) -> None:
        self.start, self.cpu = time.monotonic(), time.process_time()

    def left(self, time_limit: float) -> float:
        """Return the seconds that are left of a time limit, which must be positive."""
        from ldpopt.core import validate

        whole = validate.positive_number("time_limit", time_limit)
        return max(whole - (time.monotonic() - self.start), LEAST_LEFT)

    def stretched(self, seconds: float) -> float:
        """Return how long work of so many seconds will take, if the machine stays as busy as it is.

        The command so far took wall time w and CPU time c: the work takes w/c times as long.
        """
        wall, cpu = time.monotonic() - self.start, time.process_time() - self.cpu
        return seconds * max(1.0, wall / cpu) if cpu > 0 else seconds

    def checker_seconds(self, time_limit: float | None) -> float:
        """Return how long the checker may take so that the command ends with its limit, or soon after.

        Where the solver used up the time limit, the checker still has a third of it, so that a busy
        machine does not leave a good design undecided.

        Args:
            time_limit: the command's time limit in seconds; without one the checker has its usual time.
        """
        if time_limit is None:
            return SECONDS
        from ldpopt.core.limits import LATEST

        left = LATEST * time_limit + 1.5 - (time.monotonic() - self.start)
        return min(SECONDS, max(1.0, time_limit / 3, left))
