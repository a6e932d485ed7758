"""The exit codes of all programs of ldpopt: an error is never a verdict. See docs/exit-codes.md."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a program ended."""

    DONE = 0
    REFUTED = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    NOT_PROMISED = 4
    FAILED = 70
    INTERRUPTED = 130
    NOT_READ = 141
    TERMINATED = 143
