"""Send a table through its mechanism: row by row, in constant memory, with exact probabilities.

The released file has one column, called ``ldpopt-`` and the fingerprint of the mechanism, with the
number of the report that was drawn for every row of the table, in its order. Where an encoding reports a
set, it is written in hexadecimal digits after an x, the first input in the highest bit. A column of
weights may stand beside it, as it is in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError, RefutedFileError, UndecidedFileError
from ldpopt.core.files import PathName, file_digest, whole_directory, whole_file
from ldpopt.core.validate import Whole
from ldpopt.core.workers import Parallel, workers
from ldpopt.mechanisms.randomizer import RandomWords, secure_words, seeded_words
from ldpopt.release.designing import AnyDesign, opened
from ldpopt.release.released_reports import PREFIX, counts_of_people, written_sets
from ldpopt.release.table_consistency import Agreement, agreement
from ldpopt.tables.batches import TableReader, check_name, open_table

Counts = Whole
Drawn = tuple[Counts, list[NDArray[Any]]]
"""How often each input occurs among some rows; their reports, and their weights if these are wanted."""


def reports(table: Any, made: AnyDesign, *, seed: int | None = None) -> Iterator[NDArray[Any]]:
    """Draw the reports of a table's rows, a batch at a time.

    Args:
        table: what :func:`ldpopt.tables.batches.open_table` reads.
        made: the design of the mechanism.
        seed: makes the noise repeatable, and so removable by whoever knows it; never release that.

    >>> from ldpopt.release.designing import design
    >>> made = design("adult:sex-race", secret="sex", public="race", epsilon=1.0, method="srr")
    >>> sum(len(batch) for batch in reports("adult:sex-race", made))
    32561
    """
    for _, (found,) in _drawn(open_table(table), made, seed):
        yield found


def privatize(
    table: Any,
    mechanism: AnyDesign | PathName,
    out: PathName,
    *,
    seed: int | None = None,
    weights: str = "",
    progress: Callable[[int], None] | None = None,
    compared: Callable[[Agreement | None], None] | None = None,
    recorded: Callable[[str], None] | None = None,
    force: bool = False,
    jobs: int = 1,
    scheduler: str | None = None,
) -> int:
    """Write the released file of a table, whole or not at all; returns the number of rows.

    Args:
        table: what :func:`ldpopt.tables.batches.open_table` reads; an error names the row of an unknown
            value.
        mechanism: the design, or its file, private or public; one whose certificate the checker refutes
            is not used.
        out: a name that ends in .csv or .parquet; or a directory, which gets a Parquet file for every
            part of the table: for each file of a directory, each partition of a Dask frame.
        seed: makes the noise repeatable, and so removable by whoever knows it; never release that.
        weights: a column that says how many people each row stands for, to release as it is; empty for
            none.
        progress: called with the number of rows done.
        compared: called with how the table's counts agree with those of the design, before the file
            appears; None says that the promise holds whatever they are, or that the design is public.
        recorded: called with the SHA-256 of what is released, before it appears.
        force: release a table whose counts contradict the design.
        jobs: worker processes on this machine, which share the parts of the table.
        scheduler: the address of a Dask scheduler to run on instead. Its workers read the files of the
            table, and write those of a released directory, under the names that they have here.
    """
    made, target, reader = opened(mechanism), Path(out), open_table(table)
    suffix = check_ending(target)
    check_certificate(made)
    _check_weights(made, weights)
    counts = np.zeros(made.inputs, dtype=np.int64)
    here = jobs == 1 and scheduler is None
    draft_of = whole_file if suffix else whole_directory
    with draft_of(target) as draft, workers(jobs, scheduler) as parallel:
        if not suffix:
            write = partial(_write_part, made, seed, weights, draft)
            found = _by_parts(write, reader, made, seed, parallel)
        elif here:
            found = _write(draft, suffix, made, weights, _drawn(reader, made, seed, weights))
        else:
            parts = _by_parts(partial(_draw_part, made, seed, weights), reader, made, seed, parallel)
            found = _write(draft, suffix, made, weights, parts)
        for batch in found:
            counts += batch
            if progress is not None:
                progress(int(counts.sum()))
        if not counts.any():
            raise InvalidInputError(f"{reader.name} has no rows")
        agreed = agreement(made, counts)  # before the draft becomes the file
        if agreed is not None and agreed.contradicts and not force:
            raise InvalidInputError(
                f"the table contradicts the design: {agreed.in_words()}. Design a mechanism for this "
                "table, or release it with --force, without the promise"
            )
        if compared is not None:
            compared(agreed)
        if recorded is not None:
            recorded(file_digest(draft))
    return int(counts.sum())


def in_words(made: AnyDesign) -> str:
    """Say what the reports of a mechanism are."""
    if made.randomizer.sets:
        return f"sets of its {made.inputs:,} inputs, their bits in hexadecimal digits"
    return f"numbers from 0 to {made.randomizer.outputs - 1}"


def check_ending(released: Path) -> str:
    """Return the ending of a file to be released, in small letters; refuse one that is not written."""
    check_name(released)
    suffix = released.suffix.lower()
    if suffix not in (".csv", ".parquet", ""):
        raise InvalidInputError(
            f"the released file must end in .csv or .parquet, not {released.name!r}; without an ending "
            "it is a directory"
        )
    return suffix


def check_certificate(made: AnyDesign) -> None:
    """Refuse a design of which a claim is refuted or undecided within the time of the checker.

    A promise that a public file cannot decide is no reason: what is said of it carries a mark.
    """
    for error, said, holds in (
        (RefutedFileError, "refutes", False),
        (UndecidedFileError, "could not decide", None),
    ):
        for claim in made.verification.claims:
            if claim.holds is holds and not claim.open:
                raise error(f"the mechanism is not used: the checker {said} that {claim.statement}")


def _check_weights(made: AnyDesign, weights: str) -> None:
    """Refuse weights that would tell a column that is hidden, or break the promise.

    Whoever knows the weight w of a person knows P(s, u | w). A promise for all distributions holds for
    that one, too; a promise for those near the table's does not.
    """
    hidden = [column.name for column in made.domain.secret.columns]
    if weights in made.domain.columns and (weights in hidden or made.promise.robust != "given"):
        raise InvalidInputError(
            f"weights are released as they are, and the design does not tell {weights!r} as it is"
        )
    if weights and made.domain.public is not None and made.promise.robust in ("chi2", "known"):
        raise InvalidInputError(
            "weights are released as they are, and whoever knows a person's weight knows more than the "
            "frequencies that the promise is about: design with --robust all"
        )


def _drawn(
    reader: TableReader, made: AnyDesign, seed: int | None, weights: str = "", start: int = 0
) -> Iterator[Drawn]:
    """Draw the reports of a table or of a part of it, a batch at a time.

    Args:
        reader: the table.
        made: the design of the mechanism.
        seed: the seed of repeatable noise.
        weights: the column of weights; empty for none.
        start: how many rows come before the part.
    """
    of = made.randomizer
    words: RandomWords = secure_words
    rounding: RandomWords = secure_words
    if seed is not None:
        words, rounding = seeded_words(seed, start * of.words), seeded_words([seed, 1], start)
    beside = [weights] if weights else []
    for first_row, batch in made.domain.batches(reader, beside, part=True):
        people = [counts_of_people(name, batch.column(name), first_row) for name in beside]
        codes = made.domain.codes(batch, first_row, rounding)
        yield np.bincount(codes, minlength=made.inputs), [of.sample(codes, words), *people]


def _write(
    draft: Path, suffix: str, made: AnyDesign, weights: str, drawn: Iterable[Drawn]
) -> Iterator[Counts]:
    """Write reports as they come; yields how often each input occurs among their rows."""
    beside = [(weights, "float64")] if weights else []
    schema = pa.schema([(PREFIX + made.fingerprint, made.randomizer.stored), *beside])
    with _writer(draft, suffix, schema) as write:
        for counts, (found, *people) in drawn:
            cells = written_sets(found) if made.randomizer.sets else pa.array(found, schema.types[0])
            write(pa.record_batch([cells, *map(pa.array, people)], schema=schema))
            yield counts


# ------------------------------------------------------------ parts of a table, by several workers


def _by_parts(
    work: Callable[..., Any], reader: TableReader, made: AnyDesign, seed: int | None, parallel: Parallel
) -> Iterator[Any]:
    """Do a piece of work on every part of a table.

    Secure noise needs no order. Repeatable noise is that of the whole table: each part leaves out the
    words of the rows before it, which are counted first.
    """
    starts: list[int] = []
    if seed is not None:
        rows = reader.map_parts(partial(_count_rows, made), parallel)
        starts = list(accumulate(rows, initial=0))
    yield from reader.map_parts(partial(work, starts), parallel)


def _count_rows(made: AnyDesign, number: int, part: TableReader) -> int:
    return sum(len(codes) for codes in made.domain.rows(part, part=True))


def _draw_part(
    made: AnyDesign, seed: int | None, weights: str, starts: list[int], number: int, part: TableReader
) -> Drawn:
    drawn = list(_drawn(part, made, seed, weights, starts[number] if starts else 0))
    counts = sum((counts for counts, _ in drawn), np.zeros(made.inputs, dtype=np.int64))
    nothing: list[NDArray[Any]] = [np.zeros(0, dtype=np.int32), *([np.zeros(0)] if weights else [])]
    columns = zip(*(found for _, found in drawn), strict=True)
    return counts, [np.concatenate(cells) for cells in columns] or nothing


def _write_part(
    made: AnyDesign,
    seed: int | None,
    weights: str,
    folder: Path,
    starts: list[int],
    number: int,
    part: TableReader,
) -> Counts:
    drawn = _drawn(part, made, seed, weights, starts[number] if starts else 0)
    written = _write(folder / f"part-{number:05}.parquet", ".parquet", made, weights, drawn)
    return sum(written, np.zeros(made.inputs, dtype=np.int64))


@contextmanager
def _writer(path: Path, suffix: str, schema: Any) -> Iterator[Callable[[Any], None]]:
    if suffix == ".csv":
        with pa.csv.CSVWriter(path, schema) as writer:
            yield writer.write
    else:
        with pa.parquet.ParquetWriter(path, schema) as writer:
            yield writer.write
