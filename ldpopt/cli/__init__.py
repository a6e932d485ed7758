"""The command line, one command per file."""

from __future__ import annotations

import os
import signal
import sys


class TerminatedError(BaseException):
    """Somebody ended the process: drafts of files are removed on the way, and nothing is caught."""


def _terminate(*_: object) -> None:
    raise TerminatedError


def main() -> None:
    """Run the command line; an error on purpose is one sentence and an exit code.

    Everything is imported inside, so that Ctrl-C during an import is one sentence, too.
    """
    try:
        signal.signal(signal.SIGTERM, _terminate)
        from ldpopt.cli.app import run

        code = run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("ldpopt: interrupted", file=sys.stderr)
        code = 130
    except TerminatedError:
        code = 143
    except BrokenPipeError:  # nobody reads on: what is still to be written goes nowhere
        _drop_output()
        code = 141
    except OSError as error:  # the disk that standard output goes to is full
        print(f"ldpopt: cannot write the output: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        code = 2
    sys.exit(code)


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that the end of the process does not fail, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
