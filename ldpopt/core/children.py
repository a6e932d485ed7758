"""What the processes that this one starts may import: what it may itself, never the working directory.

A table lies in the working directory, and so may a file ``numpy.py`` that came with it. Python takes
that directory as its first path under ``-c`` and ``-m``, by which child processes are started. This
module imports nothing that could lie there.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The directory that holds the package ldpopt."""


def environment() -> dict[str, str]:
    """Return the variables by which Python leaves the working directory out of its path.

    An empty part of ``PYTHONPATH`` would also stand for that directory.
    """
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(given)}


def command(code: str) -> list[str]:
    """Return the command that runs a line of Python with the path of this process.

    >>> command("pass")[1:3]
    ['-P', '-c']
    """
    paths = [*filter(None, sys.path), *([] if ROOT in sys.path else [ROOT])]
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {paths!r}; {code}"]


def leave_working_directory() -> None:
    """Take the working directory from the path of a program started by ``python -m`` or ``-c``."""
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
        if ROOT not in sys.path:  # ldpopt is not installed: it was found in that directory
            sys.path.append(ROOT)
