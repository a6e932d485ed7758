"""Contingency tables of real data: a secret attribute against a public one.

The tables are counted from the training part of the Adult census data by `tools/count_adult.py`
and travel with the package; `source()` names their origin and licence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError, UnknownNameError
from ldpopt.core.validate import Cleaned, Whole
from ldpopt.tables.census import EMBEDDED, census_features, census_tables


@dataclass(frozen=True, eq=False)
class ContingencyTable(Cleaned):
    """How many people have each pair of a secret and a public value.

    `counts[s, u]` belongs to `secret_values[s]` and `public_values[u]`; the array is read-only.

    Raises:
        InvalidInputError: the counts are not whole numbers >= 0, one per pair of values.
    """

    name: str
    secret: str
    public: str
    secret_values: tuple[str, ...]
    public_values: tuple[str, ...]
    counts: Whole

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        counts = np.array(self.counts)
        shape = (len(self.secret_values), len(self.public_values))
        if counts.shape != shape:
            raise InvalidInputError(
                f"counts of {self.name} must have the shape {shape}, not {counts.shape}"
            )
        if counts.dtype.kind not in "iu" or counts.min() < 0:
            raise InvalidInputError(
                f"counts of {self.name} must be whole numbers >= 0, not {self.counts!r:.80}"
            )
        counts = counts.astype(np.int64)
        counts.flags.writeable = False
        return {"counts": counts}

    @property
    def n(self) -> int:
        """The number of people counted."""
        return int(self.counts.sum())

    def distribution(self) -> NDArray[np.float64]:
        """Return the empirical joint distribution `p[s, u]`."""
        return self.counts / self.n


def tables() -> list[str]:
    """List the names of the tables, secret attribute first.

    >>> tables()[0]
    'sex-race'
    """
    return list(census_tables()["tables"])


@cache
def table(name: str) -> ContingencyTable:
    """Return a table by its name.

    >>> table("sex-race").secret_values
    ('Female', 'Male')
    >>> table("sex-race").n
    32561

    Raises:
        UnknownNameError: if no table has this name.
    """
    if name not in tables():
        raise UnknownNameError("table", name, tables())
    entry = census_tables()["tables"][name]
    return ContingencyTable(
        name=name,
        secret=entry["secret"],
        public=entry["public"],
        secret_values=tuple(entry["secret_values"]),
        public_values=tuple(entry["public_values"]),
        counts=np.array(entry["counts"]),
    )


def source() -> str:
    """Cite the data, with its licence and what was changed.

    >>> source().startswith("Becker, B. & Kohavi, R. (1996). Adult")
    True
    """
    entry = census_tables()
    return (
        f"{entry['citation']} {entry['source']} Licence: {entry['licence']}. Changes: {entry['changes']}"
    )


@dataclass(frozen=True, eq=False)
class Features:
    """Features of the same people: how often each value occurs, and some of them jointly.

    ``counts[name][i]`` belongs to ``values[name][i]``; ``joint`` has an axis per name in
    ``joint_names``.
    """

    values: dict[str, tuple[str, ...]]
    counts: dict[str, Whole]
    joint_names: tuple[str, ...]
    joint: Whole

    def marginal(self, name: str) -> NDArray[np.float64]:
        """Return the empirical distribution of a feature.

        Raises:
            UnknownNameError: if no feature has this name.
        """
        if name not in self.counts:
            raise UnknownNameError("feature", name, self.counts)
        counts = self.counts[name]
        return counts / counts.sum()

    def joint_distribution(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the joint distribution of some of ``joint_names``, flattened."""
        for name in names:
            if name not in self.joint_names:
                raise UnknownNameError("joint feature", name, self.joint_names)
        others = tuple(i for i, name in enumerate(self.joint_names) if name not in names)
        counts = self.joint.sum(axis=others)
        return (counts / counts.sum()).ravel()


@cache
def adult_features() -> Features:
    """Count the features of the Adult training data, four of them jointly.

    Bravo-Hermsdorff et al. 2022, Figure 2.

    >>> adult_features().joint_names
    ('sex', 'income', 'race', 'workclass')
    >>> int(adult_features().joint.sum())
    32561
    """
    document = census_features()
    single, joint = document["features"], document["joint"]
    names = tuple(joint["features"])
    shape = tuple(len(single[name]["values"]) for name in names)
    return Features(
        values={name: tuple(entry["values"]) for name, entry in single.items()},
        counts={name: np.array(entry["counts"]) for name, entry in single.items()},
        joint_names=names,
        joint=np.array(joint["counts"]).reshape(shape),
    )


def people(name: str) -> dict[str, Any]:
    """List the columns of an embedded table, a row per person in a fixed random order.

    Args:
        name: "adult", or "adult:PAIR" for one of :func:`tables`.

    >>> sorted(people("adult:sex-race"))
    ['race', 'sex']
    """
    if name == EMBEDDED:
        features = adult_features()
        names, counts = features.joint_names, features.joint
        values = [features.values[column] for column in names]
    else:
        pair = table(name.removeprefix(f"{EMBEDDED}:"))
        names, counts = (pair.secret, pair.public), pair.counts
        values = [pair.secret_values, pair.public_values]
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(counts.size), counts.ravel()))
    codes = np.unravel_index(order, counts.shape)
    columns = [np.array(v, dtype=object)[c] for v, c in zip(values, codes, strict=True)]
    return dict(zip(names, columns, strict=True))
