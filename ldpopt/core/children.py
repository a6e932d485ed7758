"""What the processes that this one starts may import: what it may itself, never the working directory.

A table lies in the working directory, and so may a file ``numpy.py`` that came with it. Python takes
that directory as its first path under ``-c`` and ``-m``, by which child processes are started. This
module imports nothing that could lie there.

A file ``matplotlibrc`` may lie there, too: matplotlib reads it before any other settings, and obeys it
up to running TeX. Programs and their children import matplotlib in other places.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from types import ModuleType

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The directory that holds the package ldpopt."""
OWN_SETTINGS = ("MATPLOTLIBRC", "MPLCONFIGDIR")
"""Variables by which a user tells matplotlib where settings are, perhaps from the working directory."""


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


class _Matplotlib(PathFinder):
    """Finds matplotlib, wherever it is imported first, and runs that import in its own directory."""

    @classmethod
    def find_spec(cls, fullname: str, *_: object) -> ModuleSpec | None:
        """Find the module if it is matplotlib; leave all others to others."""
        if fullname != "matplotlib":
            return None
        spec = super().find_spec(fullname)
        if spec is None or spec.loader is None or spec.origin is None:
            return spec
        load, home = spec.loader.exec_module, os.path.dirname(spec.origin)

        def load_there(module: "ModuleType") -> None:
            try:
                here = os.getcwd()
            except OSError:  # it was removed, and all that lay there
                return load(module)
            for name in filter(os.environ.get, OWN_SETTINGS):
                os.environ[name] = os.path.abspath(os.environ[name])
            os.chdir(home)
            try:
                load(module)
            finally:
                os.chdir(here)

        spec.loader.exec_module = load_there  # type: ignore[method-assign]
        return spec


def ignore_settings_here() -> None:
    """Let no ``matplotlibrc`` of the working directory be read; the user's own settings still are."""
    if _Matplotlib not in sys.meta_path:
        sys.meta_path.insert(0, _Matplotlib)


if sys.flags.safe_path:  # a child of a program, or a user who wants nothing of the working directory
    ignore_settings_here()


def leave_working_directory() -> None:
    """Take the working directory from the path of a program started by ``python -m`` or ``-c``."""
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
        if ROOT not in sys.path:  # ldpopt is not installed: it was found in that directory
            sys.path.append(ROOT)
