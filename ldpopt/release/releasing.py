"""Send a table through its mechanism: row by row, in constant memory, with exact probabilities.

The released file has one column, called ``ldpopt-`` and the fingerprint of the mechanism, with the
number of the report that was drawn for every row of the table, in its order.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import ArrayLike, NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.files import whole_file
from ldpopt.core.mechanism import Mechanism
from ldpopt.release.agreement import Agreement, agreement
from ldpopt.release.designing import AnyDesign, opened
from ldpopt.tables.cells import numbered, numbers
from ldpopt.tables.files import TableReader, open_table

BITS = 52
"""The entries of a certified mechanism are multiples of 2^−52."""
PREFIX = "ldpopt-"

Words = NDArray[np.uint64]
RandomWords = Callable[[int], Words]


def secure_words(count: int) -> Words:
    """Draw random 64-bit words from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def seeded_words(seed: int) -> RandomWords:
    """Draw words that everybody who knows the seed can draw again: for tests, never for a release."""
    rng = np.random.default_rng(seed)
    return lambda count: rng.integers(2**64, size=count, dtype=np.uint64)


class ExactSampler:
    """Draws reports with exactly the probabilities of a mechanism whose entries are multiples of 2^−52.

    A row's cumulative sums are whole multiples of 2^−52 too; 52 random bits fall below one of them with
    exactly its probability, so that what is proven of the matrix holds for what is released.

    >>> sampler = ExactSampler(Mechanism([[0.75, 0.25], [0.0, 1.0]]), seeded_words(0))
    >>> sampler.sample([1, 1, 1]).tolist()
    [1, 1, 1]
    """

    def __init__(self, mechanism: Mechanism, words: RandomWords = secure_words) -> None:
        steps = mechanism.matrix * 2.0**BITS
        inputs, self._outputs = mechanism.shape
        if (steps != np.floor(steps)).any():
            raise InvalidInputError(
                "the mechanism's entries must be multiples of 2^-52, and are not: it is not certified"
            )
        ends = np.cumsum(steps.astype(np.uint64), axis=1)
        if (ends[:, -1] != 2**BITS).any() or inputs >= 2 ** (64 - BITS):
            raise InvalidInputError(
                "the mechanism's rows do not sum to exactly 1, or are too many to sample"
            )
        self._ends = (ends + self._start(np.arange(inputs))[:, None]).ravel()
        self._words = words

    def sample(self, x: ArrayLike) -> NDArray[np.int64]:
        """Draw one report index for every input index."""
        rows = np.asarray(x, dtype=np.int64)
        inputs = len(self._ends) // self._outputs
        if rows.size and not 0 <= rows.min() <= rows.max() < inputs:
            given = f"{rows.min()} to {rows.max()}"
            raise InvalidInputError(f"an input index must be from 0 to {inputs - 1}, not {given}")
        drawn = (self._words(rows.size).reshape(rows.shape) >> np.uint64(64 - BITS)) + self._start(rows)
        found = np.searchsorted(self._ends, drawn, side="right")
        return found - rows * self._outputs

    @staticmethod
    def _start(rows: NDArray[np.int64]) -> Words:
        """Lay the probabilities of each row on an interval of length 2^52 of its own."""
        return rows.astype(np.uint64) << np.uint64(BITS)


def reports(table: Any, made: AnyDesign, *, seed: int | None = None) -> Iterator[NDArray[np.int64]]:
    """Draw the reports of a table's rows, a batch at a time.

    Args:
        table: what :func:`ldpopt.tables.files.open_table` reads.
        made: the design of the mechanism.
        seed: makes the noise repeatable, and so removable by whoever knows it; never release that.

    >>> from ldpopt.release.designing import design
    >>> made = design("adult:sex-race", secret="sex", public="race", epsilon=1.0, method="srr")
    >>> sum(len(batch) for batch in reports("adult:sex-race", made))
    32561
    """
    sampler = _sampler(made, seed)
    for codes in made.domain.rows(open_table(table)):
        yield sampler.sample(codes)


def _sampler(made: AnyDesign, seed: int | None) -> ExactSampler:
    return ExactSampler(made.mechanism, secure_words if seed is None else seeded_words(seed))


def privatize(
    table: Any,
    mechanism: AnyDesign | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    seed: int | None = None,
    progress: Callable[[int], None] | None = None,
    compared: Callable[[Agreement | None], None] | None = None,
    recorded: Callable[[str], None] | None = None,
    force: bool = False,
) -> int:
    """Write the released file of a table, whole or not at all; returns the number of rows.

    Args:
        table: what :func:`ldpopt.tables.files.open_table` reads; an unknown value is named with its row.
        mechanism: the design, or its file, private or public; one whose certificate the checker refutes
            is not used.
        out: a name that ends in .csv or .parquet.
        seed: makes the noise repeatable, and so removable by whoever knows it; never release that.
        progress: called with the number of rows done.
        compared: called with how the table's counts agree with those of the design, before the file
            appears; None says that the promise holds whatever they are, or that the design is public.
        recorded: called with the SHA-256 of the released file, before it appears.
        force: release a table whose counts contradict the design.
    """
    made, target = opened(mechanism), Path(out)
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InvalidInputError(f"the released file must end in .csv or .parquet, not {target.name!r}")
    check_certificate(made)
    schema = pa.schema([(PREFIX + made.fingerprint, pa.int32())])
    sampler = _sampler(made, seed)
    counts = np.zeros(made.mechanism.shape[0], dtype=np.int64)
    with whole_file(target) as draft:
        with _writer(draft, suffix, schema) as write:
            for codes in made.domain.rows(open_table(table)):
                batch = pa.array(sampler.sample(codes), pa.int32())
                write(pa.record_batch([batch], schema=schema))
                counts += np.bincount(codes, minlength=len(counts))
                if progress is not None:
                    progress(int(counts.sum()))
        found = agreement(made, counts)  # before the draft becomes the file
        if found is not None and found.contradicts and not force:
            raise InvalidInputError(
                f"the table contradicts the design: {found.in_words()}. Design a mechanism for this "
                "table, or release it with --force, without the promise"
            )
        if compared is not None:
            compared(found)
        if recorded is not None:
            recorded(hashlib.sha256(draft.read_bytes()).hexdigest())
    return int(counts.sum())


def check_certificate(made: AnyDesign) -> None:
    """Refuse a design of which the checker does not verify every claim."""
    for claim in made.verification.claims:
        if not claim.holds:
            said = "refutes" if claim.holds is False else "could not decide"
            raise InvalidInputError(
                f"the mechanism is not used: the checker {said} that {claim.statement}"
            )


@contextmanager
def _writer(path: Path, suffix: str, schema: Any) -> Iterator[Callable[[Any], None]]:
    if suffix == ".csv":
        with pa.csv.CSVWriter(path, schema) as writer:
            yield writer.write
    else:
        with pa.parquet.ParquetWriter(path, schema) as writer:
            yield writer.write


def released_reports(released: Any, made: AnyDesign) -> Iterator[NDArray[np.int64]]:
    """Read the reports of a released file, a batch at a time; a file of another mechanism is refused."""
    reader = open_table(released)
    column = _report_column(reader, made)
    outputs = made.mechanism.shape[1]
    for first_row, batch in numbered(reader.batches([column])):
        try:
            found = batch.column(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:  # "1.0" is a whole number, too
            found = numbers(column, batch.column(0), first_row)
        known = (found >= 0) & (found < outputs) & (found == np.floor(found))
        if not known.all():
            bad = int(np.argmin(known))
            raise InvalidInputError(
                f"row {first_row + bad} of {reader.name} holds the report {batch.column(0)[bad]}; "
                f"those of the mechanism are 0 to {outputs - 1}"
            )
        yield found.astype(np.int64)


def _report_column(reader: TableReader, made: AnyDesign) -> str:
    marked = [name for name in reader.columns if name.startswith(PREFIX)]
    if not marked:
        raise InvalidInputError(
            f"{reader.name} has no column of reports: ldpopt privatize did not write it"
        )
    if PREFIX + made.fingerprint not in marked:
        raise InvalidInputError(
            f"{reader.name} was released by another mechanism ({marked[0].removeprefix(PREFIX)}, not "
            f"{made.fingerprint})"
        )
    return PREFIX + made.fingerprint
