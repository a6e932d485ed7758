"""``ldpopt estimate``: frequencies of the data from released reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.cli.options import AsJson, Jobs, MechanismFile, Scheduler
from ldpopt.cli.terminal import check_writable, print_table, tell
from ldpopt.core.errors import InvalidInputError

if TYPE_CHECKING:
    from ldpopt.release.estimating import Frequencies


def estimate(
    released: Annotated[
        str, typer.Argument(metavar="RELEASED", help="The file of reports, or a directory of them.")
    ],
    mechanism: MechanismFile,
    level: Annotated[float, typer.Option(help="Of all confidence intervals together.")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="Draw the estimates: .png, .svg or .pdf.")] = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Also print each pair of secret and public values.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the sampled posterior.")] = 0,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the frequencies of the data from released reports, with their uncertainty."""
    from ldpopt.release import estimating
    from ldpopt.release.designing import load_mechanism

    if plot is not None:
        check_writable(plot, released, mechanism)
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise InvalidInputError(f"--plot must end in .png, .svg or .pdf, not {plot.name!r}")
    made = load_mechanism(mechanism)
    found = estimating.estimate(released, made, level=level, seed=seed, jobs=jobs, scheduler=scheduler)
    if as_json:
        print(json.dumps(found.to_json(), allow_nan=False))
    else:
        shown = [group for group in found.names if joint or group != "joint"]
        _print_frequencies(found, shown)
    if plot is not None:
        found.plot(plot)
        tell(f"wrote {plot}")


def _print_frequencies(found: Frequencies, groups: list[str]) -> None:
    for group in groups:
        name = found.names[group]
        rows = [
            (
                row.label,
                f"{row.ml:.4f}" if row.determined else "not determined",
                f"{row.low:.4f} – {row.high:.4f}",
                f"{row.mmse:.4f}" if row.determined else "not determined",
                f"{row.bayes:.4f}",
                f"{row.credible_low:.4f} – {row.credible_high:.4f}",
            )
            for row in found.group(group)
        ]
        percent = f"{100 * found.level:.10g} %"
        titles = (
            name,
            "maximum likelihood",
            f"{percent} confidence",
            "least squares",
            "posterior mean",
            f"{percent} credible",
        )
        print_table(titles, rows, left=(name,), title=f"Frequencies of {name} ({group})")
    print(
        f"From {found.n:,} reports. The confidence intervals hold all at once, each credible interval "
        f"by itself ({found.posterior})."
    )
    if not all(row.determined for row in found.rows):
        print(
            "Not determined: different distributions of the data give the same reports; the confidence "
            "interval is the range that they leave open."
        )
