"""Mechanisms on data sets: histograms of τ records over d categories (Wang et al. 2024, Section V).

The space has C(τ+d−1, d−1) histograms, so nothing here lists it, except ``mechanism()`` on small ones.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array, Cleaned
from ldpopt.mechanisms.listings import compositions

Histogram = NDArray[np.int64]

MOST_LISTED = 20_000


def log_count(tau: int, d: int) -> float:
    """Compute log C(τ+d−1, d−1), the number of histograms.

    >>> round(math.exp(log_count(4, 3)))
    15
    """
    return math.lgamma(tau + d) - math.lgamma(d) - math.lgamma(tau + 1)


def histograms(tau: int, d: int) -> Histogram:
    """Return every histogram of τ records over d categories, one per row, small spaces only.

    >>> histograms(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    if log_count(tau, d) > math.log(MOST_LISTED):
        raise InvalidInputError(
            f"there are e^{log_count(tau, d):.0f} histograms, more than {MOST_LISTED}: too many to list"
        )
    return compositions(tau, d)


def distances(first: ArrayLike, second: ArrayLike) -> Array:
    """Compute the total variation distances between the rows of two lists of histograms."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    gaps = np.abs(a[:, None, :] - b[None, :, :]).sum(axis=2)
    return gaps / 2 / a[0].sum()


def random_histogram(tau: int, d: int, rng: np.random.Generator | int) -> Histogram:
    """Draw a histogram uniformly: d − 1 bars among τ + d − 1 places, in O(τ + d).

    Args:
        tau: the number τ of records.
        d: the number of categories.
        rng: draws the bars.

    >>> int(random_histogram(48842, 22381, np.random.default_rng(0)).sum())
    48842
    """
    rng = np.random.default_rng(rng)
    bars = np.sort(rng.choice(tau + d - 1, d - 1, replace=False, shuffle=False))
    edges = np.concatenate([[-1], bars, [tau + d - 1]])
    return np.diff(edges) - 1


@dataclass(frozen=True)
class HistogramMechanism(Cleaned, ABC):
    """A mechanism from histograms to histograms; the secret is the number of records in category 0."""

    tau: int
    d: int

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        validate.whole_number("tau", self.tau, 1)
        validate.whole_number("d", self.d, 2)
        return {}

    @abstractmethod
    def sml(self) -> float:
        """Compute the statistic maximal leakage, in nats."""

    @abstractmethod
    def distortion(self) -> float:
        """Compute the largest expected total variation distance between data and release (Lemma 1)."""

    @abstractmethod
    def release(self, histogram: ArrayLike, rng: np.random.Generator | int) -> Histogram:
        """Release one data set."""

    @abstractmethod
    def _row(self, histogram: Histogram, space: Histogram) -> Array:
        """Compute the distribution of the release over a listed space."""

    def mechanism(self) -> Mechanism:
        """Build the matrix over all histograms, for small spaces."""
        space = histograms(self.tau, self.d)
        labels = [tuple(row) for row in space.tolist()]
        return Mechanism([self._row(row, space) for row in space], labels, labels)

    def _checked(self, histogram: ArrayLike) -> Histogram:
        counts = np.asarray(histogram)
        whole = counts.shape == (self.d,) and np.issubdtype(counts.dtype, np.integer)
        if not whole or counts.min() < 0 or counts.sum() != self.tau:
            raise InvalidInputError(
                f"a histogram must have {self.d} whole counts >= 0 that sum to {self.tau}, "
                f"not {counts.tolist()!r:.80}"
            )
        return counts.astype(np.int64)


@dataclass(frozen=True)
class HistogramRandomizedResponse(HistogramMechanism):
    """The data itself with e^ε times the probability of any other histogram (Wang et al. 2024, V-B).

    Args:
        tau: the number of records.
        d: the number of categories.
        epsilon: the level; the release is nearly uniform if it is far below log C(τ+d−1, d−1).
        secret_values: how many values the secret can take; its kind does not matter (Theorem 4).

    >>> response = HistogramRandomizedResponse(4, 3, 2.5)
    >>> round(math.exp(response.sml()), 12), round(response.distortion(), 12)
    (2.708392482013, 0.381934586331)
    """

    epsilon: float
    secret_values: int | None = None

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        given = super().cleaned()
        values = self.tau + 1 if self.secret_values is None else self.secret_values
        return {
            **given,
            "epsilon": validate.positive_number("epsilon", self.epsilon),
            "secret_values": validate.whole_number("secret_values", values, 1),
        }

    @property
    def log_r(self) -> float:
        """log r, r = (e^ε − 1)/C(τ+d−1, d−1), without overflow."""
        return self.epsilon + math.log(-math.expm1(-self.epsilon)) - log_count(self.tau, self.d)

    def sml(self) -> float:
        """Compute log (1 + s r)/(1 + r) (Wang et al. 2024, Theorem 4)."""
        s = self.secret_values
        assert s is not None
        return float(np.logaddexp(0.0, math.log(s) + self.log_r) - np.logaddexp(0.0, self.log_r))

    def distortion(self) -> float:
        """Compute (d − 1)/(d (1 + r)) (Wang et al. 2024, Theorem 4)."""
        return (self.d - 1) / self.d * math.exp(-np.logaddexp(0.0, self.log_r))

    def release(self, histogram: ArrayLike, rng: np.random.Generator | int) -> Histogram:
        """Release the data with probability r/(1+r), else a uniform histogram."""
        rng = np.random.default_rng(rng)
        data = self._checked(histogram)
        keep = math.exp(self.log_r - np.logaddexp(0.0, self.log_r))
        return data if rng.random() < keep else random_histogram(self.tau, self.d, rng)

    def _row(self, histogram: Histogram, space: Histogram) -> Array:
        same = (space == histogram).all(axis=1)
        weights = np.where(same, math.exp(self.epsilon), 1.0)
        return weights / weights.sum()

    @classmethod
    def for_leakage(cls, tau: int, d: int, sml: float) -> HistogramRandomizedResponse:
        """Create the response whose SML is the given one, below log(τ + 1).

        Args:
            tau: the number τ of records.
            d: the number of categories.
            sml: the statistic maximal leakage, in nats; above 0 and below log(τ + 1).

        >>> round(HistogramRandomizedResponse.for_leakage(48842, 22381, 3.0).sml(), 9)
        3.0
        """
        target = validate.positive_number("sml", sml)
        if target >= math.log(tau + 1):
            raise InvalidInputError(
                f"sml must be below log(tau + 1) = {math.log(tau + 1):.6g}, not {sml}"
            )
        log_r = math.log(math.expm1(target)) - math.log(tau + 1 - math.exp(target))
        log_product = log_r + log_count(tau, d)  # log(e^ε − 1)
        return cls(tau, d, float(np.logaddexp(0.0, log_product)))


def response_distortion(tau: int, d: int, budget: float) -> float:
    """Compute the distortion of randomised response at a leakage budget, the ends included.

    Args:
        tau: the number τ of records.
        d: the number of categories.
        budget: the statistic maximal leakage, in nats: a uniform histogram at 0, the data themselves
            from log(τ + 1) on.

    >>> response_distortion(4, 3, 0.0) > response_distortion(4, 3, 1.0) > response_distortion(4, 3, 2.0)
    True
    """
    if budget == 0:
        return (d - 1) / d
    if budget >= math.log(tau + 1):
        return 0.0
    return HistogramRandomizedResponse.for_leakage(tau, d, budget).distortion()


@dataclass(frozen=True)
class HistogramQuantization(HistogramMechanism):
    """A uniform histogram among those with the middle secret of the data's bin (Wang et al. 2024, V-B).

    The values 0 … τ of the secret are cut into bins of ``interval``; the bin of 0-based number k
    releases the value kI + ⌊I/2⌋, or τ if the last bin is so short that this exceeds it (corrected).

    >>> [HistogramQuantization(6, 3, interval).bins for interval in range(1, 8)]
    [7, 4, 3, 2, 2, 2, 1]
    >>> round(HistogramQuantization(6, 3, 1).distortion(), 12)
    0.5
    """

    interval: int

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        given = super().cleaned()
        validate.whole_number("interval", self.interval, 1)
        if self.interval > self.tau + 1:
            raise InvalidInputError(
                f"interval must be at most tau + 1 = {self.tau + 1}, not {self.interval}"
            )
        return given

    @property
    def bins(self) -> int:
        """How many bins there are: ⌈(τ+1)/I⌉."""
        return -(-(self.tau + 1) // self.interval)

    def released_value(self, value: int) -> int:
        """Return the secret of the release for a secret of the data."""
        return min(value // self.interval * self.interval + self.interval // 2, self.tau)

    def sml(self) -> float:
        """Compute log ⌈s/I⌉ (Wang et al. 2024, Theorem 4)."""
        return math.log(self.bins)

    def distortion(self) -> float:
        """Compute 1 − (τ − ⌊I/2⌋)/(τ(d−1)).

        Wang et al. 2024, Theorem 4, corrected: the printed formula is right for d = 2.
        """
        return 1 - (self.tau - self.interval // 2) / (self.tau * (self.d - 1))

    def release(self, histogram: ArrayLike, rng: np.random.Generator | int) -> Histogram:
        """Release the value of the secret's bin in category 0, and the rest as a uniform histogram."""
        value = self.released_value(int(self._checked(histogram)[0]))
        rest = random_histogram(self.tau - value, self.d - 1, rng)
        return np.concatenate([[value], rest])

    def _row(self, histogram: Histogram, space: Histogram) -> Array:
        allowed = space[:, 0] == self.released_value(int(histogram[0]))
        return allowed / allowed.sum()


@dataclass(frozen=True)
class HistogramMaxL(HistogramMechanism):
    """The nearest of a few histograms, one drawn from each bin of the secret: MaxL (Wu et al. 2020).

    Wang et al. 2024, Section VI-A, with Θ' of one member per bin of ``interval`` values. All are kept:
    with the worst-case cost, the stopping rule of the paper ends once no single member lowers the
    largest distance (so it does *not* release the original when Θ' = Θ).
    """

    interval: int
    seed: int = 0

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        HistogramQuantization(self.tau, self.d, self.interval)
        return super().cleaned()

    @cached_property
    def members(self) -> Histogram:
        """The histograms that can be released."""
        rng = np.random.default_rng(self.seed)
        result = []
        for low in range(0, self.tau + 1, self.interval):
            value = _random_value(low, min(low + self.interval, self.tau + 1), self.tau, self.d, rng)
            rest = random_histogram(self.tau - value, self.d - 1, rng)
            result.append(np.concatenate([[value], rest]))
        return np.array(result)

    def sml(self) -> float:
        """Compute the log of the number of members.

        Each is the release of itself, and their secrets differ.
        """
        return math.log(len(self.members))

    def distortion(self) -> float:
        """Compute the largest distance to the nearest member, over all listed histograms."""
        return float(distances(histograms(self.tau, self.d), self.members).min(axis=1).max())

    def distortion_bounds(self) -> tuple[float, float]:
        """Bound the distortion.

        From below by the worst data set with all records in one category; from above by the single
        member whose rarest category is largest.

        TV(θ, a) = 1 − Σ_i min(θ_i, a_i), so a data set in category i alone is at 1 − a_i, and no data
        set is farther from a than 1 − min_i a_i.
        """
        shares = self.members / self.tau
        return 1 - float(shares.max(axis=0).min()), 1 - float(shares.min(axis=1).max())

    def release(self, histogram: ArrayLike, rng: np.random.Generator | int) -> Histogram:
        """Release the nearest member, the first of equals."""
        data = self._checked(histogram)
        nearest = np.abs(self.members - data).sum(axis=1).argmin()
        return self.members[nearest]

    def _row(self, histogram: Histogram, space: Histogram) -> Array:
        released = self.release(histogram, np.random.default_rng(0))
        return (space == released).all(axis=1).astype(np.float64)


def _random_value(low: int, high: int, tau: int, d: int, rng: np.random.Generator) -> int:
    """Draw the secret of a uniform histogram among those with low ≤ secret < high."""
    values = np.arange(low, high)
    if d == 2:
        return int(rng.choice(values))
    rest = tau - values
    weights = gammaln(rest + d - 1) - gammaln(rest + 1)  # log C(rest + d − 2, d − 2), up to a constant
    chances = np.exp(weights - weights.max())
    return int(rng.choice(values, p=chances / chances.sum()))
