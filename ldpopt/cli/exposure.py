"""``ldpopt exposure``: which columns of a table may be released as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli import options as given
from ldpopt.cli.terminal import check_output, print_facts, print_table, tell, watching
from ldpopt.core.exact import EXIT_CODES


def exposure(
    table: Annotated[str, typer.Argument(metavar="TABLE")],
    columns: Annotated[str, typer.Option("--identifying", "--columns")] = "",
    sensitive: str = "",
    threshold: float | None = None,
    k: int | None = None,
    budget: float = 0.0,
    bins: list[str] | None = None,
    levels: list[str] | None = None,
    missing: str = "category",
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    person: given.Person = "",
    sep: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    dates: str = given.ISO,
    time_limit: float = 30.0,
    force: bool = False,
    as_json: given.AsJson = False,
) -> None:
    """Say how many rows stand out by their values, and which columns together expose few.

    A row is exposed if too few rows have the same values. This is about the rows of this table, without
    noise; to hide a column from everybody, design a mechanism (ldpopt design).

    Options:
        table: A CSV or Parquet file, or adult.
        columns: The columns by which others may know a person, comma-separated; default: all others.
        sensitive: The columns that nobody may learn of a person, such as a disease.
        threshold: A combination of values is rare below this fraction of the rows (0.001).
        k: Instead: it is rare if fewer than so many rows have it.
        budget: The fraction of rows that may be exposed.
        out: Write a page here, .html.
        time_limit: Seconds for the count and the choice.
    """
    from ldpopt.core.supervising import supervise

    supervise(time_limit)
    from ldpopt.core.limits import Limits

    limits = Limits.within(time_limit)
    from ldpopt.release.safe_columns import exposed, exposure_in_words, rows_in_words

    if out is not None:
        check_output(out, force, table)
    read = given.coarser(bins, "", None, levels)
    with watching(f"counting the rows of {table} that stand out", time_limit) as watch:
        found = exposed(
            given.opened(table, sep, encoding, person, decimal, dates),
            given.split_columns(columns),
            threshold=threshold,
            k=k,
            budget=budget,
            sensitive=given.split_columns(sensitive),
            bins=read["bins"],
            levels=read["levels"],
            missing=missing,
            time_limit=limits.left(),
        )
        found = replace(found, checker_seconds=limits.for_checker())
        watch.step("checking the certificate", found.checker_seconds)
        verdict = found.verification.verdict
    if as_json:
        print(json.dumps(found.to_json(), allow_nan=False))
    else:
        rows: list[tuple[object, ...]] = [
            (name, f"{values:,}", rows_in_words(alone, found.rows), name in found.released)
            for name, values, alone in zip(found.columns, found.values, found.alone, strict=True)
        ]
        print_table(("column", "values", "exposed by it alone", "chosen"), rows, left=("column",))
        print_facts(exposure_in_words(found))
    if out is not None:
        from ldpopt.report.exposure_page import write_page

        write_page(found, out)
        tell(f"wrote {out}")
    raise typer.Exit(EXIT_CODES[verdict])
