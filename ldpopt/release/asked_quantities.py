"""Say which quantities are wanted of a design: means of columns, cells, shares within groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.release.accuracy import Group, column_groups
from ldpopt.release.quantities import Asked, Quantity, Share
from ldpopt.tables.cells import is_number
from ldpopt.tables.domain import Column, Domain

MOST_CELLS = 200
"""The most cells of a cross table."""

LARGEST = 1e150
"""The largest number that a value may stand for: its square is finite."""


def means(
    domain: Domain,
    columns: Mapping[str, Sequence[float] | None],
    ends: Sequence[float] | None = None,
) -> Iterator[Asked]:
    """Ask for the means of columns, and of the numbers of which a design gives the mean alone.

    Args:
        domain: the columns of the design.
        columns: their names, each with the numbers that its values stand for, in order; None for the
            numbers that they say, or the middles of bins.
        ends: the least and the greatest number of a binned column, where the first and the last bin end.
    """
    groups = {group.name: group for group in column_groups(domain)}
    for name in columns:
        if name not in groups:
            raise InvalidInputError(
                f"a mean must be that of a column of the design, {', '.join(groups)}, not {name!r}"
            )
    for column in domain.all_columns:
        if column.range is not None:
            most = 1 / (2 * (len(column.values) - 1)) ** 2  # a quarter of a squared step
            yield _mean(groups[column.name], column.points, None)._replace(rounding=most)
        elif column.name in columns:
            scores, binning = _scores(column, columns[column.name], ends)
            yield _mean(groups[column.name], scores, binning)


def _mean(group: Group, scores: Array, binning: float | None) -> Asked:
    """Ask for the mean of the values that stand for a number, among the rows that have one."""
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    unit = high - low
    if unit == 0:
        raise InvalidInputError(f"the values of {group.columns} must stand for different numbers")
    own = np.isfinite(scores)
    shares = np.where(own, (scores - low) / unit, 0.0)[group.codes]
    given = None if own.all() else own.astype(float)[group.codes]
    return Asked(f"mean of {group.columns}", Share(shares, given), None, low, unit, binning)


def _scores(
    column: Column, given: Sequence[float] | None, ends: Sequence[float] | None
) -> tuple[Array, float | None]:
    """Return the numbers that the values stand for, not a number for an empty cell, and the binning."""
    count = len(column.values) - column.missing
    binning = None
    if given is not None:
        if len(given) != count:
            raise InvalidInputError(
                f"{column.name!r} has {count} values, {', '.join(column.values[:count])}: give as many "
                f"numbers, not {len(given)}"
            )
        found = list(given)
    elif column.edges:
        first, last = column_ends(column, ends)
        sides = list(pairwise((first, *column.edges, last)))
        found = [(low + high) / 2 for low, high in sides]
        binning = max(high - low for low, high in sides) / 2
    elif not column.text and all(is_number(value) for value in column.values[:count]):
        found = [float(value) for value in column.values[:count]]
    else:
        raise InvalidInputError(
            f"the values of {column.name!r} are words: give the numbers that they stand for (--mean "
            f"{column.name}={','.join(map(str, range(1, count + 1)))})"
        )
    if not all(abs(number) <= LARGEST for number in found):
        raise InvalidInputError(
            f"the numbers that the values of {column.name!r} stand for must be finite, of at most "
            f"{LARGEST:g}, not {', '.join(f'{number:g}' for number in found)}"
        )
    return np.array([*found, *([np.nan] * column.missing)]), binning


def column_ends(column: Column, ends: Sequence[float] | None) -> Sequence[float]:
    """Return where the first bin begins and the last one ends, beyond the edges."""
    if ends is None or not ends[0] < column.edges[0] <= column.edges[-1] < ends[1]:
        raise InvalidInputError(
            f"the bins of {column.name!r} have no middles unless it is known where the first begins and "
            f"the last ends, beyond {column.edges[0]:g} and {column.edges[-1]:g}: give --range LOW,HIGH,"
            f" or for a mean the numbers that they stand for (--mean {column.name}=1,2,…)"
        )
    return ends


class BinnedColumn:
    """A column of numbers in bins, and the share of the numbers below each edge, which is wanted.

    Args:
        domain: the columns of the design.
        name: the column.
        ends: where its first bin begins and its last one ends.
    """

    def __init__(self, domain: Domain, name: str, ends: Sequence[float] | None) -> None:
        binned = {c.name: c for c in domain.all_columns if c.edges and not c.time}
        if name not in binned:
            known = ", ".join(binned) or "and the design has none (--bins)"
            raise InvalidInputError(
                f"a quantile must be that of a column of numbers in bins, {known}, not {name!r}"
            )
        (group,), self.column = column_groups(domain, [name]), binned[name]
        self.ends, own = column_ends(self.column, ends), None
        if self.column.missing:
            own = (group.codes != self.column.missing_code).astype(float)
        self.below = [
            Asked(f"below {edge:g}", Share((group.codes <= i).astype(float), own))
            for i, edge in enumerate(self.column.edges)
        ]

    def quantile(self, share: float, below: Sequence[Quantity]) -> Quantity:
        """Bound a quantile by the edges of bins, and estimate it within the bin that it lies in.

        It lies above an edge if the share below that edge is less than its own, and below one if it is
        more: the interval ends at the nearest edges of which the reports say so. So it has the error of
        the bins in it, too. The estimate takes the numbers of a bin as spread evenly.

        Args:
            share: which quantile, 0.5 for the median.
            below: the share of the numbers below each edge, as estimated.
        """
        name, edges = f"{share:g}-quantile of {self.column.name}", self.column.edges
        first, last = self.ends
        low = max((e for e, own in zip(edges, below, strict=True) if own.high < share), default=first)
        high = min((e for e, own in zip(edges, below, strict=True) if own.low > share), default=last)
        if not all(own.determined for own in below) or low >= high:
            return Quantity(name, float(first), float(last), determined=False)
        places = [first, *edges, last]
        risen = np.maximum.accumulate([0.0, *np.clip([own.estimate for own in below], 0, 1), 1.0])
        value = float(np.clip(np.interp(share, risen, places), low, high))
        i = min(int(np.searchsorted(places, value, side="right")), len(places) - 1)
        return Quantity(name, float(low), float(high), True, value, None, places[i] - places[i - 1])


def cells(domain: Domain, names: Sequence[str]) -> Iterator[Asked]:
    """Ask for a cross table: its cells, the shares of the first column in each group, and differences.

    Groups are the combinations of the other columns; each is compared with the first.

    Args:
        domain: the columns of the design.
        names: the columns of the cross table.
    """
    by_name = {group.name: group for group in column_groups(domain)}
    if len(names) < 2 or len(set(names)) < len(names) or not set(names) <= set(by_name):
        raise InvalidInputError(
            f"a cross table must be of different columns of the design, such as "
            f"{'*'.join(list(by_name)[:2])}, not {'*'.join(names)}"
        )
    first, *others = (by_name[name] for name in names)
    rest, where = np.unique(np.array([group.codes for group in others]), axis=1, return_inverse=True)
    where = where.ravel()
    if len(first.labels) * rest.shape[1] > MOST_CELLS:
        raise InvalidInputError(
            f"{'*'.join(names)} has {len(first.labels) * rest.shape[1]:,} cells, and at most "
            f"{MOST_CELLS} are shown"
        )
    groups = {
        ", ".join(f"{g.columns} {g.labels[i]}" for g, i in zip(others, codes, strict=True)): where == u
        for u, codes in enumerate(rest.T)
    }
    values = {f"{first.columns} {label}": first.codes == i for i, label in enumerate(first.labels)}
    within = {}
    for value, own in values.items():
        for group, members in groups.items():
            yield Asked(f"{value}, {group}", Share((own & members).astype(float)))
            within[value, group] = Share((own & members).astype(float), members.astype(float))
    told = list(values)[1:]  # the shares add up to 1: without the first, nothing is missing
    for value in told:
        for group in groups:
            yield Asked(f"{value} within {group}", within[value, group])
    before, *after = groups
    for value in told:
        for group in after:
            name = f"{value}: {group} less {before}"
            yield Asked(name, within[value, group], within[value, before])
