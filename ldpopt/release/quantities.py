"""Estimate quantities that are linear functions of frequencies, with standard errors and intervals.

The mean of a number is Σ_v s_v f_v, f_v the frequency of the value v and s_v its number: a linear
function c·P of the distribution P of the inputs, as a frequency is. It is estimated without bias by the
mean over the reports of an a with W a = c; where no a has W a = c, the reports do not determine it. The
interval is the normal one around the estimate, cut to what is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.quantiles import normal_quantile
from ldpopt.core.validate import Array
from ldpopt.measures.frequency_intervals import LEVEL
from ldpopt.mechanisms.randomizer import Linear, Randomizer, Values
from ldpopt.release.accuracy import Group


class Asked(NamedTuple):
    """A quantity that is wanted.

    Attributes:
        name: what it is, in words.
        weights: c of c·P, an entry for each input.
    """

    name: str
    weights: Array


@dataclass(frozen=True)
class Quantity:
    """An estimated quantity.

    Attributes:
        name: what it is, in words.
        low, high: the interval, cut to the least and the greatest that is possible.
        determined: whether the reports determine it; otherwise the interval is all that is possible.
        estimate: the unbiased estimate; None where it is not determined.
        standard_error: its standard error, by the spread of the reports.
    """

    name: str
    low: float
    high: float
    determined: bool
    estimate: float | None = None
    standard_error: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return what is known, as plain data."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Quantities(NamedTuple):
    """Estimated quantities and their covariance, not a number where one is not determined."""

    rows: tuple[Quantity, ...]
    covariance: Array


def mean_of(group: Group) -> Asked:
    """Ask for the mean of the numbers that the values of a column stand for."""
    assert group.scores is not None
    return Asked(f"mean of {group.columns}", group.scores[group.codes])


def quantities(
    of: Randomizer, tally: NDArray[np.int64], asked: Sequence[Asked], level: float
) -> Quantities:
    """Estimate quantities from reports.

    A quantity is determined if the interval at :data:`LEVEL`, not cut, is shorter than what is possible:
    otherwise the reports say less than is known without them.

    Args:
        of: the mechanism that made the reports.
        tally: how often each was made.
        asked: what is wanted.
        level: the probability with which the interval of one quantity covers it.
    """
    weights = np.vstack([one.weights for one in asked])
    least, most = weights.min(axis=1), weights.max(axis=1)
    unit = np.where(most > least, most - least, 1.0)
    # as shares of what is possible, so that numbers of any size are solved to the same precision
    shares, codes = np.unique((weights - least[:, None]) / unit[:, None], axis=1, return_inverse=True)
    (found,) = of.moments(tally, [Linear(Values(codes.ravel(), shares.shape[1]), shares)])
    errors = np.sqrt(found.spread)
    known = found.estimates.known & (2 * normal_quantile((1 - LEVEL) / 2) * errors < 1)
    mean, half = found.estimates.mean, normal_quantile((1 - level) / 2) * errors
    low = least + unit * np.where(known, np.clip(mean - half, 0, 1), 0.0)
    high = least + unit * np.where(known, np.clip(mean + half, 0, 1), 1.0)
    rows = []
    for i, one in enumerate(asked):
        row = Quantity(one.name, float(low[i]), float(high[i]), bool(known[i]))
        if row.determined:
            value, error = least[i] + unit[i] * mean[i], unit[i] * errors[i]
            row = replace(row, estimate=float(value), standard_error=float(error))
        rows.append(row)
    covariance = np.outer(unit, unit) * found.covariance()
    return Quantities(tuple(rows), np.where(np.outer(known, known), covariance, np.nan))
