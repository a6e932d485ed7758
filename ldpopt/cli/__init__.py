"""The command line, one command per file."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an error is printed as one sentence, with an exit code."""
    try:
        from ldpopt.core import ending
    except KeyboardInterrupt:  # afterwards `ending` answers it
        print("ldpopt: interrupted", file=sys.stderr)
        sys.exit(130)
    ending.run(_command)


def _command() -> int:
    from ldpopt.cli.app import run

    return run(sys.argv[1:])
