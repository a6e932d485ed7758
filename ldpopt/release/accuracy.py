"""How precisely the reports of n rows give the frequencies of each column.

A frequency is c·P, P the distribution of the inputs (s, u). With the law q = PW of a report, the
unbiased estimate at which the confidence intervals of ``ldpopt estimate`` are centred has the variance

    (Σ_y q_y a_y² − (c·P)²) / n,    a of least Σ_y q_y a_y² with W a = c,

for large n; where no a has W a = c, or where the interval is no shorter than [0, 1], n reports do not
determine c·P (:mod:`ldpopt.measures.intervals`). P is taken as observed. Maximum likelihood has
the same limit, but never gives a cell a negative frequency, which biases sums of many rare cells that
are known imprecisely: there its error can be larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.quantiles import normal_quantile
from ldpopt.core.validate import Array
from ldpopt.measures.intervals import LEVEL, are_solved, margins, unbiased_weights
from ldpopt.mechanisms.stated import StatedEncoding
from ldpopt.tables.domain import Domain

MOST_ROWS = 10**10
"""No table of people has more rows; what takes more is not told by any."""


class Query(NamedTuple):
    """The frequencies of a column: for every value the inputs (s, u) that have it."""

    name: str
    weights: Array


class Coded(NamedTuple):
    """A column: for every input (s, u) the number of its value, and how many values there are."""

    name: str
    codes: NDArray[np.int64]
    size: int


def column_codes(domain: Domain, names: Sequence[str] = ()) -> list[Coded]:
    """List the named columns; without names, every column.

    Args:
        domain: the columns of the table.
        names: the names of some of them.
    """
    for name in names:
        if name not in domain.columns:
            raise InvalidInputError(
                f"queries must be columns of the design, {', '.join(domain.columns)}, not {name!r}"
            )
    a1, a2 = domain.shape
    sides = [(domain.secret, np.repeat(np.arange(a1), a2))]
    sides += [] if domain.public is None else [(domain.public, np.tile(np.arange(a2), a1))]
    wanted = names or domain.columns
    return [
        Coded(column.name, np.array(side.members)[member, i], len(column.values))
        for side, member in sides
        for i, column in enumerate(side.columns)
        if column.name in wanted
    ]


def column_queries(domain: Domain, names: Sequence[str] = ()) -> list[Query]:
    """List the frequencies of the named columns; without names, of every column.

    Args:
        domain: the columns of the table.
        names: the names of some of them.
    """
    return [
        Query(name, (codes == np.arange(size)[:, None]).astype(float))
        for name, codes, size in column_codes(domain, names)
    ]


def query_rows(domain: Domain, names: Sequence[str] = ()) -> list[list[float]]:
    """List the weights of the same frequencies as plain rows, one per value."""
    return [row for query in column_queries(domain, names) for row in query.weights.tolist()]


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How well the frequencies of a column are known from reports.

    Attributes:
        name: the column.
        variances: n times the variance of the estimate for each value; infinite where the reports do not
            determine it.
    """

    name: str
    variances: Array

    @cached_property
    def squared_error(self) -> float:
        """The expected squared error of all values together, times n."""
        return float(self.variances.sum())

    def margin(self, n: float, level: float = LEVEL) -> float:
        """Compute the margin ± of the value that is known least precisely, from n reports.

        Infinite where n reports do not determine it.

        Args:
            n: the number of reports.
            level: the probability with which the interval of each value by itself covers it.
        """
        return float(margins(self.variances, n, level).max())

    def rows_for(self, target: float, level: float = LEVEL) -> float:
        """Compute how many reports it takes for this margin; infinite beyond :data:`MOST_ROWS`.

        Args:
            target: the margin.
            level: the probability with which the interval of each value by itself covers it.
        """
        needed = normal_quantile((1 - level) / 2) ** 2 * self.variances.max() / target**2
        return math.ceil(needed) if needed <= MOST_ROWS else math.inf


def encoded_accuracies(
    of: StatedEncoding, counts: NDArray[np.int64], domain: Domain, names: Sequence[str] = ()
) -> tuple[Accuracy, ...]:
    """Compute the same for an encoding: a value's estimate is the sum of those of its cells.

    Args:
        of: the encoding on the inputs (s, u).
        counts: the observed counts [s][u]; half a row is added to each.
        domain: the columns of the table.
        names: the names of some of them; all if none are given.
    """
    likely = (counts.ravel() + 0.5) / (counts + 0.5).sum()
    found = []
    for name, codes, size in column_codes(domain, names):
        cells = np.bincount(codes, minlength=size).astype(float)
        shares = np.bincount(codes, likely, minlength=size).astype(float)
        found.append(Accuracy(name, of.variances(shares, cells)))
    return tuple(found)


def data_accuracies(
    counts: NDArray[np.int64], domain: Domain, names: Sequence[str] = ()
) -> tuple[Accuracy, ...]:
    """Compute how well the data as they are give the frequencies of the named columns.

    Args:
        counts: the observed counts [s][u].
        domain: the columns of the table.
        names: the names of some of them; all if none are given.
    """
    shares = counts.ravel() / counts.sum()
    found = ((query.name, query.weights @ shares) for query in column_queries(domain, names))
    return tuple(Accuracy(name, p * (1 - p)) for name, p in found)


def accuracies(
    W: Array, counts: NDArray[np.int64], domain: Domain, names: Sequence[str] = ()
) -> tuple[Accuracy, ...]:
    """Compute how well reports of a mechanism give the frequencies of the named columns.

    Args:
        W: the mechanism W[x, y].
        counts: the observed counts [s][u]; half a row is added to each, so that none is impossible.
        domain: the columns of the table.
        names: the names of some of them; all if none are given.
    """
    queries = column_queries(domain, names)
    variances = report_variances(W, counts, np.vstack([query.weights for query in queries]))
    ends = np.cumsum([len(query.weights) for query in queries])
    parts = np.split(variances, ends[:-1])
    return tuple(Accuracy(query.name, part) for query, part in zip(queries, parts, strict=True))


def report_variances(W: Array, counts: NDArray[np.int64], functionals: Array) -> Array:
    """Compute n times the variance of the estimate of each functional; infinite where there is none.

    Args:
        W: the mechanism W[x, y].
        counts: the observed counts [s][u]; half a row is added to each, so that none is impossible.
        functionals: c, one per row.
    """
    likely = (counts.ravel() + 0.5) / (counts + 0.5).sum()
    used = W[:, W.any(axis=0)]
    law = likely @ used
    a = unbiased_weights(used, functionals, law)
    spread = np.maximum((a**2) @ law - (functionals @ likely) ** 2, 0.0)
    return np.where(are_solved(used, functionals, a), spread, math.inf)
