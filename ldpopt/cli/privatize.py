"""``ldpopt privatize``: send every row of a table through a mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.options import MechanismFile, TableName
from ldpopt.cli.terminal import check_writable, counting, err_console


def privatize(
    table: TableName,
    mechanism: MechanismFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The released file: .csv or .parquet.")],
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Repeatable noise, for tests: whoever knows it undoes the protection."),
    ] = None,
) -> None:
    """Send every row of a table through a mechanism; only the reports are written.

    A record beside the mechanism's file counts its releases: each one about the same people weakens the
    promise, and from the second on a warning says by how much.
    """
    from ldpopt.release import releasing, repetition
    from ldpopt.release.designing import load_design

    check_writable(out, table, mechanism)
    made = load_design(mechanism)
    if seed is not None:
        err_console.print(
            "warning: --seed makes the noise repeatable: whoever knows the seed can take it out again. "
            "Never release this file.",
            soft_wrap=True,
        )
    if beware := repetition.warning(made, repetition.releases(mechanism, made)):
        err_console.print(f"warning: {beware}", soft_wrap=True)
    with counting("rows") as count:
        rows = releasing.privatize(
            table, made, out, seed=seed, progress=None if count is None else lambda n: count(n, None)
        )
    repetition.record(mechanism, made)
    print(
        f"wrote {rows:,} reports to {out}, one for each row of {table}: numbers from 0 to "
        f"{made.mechanism.shape[1] - 1}\nnext: ldpopt estimate {out} --mechanism {mechanism}"
    )
