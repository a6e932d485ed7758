"""``ldpopt verify``: let the independent checker decide a result file."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ldpopt.checker.frame import EXIT_CODES
from ldpopt.checker.kernel.budget import MOST_SECONDS, SECONDS
from ldpopt.checker.kernel.claims import GIVES_UP, OPEN, Verdict, named
from ldpopt.cli.options import AsJson, know
from ldpopt.core.errors import InvalidInputError, LdpoptError, UndecidedFileError


def verify(
    file: Path,
    budget: Annotated[float, typer.Option(min=0.001, max=MOST_SECONDS)] = SECONDS,
    problem: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Let the independent checker decide every claim of a result file, or of all files of an artifact.

    Exit code 0: verified, 1: refuted, 2: unreadable, 3: undecided within the budget, 4: holds, but the
    promise is not decided, as it is about counts that are not in the file.

    Options:
        file: A result file, or a directory with a manifest.
        budget: Seconds; slower claims are undecided.
    """
    if math.isnan(budget):  # nan passes every range check
        raise InvalidInputError("budget must be a number of seconds, not nan")
    know(problem)
    try:
        decide = _decide_directory if os.path.isdir(file) else _decide_and_print  # of any name
        found = decide(file, budget, as_json)
    except (LdpoptError, BrokenPipeError):
        raise
    except (*GIVES_UP, OSError) as error:  # beyond the memory, or a full disk: no verdict
        raise UndecidedFileError(f"the checker was stopped by {named(error)}") from None
    raise typer.Exit(EXIT_CODES[found])


def _waiting(file: Path, budget: float) -> contextlib.AbstractContextManager[object]:
    """Show that the checker is at work; without a terminal, nothing is shown or imported."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from ldpopt.cli.terminal import watching

    return watching(f"checking {file}", budget)


def _decide_and_print(file: Path, budget: float, as_json: bool) -> Verdict:
    from ldpopt.engine.verifying import WORDS
    from ldpopt.engine.verifying import verify as verify_result

    with _waiting(file, budget):
        verification = verify_result(file, budget=budget)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a letter that the terminal cannot show is spelt out
        sys.stdout.reconfigure(errors="backslashreplace")
    if as_json:
        claims = [claim._asdict() for claim in verification.claims]
        said = {"verified": bool(verification), "verdict": WORDS[verification.verdict]}
        print(json.dumps({**said, "claims": claims, "unchecked": list(verification.unchecked)}))
    else:
        _print_claims(str(verification))
        print(WORDS[verification.verdict])
    sys.stdout.flush()
    return verification.verdict


def _decide_directory(directory: Path, budget: float, as_json: bool) -> Verdict:
    """Print a line for every file, and what holds of all: the worst verdict of any."""
    from ldpopt.engine.artifact import is_result, verify_artifact
    from ldpopt.engine.verifying import WORDS

    worst: Verdict = True
    files = []
    for name, found, said in verify_artifact(directory, budget):
        files.append({"file": name, "verdict": WORDS[found], "reason": said})
        if not as_json:
            print(f"{name}: {said}")
        worst = next(verdict for verdict in (False, None, OPEN, True) if verdict in (found, worst))
    if as_json:
        print(json.dumps({"verified": worst is True, "verdict": WORDS[worst], "files": files}))
    else:
        results = sum(is_result(file["file"]) for file in files)
        others = "the other files are compared with the manifest alone"
        print(f"{WORDS[worst]}: {results} result file{'s' if results != 1 else ''}; {others}")
    return worst


def _print_claims(lines: str) -> None:
    """Print what was decided; on a terminal, lines that do not fit hang below their text."""
    if not sys.stdout.isatty():
        print(lines)
        return
    from ldpopt.cli.terminal import hang

    for line in lines.split("\n"):
        text = line.partition("  ")[2].lstrip()
        hang(line.removesuffix(text), text)
