"""The command ``ldpopt report``: a page on one or more results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.options import know
from ldpopt.cli.terminal import Counting, check_output, counting, say, tell
from ldpopt.core.exact import OPEN, ExitCode

SILENT = "no claim"
"""The state of a file that claims nothing, such as an answer that was not found in time."""
STATES = {
    ExitCode.REFUTED: (False, "REFUTED"),
    ExitCode.BAD_INPUT: (SILENT, "without any claim"),
    ExitCode.UNDECIDED: (None, "undecided"),
    ExitCode.NOT_PROMISED: (OPEN, "promise not decided"),
}
"""What may be wrong with a file and how that is said, by the exit code, the worst first."""


def report(
    results: Annotated[list[Path], typer.Argument(metavar="RESULT…")],
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    curve_seconds: Annotated[float, typer.Option(min=0)] = 60.0,
    time_limit: float | None = None,
    registry: bool = False,
    problem: str | None = None,
    force: bool = False,
) -> None:
    """Write one self-contained HTML page on results: question, answer, proof, trade-off, audit.

    The page to hand out is that of a public file. A page on a file with counts holds statistics of
    the table: it says so first, and without -o its name does, too (mech.internal.html).

    Exit code 0: every claim holds, 1: one is refuted, 2: bad input, or a file without any claim,
    3: one is undecided, 4: a file does not decide its promise.

    Options:
        results: Files of ldpopt design, private or public, or of ldpopt solve.
        out: Write the page here; default: beside the file, by its name.
        curve_seconds: Seconds for all trade-off curves together; 0 for none.
        time_limit: Seconds for the whole page. Claims that take more than half of it are undecided on
            the page; where reading or writing takes longer than it, there is no page (exit code 3).
        registry: Also write the record for a public registry of deployments (JSON).
    """
    from ldpopt.core.limits import Limits

    limits = Limits.within(time_limit)
    from ldpopt.release.public_design import public_path
    from ldpopt.report.page import page_name
    from ldpopt.report.page import report as write_page

    out = Path(page_name(results)) if out is None else out
    check_output(out, force, *results)
    recorded = out.with_suffix(".registry.json") if registry else None
    if recorded is not None:
        check_output(recorded, force, *results, out)
    know(problem)
    with counting("report") as count:
        show: Counting = count or (lambda *_: None)
        parts = write_page(
            results,
            out,
            curve_seconds=curve_seconds,
            time_limit=limits.left(),
            registry=recorded,
            progress=lambda finished, total: show(finished, total, "trade-off curve"),
            step=lambda name: show(0, None, name),
        )
    named = list(zip(map(str, results), parts, strict=True))  # of a public file without its directory
    states = [
        (path, part.sound if part.claims or part.sound is False else SILENT) for path, part in named
    ]
    found = {
        code: ", ".join(path for path, state in states if state is STATES[code][0]) for code in STATES
    }
    wrong = "; ".join(f"{STATES[code][1]}: {paths}" for code, paths in found.items() if paths)
    said = wrong or "every claim verified"
    say(f"wrote {out}: {len(parts)} result{'s' * (len(parts) > 1)}, {said}")
    if recorded is not None:
        say(f"wrote {recorded}: fill in what is null before you hand it in")
    private = [path for path, part in named if part.internal]
    if private and "internal" not in out.name:
        public = [path for path in map(public_path, private) if path.exists()]
        handed = f". The page to hand out: ldpopt report {public[0]}" if public else ""
        warned = f"{out} is internal, it holds statistics of the table; its name does not say so{handed}"
        tell(f"warning: {warned}")
    raise typer.Exit(next((code for code, paths in found.items() if paths), ExitCode.DONE))
