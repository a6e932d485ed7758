"""``ldpopt list``: what is registered, with one line on each."""

from __future__ import annotations

import json
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ldpopt.cli.options import AsJson
from ldpopt.cli.terminal import hang, tell
from ldpopt.core.errors import LdpoptError

if TYPE_CHECKING:
    from ldpopt.core.registry import Registry


class Listing(StrEnum):
    """What can be listed."""

    problems = "problems"
    solvers = "solvers"
    experiments = "experiments"
    methods = "methods"
    tables = "tables"


def list_entries(
    what: Listing,
    as_json: AsJson = False,
) -> None:
    """List problems, solvers, experiments, methods or tables, with one line on each.

    Options:
        what: problems, solvers, experiments, methods of design, or tables
    """
    rows = _rows(what)
    if as_json:
        print(json.dumps(rows))
        return
    width = max(map(len, rows), default=0)
    for name, text in rows.items():
        hang(f"{name:<{width}}  ", text)


def _rows(what: Listing) -> dict[str, str]:
    """Return one line on everything that is listed, by its name."""
    match what:
        case Listing.problems:
            from ldpopt.problems import PROBLEMS

            return _registered(PROBLEMS)
        case Listing.solvers:
            from ldpopt.solvers import SOLVERS

            return _registered(SOLVERS)
        case Listing.experiments:
            from ldpopt.experiments import EXPERIMENTS

            return _registered(EXPERIMENTS)
        case Listing.methods:
            from ldpopt.release.method_summaries import SUMMARIES

            return SUMMARIES
        case Listing.tables:
            from ldpopt.tables.census import embedded_tables

            return embedded_tables()


def _registered(registry: Registry[Any]) -> dict[str, str]:
    for sentence in registry.clashes.values():
        tell(f"warning: {sentence}")
    return {name: _describe(registry, name) for name in registry}


def _installed(module: object) -> bool:
    """Return whether a module is installed; False for a text that is not a module name."""
    try:
        return find_spec(str(module)) is not None
    except (ImportError, ValueError):
        return False


def _describe(registry: Registry[Any], name: str) -> str:
    try:
        source = registry.source(name)
    except LdpoptError as error:  # one broken plug-in does not hide the others
        return f"BROKEN: {error}"
    needed = source.constants.get("requires", ())
    missing = [module for module in needed if not _installed(module)]
    return source.summary + (f" (not installed: {', '.join(missing)})" if missing else "")
