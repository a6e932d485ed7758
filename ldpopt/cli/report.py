"""The command ``ldpopt report``: a page on one or more results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.options import Force, OwnProblem, know
from ldpopt.cli.terminal import check_output, counting, say, tell
from ldpopt.core.exact import EXIT_CODES, OPEN, combined


def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT…", help="Files of ldpopt design, private or public, or of ldpopt solve."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the page here; default: beside the file, by its name."),
    ] = None,
    curve_seconds: Annotated[
        float, typer.Option(min=0, help="Seconds for all trade-off curves together; 0 for none.")
    ] = 60.0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for the whole page; claims not decided by then are undecided, and a file "
            "that is not read by then makes no page."
        ),
    ] = None,
    problem: OwnProblem = None,
    force: Force = False,
) -> None:
    """Write one self-contained HTML page on results: question, answer, proof, trade-off, audit.

    The page to hand out is that of a public file. A page on a file with counts holds statistics of
    the table: it says so first, and without -o its name does, too (mech.internal.html).

    Exit code 0: every claim holds, 1: one is refuted, 2: bad input, 3: one is undecided, 4: a file does
    not decide its promise.
    """
    from ldpopt.core.limits import Limits

    limits = Limits.within(time_limit)
    from ldpopt.release.public_design import public_path
    from ldpopt.report.page import page_name
    from ldpopt.report.page import report as write_page

    out = Path(page_name(results)) if out is None else out
    check_output(out, force, *results)
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
            time_limit=limits.left(),
            progress=progress,
            step=step,
        )
    named = list(
        zip(map(str, results), parts, strict=True)
    )  # a page on a public file names no directory
    refuted = [path for path, part in named if part.sound is False]
    undecided = [path for path, part in named if part.sound is None]
    unpromised = [path for path, part in named if part.sound is OPEN]
    silent = [path for path, part in named if not part.claims]
    wrong = {"REFUTED": refuted, "undecided": undecided, "promise not decided": unpromised}
    said = "; ".join(f"{word}: {', '.join(paths)}" for word, paths in wrong.items() if paths)
    said = said or ("every claim verified" if len(silent) < len(parts) else "nothing is verified")
    said += f"; without any claim: {', '.join(silent)}" if silent else ""
    say(f"wrote {out}: {len(parts)} result{'s' if len(parts) > 1 else ''}, {said}")
    private = [path for path, part in named if part.internal]
    if private and "internal" not in out.name:
        public = [path for path in map(public_path, private) if path.exists()]
        handed = f". The page to hand out: ldpopt report {public[0]}" if public else ""
        warned = f"{out} is internal, it holds statistics of the table; its name does not say so{handed}"
        tell(f"warning: {warned}")
    raise typer.Exit(EXIT_CODES[combined(part.sound for part in parts)])
