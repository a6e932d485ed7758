"""Estimate means, cells, shares within groups and their differences, with standard errors and intervals.

The mean of a number is Σ_v s_v f_v, f_v the frequency of the value v and s_v its number; the frequency
of a cell is a sum of those of inputs. Each is a linear function c·P of the distribution P of the inputs,
and estimated without bias by the mean over the reports of an a with W a = c; where no a has W a = c, the
reports do not determine it. A share within a group, or a mean within it, is a ratio c·P / d·P.

A frequency has the interval that :mod:`ldpopt.measures.frequency_intervals` gives every frequency. The
interval of another linear function is the normal one around the estimate. That of a ratio is Fieller's:
the r at which c·P − r d·P, a linear function, is within its own normal interval of 0. That of a
difference of two ratios is normal, with the variance of its linear part (the delta method). All are cut
to what is possible.

In a registry, whose rows are all people that the frequencies are about, the reports alone are random,
not the rows. One report then has the variance E[a²] − Σ_x P_x c_x², not E[a²] − (c·P)².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core.quantiles import normal_quantile
from ldpopt.core.validate import Array
from ldpopt.measures.frequency_intervals import LEVEL, estimated
from ldpopt.mechanisms.randomizer import Linear, Randomizer, Tally, Values


class Share(NamedTuple):
    """A linear function of the distribution, or its ratio to another.

    Attributes:
        weights: c of c·P, an entry from 0 to 1 for each input.
        given: d of the ratio c·P / d·P, at least c; None for c·P itself.
    """

    weights: Array
    given: Array | None = None


class Asked(NamedTuple):
    """A quantity that is wanted: ``low + unit · share``, or ``unit · (share − minus)``.

    Attributes:
        name: what it is, in words.
        share: a linear function, or a ratio; it lies between 0 and 1.
        minus: what is taken from it, for a difference.
        low, unit: what 0 stands for, and how much more 1 stands for.
        binning: how far the quantity of the numbers themselves may be from it, as bins stand for them.
        rounding: the most that random rounding to points adds to the variance of one report, in units of
            ``unit``²; of a registry it is not taken out with the sampling error.
    """

    name: str
    share: Share
    minus: Share | None = None
    low: float = 0.0
    unit: float = 1.0
    binning: float | None = None
    rounding: float = 0.0

    @property
    def is_frequency(self) -> bool:
        """Whether it is the frequency of some inputs, which has the interval of every frequency."""
        weights = self.share.weights
        plain = self.minus is None and self.share.given is None and (self.low, self.unit) == (0, 1)
        return plain and set(np.unique(weights)) == {0.0, 1.0}


@dataclass(frozen=True)
class Quantity:
    """An estimated quantity.

    Attributes:
        name: what it is, in words.
        low, high: the interval, cut to the least and the greatest that is possible.
        determined: whether the reports determine it; otherwise the interval is all that is possible.
        estimate: the estimate, that of a linear function unbiased; None where it is not determined.
        standard_error: its standard error, by the spread of the reports.
        binning: how far the quantity of the numbers themselves may be from that of their bins; the
            interval is about the latter.
    """

    name: str
    low: float
    high: float
    determined: bool
    estimate: float | None = None
    standard_error: float | None = None
    binning: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return what is known, as plain data."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Quantities(NamedTuple):
    """Estimated quantities and their covariance, not a number where one is not determined."""

    rows: tuple[Quantity, ...]
    covariance: Array


def quantities(
    of: Randomizer,
    tally: Tally,
    asked: Sequence[Asked],
    level: float,
    registry: bool = False,
) -> Quantities:
    """Estimate quantities from reports.

    A quantity is determined if the interval at :data:`LEVEL`, not cut, is shorter than what is possible:
    otherwise the reports say less than is known without them.

    Args:
        of: the mechanism that made the reports.
        tally: how often each was made.
        asked: what is wanted.
        level: the probability with which the interval of one quantity covers it.
        registry: whether the rows are all people, not a sample of them.
    """
    linear = _Linear(of, tally, asked, registry)
    places = [i for i, one in enumerate(asked) if one.is_frequency]
    columns = [Values(asked[i].share.weights.astype(np.int64), 2) for i in places]
    wanted = [np.array([False, True])] * len(columns)
    found = estimated(of, tally, columns, level, wanted=wanted, registry=registry).estimates
    scored = {
        i: {name: getattr(own, name)[1].item() for name in ("low", "high", "determined")}
        for i, own in zip(places, found, strict=True)
    }
    z, widest = normal_quantile((1 - level) / 2), normal_quantile((1 - LEVEL) / 2)
    rows, gradients = [], np.zeros((len(asked), len(linear.mean)))
    kept = np.array([one.unit**2 * one.rounding for one in asked]) * registry / of.reported(tally)
    for i, one in enumerate(asked):
        parts = [linear.part(share) for share in (one.share, one.minus) if share is not None]
        sign = 1.0
        for part in parts:
            gradients[i] += sign * one.unit * part.gradient
            sign = -sign
        error = math.sqrt(max(gradients[i] @ linear.covariance @ gradients[i] + kept[i], 0.0))
        least, most = (one.low, one.low + one.unit) if one.minus is None else (-one.unit, one.unit)
        row = Quantity(one.name, least, most, False, binning=one.binning)
        if i in scored:
            row = replace(row, **scored[i])
            if row.determined:
                row = replace(row, estimate=parts[0].value, standard_error=error)
        elif all(part.known for part in parts) and 2 * widest * error < most - least:
            value = one.low + one.unit * parts[0].value
            if one.minus is not None:
                value = one.unit * (parts[0].value - parts[1].value)
            ends = [value - z * error, value + z * error]
            if one.minus is None and one.share.given is not None:
                ends = [one.low + one.unit * end for end in linear.fieller(one.share, z)]
            low, high = np.clip(ends, least, most).tolist()
            row = replace(row, low=low, high=high, determined=True, estimate=value, standard_error=error)
        rows.append(row)
    known = np.array([row.determined for row in rows])
    covariance = gradients @ linear.covariance @ gradients.T + np.diag(kept)
    return Quantities(tuple(rows), np.where(np.outer(known, known), covariance, np.nan))


class _Part(NamedTuple):
    """A share as estimated, with its derivatives by the linear functions."""

    value: float
    gradient: Array
    known: bool


class _Linear:
    """The linear functions of some quantities: estimates, which are known, and their covariance."""

    def __init__(self, of: Randomizer, tally: Tally, asked: Sequence[Asked], registry: bool) -> None:
        listed = [
            weights
            for one in asked
            for share in (one.share, one.minus)
            if share is not None
            for weights in share
            if weights is not None
        ]
        self.rows = np.unique(np.vstack(listed), axis=0)
        # inputs that all functions weigh alike are one value
        coefficients, codes = np.unique(self.rows, axis=1, return_inverse=True)
        values = Values(codes.ravel(), coefficients.shape[1])
        found, cells = of.moments(tally, [Linear(values, coefficients), values])
        self.mean, self.known = found.estimates.mean, found.estimates.known
        self.covariance = found.covariance()
        if registry and cells.estimates.known.all():
            squares = coefficients * cells.estimates.mean @ coefficients.T
            rest = max(of.reported(tally) - 1, 1)
            self.covariance = self.covariance - (squares - np.outer(self.mean, self.mean)) / rest

    def _place(self, weights: Array) -> int:
        return int((self.rows == weights).all(axis=1).argmax())

    def part(self, share: Share) -> _Part:
        """Return a share, known if the reports tell it, and of a ratio that its divisor is not 0."""
        gradient, c = np.zeros(len(self.mean)), self._place(share.weights)
        if share.given is None:
            gradient[c] = 1.0
            return _Part(float(self.mean[c]), gradient, bool(self.known[c]))
        d = self._place(share.given)
        sure = self.mean[d] > normal_quantile((1 - LEVEL) / 2) * math.sqrt(self.covariance[d, d])
        if not (sure and self.known[c] and self.known[d]):
            return _Part(math.nan, gradient, False)
        value = self.mean[c] / self.mean[d]
        gradient[c], gradient[d] = 1 / self.mean[d], -value / self.mean[d]
        return _Part(float(value), gradient, True)

    def fieller(self, share: Share, z: float) -> list[float]:
        """Return the ends of the interval of a ratio, not cut.

        Args:
            share: the ratio, which is known.
            z: the quantile of the normal distribution.
        """
        assert share.given is not None
        c, d = self._place(share.weights), self._place(share.given)
        m, cov = self.mean, z**2 * self.covariance
        square, middle = m[d] ** 2 - cov[d, d], m[c] * m[d] - cov[c, d]
        if square <= 0:  # the divisor may be 0 at this level
            return [-math.inf, math.inf]
        root = math.sqrt(max(middle**2 - square * (m[c] ** 2 - cov[c, c]), 0.0))
        return [float((middle - root) / square), float((middle + root) / square)]
