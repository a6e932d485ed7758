"""``ldpopt protocol``: the two-round protocol on a person's table, with every party as a process."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli import options as given
from ldpopt.cli.terminal import check_output, counting, print_facts, print_table, tell

ROOM = 64
"""The room of a value is a multiple of so many bytes, so that it says little of the longest one."""


def protocol(
    table: given.TableName,
    columns: str = "",
    threshold: float = 0.001,
    budget: float = 0.01,
    redact: float | None = None,
    random: bool = False,
    bins: list[str] | None = None,
    levels: list[str] | None = None,
    missing: str = "category",
    person: given.Person = "",
    sep: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    dates: str = given.ISO,
    jobs: Annotated[int | None, typer.Option(min=1)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    page: Path | None = None,
    force: bool = False,
    as_json: given.AsJson = False,
) -> None:
    """Let the users of a table find out which columns are safe to release, and release their rows.

    The protocol of Bravo-Hermsdorff et al. 2022: shuffler, curator, analyst and groups of users are
    processes of this machine, so this is a rehearsal by somebody who has the table.

    Options:
        columns: The columns that users answer for, comma-separated; default: all.
        threshold: A row is rare if less than this fraction of the users have it.
        budget: The fraction of users whose row may be rare.
        redact: Redact values that less than this fraction of the users have.
        random: With --redact: some owners of common values redact, too.
        jobs: Processes for the users.
        out: Write the rows here, .csv.
        page: Write a page here, .html.
    """
    from ldpopt.core.exact import MISSING
    from ldpopt.core.files import write_whole
    from ldpopt.protocol import Policy, run_protocol
    from ldpopt.protocol.session import LONGEST
    from ldpopt.report.protocol_page import facts, views, write_page
    from ldpopt.tables.recoded import Recoded

    outputs = [*filter(None, (out, page))]
    for place, path in enumerate(outputs):
        check_output(path, force, table, *outputs[:place])
    read = given.coarser(bins, "", None, levels)
    reader = given.opened(table, sep, encoding, person, decimal, dates)
    names = given.split_columns(columns) or reader.columns
    recoded = Recoded(reader, names, read["bins"], read["levels"], missing).read()
    rows = list(zip(*(column.to_pylist() for column in recoded.columns), strict=True))
    if missing == "category" and any(MISSING in row for row in rows):
        tell(f"note: cells that are empty, or say {MISSING}, count as one value, {MISSING}")
    longest = max(len(value.encode()) for row in rows for value in row)
    counted = [name for name, edges in read["bins"].items() if isinstance(edges, int)]
    policy = Policy(threshold, budget, redact=redact, random=random)
    with counting("protocol") as count:

        def progress(stage: str, done: int, total: int) -> None:
            if count is not None:
                count(done, total, stage)

        length = min(LONGEST, ROOM * (longest // ROOM + 1))
        outcome = run_protocol(rows, names, policy, workers=jobs, length=length, progress=progress)
    table_of_rows = [row for row, times in sorted(outcome.rows.items()) for _ in range(times)]
    if as_json:
        plain = {"released": outcome.released, "rows": table_of_rows, "incidents": outcome.incidents}
        print(json.dumps({**plain, "proven": outcome.proven, "measured": outcome.measured}))
    else:
        titles = ("party", "saw", "did not see")
        print_table(titles, views(outcome), left=titles)
        print_facts(facts(outcome, counted))
    if out is not None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([outcome.released, *table_of_rows])
        write_whole(out, text.getvalue())
        tell(f"wrote {out}")
    if page is not None:
        write_page(outcome, f"{reader.name}, {len(rows):,} users", page, counted)
        tell(f"wrote {page}")
