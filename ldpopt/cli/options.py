"""The options that commands share: how to print; a table, its columns and bins; the mechanism.

Options:
    alpha: Significance level of the χ² set.
    as_json: Print one JSON object instead of a table.
    bins: COLUMN=5 (that many bins), COLUMN=18,30,65 or COLUMN=1980-01-01 (edges).
    dates: How its dates are written; dd/mm/yyyy, mm/dd/yyyy.
    decimal: The decimal mark of its numbers, . or ,
    encoding: The encoding of a text file, e.g. latin-1.
    force: Write over a file that exists.
    jobs: Worker processes, for a directory of files.
    levels: COLUMN=2: keep the first 2 characters; COLUMN=FILE: groups, from a table.
    mechanism: A file that ldpopt design wrote, private or public.
    missing: Rows with an empty cell: refuse, drop, or category (the value (missing)).
    part: Each person answers one of K questions: take the rows of those who answer question I.
    person: The column that says who it is: the first row of each person counts.
    problem: The class of the file's kind, if it is your own: file.py:CLASS.
    public: Columns to release, comma-separated; if not given, all data are secret.
    queries: Columns whose frequencies are wanted, comma-separated; default: all.
    scheduler: Address of a Dask scheduler, for a directory of files.
    secrecy: A table of two values of the secret and the multiple of epsilon that is their level.
    secret: Columns to hide, comma-separated; a name with a comma in double quotes.
    sensitive: COLUMN=VALUE,…: hide these values of a secret column; others may be told.
    sep: The separator of columns in a text file, e.g. ';' or '|'.
    table: A .csv, .tsv, .txt or .parquet file, a directory of them, - for standard input, or an
        embedded table: adult, adult:sex-race, …
    text: Columns whose cells are words, even '12' and 'NA'; comma-separated.
    told: Tell public columns as they are; hide s from who knows them.
    top: COLUMN=20: tell the 20 most frequent values apart; all others are (other).
    weights: The column that says how many people a row stands for.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

import typer

from ldpopt.core.errors import InvalidInputError

if TYPE_CHECKING:
    from ldpopt.release.designing import AnyDesign
    from ldpopt.tables.batches import TableReader

T = TypeVar("T")
ISO = "yyyy-mm-dd"
TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?")
"""A date, or a date and a time of day."""
AsJson = Annotated[bool, typer.Option("--json")]
TableName = Annotated[str, typer.Argument(metavar="TABLE")]
MechanismFile = Annotated[Path, typer.Option("--mechanism", "-m")]
Jobs = Annotated[int, typer.Option(min=1)]
SecretColumns = Annotated[str, typer.Option()]
Person = Annotated[str, typer.Option("--id")]
Told = Annotated[bool, typer.Option("--given")]
Secrecy = Annotated[str, typer.Option("--levels-of-secrecy", metavar="FILE")]
PartOption = Annotated[str, typer.Option("--part", metavar="I/K")]


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


def mean_over(mean: str, ends: str, secret: str) -> list[float] | None:
    """Read the range of the column of which the mean is wanted; None if none is.

    Args:
        mean: the column.
        ends: ``LOW,HIGH``.
        secret: the columns to hide.
    """
    if bool(mean) == bool(secret):
        raise InvalidInputError("give the columns to hide (--secret), or one of numbers (--mean)")
    if not mean and ends:
        raise InvalidInputError("--range is that of the numbers of --mean")
    if not mean:
        return None
    found = read_ends(ends)
    if found is None:
        raise InvalidInputError(
            "--mean needs --range LOW,HIGH, the least and the greatest number that a person may have, "
            "such as --range 0,100: what is possible, not what the table holds"
        )
    return found


def read_ends(ends: str) -> list[float] | None:
    """Read ``LOW,HIGH``; None if nothing is given."""
    if not ends:
        return None
    try:
        low, high = map(float, ends.split(","))
    except ValueError:
        raise InvalidInputError(
            f"--range must look like LOW,HIGH, such as 0,100, not {ends!r}"
        ) from None
    return [low, high]


def read_shares(given: list[str] | None) -> dict[str, list[float]]:
    """Read ``COLUMN=0.25,0.5``: which quantiles of a column are wanted."""
    found = {}
    for one in given or []:
        name, _, numbers = one.rpartition("=")
        try:
            shares = [float(number) for number in numbers.split(",")]
        except ValueError:
            shares = []
        if not name or not shares or not all(0 < share < 1 for share in shares):
            raise InvalidInputError(f"--quantile must look like age=0.25,0.5, not {one!r}")
        found[name] = shares
    return found


def read_means(given: list[str] | None) -> dict[str, list[float] | None]:
    """Read ``COLUMN``, or ``COLUMN=1,2,3`` with the numbers that its values stand for."""
    found: dict[str, list[float] | None] = {}
    for one in given or []:
        name, sign, numbers = one.rpartition("=")
        try:
            scores = [float(number) for number in numbers.split(",")] if sign else None
        except ValueError:
            raise InvalidInputError(f"--mean must look like age or age=10,30,50, not {one!r}") from None
        found[name if sign else one] = scores
    return found


class Coarser(TypedDict):
    """How the columns of a table are read; see :func:`ldpopt.tables.survey.survey`."""

    bins: dict[str, int | list[float] | list[str]]
    text: list[str]
    top: dict[str, int]
    levels: dict[str, int | str]


def coarser(
    bins: list[str] | None, text: str, top: list[str] | None, levels: list[str] | None
) -> Coarser:
    """Read the options that say how the columns of a table are read.

    Args:
        bins: ``COLUMN=5`` (that many bins), or ``COLUMN=18,30,65`` or dates and times (their edges).
        text: the columns whose cells are words.
        top: ``COLUMN=20``: so many of its most frequent values are told apart.
        levels: ``COLUMN=2`` (so many first characters) or ``COLUMN=FILE`` (groups).
    """
    edges = "COLUMN=5, COLUMN=18,30,65 or COLUMN=1980-01-01,2000-01-01"
    return {
        "bins": _by_column("--bins", edges, bins, _bins),
        "text": split_columns(text),
        "top": _by_column("--top", "COLUMN=20", top, lambda n: int(n) if n.isdecimal() else None),
        "levels": _by_column(
            "--levels",
            "COLUMN=2 or COLUMN=groups.csv",
            levels,
            lambda level: int(level) if level.isdecimal() else level or None,
        ),
    }


def robustness(
    robust: str | None, known: bool, told: bool, sensitive: bool, secrecy: bool = False
) -> str:
    """Return from whom the secret is hidden, which one option at most says.

    Args:
        robust: what --robust says, if it is given.
        known: whether the table's distribution is taken for the true one.
        told: whether the public columns are told.
        sensitive: whether only some values are sensitive.
        secrecy: whether pairs of values have levels of their own.
    """
    named = {"--robust": robust is not None, "--known": known, "--given": told, "--sensitive": sensitive}
    named["--levels-of-secrecy"] = secrecy
    if len(both := [name for name, is_given in named.items() if is_given]) > 1:
        raise InvalidInputError(f"{' and '.join(both)} exclude each other")
    return "known" if known else "given" if told else robust or "all"


def sensitive_values(given: list[str] | None) -> dict[str, list[str]]:
    """Read ``COLUMN=VALUE,…``: the sensitive values of secret columns."""
    allowed = "COLUMN=VALUE or COLUMN=VALUE,VALUE"
    return _by_column("--sensitive", allowed, given, lambda values: split_columns(values) or None)


def _by_column(
    option: str, allowed: str, given: list[str] | None, read: Callable[[str], T | None]
) -> dict[str, T]:
    """Read ``COLUMN=VALUE``, once per column.

    Args:
        option: the name of the option.
        allowed: how it must look.
        given: what was given.
        read: reads the value; None for one that is not allowed.
    """
    found: dict[str, T] = {}
    for one in given or []:
        # a file may have the sign in its name, as the column of other options may
        name, _, value = (
            one.partition("=") if option in ("--levels", "--sensitive") else one.rpartition("=")
        )
        meant = read(value.strip()) if name else None
        if meant is None:
            raise InvalidInputError(f"{option} must look like {allowed}, not {one!r}")
        if name in found:
            raise InvalidInputError(f"{option} may name the column {name!r} once, not twice")
        found[name] = meant
    return found


def _bins(spec: str) -> int | list[float] | list[str] | None:
    words = [part.strip() for part in spec.split(",") if part.strip()]
    if words and all(TIME.fullmatch(word) for word in words):
        return words
    try:
        edges = [float(part) for part in words]
    except ValueError:
        return None
    single = len(edges) == 1 and "," not in spec and edges[0] % 1 == 0
    return int(edges[0]) if single else edges or None


def opened(
    table: str,
    sep: str | None,
    encoding: str,
    person: str = "",
    decimal: str = ".",
    dates: str = ISO,
    part: str = "",
) -> TableReader:
    """Open a table, of each person the first row alone.

    Args:
        table: its name.
        sep: the character between the columns of a text file.
        encoding: the encoding of a text file.
        person: the column that says who it is; empty for every row.
        decimal: the decimal mark of its numbers.
        dates: how its dates are written.
        part: ``I/K``, which part of the rows; empty for all.
    """
    from ldpopt.tables.batches import open_table
    from ldpopt.tables.decimals_and_dates import Rewritten
    from ldpopt.tables.one_row_per_person import FirstRows
    from ldpopt.tables.part_of_rows import PartOfRows

    reader = open_table(table, sep=sep, encoding=encoding)
    if (decimal, dates) != (".", ISO):
        reader = Rewritten(reader, decimal, dates)
    if person:
        reader = FirstRows(reader, person)
    return PartOfRows(reader, part) if part else reader


def prepared(table: str, made: AnyDesign, missing: str, *written: Any) -> TableReader:
    """Open a table for a mechanism.

    Args:
        table: its name.
        made: the mechanism; its columns may count empty cells as a value.
        missing: "refuse", or "drop" to leave out rows with any other empty cell.
        written: how it is written, and of which rows it is, as :func:`opened` takes them.
    """
    from ldpopt.core.validate import choice
    from ldpopt.tables.cells import CompleteRows

    choice("missing", missing, ("refuse", "drop"))
    reader = opened(table, *written)
    if missing == "refuse":
        return reader
    needed = [column for column in made.domain.all_columns if not column.missing]
    return CompleteRows(reader, [c.name for c in needed], [c.name for c in needed if c.text])
