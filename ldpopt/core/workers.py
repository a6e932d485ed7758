"""Where work is done: in this process, in processes beside it, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import joblib

from ldpopt.core import children
from ldpopt.core.errors import FailedError, InvalidInputError, MissingDependencyError

PATIENCE = 10.0
"""Seconds to wait for a Dask scheduler to answer."""

QUIET = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"
"""Filters the warnings of the process that removes what workers share.

After Ctrl-C it may find a folder gone that this process has removed, and would print that as a warning.
"""

Parallel = Callable[[Iterable[Any]], Iterable[Any]]
"""Runs tasks of :func:`joblib.delayed` and returns their results in order."""


@contextlib.contextmanager
def workers(jobs: int, scheduler: str | None) -> Iterator[Parallel]:
    """Yield a function that runs tasks and returns their results in order.

    Args:
        jobs: worker processes on this machine; with 1, a task begins when its result is asked for.
        scheduler: the address of a Dask scheduler to run on instead.

    Raises:
        InvalidInputError: no scheduler answers at the address.
        MissingDependencyError: Dask is not installed.
    """
    if scheduler is None:
        parallel: Parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
        yield parallel if jobs == 1 else _deaf(parallel)
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError("a Dask scheduler", "distributed") from None
    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise InvalidInputError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    with client, joblib.parallel_config("dask", client=client):
        yield joblib.Parallel()


def _deaf(parallel: Parallel) -> Parallel:
    """Start worker processes that ignore Ctrl-C: this process receives it and ends them.

    A terminal sends Ctrl-C to all of them, and each would answer with a traceback of its own. A new
    process inherits which signals are blocked; a signal sent meanwhile is delivered here afterwards.
    """
    from multiprocessing import resource_tracker

    def started(tasks: Iterable[Any]) -> Iterable[Any]:
        warned = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), QUIET]))
        with _variables(**children.environment(), PYTHONWARNINGS=warned):
            if not hasattr(signal, "pthread_sigmask"):
                return parallel(tasks)
            resource_tracker.ensure_running()  # it would unblock the signal when it starts later
            before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                return parallel(tasks)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return lambda tasks: _alive(started(tasks))


def _alive(results: Iterable[Any]) -> Iterator[Any]:
    """Yield what workers return; one that was killed, or crashed, is an error in one sentence."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield from results
    except BrokenProcessPool as error:
        codes = re.search(r"exit codes? .*", str(error))
        said = f": {codes[0].rstrip()}" if codes else ""
        raise FailedError(f"a worker process ended before its work was done{said}") from None


@contextlib.contextmanager
def _variables(**variables: str) -> Iterator[None]:
    """Set variables of the environment for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
