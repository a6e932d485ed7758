"""``ldpopt list``: what is registered, with one line on each."""

from __future__ import annotations

import json
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.options import AsJson
from ldpopt.cli.terminal import say
from ldpopt.core.errors import LdpoptError

if TYPE_CHECKING:
    from ldpopt.core.registry import Registry


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
    registry = _registry(what)
    rows = {name: _describe(registry, name) for name in registry}
    if as_json:
        print(json.dumps(rows))
        return
    width = max(map(len, rows), default=0)
    for name, text in rows.items():
        say(f"{name:<{width}}  {text}")


def _registry(what: Listing) -> Registry[Any]:
    match what:
        case Listing.problems:
            from ldpopt.problems import PROBLEMS

            return PROBLEMS
        case Listing.solvers:
            from ldpopt.solvers import SOLVERS

            return SOLVERS
        case Listing.experiments:
            from ldpopt.experiments import EXPERIMENTS

            return EXPERIMENTS


def _describe(registry: Registry[Any], name: str) -> str:
    try:
        source = registry.source(name)
    except LdpoptError as error:  # one broken plug-in does not hide the others
        return f"BROKEN: {error}"
    missing = [module for module in source.constants.get("requires", ()) if find_spec(module) is None]
    return source.summary + (f" (not installed: {', '.join(missing)})" if missing else "")
