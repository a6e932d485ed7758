"""The command lines that reproduce a result."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.result import Result
from ldpopt.release.accuracy import query_rows
from ldpopt.release.designed import Design
from ldpopt.release.methods import METHODS
from ldpopt.tables import datasets
from ldpopt.tables.batches import open_table
from ldpopt.tables.domain import Column


class Command(NamedTuple):
    """A command line and what it does."""

    purpose: str
    line: str


def design_commands(made: Design, file: str) -> list[Command]:
    """List the commands from the table to this page, for a design in the given file."""
    table = embedded_table(made) or "TABLE.csv"
    question, domain = made.question, made.domain
    hidden = "--mean" if domain.of_numbers else "--secret"
    options = [hidden, _listed(column.name for column in domain.secret.columns)]
    if domain.public is not None:
        options += ["--public", _listed(column.name for column in domain.public.columns)]
    options += ["--epsilon", repr(question.promised)]
    options += [] if question.reports == 1 else ["--reports", str(question.reports)]
    options += _promised(made)
    options += ["--alpha", repr(question.alpha), "--method", made.method]
    options += [] if question.width is None else ["--width", str(question.width)]
    options += _asked_columns(made) + _reading_options(made.domain.all_columns)
    return [
        _command("Design it", "design", table, *options, "-o", file),
        *_uses(table, file),
    ]


def public_commands(file: str) -> list[Command]:
    """List what can be done with a public mechanism in the given file."""
    export = _command(
        "Write a sampler for devices", "export", file, "--target", "js", "-o", "sampler.js"
    )
    return [export, *_uses("TABLE.csv", file)]


def _uses(table: str, file: str) -> list[Command]:
    return [
        _command("Check the proof", "verify", file),
        _command("Audit the mechanism", "audit", file),
        _command("Release a table", "privatize", table, "--mechanism", file, "-o", "released.csv"),
        _command("Estimate from the release", "estimate", "released.csv", "--mechanism", file),
        _command("Write this page", "report", file, "-o", "report.html"),
    ]


def _promised(made: Design) -> list[str]:
    """Return the options that say from whom which values are hidden."""
    question, columns = made.question, made.domain.secret.columns
    if question.secrecy:
        return ["--levels-of-secrecy", "secrecy.csv"]
    if not question.sensitive:
        alone = question.robust in ("known", "given")
        return [f"--{question.robust}"] if alone else ["--robust", question.robust]
    found, members = [], made.domain.secret.members
    for i, column in enumerate(columns):
        others = {member[i] for s, member in enumerate(members) if s not in question.sensitive}
        values = [value for v, value in enumerate(column.values) if v not in others]
        found += ["--sensitive", f"{column.name}={_listed(values)}"] * bool(values)
    return found


def unsaid(made: Design) -> str:
    """Say which options the commands may lack, as the file does not hold what they were."""
    columns, lacking = made.domain.all_columns, []
    if METHODS[made.method].build is not None:
        lacking.append("for which columns it was made (--queries of design; if not given, all)")
    if embedded_table(made) is None:
        if not any(column.missing for column in columns):
            lacking.append(
                "whether rows with empty cells were dropped (--missing drop of design and privatize)"
            )
        lacking.append("how the table is written (--sep and --encoding, of privatize too)")
        if any(column.groups for column in columns):
            lacking.append("the name of the file of groups (here groups.csv)")
    if made.question.secrecy:
        lacking.append("the name of the file of levels of secrecy (here secrecy.csv)")
    lacking.append("how long the search might take (--time-limit of design)")
    return "; ".join(lacking)


def _reading_options(columns: list[Column]) -> list[str]:
    """Return how the columns are binned, and which are words."""
    options = []
    for column in columns:
        if column.range is not None:
            options += ["--range", ",".join(map(repr, column.range))]
        if column.edges:
            edges = ",".join(f"{edge:.17g}" for edge in column.edges)
            options += ["--bins", f"{column.name}={edges}{',' if len(column.edges) == 1 else ''}"]
        if column.prefix or column.groups:
            options += ["--levels", f"{column.name}={column.prefix or 'groups.csv'}"]
        if column.other_code is not None:
            options += ["--top", f"{column.name}={column.other_code}"]
    words = [column.name for column in columns if column.text]
    options += ["--text", _listed(words)] if words else []
    return [*options, "--missing", "category"] if any(column.missing for column in columns) else options


def _asked_columns(made: Design) -> list[str]:
    """Return the columns whose frequencies were asked for, where these are not all."""
    names, asked = made.domain.columns, made.question.queries
    if asked is None or asked == query_rows(made.domain):
        return []
    subsets = (part for size in range(1, len(names)) for part in combinations(names, size))
    found = next((part for part in subsets if query_rows(made.domain, part) == asked), ())
    return ["--queries", _listed(found)] if found else []


def _listed(names: Iterable[str]) -> str:
    """Write names of columns as an option takes them; one with a comma stands in double quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def result_commands(result: Result, file: str) -> list[Command]:
    """List the commands from the question to this page, for a plain result in the given file."""
    again = ["--solver", result.solver, "--gap", repr(result.certificate.gap), "--out", "again.json"]
    return [
        _command("Solve it again (the file states its own question)", "solve", file, *again),
        _command("Check the proof", "verify", file),
        _command("Write this page", "report", file, "-o", "report.html"),
    ]


def _command(purpose: str, *words: str) -> Command:
    return Command(purpose, shlex.join(["ldpopt", *words]))


def embedded_table(made: Design) -> str | None:
    """Name the embedded table that the design was made from; None if it was another.

    >>> from ldpopt.release.designing import design
    >>> embedded_table(design("adult:sex-race", "sex", "race", epsilon=1, method="srr"))
    'adult:sex-race'
    """
    for name in (*(f"adult:{pair}" for pair in datasets.tables()), "adult"):
        table = open_table(name)
        if set(made.domain.columns) <= set(table.columns):
            try:
                if np.array_equal(made.domain.count(table), made.question.counts):
                    return name
            except InvalidInputError:
                continue  # it holds values that the design does not know
    return None
