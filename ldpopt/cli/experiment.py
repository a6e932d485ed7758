"""``ldpopt experiment``: run a figure or study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.cli.options import experiments
from ldpopt.cli.terminal import counting, say
from ldpopt.core.errors import InvalidInputError

if TYPE_CHECKING:
    from ldpopt.engine.sweep import Experiment


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            help="See: ldpopt list experiments; or one of your own: file.py:NAME.",
            autocompletion=experiments,
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The whole study, or a few points.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Panels, separated by commas.", show_default="all")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas.", show_default="the paper's")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Random draws for a mean.", show_default="the study's")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory for CSV and figures.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Measure every point again.")] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for a point; one that takes longer is left out.")
    ] = None,
    keep_results: Annotated[
        bool,
        typer.Option("--keep-results", help="Write every certified result, for ldpopt verify DIR."),
    ] = False,
) -> None:
    """Run a figure or study; a second run into the same directory only does what is missing.

    Points are measured again if the code that measures them has changed. Ctrl-C keeps what is finished,
    as CSV and figure; the same command goes on from there.
    """
    chosen = _chosen(name)
    directory = out or Path("results") / chosen.name
    with counting(chosen.name) as progress:
        study = chosen.run(
            quick=not full,
            only=_names(only),
            methods=_names(methods),
            draws=draws,
            out=directory,
            jobs=jobs,
            scheduler=scheduler,
            progress=progress,
            force=force,
            time_limit=time_limit,
            keep_results=keep_results,
        )
    if study.reused:
        say(f"{study.reused} of {len(study.rows)} points were there (--force measures them again)")
    from ldpopt.engine.verifying import NOT_CHECKED

    print(f"{study.conclusion} [{NOT_CHECKED}]")
    for path in study.files:
        say(f"wrote {path}")
    if study.late:
        points = f"{study.late} point{'s' if study.late > 1 else ''}"
        say(f"{points} left out: longer than {time_limit:g} s (--time-limit)")
    if study.missing:
        say(f"{study.missing} points are missing; the same command goes on from here")
        raise KeyboardInterrupt


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]


def _chosen(name: str) -> Experiment:
    """Return a registered experiment, or the one that a reference names."""
    from ldpopt.engine.plugins import load_object
    from ldpopt.engine.sweep import Experiment
    from ldpopt.experiments import EXPERIMENTS

    if ":" not in name and not name.endswith(".py"):
        return EXPERIMENTS[name]
    found = load_object(name)
    if not isinstance(found, Experiment):
        raise InvalidInputError(f"the plugin {name!r} must be an Experiment, not {found!r:.60}")
    return found
