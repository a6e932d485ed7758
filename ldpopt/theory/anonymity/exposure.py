"""Exposure: which fraction of the users shares its data with too few others.

Bravo-Hermsdorff et al. 2022. A value v of probability p(v) < t hides its owner among fewer than t·n of n
users. The *exposure* Q(t) is the probability of such values. Everywhere here *strict* means p < t, as
Definition 1 prints; the non-strict version p ≤ t, which Proposition 13 needs, is called
``exposure_at_most``.

Information is measured in nats.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.tables.codes import group_sizes

# ---------------------------------------------------------------- exposure of a distribution


class ExposureCurve(NamedTuple):
    """The whole function t ↦ Q(t), a step function.

    Attributes:
        thresholds: the distinct positive probabilities, increasing: where Q jumps.
        exposures: ``exposures[i]`` is Q(t) just above ``thresholds[i]``, the probability of all values
            with p ≤ thresholds[i]. Below the first threshold Q is 0.
    """

    thresholds: Array
    exposures: Array

    def __call__(self, t: ArrayLike) -> Array:
        """Q(t), strict: the probability of the values with p < t."""
        return self._steps(t, "left")

    def at_most(self, t: ArrayLike) -> Array:
        """The probability of the values with p ≤ t."""
        return self._steps(t, "right")

    def _steps(self, t: ArrayLike, side: Any) -> Array:
        place = np.searchsorted(self.thresholds, np.asarray(t, np.float64), side=side)
        return np.concatenate([[0.0], self.exposures])[place]


def exposure_curve(p: ArrayLike) -> ExposureCurve:
    """The exposure at every threshold at once.

    >>> exposure_curve([0.5, 0.25, 0.25]).thresholds.tolist()
    [0.25, 0.5]
    >>> exposure_curve([0.5, 0.25, 0.25]).exposures.tolist()
    [0.5, 1.0]
    """
    distribution = np.asarray(validate.distribution("p", p))
    thresholds, counts = np.unique(distribution[distribution > 0], return_counts=True)
    mass = np.cumsum(thresholds * counts)
    return ExposureCurve(thresholds, np.minimum(mass / mass[-1], 1.0))


@overload
def exposure(p: ArrayLike, t: float) -> float: ...
@overload
def exposure(p: ArrayLike, t: list[float] | Array) -> Array: ...
def exposure(p: ArrayLike, t: Any) -> Any:
    """Q(t) = Σ_v p(v) 1{p(v) < t}, strict (Bravo-Hermsdorff et al. 2022, (1)).

    Args:
        p: a distribution.
        t: one threshold in [0, 1], or several.

    >>> exposure([1 / 9, 4 / 9, 4 / 9], 1 / 9)
    0.0
    >>> exposure([1 / 9, 4 / 9, 4 / 9], 1 / 2)
    1.0
    """
    return _scalar(exposure_curve(p)(_thresholds(t)))


def exposure_at_most(p: ArrayLike, t: Any) -> Any:
    """Σ_v p(v) 1{p(v) ≤ t}: the non-strict exposure.

    >>> exposure_at_most([0.5, 0.25, 0.25], 0.25)
    0.5
    """
    return _scalar(exposure_curve(p).at_most(_thresholds(t)))


# ---------------------------------------------------------------- exposure of data


def exposure_of_table(table: Any, columns: Any, t: Any) -> Any:
    """Q(t) of the empirical joint distribution of some columns.

    Bravo-Hermsdorff et al. 2022, (1) and (2).

    Args:
        table: a pandas or polars data frame, a dictionary of columns, or a matrix with a user per row.
        columns: the names (or, for a matrix, the numbers) of the columns; None for all.
        t: one threshold in [0, 1], or several.

    >>> exposure_of_table([(1, 0)] * 4 + [(0, 0)] + [(0, 1)] * 4, None, 1 / 8)
    0.1111111111111111
    """
    return _scalar(_table_curve(table, columns)(_thresholds(t)))


def exposure_curve_of_table(table: Any, columns: Any = None) -> ExposureCurve:
    """The exposure curve of the empirical joint distribution of some columns."""
    return _table_curve(table, columns)


def anonymity_level(table: Any, columns: Any = None) -> int:
    """The largest k for which the columns are k-anonymous: the size of the smallest group.

    >>> anonymity_level([(1, 0)] * 4 + [(0, 0)] + [(0, 1)] * 4)
    1
    """
    return int(group_sizes(table, columns).min())


def _table_curve(table: Any, columns: Any) -> ExposureCurve:
    # counts, not masses, are added up: the exposure of data is an exact fraction of the users
    sizes, groups = np.unique(group_sizes(table, columns), return_counts=True)
    users = np.cumsum(sizes * groups)
    return ExposureCurve(sizes / users[-1], users / users[-1])


# ---------------------------------------------------------------- statistical exposure


def statistical_exposure(p: ArrayLike, n: int, k: int) -> float:
    """The probability that a random user of n i.i.d. ones is less than k-anonymous.

    Q_p(n, k) = Σ_i p_i F(k−2; n−1, p_i), F the binomial distribution function: at most k−2 of the n−1
    others share the value (Bravo-Hermsdorff et al. 2022, Definition 7; App. G, corrected, prints F(k; n,
    p)). The edges: 0 for k ≤ 1 and 1 for k ≥ n+1, where the printed incomplete beta function is not
    defined.

    >>> round(statistical_exposure([0.5, 0.3, 0.2], 8, 3), 8)
    0.24541852
    >>> statistical_exposure([1, 0], 5, 5), statistical_exposure([1, 0], 5, 6)
    (0.0, 1.0)
    """
    distribution = validate.distribution("p", p)
    n, k = validate.whole_number("n", n, 1), validate.whole_number("k", k, 0)
    return float(_statistical(distribution, n, k))


def statistical_exposure_error(p: ArrayLike, p_hat: ArrayLike, n: int, k: int) -> float:
    """A bound on |Q_p(n, k) − Q_p̂(n, k)|: Σ_i L_i |p_i − p̂_i|.

    Bravo-Hermsdorff et al. 2022, Theorem 8, corrected (as printed, C√n ‖p−p̂‖∞, it is false). The
    derivative of x F(k−2; n−1, x) is F − (k−1) b(k−1; n−1, x), hence L_i = max(1, (k−1) max_x b(k−1;
    n−1, x)) over the x between p_i and p̂_i, where b is the binomial mass.

    >>> statistical_exposure_error([1, 0], [0.9999, 0.0001], 100, 100) >= 0.0098
    True
    """
    a, b = validate.distribution("p", p), validate.distribution("p_hat", p_hat)
    if a.shape != b.shape:
        raise InvalidInputError(f"p has {a.size} values, but p_hat has {b.size}")
    n, k = validate.whole_number("n", n, 1), validate.whole_number("k", k, 0)
    slopes = _steepest(np.minimum(a, b), np.maximum(a, b), n, k)
    return float(slopes @ np.abs(a - b))


def statistical_exposure_ceiling(
    p_hat: ArrayLike, n: int, k: int, gamma: float, *, support: int | None = None
) -> float:
    """The most that Q_p(n, k) can be if no p_i is further than γ from p̂_i.

    Σ_i max { x F(k−2; n−1, x) : |x − p̂_i| ≤ γ }: the corrected Theorem 8 of Bravo-Hermsdorff et al.
    2022 before it is linearised, so never above Q_p̂(n, k) + γ Σ L_i. Each term rises to one peak and
    falls after it. Splitting values into finer ones never lowers it.

    Args:
        p_hat: the frequencies of a sample.
        n: the number of users of the future database.
        k: the anonymity asked for there.
        gamma: how far the frequencies may be from the truth, see :func:`deviation`.
        support: how many values are possible, if more than p_hat lists.

    >>> statistical_exposure_ceiling([0.5, 0.5], 100, 10, 0.1) < 1e-12
    True
    >>> statistical_exposure_ceiling([0.5, 0.5, 0], 100, 10, 0.1) > 0.04
    True
    """
    frequencies = validate.distribution("p_hat", p_hat)
    n, k = validate.whole_number("n", n, 1), validate.whole_number("k", k, 0)
    unseen = _support(support, len(frequencies)) - len(frequencies)
    if not 0 <= gamma <= 1:
        raise InvalidInputError(f"gamma must lie in [0, 1], not {gamma}")
    centres = np.append(frequencies, 0.0)
    worst = np.clip(_peak(n, k), np.maximum(centres - gamma, 0), np.minimum(centres + gamma, 1))
    terms = worst * stats.binom.cdf(k - 2, n - 1, worst)
    return min(1.0, float(terms[:-1].sum() + unseen * terms[-1]))


def _peak(n: int, k: int) -> float:
    """Where x F(k−2; n−1, x) is largest: F = (k−1) b(k−1; n−1, x), once between 0 and (k−1)/(n−1)."""
    if not 1 < k <= n:
        return 1.0

    def slope(x: float) -> float:
        return float(stats.binom.cdf(k - 2, n - 1, x) - (k - 1) * stats.binom.pmf(k - 1, n - 1, x))

    return float(optimize.brentq(slope, 0.0, (k - 1) / (n - 1), xtol=1e-15))


def threshold_for_users(n: int, k: int, miss: float) -> float:
    """The t from which on a value hides its owner among n i.i.d. users: F(k−2; n−1, t) = miss.

    A user whose value has p ≥ t is less than k-anonymous with probability at most ``miss``, so
    Q_p(n, k) ≤ Q(t) + miss. What proves Q(t) ≤ budget − miss from the marginals of p (problem
    feature-release, Theorems 2 and 3) thus decides for users yet to come (Bravo-Hermsdorff et al. 2022,
    Section 7).

    >>> t = threshold_for_users(1000, 10, 0.01)
    >>> round(float(stats.binom.cdf(8, 999, t)), 12)
    0.01
    """
    n, k = validate.whole_number("n", n, 1), validate.whole_number("k", k, 2)
    if k > n:
        raise InvalidInputError(f"no value can be shared by {k} of {n} users")
    if not 0 < miss < 1:
        raise InvalidInputError(f"miss must lie between 0 and 1, not {miss}")
    return float(stats.beta.isf(miss, k - 1, n - k + 1))


class SampledExposure(NamedTuple):
    """An estimate of the statistical exposure from a sample.

    Attributes:
        value: the plug-in estimate Q_p̂(n, k).
        low, high: the true value lies between with probability 1 − delta, whatever p is (the corrected
            Theorem 8 with Hoeffding's inequality for every value of the support).
        bootstrap: the percentile interval of the bootstrap at the same level; asymptotic, narrower.
    """

    value: float
    low: float
    high: float
    bootstrap: tuple[float, float]


def estimate_statistical_exposure(
    counts: ArrayLike,
    n: int,
    k: int,
    *,
    support: int | None = None,
    delta: float = 0.05,
    resamples: int = 1000,
    seed: int = 0,
) -> SampledExposure:
    """Estimate Q_p(n, k) from how often each value was seen in a sample of p.

    Args:
        counts: the count of every value.
        n: the number of users of the future database.
        k: the anonymity asked for there.
        support: how many values are possible, if more than were counted.
        delta: the error probability of both intervals.
        resamples: bootstrap samples.
        seed: of the bootstrap.

    >>> estimate = estimate_statistical_exposure([40, 30, 20, 10], 128, 32)
    >>> estimate.low <= estimate.bootstrap[0] <= estimate.value <= estimate.high
    True
    """
    seen = _counts(counts, support)
    n, k, m = validate.whole_number("n", n, 1), validate.whole_number("k", k, 0), int(seen.sum())
    p_hat = seen / m
    gamma = deviation(m, len(seen), delta)
    slopes = _steepest(np.maximum(p_hat - gamma, 0), np.minimum(p_hat + gamma, 1), n, k)
    value, error = float(_statistical(p_hat, n, k)), float(slopes.sum() * gamma)
    draws = (
        np.random.default_rng(seed).multinomial(
            m, p_hat, size=validate.whole_number("resamples", resamples, 1)
        )
        / m
    )
    low, high = np.quantile(_statistical(draws, n, k), [delta / 2, 1 - delta / 2])
    return SampledExposure(
        value, max(0.0, value - error), min(1.0, value + error), (float(low), float(high))
    )


def _statistical(p: Array, n: int, k: int) -> NDArray[np.float64]:
    result: Array = np.asarray((p * stats.binom.cdf(k - 2, n - 1, p)).sum(axis=-1))
    # the sum of a distribution may miss 1 by a rounding error
    return np.minimum(result, 1.0)


def _steepest(low: Array, high: Array, n: int, k: int) -> Array:
    """max(1, (k−1) max b(k−1; n−1, x)) over low ≤ x ≤ high; the mass is unimodal in x."""
    if k <= 1:
        return np.zeros_like(low)
    if k > n:
        return np.ones_like(low)
    mode = np.clip((k - 1) / max(n - 1, 1), low, high)
    return np.maximum(1.0, (k - 1) * stats.binom.pmf(k - 1, n - 1, mode))


# ---------------------------------------------------------------- exposure from a sample (Theorem 5)


class Interval(NamedTuple):
    """Two numbers with a quantity in between."""

    low: float
    high: float


def exposure_interval(
    p_hat: ArrayLike, t: float, samples: int, *, support: int | None = None, delta: float = 0.05
) -> Interval:
    """Where the true exposure lies with probability 1 − delta, given a sample's frequencies.

    Q̂(t−γ) − γ|V| ≤ Q(t) ≤ Q̂(t+γ) + γ|V| with γ = √(log(2|V|/δ) / 2n) (Bravo-Hermsdorff et al. 2022,
    Theorem 5; corrected: the two-sided Hoeffding bound of its proof needs log(2|V|/δ), not log(|V|/δ)).

    >>> exposure_interval([0.5, 0.3, 0.2], 0.4, 10_000).high < 0.55
    True
    """
    frequencies = validate.distribution("p_hat", p_hat)
    values = _support(support, len(frequencies))
    gamma = deviation(samples, values, delta)
    curve, threshold = exposure_curve(frequencies), float(_thresholds(t))
    low, high = (float(curve(threshold + sign * gamma) + sign * gamma * values) for sign in (-1, 1))
    return Interval(max(0.0, low), min(1.0, high))


def deviation(samples: int, support: int, delta: float) -> float:
    """γ: with probability 1 − δ no frequency of n samples is further than this from the truth.

    >>> round(deviation(10_000, 4, 0.05), 6)
    0.01593
    """
    if not 0 < delta < 1:
        raise InvalidInputError(f"delta must lie between 0 and 1, not {delta}")
    n, values = (
        validate.whole_number("samples", samples, 1),
        validate.whole_number("support", support, 1),
    )
    return math.sqrt(math.log(2 * values / delta) / (2 * n))


def samples_needed(gamma: float, support: int, delta: float) -> int:
    """The fewest samples for which :func:`deviation` is at most gamma.

    >>> samples_needed(0.01, 4, 0.05)
    25376
    """
    gamma = validate.positive_number("gamma", gamma)
    return math.ceil(deviation(1, support, delta) ** 2 / gamma**2)


# ---------------------------------------------------------------- exposure and entropy


def entropy_from_curve(curve: ExposureCurve) -> float:
    """H = ∫₀¹ Q(t)/t dt (Bravo-Hermsdorff et al. 2022, Proposition 9), integrated exactly step by step.

    >>> round(entropy_from_curve(exposure_curve([0.5, 0.25, 0.25])), 12)
    1.03972077084
    """
    ends = np.append(curve.thresholds[1:], 1.0)
    return float((curve.exposures * np.log(ends / curve.thresholds)).sum())


def entropy_bound(entropy: float, t: float) -> float:
    """Q(t) ≤ H / (−log t), and so is the non-strict exposure.

    Bravo-Hermsdorff et al. 2022, Proposition 9.

    >>> entropy_bound(8 * math.log(2), 2**-16)
    0.5
    """
    if not 0 < t < 1:
        raise InvalidInputError(f"t must lie between 0 and 1, not {t}")
    if not entropy >= 0:
        raise InvalidInputError(f"entropy must be >= 0, not {entropy}")
    return min(1.0, entropy / -math.log(t))


def entropy_bound_example(t: float, copies: int) -> Array:
    """A distribution that shows the bound of Proposition 9 to be tight up to 1/e in the entropy.

    ``copies`` values of probability t and one with the rest: for B = −copies·t·log t its *non-strict*
    exposure at t is B/(−log t) and H ≤ B + 1/e (Bravo-Hermsdorff et al. 2022, Proposition 13; with the
    strict Q(t) of Definition 1, as printed, it would be 0).

    >>> exposure_at_most(entropy_bound_example(0.125, 3), 0.125)
    0.375
    """
    m = validate.whole_number("copies", copies, 1)
    if not (0 < t < 1 and 1 - m * t > t):
        raise InvalidInputError(f"{m} values of probability {t} leave no value above it")
    return np.append(np.full(m, t), 1 - m * t)


# ---------------------------------------------------------------- composition


def slack_example(c: float, values: int) -> Array:
    """A joint distribution of two features that needs (almost) the whole slack c of Theorem 3.

    Both marginals are uniform on m values, so Q_j(1/m) = 0, and every cell off the diagonal has just
    less than c/m²: Q(c/m²) = c (1 − 1/m), where Theorem 3 proves c. So no smaller slack holds for all
    distributions (Bravo-Hermsdorff et al. 2022, Theorem 4, whose own example has a vanishing exposure).

    >>> joint = slack_example(0.5, 100)
    >>> round(exposure(joint.ravel(), 0.5 / 100**2), 9)
    0.495
    """
    m = validate.whole_number("values", values, 2)
    if not 0 < c < 1:
        raise InvalidInputError(f"c must lie between 0 and 1, not {c}")
    rare = np.nextafter(c / m**2, 0)
    joint = np.full((m, m), rare)
    np.fill_diagonal(joint, 1 / m - (m - 1) * rare)
    return joint


# ---------------------------------------------------------------- input


def _thresholds(t: Any) -> Array:
    try:
        thresholds = np.asarray(t, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"t must be a number or a list of numbers, not {t!r}") from None
    bad = ~((thresholds >= 0) & (thresholds <= 1))
    if bad.any():
        raise InvalidInputError(f"a threshold t must lie in [0, 1], not {thresholds[bad].flat[0]}")
    return thresholds


def _scalar(values: Array) -> Any:
    return float(values) if values.ndim == 0 else values


def _support(support: int | None, seen: int) -> int:
    values = seen if support is None else validate.whole_number("support", support, 1)
    if values < seen:
        raise InvalidInputError(f"support is {values}, but there are {seen} values")
    return values


def _counts(counts: ArrayLike, support: int | None) -> Array:
    seen = validate.array("counts", counts, 1)
    if (seen < 0).any() or (seen % 1).any() or not seen.any():
        raise InvalidInputError("counts must be whole numbers >= 0, not all 0")
    return np.pad(seen, (0, _support(support, len(seen)) - len(seen)))
