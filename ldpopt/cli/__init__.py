"""The command line, one command per file."""

from __future__ import annotations

import sys

from ldpopt.core import ending


def main() -> None:
    """Run the command line; an error is printed as one sentence, with an exit code."""
    ending.run(_command)


def _command() -> int:
    from ldpopt.cli.app import run

    return run(sys.argv[1:])
