"""Call a function of arrays in another process, which can be stopped when the time is over."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import children
from ldpopt.core.errors import SolverError
from ldpopt.core.limits import Limits, OutOfTime

Numbers = NDArray[np.float64] | NDArray[np.int64]


def call(function: Callable[..., Numbers], *arguments: Numbers, limits: Limits) -> Numbers:
    """Return what a module's function returns, run by a Python process of its own.

    This is for libraries that have no time limit, or that clash with others in one process.

    Args:
        function: a function at the top level of an importable module.
        *arguments: its arguments, arrays only.
        limits: the deadline at which the process is ended.

    Raises:
        OutOfTime: the time was over first; the process is gone.
        SolverError: the function raised, or crashed.
    """
    task = io.BytesIO()
    np.savez(task, *arguments)
    place = (function.__module__, function.__name__)
    code = f"from ldpopt.core.child_process import serve; serve(*{place!r})"
    left = limits.remaining()
    try:
        done = subprocess.run(
            children.command(code),
            env={**os.environ, **children.environment()},
            input=task.getvalue(),
            capture_output=True,
            timeout=left if np.isfinite(left) else None,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTime from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        said = lines[-1] if lines else f"exit code {done.returncode}"
        raise SolverError(f"the process of {function.__name__} ended before its work was done: {said}")
    return np.load(io.BytesIO(done.stdout))


def serve(module: str, name: str) -> None:
    """Read arguments from standard input, write the function's value to standard output."""
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as task:
        found = getattr(import_module(module), name)(*task.values())
    np.save(sys.stdout.buffer, found)
