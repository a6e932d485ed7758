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
from collections.abc import Iterator, Sequence
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
from ldpopt.tables.domain import Attribute, Domain

MOST_ROWS = 10**10
"""No table of people has more rows; what takes more is not told by any."""


class Group(NamedTuple):
    """Frequencies that add up to 1: of the values of a column, of columns taken together, or of cells.

    Attributes:
        name: the column; of an estimate "secret", "public" or "joint", or "public: ward" for one of
            several columns.
        columns: the columns in words.
        labels: the values in words.
        codes: for every input (s, u) the number of its value.
    """

    name: str
    columns: str
    labels: Sequence[str]
    codes: NDArray[np.int64]

    @property
    def weights(self) -> Array:
        """c of every frequency c·P: a row per value, 1 for the inputs that have it."""
        return (self.codes == np.arange(len(self.labels))[:, None]).astype(float)


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
        Group(column.name, column.name, column.values, np.array(attribute.members)[codes, i])
        for _, attribute, codes in _sides(domain)
        for i, column in enumerate(attribute.columns)
        if column.name in (names or domain.columns)
    ]


def _sides(domain: Domain) -> Iterator[tuple[str, Attribute, NDArray[np.int64]]]:
    """List the secret and the public columns with the number of each input's s or u."""
    a1, a2 = domain.shape
    yield "secret", domain.secret, np.repeat(np.arange(a1), a2)
    if domain.public is not None:
        yield "public", domain.public, np.tile(np.arange(a2), a1)


def estimated_groups(domain: Domain) -> Iterator[Group]:
    """List the frequencies that are estimated, in the order in which they are shown.

    They are those of each column, of the secret and the public columns taken together, and of the cells.
    """
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
    return [row for group in column_groups(domain, names) for row in group.weights.tolist()]


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
    for group in column_groups(domain, names):
        size = len(group.labels)
        cells = np.bincount(group.codes, minlength=size).astype(float)
        shares = np.bincount(group.codes, likely, minlength=size).astype(float)
        found.append(Accuracy(group.name, of.variances(shares, cells)))
    return tuple(found)


def encoded_covariance(of: StatedEncoding, mean: Array, sizes: NDArray[np.int64], n: int) -> Array:
    """Compute the covariance of the estimates of disjoint sets, at these estimates.

    An encoding treats all inputs alike: the second moments of the estimate of a set of inputs depend on
    their number alone. E[a_A a_B] is half of E[a_{A ∪ B}²] − E[a_A²] − E[a_B²],
    given that the own input lies in A, in B or in neither.

    Args:
        of: the encoding.
        mean: the unbiased estimates of the sets, which hold every input once.
        sizes: how many inputs each set has.
        n: the number of reports.
    """
    share, k = np.clip(mean, 0, 1), len(sizes)
    inside, outside = of.squares(sizes.astype(float))
    both = (sizes[:, None] + sizes).astype(float).ravel()
    within, beyond = (part.reshape(k, k) for part in of.squares(both))
    first = (within - inside[:, None] - outside) / 2
    neither = (beyond - outside[:, None] - outside) / 2
    rest = np.clip(1 - share[:, None] - share, 0, 1)
    found = share[:, None] * first + share * first.T + rest * neither - np.outer(share, share)
    np.fill_diagonal(found, of.variances(share, sizes.astype(float)))
    result: Array = found / n
    return result


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
    found = ((group.name, group.weights @ shares) for group in column_groups(domain, names))
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
    groups = column_groups(domain, names)
    variances = report_variances(W, counts, np.vstack([group.weights for group in groups]))
    parts = np.split(variances, np.cumsum([len(group.labels) for group in groups])[:-1])
    return tuple(Accuracy(group.name, part) for group, part in zip(groups, parts, strict=True))


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
