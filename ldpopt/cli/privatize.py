"""``ldpopt privatize``: send every row of a table through a mechanism."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.cli import options as given
from ldpopt.cli.terminal import check_output, counting, end_as_decided, say, tell, watching
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import SECONDS, printable, quoted

if TYPE_CHECKING:
    from ldpopt.release import release_ledger
    from ldpopt.release.designing import AnyDesign
    from ldpopt.release.table_consistency import Agreement
    from ldpopt.tables.batches import TableReader


def privatize(
    mechanism: given.MechanismFile,
    table: given.TableName = "",
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    missing: str = "refuse",
    new_values: str = "refuse",
    weights: str = "",
    person: given.Person = "",
    sep: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    dates: str = given.ISO,
    part: given.PartOption = "",
    max_level: float | None = None,
    population: str = "",
    void: Annotated[str | None, typer.Option(metavar="RUN")] = None,
    force: bool = False,
    jobs: given.Jobs = 1,
    scheduler: str | None = None,
) -> None:
    """Send every row of a table through a mechanism; only the reports are written.

    A ledger lists the releases of each mechanism: each one about the same people weakens the promise,
    and from the second on a warning says by how much.

    Exit code 0: done, 1: a claim of the mechanism's file is refuted, 2: bad input, 3: one is undecided,
    4: done, but the file does not decide its promise.

    Options:
        out: The released file, .csv or .parquet; without an ending a directory.
        seed: Repeatable noise, for tests: the seed undoes the protection.
        missing: Rows with an empty cell (and no value for it): refuse or drop.
        new_values: Values that the design does not know: refuse, or other to count them as its value
            for others.
        max_level: Refuse if all releases by it together would have a level above this, in nats.
        population: Who the people are: releases about others do not count.
        void: Release nothing: this run was a rehearsal, its file is deleted.
        force: Write over a file; release a table that contradicts the design.
    """
    from ldpopt.core.validate import choice
    from ldpopt.engine.verifying import NOT_CHECKED
    from ldpopt.release import release_ledger, releasing
    from ldpopt.release.designing import load_mechanism
    from ldpopt.tables.cells import CompleteRows
    from ldpopt.tables.new_values import NewValues

    choice("new-values", new_values, ("refuse", "other"))
    if void is not None:
        _void(mechanism, void)
        return
    if printable(population) != population:
        raise InvalidInputError(
            f"population must be a name that shows what it is, not {quoted(population)}"
        )
    if not table or out is None:
        raise InvalidInputError("give a TABLE and the file to release, --out; or --void RUN alone")
    check_output(out, force, table, mechanism)
    with watching(f"reading {mechanism}"):
        made = load_mechanism(mechanism)
    if seed is not None:
        tell(
            "warning: --seed makes the noise repeatable: whoever knows the seed can take it out again. "
            "Never release this file."
        )
    releasing.check_ending(out)
    before = release_ledger.of_population(release_ledger.releases(mechanism, made), population)
    if max_level is not None:
        release_ledger.check_budget(made, before, max_level)
    if beware := release_ledger.warning(made, before):
        tell(f"warning: {beware}")
    found: list[Agreement | None] = []
    listed: list[release_ledger.Release] = []
    reader = given.prepared(table, made, missing, sep, encoding, person, decimal, dates, part)
    known = reader if new_values == "refuse" else NewValues(reader, made.domain.all_columns)
    with watching(f"checking the certificate of {mechanism}", SECONDS):
        releasing.check_certificate(made)
    with counting("rows") as count:
        rows = releasing.privatize(
            known,
            made,
            out,
            seed=seed,
            weights=weights,
            progress=None if count is None else lambda n: count(n, None),
            compared=found.append,
            recorded=lambda sha256: listed.extend(
                release_ledger.record(mechanism, made, out, sha256, max_level, population)
            ),
            force=force,
            jobs=jobs,
            scheduler=scheduler,
        )
    row = "complete row" if isinstance(reader, CompleteRows) else "row"
    if person:
        row = f"{row.replace('row', 'first row')} of a {person}"
    row += f" of part {part}" if part else ""
    say(f"wrote {rows:,} reports to {out}, one for each {row} of {table}: {releasing.in_words(made)}")
    _remark(made, reader, weights)
    if isinstance(known, NewValues):
        tell(f"note: {known.in_words}")
    _compare(made, found[0], seed is None)
    level = "no level, as --seed makes the noise repeatable"
    if seed is None:
        level = f"{release_ledger.total(made, len(listed))} [{NOT_CHECKED}]"
    say(f"ledger: {_which(listed)} {level}; see {release_ledger.ledgers(mechanism, made)[1]}")
    then = ["ldpopt", "estimate", str(out), "--mechanism", str(mechanism)]
    say(f"next: {shlex.join([*then, *(['--weights', weights] if weights else [])])}")
    end_as_decided(made)


def _which(listed: list[release_ledger.Release]) -> str:
    """Name this release, and how many there were on the same people."""
    run, total = listed[-1].run, len(listed)
    if total == 1:
        return f"this release (run {run}) has"
    return f"with this one (run {run}), {total} releases on the same people have together"


def _void(mechanism: Path, run: str) -> None:
    """Make a release of the ledger void."""
    from ldpopt.release import release_ledger
    from ldpopt.release.designing import load_mechanism

    found = release_ledger.void(mechanism, load_mechanism(mechanism), run)
    say(
        f"the run {run} ({found.date}, {found.file}) is void and does not count; whoever has a copy of "
        "its file knows its reports all the same"
    )


def _remark(made: AnyDesign, reader: TableReader, weights: str) -> None:
    """Say which rows were left out, which numbers changed, and what is not hidden."""
    from ldpopt.tables.cells import CompleteRows
    from ldpopt.tables.one_row_per_person import FirstRows
    from ldpopt.tables.part_of_rows import PartOfRows

    if isinstance(reader, CompleteRows | FirstRows | PartOfRows):
        tell(f"note: {reader.in_words}")
    for column in made.domain.all_columns:
        if column.range is not None:
            low, high = column.range
            tell(f"note: numbers of {column.name} outside {low:g} to {high:g} count as the nearer end")
    if weights:
        tell(f"note: the weights ({weights}) stand beside the reports as they are: they are not hidden")


def _compare(made: AnyDesign, found: Agreement | None, kept: bool = True) -> None:
    """Say whether the mechanism was made for such a table; of the promise only where it is kept."""
    from ldpopt.release.promises import against
    from ldpopt.release.public_design import PublicDesign

    if isinstance(made, PublicDesign) and not made.universal:
        return  # it has no counts to compare with; the verdict on it says so
    if found is None and (made if isinstance(made, PublicDesign) else made.public).universal:
        if kept:
            say("the promise holds whatever the distribution of the table")
    elif found is None:
        tell(f"warning: the promise is made {against(made)}; the table is not compared with it")
    elif found.contradicts:
        tell(f"warning: the table CONTRADICTS the design, so no promise is made: {found.in_words()}")
    elif found.doubtful:
        tell(f"warning: the table may not be one that the design was made for: {found.in_words()}")
    elif found.inside:
        say(f"the table agrees with the design: {found.in_words()}")
    else:
        say(f"the table does not contradict the design: {found.in_words()}")
