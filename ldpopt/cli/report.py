"""The command ``ldpopt report``: a page on one or more results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.clock import Clock
from ldpopt.cli.options import Force, OwnProblem, know
from ldpopt.cli.terminal import check_new, check_writable, counting, say
from ldpopt.core.exact import EXIT_CODES


def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT…", help="Files of ldpopt design, private or public, or of ldpopt solve."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the page here.")],
    curve_seconds: Annotated[
        float, typer.Option(min=0, help="Seconds for all trade-off curves together; 0 for none.")
    ] = 60.0,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the whole page; what is not checked by then is undecided."),
    ] = None,
    problem: OwnProblem = None,
    force: Force = False,
) -> None:
    """Write one self-contained HTML page on results: question, answer, proof, trade-off, audit.

    Exit code 0: every claim holds, 1: one is refuted, 2: bad input, 3: one is undecided.
    """
    clock = Clock()
    from ldpopt.report.page import report as write_page

    check_writable(out, *results)
    check_new(out, force)
    know(problem)
    with counting("report") as count:

        def step(name: str) -> None:
            if count is not None:
                count(0, None, name)

        def progress(finished: int, total: int) -> None:
            if count is not None:
                count(finished, total, "trade-off curve")

        parts = write_page(
            results,
            out,
            curve_seconds=curve_seconds,
            time_limit=None if time_limit is None else clock.left(time_limit),
            progress=progress,
            step=step,
        )
    refuted = [part.path for part in parts if part.sound is False]
    undecided = [part.path for part in parts if part.sound is None]
    silent = [part.path for part in parts if not part.claims]
    wrong = {"REFUTED": refuted, "undecided": undecided}
    said = "; ".join(f"{word}: {', '.join(paths)}" for word, paths in wrong.items() if paths)
    said = said or "every claim verified"
    said += f"; without any claim: {', '.join(silent)}" if silent else ""
    say(f"wrote {out}: {len(parts)} result{'s' if len(parts) > 1 else ''}, {said}")
    raise typer.Exit(EXIT_CODES[False if refuted else None if undecided else True])
