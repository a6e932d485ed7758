"""The options that commands share: how to print; a table, its columns and bins; the mechanism."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from ldpopt.core.errors import InvalidInputError

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
TableName = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="A CSV or Parquet file, or an embedded table: adult, adult:sex-race, …"
    ),
]
MechanismFile = Annotated[
    Path, typer.Option("--mechanism", "-m", help="A file that ldpopt design wrote, private or public.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that exists.")]


def kinds() -> list[str]:
    """List the kinds of problems, for the completion of a shell."""
    from ldpopt.problems import PROBLEMS

    return list(PROBLEMS)


def experiments() -> list[str]:
    """List the experiments, for the completion of a shell."""
    from ldpopt.experiments import EXPERIMENTS

    return list(EXPERIMENTS)


def split_columns(columns: str) -> list[str]:
    """Read comma-separated names of columns; one with a comma stands in double quotes."""
    try:
        names = next(csv.reader([columns], skipinitialspace=True), [])
    except csv.Error:
        raise InvalidInputError(f"put the column name {columns!r} in double quotes") from None
    return [name.strip() for name in names if name.strip()]


def read_bins(options: list[str]) -> dict[str, int | list[float]]:
    """Read ``COLUMN=5`` (that many bins) or ``COLUMN=18,30,65`` (their edges), once per column."""
    found: dict[str, int | list[float]] = {}
    for option in options:
        name, _, spec = option.rpartition("=")
        try:
            parts = [float(part) for part in spec.split(",") if part.strip()]
        except ValueError:
            parts = []
        if not name or not parts:
            raise InvalidInputError(f"--bins must look like COLUMN=5 or COLUMN=18,30,65, not {option!r}")
        if name in found:
            raise InvalidInputError(f"--bins says twice how to bin {name!r}")
        found[name] = int(parts[0]) if "," not in spec and parts[0] % 1 == 0 else parts
    return found
