"""Which columns of a table may be released as they are, so that few people stand out.

This is for the owner of a table who publishes rows without noise. A row is *exposed* if too few others
have the same values (Bravo-Hermsdorff et al. 2022, Definition 1). The answer is about this table; it is
not a guarantee against somebody who knows more. For such a guarantee, design a mechanism.

>>> found = exposed("adult", ["sex", "race", "workclass"], threshold=0.001, budget=0.01)
>>> found.released, found.together
(('sex', 'race'), 410)
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import SECONDS as CHECKER_SECONDS
from ldpopt.core.exact import printed
from ldpopt.core.limits import Limits
from ldpopt.core.number_text import plain_number
from ldpopt.engine.result import Result
from ldpopt.engine.solving import solve, whole_answers
from ldpopt.engine.verifying import Verification, verify_within
from ldpopt.problems.feature_release import FeatureRelease, anonymity
from ldpopt.tables.batches import TableReader, open_table
from ldpopt.tables.coarser_levels import Levels
from ldpopt.tables.codes import Codes, group_sizes
from ldpopt.tables.recoded import Recoded
from ldpopt.tables.survey import Bins
from ldpopt.tables.unpacking import check_words

MOST_CELLS = 3_000_000
"""The most cells of a table, rows times columns: the question, its certificate and the checker hold all
of them, and 8,200,000 took 2 GB."""
THRESHOLD = 0.001
"""The fraction of rows below which a combination of values is rare, unless another is given."""
SECONDS = 30.0
"""The time limit of a choice of columns, and what its search gets where reading took all of it."""


@dataclass(frozen=True)
class Exposed:
    """How many rows of a table stand out by some columns, and which columns may be released.

    Attributes:
        name: the table.
        columns: the columns that were asked for.
        values: how many different values each has.
        rows: how many rows the table has.
        threshold: the fraction of rows below which a combination of values is rare.
        budget: the fraction of rows that may be exposed.
        alone: how many rows each column exposes by itself.
        together: how many rows all of the columns expose.
        sizes: how many rows share each combination of values that occurs, the rarest first.
        told: for each sensitive column, of how many rows the columns that may be released tell its
            value, and of how many all columns that identify do.
        result: the largest set of columns within the budget, with its certificate.
        checker_seconds: how long the checker may take.
    """

    name: str
    columns: tuple[str, ...]
    values: tuple[int, ...]
    rows: int
    threshold: float
    budget: float
    alone: tuple[int, ...]
    together: int
    sizes: tuple[int, ...]
    told: dict[str, tuple[int, int]]
    result: Result
    checker_seconds: float = CHECKER_SECONDS

    @property
    def crowd(self) -> int:
        """The fewest rows with the same values that expose none of them."""
        return anonymity(self.threshold, self.rows)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that may be released together."""
        return tuple(self.columns[j] for j in self.result.answer["features"])

    @property
    def exposed_by_released(self) -> int:
        """How many rows the released columns expose."""
        return round(Fraction(printed(self.result.answer["exposure"])) * self.rows)

    @property
    def safe_alone(self) -> tuple[str, ...]:
        """The columns each of which stays within the budget by itself."""
        most = Fraction(printed(self.budget)) * self.rows
        return tuple(name for name, n in zip(self.columns, self.alone, strict=True) if n <= most)

    @cached_property
    def verification(self) -> Verification:
        """What the independent checker says of the choice."""
        return verify_within(self.result.to_json(), self.checker_seconds)

    def exposed_at(self, threshold: float) -> int:
        """Count the rows that all columns expose at another threshold."""
        sizes = np.array(self.sizes)
        return int(sizes[sizes < anonymity(threshold, self.rows)].sum())

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "table": self.name,
            "rows": self.rows,
            "threshold": plain_number(self.threshold),
            "crowd": self.crowd,
            "budget": plain_number(self.budget),
            "columns": [
                {"name": name, "values": values, "exposed": alone}
                for name, values, alone in zip(self.columns, self.values, self.alone, strict=True)
            ],
            "exposed": self.together,
            "released": list(self.released),
            "exposed_by_released": self.exposed_by_released,
            "sensitive": [
                {"name": name, "told_by_released": released, "told": together}
                for name, (released, together) in self.told.items()
            ],
            "status": self.result.status.value,
            "verified": self.verification.verdict,
        }


def exposed(
    table: Any,
    columns: Sequence[str] = (),
    *,
    threshold: float | None = None,
    k: int | None = None,
    budget: float = 0.0,
    sensitive: Sequence[str] = (),
    bins: Mapping[str, Bins] | None = None,
    levels: Mapping[str, Levels] | None = None,
    missing: str = "category",
    sep: str | None = None,
    encoding: str = "utf-8",
    time_limit: float | None = SECONDS,
) -> Exposed:
    """Count the rows of a table that stand out, and choose the columns that may be released.

    Args:
        table: a CSV or Parquet file, a pandas or polars frame, columns by name, or an embedded table.
        columns: the columns by which others may know a person; by default all that are not sensitive.
        threshold: the fraction of rows below which a combination of values is rare, in (0, 1].
        k: in place of the threshold: the rows below which it is rare.
        budget: the fraction of rows that may be exposed.
        sensitive: columns that nobody may learn of a person. They are not among those to release.
        bins: for columns of numbers, dates or times: how many bins, or the edges between them.
        levels: for columns of words: how many first characters count, or the groups.
        missing: what becomes of rows with an empty cell: "refuse", "drop", or "category" (a value).
        sep: the character between the columns of a text file.
        encoding: the encoding of a text file.
        time_limit: seconds for the table and the choice of columns.

    Raises:
        UndecidedFileError: the table was not read and counted in time.
    """
    limits = Limits.within(time_limit)
    with limits.held():
        opened = open_table(table, sep=sep, encoding=encoding)
        names = list(columns) or [name for name in opened.columns if name not in sensitive]
        if not names:
            besides = " but the sensitive ones" if sensitive else ""
            raise InvalidInputError(f"{opened.name} has no columns{besides}")
        if len({*names, *sensitive}) < len(names) + len(sensitive):
            raise InvalidInputError(f"columns must be different, not {', '.join([*names, *sensitive])}")
        if bins or levels or missing != "category":
            opened = Recoded(opened, [*names, *sensitive], bins or {}, levels or {}, missing)
        read = _cells(opened, [*names, *sensitive])
        cells = {name: read[name] for name in names}
        rows = len(read[names[0]])
        question = FeatureRelease(threshold=_threshold(threshold, k, rows), budget=budget, table=cells)
        crowd = anonymity(question.threshold, rows)
        sizes = np.sort(group_sizes(cells))
        alone = [group_sizes(cells, [name]) for name in names]
        with whole_answers():
            result = solve(question, time_limit=limits.left())
        released = [names[j] for j in result.answer["features"]]
        told = {name: (_told(read, released, name), _told(read, names, name)) for name in sensitive}
    return Exposed(
        name=opened.name,
        columns=tuple(names),
        values=tuple(len(found) for found in alone),
        rows=rows,
        threshold=question.threshold,
        budget=question.budget,
        alone=tuple(int(found[found < crowd].sum()) for found in alone),
        together=int(sizes[sizes < crowd].sum()),
        sizes=tuple(sizes.tolist()),
        told=told,
        result=result,
    )


def _threshold(threshold: float | None, k: int | None, rows: int) -> float:
    """Return the threshold; that of k rows lies between k − 1 and k of them, clear of both."""
    if k is None:
        return THRESHOLD if threshold is None else threshold
    if threshold is not None:
        raise InvalidInputError("give a threshold, or the rows that must be alike (k), not both")
    if not 1 <= k <= rows:
        raise InvalidInputError(f"k must be from 1 to the number of rows, {rows:,}, not {k}")
    return (k - 0.5) / rows


def _told(cells: dict[str, Codes], names: Sequence[str], sensitive: str) -> int:
    """Count the rows whose values in some columns occur with one value of a sensitive column alone."""
    groups = np.zeros_like(cells[sensitive])
    for name in names:
        groups = np.unique(np.stack((groups, cells[name])), axis=1, return_inverse=True)[1].ravel()
    with_value = np.unique(np.stack((groups, cells[sensitive])), axis=1)[0]
    return int((np.bincount(with_value) == 1)[groups].sum())


def _cells(opened: TableReader, names: list[str]) -> dict[str, Codes]:
    """Read the columns batch by batch, each value as a number.

    A table of more than :data:`MOST_CELLS`, or with very long words, is refused before more of it is
    read.
    """
    numbers: dict[str, dict[Any, int]] = {name: {} for name in names}
    found: dict[str, list[Codes]] = {name: [] for name in names}
    sizes = dict.fromkeys(names, 0)
    rows, most = 0, MOST_CELLS // len(names)
    for batch in opened.batches(names):
        rows += batch.num_rows
        if rows > most:
            raise InvalidInputError(
                f"{opened.name} has more than {most:,} rows, too many for {len(names)} columns: ask for "
                f"fewer columns (--columns), or for a part of the rows; {MOST_CELLS:,} cells are allowed"
            )
        for name in names:
            known = len(numbers[name])
            found[name].append(_codes(name, batch.column(name), numbers[name]))
            sizes[name] = check_words(name, numbers[name], known, sizes[name])
    return {name: np.concatenate(codes) for name, codes in found.items()}


def _codes(name: str, cells: Any, numbers: dict[Any, int]) -> Codes:
    """Give every cell the number of its value; those of new values are added to the numbers.

    Args:
        name: the name of the column, for messages.
        cells: a pyarrow array.
        numbers: the numbers of the values so far.
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    try:
        words = cells.dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError:
        raise InvalidInputError(
            f"the column {name!r} holds cells of the type {cells.type!s:.60}, which cannot be compared: "
            "convert it, or leave it out"
        ) from None
    known = [None if word != word else word for word in words.dictionary.to_pylist()]  # noqa: PLR0124
    here = [numbers.setdefault(word, len(numbers)) for word in known]
    return np.array(here, dtype=np.int64)[words.indices.to_numpy(zero_copy_only=False)]


def rows_in_words(count: int, rows: int) -> str:
    """Say how many rows of a table, and which share of them.

    >>> rows_in_words(410, 32561)
    '410 rows (1.26 %)'
    """
    return f"{count:,} row{'' if count == 1 else 's'} ({100 * count / rows:.3g} %)"


def exposure_in_words(found: Exposed) -> dict[str, str]:
    """Say who stands out in a table: facts by name, without a recommendation to release a column."""
    facts = {
        "table": f"{found.name}, {found.rows:,} rows",
        "exposed": f"a row whose values fewer than {found.crowd:,} rows have",
        "together": f"all {len(found.columns)} columns expose "
        f"{rows_in_words(found.together, found.rows)}",
        "within budget": found.verification.marked(release_in_words(found)),
    }
    for name, told in found.told.items():
        safe, together = (rows_in_words(count, found.rows) for count in told)
        doubled = name.replace('"', '""')
        option = shlex.quote(f'"{doubled}"' if set(name) & set(',"') else name)
        facts[f"sensitive {name}"] = (
            f"not to be released as it is: beside it, the columns chosen tell it of {safe}, "
            f"all columns of {together}; a mechanism hides it (ldpopt design --secret {option})"
        )
    if not found.told:
        facts["not said"] = "what nobody may learn of a person (--sensitive): the counts do not know"
    return {**facts, "certificate": found.verification.summary}


def release_in_words(found: Exposed) -> str:
    """Say which columns stay within the budget together, what they expose, and whether more would."""
    if not found.released and found.safe_alone:
        safe = " or ".join(found.safe_alone)
        return (
            "none of the columns yet: the time was over before a set was chosen; by itself, "
            f"{safe} stays within the budget of {found.budget:.10g}"
        )
    if not found.released:
        return f"none of the columns: each exposes more than {found.budget:.10g} of the rows"
    proven = found.result.status.value == "optimal" and len(found.released) < len(found.columns)
    more = "; no larger set of the columns stays within it" if proven else ""
    return (
        f"{', '.join(found.released)}: {rows_in_words(found.exposed_by_released, found.rows)} exposed, "
        f"within the budget of {found.budget:.10g}{more}"
    )
