"""``ldpopt verify``: let the independent checker decide a result file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ldpopt.checker.budget import SECONDS
from ldpopt.checker.frame import EXIT_CODES
from ldpopt.cli.options import AsJson


def verify(
    file: Annotated[Path, typer.Argument(help="A result file.")],
    budget: Annotated[float, typer.Option(min=0.001, help="Seconds; more is undecided.")] = SECONDS,
    as_json: AsJson = False,
) -> None:
    """Let the independent checker decide every claim of a result file.

    Exit code 0: verified, 1: refuted, 2: unreadable, 3: undecided within the budget.
    """
    from ldpopt.engine.verifying import WORDS
    from ldpopt.engine.verifying import verify as verify_result

    verification = verify_result(file, budget=budget)
    if as_json:
        claims = [claim._asdict() for claim in verification.claims]
        unchecked = list(verification.unchecked)
        print(json.dumps({"verified": bool(verification), "claims": claims, "unchecked": unchecked}))
    else:
        print(verification)
        print(WORDS[verification.verdict])
    raise typer.Exit(EXIT_CODES[verification.verdict])
