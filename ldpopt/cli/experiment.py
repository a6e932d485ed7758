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
    name: Annotated[str, typer.Argument(autocompletion=experiments)],
    full: Annotated[bool, typer.Option("--full/--quick")] = False,
    only: Annotated[str | None, typer.Option(show_default="all")] = None,
    methods: Annotated[str | None, typer.Option(show_default="the paper's")] = None,
    draws: Annotated[int | None, typer.Option(min=1, show_default="the study's")] = None,
    jobs: Annotated[int, typer.Option(min=1)] = 1,
    scheduler: str | None = None,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    force: bool = False,
    time_limit: float | None = None,
    keep_results: bool = False,
) -> None:
    """Run a figure or study; a second run into the same directory only does what is missing.

    Points are measured again if the code that measures them has changed. Ctrl-C keeps what is finished,
    as CSV and figure; the same command goes on from there.

    Options:
        name: See: ldpopt list experiments; or one of your own: file.py:NAME.
        full: The whole study, or a few points.
        only: Panels, separated by commas.
        methods: Methods, separated by commas.
        draws: Random draws for a mean.
        jobs: Worker processes.
        scheduler: Address of a Dask scheduler.
        out: Directory for CSV and figures.
        force: Measure every point again.
        time_limit: Seconds for a point; one that takes longer is left out.
        keep_results: Write every certified result, for ldpopt verify DIR.
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
