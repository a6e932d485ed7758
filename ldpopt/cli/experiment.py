"""``ldpopt experiment``: run a figure or study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.options import experiments
from ldpopt.cli.terminal import counting, say


def experiment(
    name: Annotated[
        str, typer.Argument(help="See: ldpopt list experiments.", autocompletion=experiments)
    ],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The whole study, or a few points.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for CSV and figures.")] = None,
) -> None:
    """Run a figure or study; a second run into the same directory only does what is missing."""
    from ldpopt.experiments import EXPERIMENTS

    chosen = EXPERIMENTS[name]
    directory = out or Path("results") / name
    with counting(name) as progress:
        study = chosen.run(
            quick=not full, out=directory, jobs=jobs, scheduler=scheduler, progress=progress
        )
    print(study.conclusion)
    for path in study.files:
        say(f"wrote {path}")
