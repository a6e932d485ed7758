"""The error tree: everything that ldpopt raises on purpose.

Bad input is a :class:`InvalidInputError` with one sentence that names the offending value. An
infeasible or unfinished problem is a *status* of its result, never an exception.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

FLAG = re.compile(r"(?<![\w'\"-])--([a-z][a-z-]*)")
"""An option as the command line spells it, but not in what a user wrote, which is quoted."""
_FLAGS: ContextVar[bool] = ContextVar("flags", default=False)


@contextmanager
def spelling_flags() -> Iterator[None]:
    """Let messages within spell options as the command line does."""
    token = _FLAGS.set(True)
    try:
        yield
    finally:
        _FLAGS.reset(token)


class LdpoptError(Exception):
    """The root of the tree.

    Its message is written with the options of the command line; in Python they are parameters.

    >>> str(LdpoptError("allow more (--time-limit)"))
    'allow more (time_limit)'
    """

    def __str__(self) -> str:
        said = super().__str__()
        return said if _FLAGS.get() else FLAG.sub(lambda flag: flag[1].replace("-", "_"), said)


class InvalidInputError(LdpoptError, ValueError):
    """A value that the mathematics does not allow; the message names it."""


class UnknownNameError(InvalidInputError):
    """A name that is not registered.

    >>> raise UnknownNameError("problem", "stairs", ["staircase", "polyopt"])
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.UnknownNameError: unknown problem 'stairs'; did you mean 'staircase'?
    """

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        known = sorted(known)
        close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)
        super().__init__(f"unknown {what} {name!r}; {hint}")


class UnreadableFileError(LdpoptError, ValueError):
    """A file that is not what it should be: garbage, truncated, or of another format."""


class RefutedFileError(UnreadableFileError):
    """A file that says what is false: the checker refutes a claim of it."""


class UndecidedFileError(LdpoptError):
    """A file that cannot be read, or whose claims cannot be decided, within a budget."""


INSTALLED_BY = {
    "cdd": "'ldpopt[cdd]'",
    "cryptography": "'ldpopt[protocol]'",
    "distributed": "'ldpopt[dask]'",
    "ortools": "'ldpopt[flow-ortools]'",
    "pandas": "pandas",
    "sklearn": "'ldpopt[forest]'",
}
"""What pip installs for a module that not everybody needs."""


def lacking(module: str) -> str:
    """Say that a module is needed, and how to install it where that is known.

    >>> lacking("cdd")
    "needs the package 'cdd': pip install 'ldpopt[cdd]'"
    """
    known = module in INSTALLED_BY
    return f"needs the package {module!r}" + (f": pip install {INSTALLED_BY[module]}" if known else "")


class MissingDependencyError(LdpoptError, ImportError):
    """An optional package that is not installed; the message names what brings it.

    Args:
        what: what needs it.
        module: the module that cannot be imported.
    """

    def __init__(self, what: str, module: str) -> None:
        super().__init__(f"{what} {lacking(module)}")


class FailedError(LdpoptError, RuntimeError):
    """A program that failed: a worker that died, a plug-in that cannot be imported, a solver."""


class SolverError(FailedError):
    """A solver that crashed or broke its promise."""


class NoSolverError(LdpoptError):
    """No registered solver takes the problem; lists every solver with its reason."""

    def __init__(self, kind: str, reasons: Mapping[str, str]) -> None:
        lines = "".join(f"\n  {name}: {reason}" for name, reason in reasons.items())
        none = (
            " no solver takes its form. Write one, a class Solver[Form] with the methods accepts and "
            "run, and pass it: solve(problem, MySolver()); docs/plug-in-a-solver.md shows how"
        )
        super().__init__(f"no solver accepts this {kind!r} problem:{lines or none}")


def from_ctrl_c(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is behind an error.

    Compiled modules that it hits during their import raise an ImportError from it, for instance.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
