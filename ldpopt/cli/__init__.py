"""The command line, one command per file."""

from __future__ import annotations

import os
import signal
import sys

from ldpopt.core.errors import LdpoptError, SolverError


def main() -> None:
    """Run the command line; an error on purpose is one sentence and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # drafts of files are removed on the way out
    try:
        from ldpopt.cli.app import app

        app()
    except LdpoptError as error:
        print(f"ldpopt: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, SolverError) else 2)
    except KeyboardInterrupt:
        print("ldpopt: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
