"""``ldpopt list``: what is registered, with one line on each."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated

import typer

from ldpopt.cli.terminal import AsJson


class Listing(StrEnum):
    """What can be listed."""

    problems = "problems"
    solvers = "solvers"
    experiments = "experiments"


def list_entries(
    what: Annotated[Listing, typer.Argument(help="problems, solvers or experiments")],
    as_json: AsJson = False,
) -> None:
    """List what is registered, with one line on each."""
    rows = dict(_LISTINGS[what]())
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    width = max(map(len, rows), default=0)
    for name, text in rows.items():
        print(f"{name:<{width}}  {text}")


def _describe(cls: object) -> str:
    return (inspect.getdoc(cls) or "").split("\n", maxsplit=1)[0]


def _problems() -> Iterator[tuple[str, str]]:
    from ldpopt.problems import PROBLEMS

    return ((name, _describe(PROBLEMS[name])) for name in PROBLEMS)


def _solvers() -> Iterator[tuple[str, str]]:
    from ldpopt.solvers import SOLVERS

    for name in SOLVERS:
        missing = SOLVERS[name].missing()
        note = f" (not installed: {', '.join(missing)})" if missing else ""
        yield name, _describe(SOLVERS[name]) + note


def _experiments() -> Iterator[tuple[str, str]]:
    from ldpopt.experiments import EXPERIMENTS

    return ((name, EXPERIMENTS[name].summary) for name in EXPERIMENTS)


_LISTINGS: dict[Listing, Callable[[], Iterator[tuple[str, str]]]] = {
    Listing.problems: _problems,
    Listing.solvers: _solvers,
    Listing.experiments: _experiments,
}
