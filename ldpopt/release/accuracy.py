"""How precisely the reports of n rows give the frequencies of each column.

A frequency is c·P, P the distribution of the inputs (s, u). With the law q = PW of a report, the
unbiased estimate at which the confidence intervals of ``ldpopt estimate`` are centred has the variance

    (Σ_y q_y a_y² − (c·P)²) / n,    a of least Σ_y q_y a_y² with W a = c,

for large n; where no a has W a = c, or where the interval is no shorter than [0, 1], n reports do not
determine c·P (:mod:`ldpopt.measures.frequency_intervals`). P is taken as observed. Maximum likelihood
has the same limit, but never gives a cell a negative frequency, which biases sums of many rare cells
that are known imprecisely: there its error can be larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ldpopt.core.quantiles import normal_quantile
from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.measures.frequency_intervals import LEVEL, margins
from ldpopt.mechanisms.randomizer import Linear, Randomizer, Values
from ldpopt.tables.domain import Attribute, Domain

MOST_ROWS = 10**10
"""No table of people has more rows; what takes more rows cannot be estimated from any."""


class Group(NamedTuple):
    """Frequencies that add up to 1: of the values of a column, of columns taken together, or of cells.

    Attributes:
        name: the column; of an estimate "secret", "public" or "joint", or "public: ward" for one of
            several columns.
        columns: the columns in words.
        labels: the values in words.
        codes: for every input (s, u) the number of its value.
        scores: the numbers that the values stand for, where their mean is wanted, not the frequencies.
    """

    name: str
    columns: str
    labels: Sequence[str]
    codes: Whole
    scores: Array | None = None

    @property
    def values(self) -> Values | Linear:
        """The numbers of the values and how many there are; or their mean, as a share of its range."""
        values = Values(self.codes, len(self.labels))
        if self.scores is None:
            return values
        return Linear(values, ((self.scores - self.scores.min()) / self.unit)[None])

    @property
    def unit(self) -> float | None:
        """The range of the mean; None for frequencies."""
        return None if self.scores is None else float(np.ptp(self.scores))


def column_groups(domain: Domain, names: Sequence[str] = ()) -> list[Group]:
    """List the frequencies of the named columns; without names, of every column.

    Args:
        domain: the columns of the table.
        names: the names of some of them.
    """
    for name in names:
        if name not in domain.columns:
            raise InvalidInputError(
                f"queries must be columns of the design, {', '.join(domain.columns)}, not {name!r}"
            )
    return [
        Group(
            column.name,
            column.name,
            column.values,
            np.array(attribute.members)[codes, i],
            None if column.range is None else column.points,
        )
        for _, attribute, codes in _sides(domain)
        for i, column in enumerate(attribute.columns)
        if column.name in (names or domain.columns)
    ]


def _sides(domain: Domain) -> Iterator[tuple[str, Attribute, Whole]]:
    """List the secret and the public columns with the number of each input's s or u."""
    a1, a2 = domain.shape
    yield "secret", domain.secret, np.repeat(np.arange(a1), a2)
    if domain.public is not None:
        yield "public", domain.public, np.tile(np.arange(a2), a1)


def estimated_groups(domain: Domain) -> Iterator[Group]:
    """List the frequencies that are estimated, in the order in which they are shown.

    They are those of each column, of the secret and the public columns taken together, and of the cells.
    Of numbers, whose mean alone is wanted, there are none.
    """
    if domain.of_numbers:
        words = [column.name for column in domain.all_columns if column.range is None]
        if words:
            raise InvalidInputError(
                f"the means of numbers are estimated alone, not beside {', '.join(map(repr, words))}: "
                "make a mechanism for each"
            )
        return
    columns = {group.name: group for group in column_groups(domain)}
    for side, attribute, codes in _sides(domain):
        if len(attribute.columns) > 1:
            for column in attribute.columns:
                yield columns[column.name]._replace(name=f"{side}: {column.name}")
        yield Group(side, attribute.name, attribute.labels, codes)
    if domain.public is not None:
        both = f"{domain.secret.name}, {domain.public.name}"
        yield Group("joint", both, domain.labels, np.arange(len(domain.labels)))


def query_rows(domain: Domain, names: Sequence[str] = ()) -> list[list[float]]:
    """List the weights of the same frequencies as plain rows, one per value."""
    return [row for group in column_groups(domain, names) for row in group.values.weights.tolist()]


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How well the frequencies of a column, or the mean of its numbers, are known from reports.

    Attributes:
        name: the column.
        variances: n times the variance of the estimate for each value; infinite where the reports do not
            determine it. That of a mean is in units of its range.
        unit: this range; None for frequencies.
    """

    name: str
    variances: Array
    unit: float | None = None

    @cached_property
    def squared_error(self) -> float:
        """The expected squared error of all values together, times n."""
        return float(self.variances.sum())

    def margin(self, n: float) -> float:
        """Compute the margin ± of the value that is known least precisely, from n reports.

        Infinite where n reports do not determine it.
        """
        return float(margins(self.variances, n).max())

    def rows_for(self, target: float) -> float:
        """Compute how many reports it takes for this margin; infinite beyond :data:`MOST_ROWS`."""
        needed = normal_quantile((1 - LEVEL) / 2) ** 2 * self.variances.max() / target**2
        return math.ceil(needed) if needed <= MOST_ROWS else math.inf


def data_accuracies(counts: Whole, domain: Domain, names: Sequence[str] = ()) -> tuple[Accuracy, ...]:
    """Compute how well the data as they are give the frequencies of the named columns.

    Args:
        counts: the observed counts [s][u].
        domain: the columns of the table.
        names: the names of some of them; all if none are given.
    """
    shares = counts.ravel() / counts.sum()
    groups = column_groups(domain, names)
    return tuple(
        Accuracy(group.name, c**2 @ shares - (c @ shares) ** 2, group.unit)
        for group, c in ((group, group.values.weights) for group in groups)
    )


def accuracies(
    randomizer: Randomizer, counts: Whole, domain: Domain, names: Sequence[str] = ()
) -> tuple[Accuracy, ...]:
    """Compute how well reports of a mechanism give the frequencies of the named columns.

    Args:
        randomizer: the mechanism on the inputs (s, u).
        counts: the observed counts [s][u].
        domain: the columns of the table.
        names: the names of some of them; all if none are given.
    """
    groups = column_groups(domain, names)
    found = randomizer.variances(likely(counts), [group.values for group in groups])
    return tuple(
        Accuracy(group.name, part, group.unit) for group, part in zip(groups, found, strict=True)
    )


def likely(counts: Whole) -> Array:
    """Return the observed distribution, half a row added to each cell, so that none is impossible."""
    found: Array = (counts.ravel() + 0.5) / (counts + 0.5).sum()
    return found
