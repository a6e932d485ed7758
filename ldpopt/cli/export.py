"""``ldpopt export``: a mechanism as a small program that draws reports on a person's device."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.terminal import check_output, end_as_decided, hang, say


class Target(StrEnum):
    """The languages of a sampler."""

    js = "js"
    python = "python"
    sql = "sql"


SELF_TEST = {
    Target.js: "node {out}, or ldpoptSampler.selfTest() in a browser",
    Target.python: "python {out}",
    Target.sql: "it is part of the script, which says what randomness the database must have",
}


def export(
    mechanism: Annotated[Path, typer.Argument(metavar="MECH")],
    target: Annotated[Target, typer.Option()],
    out: Annotated[Path, typer.Option("--out", "-o")],
    force: bool = False,
) -> None:
    """Write a mechanism as one self-contained program that draws reports, with test vectors.

    Its probabilities are exactly those of the mechanism, and its random bits are cryptographic. What a
    program draws is audited with ldpopt audit MECH --data TABLE --released REPORTS.

    Exit code 0: done, 1: a claim of MECH is refuted, 2: bad input, 3: one is undecided, 4: done, but
    MECH does not decide its promise, which the program's own words then say.

    Options:
        mechanism: A file of ldpopt design; the public one will do.
        target: The language: js, python or sql.
        out: Write the program here.
    """
    from ldpopt.core.files import write_whole
    from ldpopt.release.designing import load_mechanism
    from ldpopt.release.exporting import export as exported
    from ldpopt.release.releasing import in_words

    check_output(out, force, mechanism)
    made = load_mechanism(mechanism)
    write_whole(out, exported(made, target.value))
    columns = ", ".join(made.domain.columns)
    say(f"wrote {out} for {made.inputs:,} inputs of {columns}; its reports are {in_words(made)}")
    hang("counts: ", made.recovery)
    say(f"self-test: {SELF_TEST[target].format(out=out)}")
    hang(
        "next: ",
        f'collect the reports in a CSV file with the column "ldpopt-{made.fingerprint}", then: '
        f"ldpopt estimate REPORTS --mechanism {mechanism}",
    )
    end_as_decided(made)
