"""``ldpopt demo``: the demonstration on census tables that ship with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.terminal import make_directory, print_table, watching
from ldpopt.core.exact import EXIT_CODES, combined


def demo(
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("demo-out"),
) -> None:
    """Design mechanisms that hide an attribute of census tables, and let the checker decide them.

    Options:
        out: Directory for results and figures.
    """
    from ldpopt.cli import demonstration
    from ldpopt.engine.verifying import NOT_CHECKED
    from ldpopt.tables import datasets

    make_directory(out)
    print(f"Data: {datasets.source()}\n")
    with watching("solving four tables by the staircase, and verifying the proofs"):
        rows = demonstration.run(out)
        demonstration.draw_comparison(rows, out / "comparison.png")
    print_table(
        list(rows[0]),
        [list(row.values()) for row in rows],
        left=("secret", "public"),
        title=f"Mutual information released (nats) at ε = {demonstration.EPSILON:g}",
    )
    print(
        "The optimum is to hide the secret (robust LDP for all distributions) and release the rest;\n"
        "plain LDP is to hide everything. 'verified' is the independent checker's verdict on the\n"
        f"written file, with its optimum and gap; the other columns are computed [{NOT_CHECKED}].\n"
        f"Results and figures are in {out}/; check one yourself: ldpopt verify {out}/sex-race.json"
    )
    raise typer.Exit(EXIT_CODES[combined(row["verified"] for row in rows)])
