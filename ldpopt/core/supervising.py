"""Watch a command from outside, as a library may keep it from hearing an alarm or a signal.

Python hears a signal when a library returns. pyarrow waits for ever where memory is too short for its
threads, and OpenBLAS asks for ever for memory that it does not get.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from typing import NoReturn

from ldpopt.core.ending import fail, is_program
from ldpopt.core.exact import ExitCode

LATEST, GRACE = 2.0, 10.0
"""A command was to end before so many times its time limit and so many seconds have passed."""
ANSWER = 5.0
"""Seconds that the answer to a signal may take."""
IDLE = 10.0
"""A process that gets little of a busy machine has so many times as long, unless it does nothing."""
END_WITH_PARENT = 1
"""Linux's PR_SET_PDEATHSIG: the signal that a process gets when the one that started it ends."""
SIGNALS = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}


def supervise(seconds: float) -> None:
    """Go on in a process of its own, which is ended if it outstays a time limit or a signal.

    It is called before anything large is imported. In a process that another program began, and where
    the system does not tell how much a process worked, the command goes on by itself.

    Args:
        seconds: the time limit of the command.
    """
    if not is_program() or not os.path.exists("/proc/self/stat"):
        return
    sys.stdout.flush()
    watched = {*SIGNALS, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    worker = os.fork()
    if not worker:
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    else:
        _watch(worker, watched, LATEST * seconds + GRACE)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(worker: int, watched: set[signal.Signals], allowed: float) -> NoReturn:
    """Pass signals on and end as the worker does; end it where it takes longer than allowed.

    Args:
        worker: the process.
        watched: the signals that are blocked, and read here.
        allowed: its seconds.
    """
    code, said = ExitCode.UNDECIDED, "not done within the time limit, nor heard of; allow more memory"
    start = moved = time.monotonic()
    begun = worked = 0.0
    while not (ended := os.waitpid(worker, os.WNOHANG))[0]:
        came = signal.sigtimedwait(watched, 1.0)
        now, spent = time.monotonic(), _worked(worker)
        if came is not None and came.si_signo in SIGNALS:
            code, said = SIGNALS[signal.Signals(came.si_signo)], "ended, as it heard no signal"
            start, begun, allowed = now, spent, ANSWER
            if came.si_pid:  # from a process; what a terminal sends, the worker gets itself
                os.kill(worker, came.si_signo)
        if spent > worked:
            moved, worked = now, spent
        idle, waited = now > moved + ANSWER, now - start
        if spent - begun > allowed or waited > allowed * (1 if idle else IDLE):
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
            os._exit(fail(said, code))
    found = os.waitstatus_to_exitcode(ended[1])
    os._exit(found if found >= 0 else 128 - found)


def _worked(process: int) -> float:
    """Return the seconds of processor time of a process."""
    with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
