"""The options that commands share: how to print; a table, its columns and bins; the mechanism."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.core.errors import InvalidInputError

if TYPE_CHECKING:
    from ldpopt.release.designing import AnyDesign
    from ldpopt.tables.files import TableReader

TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?")
"""A date, or a date and a time of day."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
TableName = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A .csv, .tsv, .txt or .parquet file, a directory of them, - for standard input, or an "
        "embedded table: adult, adult:sex-race, …",
    ),
]
Separator = Annotated[
    str | None, typer.Option("--sep", help="The separator of columns in a text file, e.g. ';' or '|'.")
]
Encoding = Annotated[str, typer.Option(help="The encoding of a text file, e.g. latin-1.")]
MechanismFile = Annotated[
    Path, typer.Option("--mechanism", "-m", help="A file that ldpopt design wrote, private or public.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Worker processes, for a directory of files.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, for a directory of files.")
]
Missing = Annotated[
    str, typer.Option(help="Rows with an empty cell: refuse, drop, or category (the value (missing)).")
]
BinsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bins", help="COLUMN=5 (that many bins), COLUMN=18,30,65 or COLUMN=1980-01-01 (edges)."
    ),
]
TopOption = Annotated[
    list[str] | None,
    typer.Option(
        "--top", help="COLUMN=20: tell the 20 most frequent values apart; all others are (other)."
    ),
]
LevelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--levels", help="COLUMN=2: keep the first 2 characters; COLUMN=FILE: groups, from a table."
    ),
]
TextColumns = Annotated[
    str,
    typer.Option("--text", help="Columns whose cells are words, even '12' and 'NA'; comma-separated."),
]
OwnProblem = Annotated[
    str | None,
    typer.Option("--problem", help="The class of the file's kind, if it is your own: file.py:CLASS."),
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that exists.")]


def know(problem: str | None) -> None:
    """Register a user's own kind of problem, so that this process can read its results."""
    if problem is not None:
        from ldpopt.engine.plugins import problem_class

        problem_class(problem)


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


def read_bins(options: list[str]) -> dict[str, int | list[float] | list[str]]:
    """Read ``COLUMN=5`` (that many bins) or ``COLUMN=18,30,65`` (their edges), once per column.

    Edges may be dates or times: ``COLUMN=1980-01-01,2000-01-01``.
    """
    found: dict[str, int | list[float] | list[str]] = {}
    for option in options:
        name, _, spec = option.rpartition("=")
        words = [part.strip() for part in spec.split(",") if part.strip()]
        try:
            parts = [float(part) for part in words]
        except ValueError:
            parts = []
        times = bool(words) and all(TIME.fullmatch(word) for word in words)
        if not name or not (parts or times):
            raise InvalidInputError(
                f"--bins must look like COLUMN=5, COLUMN=18,30,65 or COLUMN=1980-01-01,2000-01-01, "
                f"not {option!r}"
            )
        if name in found:
            raise InvalidInputError(f"--bins says twice how to bin {name!r}")
        single = not times and "," not in spec and parts[0] % 1 == 0
        found[name] = words if times else int(parts[0]) if single else parts
    return found


def prepared(table: str, made: AnyDesign, missing: str, sep: str | None, encoding: str) -> TableReader:
    """Open a table for a mechanism.

    Args:
        table: its name.
        made: the mechanism; its columns may count empty cells as a value.
        missing: "refuse", or "drop" to leave out rows with any other empty cell.
        sep: the character between the columns of a text file.
        encoding: the encoding of a text file.
    """
    from ldpopt.core.validate import choice
    from ldpopt.tables.cells import CompleteRows
    from ldpopt.tables.files import open_table

    choice("missing", missing, ("refuse", "drop"))
    reader = open_table(table, sep=sep, encoding=encoding)
    if missing == "refuse":
        return reader
    needed = [column for column in made.domain.all_columns if not column.missing]
    return CompleteRows(reader, [c.name for c in needed], [c.name for c in needed if c.text])


def read_levels(options: list[str]) -> dict[str, int | str]:
    """Read ``COLUMN=2`` (so many first characters) or ``COLUMN=FILE`` (groups); once per column."""
    found: dict[str, int | str] = {}
    for option in options:
        name, _, level = option.partition("=")
        if not name or not level.strip():
            raise InvalidInputError(
                f"--levels must look like COLUMN=2 or COLUMN=groups.csv, not {option!r}"
            )
        if name in found:
            raise InvalidInputError(f"--levels says twice which level of {name!r} counts")
        found[name] = int(level) if level.strip().isdecimal() else level.strip()
    return found


def read_top(options: list[str]) -> dict[str, int]:
    """Read ``COLUMN=20``: so many of its most frequent values are told apart; once per column."""
    found: dict[str, int] = {}
    for option in options:
        name, _, number = option.rpartition("=")
        if not name or not number.strip().isdecimal():
            raise InvalidInputError(f"--top must look like COLUMN=20, not {option!r}")
        if name in found:
            raise InvalidInputError(f"--top says twice how many values of {name!r} to keep")
        found[name] = int(number)
    return found
