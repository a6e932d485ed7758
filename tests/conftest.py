"""The command line, as tests of every room run it."""

import contextlib
import io
import signal
import sys
from typing import NamedTuple

import pytest

from ldpopt.cli import main


class Answer(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def ldpopt():
    """The command line in this process: ``ldpopt(*words, cwd=…)`` gives exit code, output and errors.

    Nothing is lost against a process of its own, but for signals and terminals: these need one.
    """
    return run_in_this_process


def run_in_this_process(*words, cwd="."):
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv, signal.getsignal(signal.SIGTERM)
    sys.argv = ["ldpopt", *map(str, words)]
    try:
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main()
    finally:
        sys.argv = before[0]
        signal.signal(signal.SIGTERM, before[1])
    return Answer(ended.value.code or 0, out.getvalue(), err.getvalue())
