"""The verdict on a mechanism's file, at the end of a command that used it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ldpopt.cli.terminal import tell
from ldpopt.core.exact import EXIT_CODES

if TYPE_CHECKING:
    from ldpopt.release.designing import AnyDesign


def end_as_decided(made: AnyDesign) -> None:
    """End the command with the exit code of the verdict on its file; where that is not 0, say why.

    What is refuted or undecided was refused before; what is left is a promise that the file does not
    decide.
    """
    found = made.verification
    if not found:
        tell(f"warning: {found.summary}")
    raise typer.Exit(EXIT_CODES[found.verdict])
