"""Which frequencies of a table are estimated: of each column, of columns taken together, of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.validate import Array
from ldpopt.release.accuracy import column_codes, column_queries
from ldpopt.tables.domain import Attribute, Column, Domain

GROUPS = ("secret", "public")


class Functional(NamedTuple):
    """A frequency c·P with its name."""

    group: str
    label: str
    weights: Array


def group_names(domain: Domain) -> dict[str, str]:
    """Name the columns of every group of frequencies, in the order in which they are shown."""
    names: dict[str, str] = {}
    for group, attribute in _attributes(domain):
        names |= {f"{group}: {column.name}": column.name for column in _parts(attribute)}
        names[group] = attribute.name
    return names if domain.public is None else names | {"joint": ", ".join(names[g] for g in GROUPS)}


def _attributes(domain: Domain) -> list[tuple[str, Attribute]]:
    both = zip(GROUPS, (domain.secret, domain.public), strict=True)
    return [(group, attribute) for group, attribute in both if attribute is not None]


def _parts(attribute: Attribute) -> tuple[Column, ...]:
    """List the columns whose frequencies are given beside those of their combinations."""
    return attribute.columns if len(attribute.columns) > 1 else ()


class ValueGroup(NamedTuple):
    """A group of frequencies: its name, its values, and for every input the number of its value."""

    name: str
    labels: Sequence[str]
    codes: NDArray[np.int64]


def value_groups(domain: Domain) -> Iterator[ValueGroup]:
    """List the same frequencies as :func:`functionals`, a group at a time and without their weights."""
    a1, a2 = domain.shape
    columns = {name: codes for name, codes, _ in column_codes(domain)}
    sides = {"secret": np.repeat(np.arange(a1), a2), "public": np.tile(np.arange(a2), a1)}
    for group, attribute in _attributes(domain):
        for column in _parts(attribute):
            yield ValueGroup(f"{group}: {column.name}", column.values, columns[column.name])
        yield ValueGroup(group, attribute.labels, sides[group])
    if domain.public is not None:
        yield ValueGroup("joint", domain.labels, np.arange(a1 * a2))


def functionals(domain: Domain) -> Iterator[Functional]:
    """List the frequencies of every group, in the order of :func:`group_names`."""
    a1, a2 = domain.shape
    marginals = {query.name: query.weights for query in column_queries(domain)}
    cells = np.eye(a1 * a2).reshape(a1, a2, -1)
    sums = {"secret": cells.sum(axis=1), "public": cells.sum(axis=0)}
    for group, attribute in _attributes(domain):
        for column in _parts(attribute):
            for label, weights in zip(column.values, marginals[column.name], strict=True):
                yield Functional(f"{group}: {column.name}", label, weights)
        for label, weights in zip(attribute.labels, sums[group], strict=True):
            yield Functional(group, label, weights)
    if domain.public is not None:
        for cell, label in zip(np.eye(a1 * a2), domain.labels, strict=True):
            yield Functional("joint", label, cell)
