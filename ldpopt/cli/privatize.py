"""``ldpopt privatize``: send every row of a table through a mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.cli.options import MechanismFile, TableName
from ldpopt.cli.terminal import check_new, check_writable, counting, say, tell

if TYPE_CHECKING:
    from ldpopt.release.agreement import Agreement


def privatize(
    table: TableName,
    mechanism: MechanismFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The released file: .csv or .parquet.")],
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Repeatable noise, for tests: whoever knows it undoes the protection."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write over a file; release a table that contradicts the design."),
    ] = False,
) -> None:
    """Send every row of a table through a mechanism; only the reports are written.

    A record beside the mechanism's file counts its releases: each one about the same people weakens the
    promise, and from the second on a warning says by how much.
    """
    from ldpopt.release import releasing, repetition
    from ldpopt.release.designing import load_design

    check_writable(out, table, mechanism)
    check_new(out, force)
    made = load_design(mechanism)
    if seed is not None:
        tell(
            "warning: --seed makes the noise repeatable: whoever knows the seed can take it out again. "
            "Never release this file."
        )
    if beware := repetition.warning(made, repetition.releases(mechanism, made)):
        tell(f"warning: {beware}")
    found: list[Agreement | None] = []
    with counting("rows") as count:
        rows = releasing.privatize(
            table,
            made,
            out,
            seed=seed,
            progress=None if count is None else lambda n: count(n, None),
            compared=found.append,
            force=force,
        )
    repetition.record(mechanism, made)
    last = made.mechanism.shape[1] - 1
    say(f"wrote {rows:,} reports to {out}, one for each row of {table}: numbers from 0 to {last}")
    _compare(found[0])
    say(f"next: ldpopt estimate {out} --mechanism {mechanism}")


def _compare(found: Agreement | None) -> None:
    """Say whether the table is one that the mechanism was made for."""
    if found is None:
        say("the promise holds whatever the distribution of the table")
    elif found.contradicts:
        tell(f"warning: the table CONTRADICTS the design, whose promise is not made: {found.in_words()}")
    elif found.doubtful:
        tell(f"warning: the table may not be one that the design was made for: {found.in_words()}")
    else:
        say(f"the table agrees with the design: {found.in_words()}")
