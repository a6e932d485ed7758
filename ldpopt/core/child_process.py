"""Call a function of arrays in another process, which can be stopped when the time is over."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import children
from ldpopt.core.errors import SolverError
from ldpopt.core.limits import (
    IDLE,
    Child,
    Limits,
    OutOfTime,
    ended_children_time,
    processor_time,
    wall_time,
)

Numbers = NDArray[np.float64] | NDArray[np.int64]


def call(function: Callable[..., Numbers], *arguments: Numbers, limits: Limits, imports: str) -> Numbers:
    """Return what a module's function returns, run by a Python process of its own.

    This is for libraries that have no time limit, or that clash with others in one process.

    Args:
        function: a function at the top level of an importable module.
        *arguments: its arguments, arrays only.
        limits: the deadline at which the process is ended; told of the process when it has ended.
        imports: the library that the function uses, so that its import counts as the process's start.

    Raises:
        OutOfTime: the time was over first; the process is gone.
        SolverError: the function raised, or crashed.
    """
    task = io.BytesIO()
    np.savez(task, *arguments)
    left = limits.remaining()
    allowed = 0.0 if limits.clock is wall_time or not np.isfinite(left) else left
    place = (function.__module__, function.__name__, imports, allowed)
    code = f"from ldpopt.core.child_process import serve; serve(*{place!r})"
    before = ended_children_time()
    try:
        done = subprocess.run(
            children.command(code),
            env={**os.environ, **children.environment()},
            input=task.getvalue(),
            capture_output=True,
            timeout=(IDLE * left if allowed else left) if np.isfinite(left) else None,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTime from None
    if allowed and done.returncode == -signal.SIGPROF:
        raise OutOfTime
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        said = lines[-1] if lines else f"exit code {done.returncode}"
        raise SolverError(f"the process of {function.__name__} ended before its work was done: {said}")
    with np.load(io.BytesIO(done.stdout)) as found:
        worked, megabytes = found["took"].tolist()
        limits.children.append(Child(ended_children_time() - before - worked, megabytes))
        return found["value"]


def serve(module: str, name: str, imports: str, seconds: float) -> None:
    """Read arguments from standard input, write the function's value and what it took.

    Args:
        module: where the function is.
        name: the function.
        imports: the library that it uses.
        seconds: of processor time, after which this process ends; 0 for no limit.
    """
    if seconds:
        signal.setitimer(signal.ITIMER_PROF, seconds)
    work = getattr(import_module(module), name)
    import_module(imports)
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as task:
        arguments = list(task.values())
    started, megabytes = processor_time(), _most_megabytes()
    value = work(*arguments)
    took = [processor_time() - started, _most_megabytes() - megabytes]
    found = io.BytesIO()
    np.savez(found, value=value, took=took)
    sys.stdout.buffer.write(found.getvalue())


def _most_megabytes() -> float:
    """Return the largest memory that this process has had; 0 where the system does not say.

    Linux's ``getrusage`` would count what the process was before it became Python.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return float(found[1]) * 1024 / 1e6 if found else 0.0
