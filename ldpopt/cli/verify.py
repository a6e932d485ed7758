"""``ldpopt verify``: let the independent checker decide a result file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.options import AsJson


def verify(
    file: Annotated[Path, typer.Argument(help="A result file.")],
    as_json: AsJson = False,
) -> None:
    """Let the independent checker decide every claim of a result file (exit 0, 1 or 2)."""
    from ldpopt.engine.verifying import verify as verify_result

    verification = verify_result(file)
    if as_json:
        claims = [claim._asdict() for claim in verification.claims]
        print(json.dumps({"verified": bool(verification), "claims": claims}))
    else:
        print(verification)
        print("verified" if verification else "refuted")
    raise typer.Exit(0 if verification else 1)
