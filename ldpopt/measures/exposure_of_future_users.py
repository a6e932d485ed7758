"""Statistical exposure: how many users yet to come will share their data with too few others.

Bravo-Hermsdorff et al. 2022, Section 7, with Theorem 8 corrected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ldpopt.core import validate
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.exposure import deviation, read_counts


def statistical_exposure(p: ArrayLike, n: int, k: int) -> float:
    """Compute the probability that a random user among n i.i.d. users is less than k-anonymous.

    Q_p(n, k) = Σ_i p_i F(k−2; n−1, p_i), F the binomial distribution function: at most k−2 of the n−1
    others share the value (Bravo-Hermsdorff et al. 2022, Definition 7; App. G, corrected, prints F(k; n,
    p)). The edges: 0 for k ≤ 1 and 1 for k ≥ n+1, where the printed incomplete beta function is not
    defined.

    Args:
        p: the distribution of the users' values.
        n: the number of users.
        k: the anonymity asked for.

    >>> round(statistical_exposure([0.5, 0.3, 0.2], 8, 3), 8)
    0.24541852
    >>> statistical_exposure([1, 0], 5, 5), statistical_exposure([1, 0], 5, 6)
    (0.0, 1.0)
    """
    distribution = validate.distribution("p", p)
    n, k = validate.whole_number("n", n, 1), validate.whole_number("k", k, 0)
    return float(_statistical(distribution, n, k))


def statistical_exposure_error(p: ArrayLike, p_hat: ArrayLike, n: int, k: int) -> float:
    """Bound |Q_p(n, k) − Q_p̂(n, k)| by Σ_i L_i |p_i − p̂_i|.

    Bravo-Hermsdorff et al. 2022, Theorem 8, corrected (as printed, C√n ‖p−p̂‖∞, it is false). The
    derivative of x F(k−2; n−1, x) is F − (k−1) b(k−1; n−1, x), hence L_i = max(1, (k−1) max_x b(k−1;
    n−1, x)) over the x between p_i and p̂_i, where b is the binomial mass.

    Args:
        p: the true distribution.
        p_hat: the distribution used in its place.
        n: the number of users.
        k: the anonymity asked for.

    >>> statistical_exposure_error([1, 0], [0.9999, 0.0001], 100, 100) >= 0.0098
    True
    """
    a, b = validate.distribution("p", p), validate.distribution("p_hat", p_hat)
    if a.shape != b.shape:
        raise InvalidInputError(f"p must have {b.size} values, as p_hat has, not {a.size}")
    n, k = validate.whole_number("n", n, 1), validate.whole_number("k", k, 0)
    slopes = _steepest(np.minimum(a, b), np.maximum(a, b), n, k)
    return float(slopes @ np.abs(a - b))


def threshold_for_users(n: int, k: int, miss: float) -> float:
    """Find the t from which on a value hides its owner among n i.i.d. users: F(k−2; n−1, t) = miss.

    A user whose value has p ≥ t is less than k-anonymous with probability at most ``miss``, so
    Q_p(n, k) ≤ Q(t) + miss. What proves Q(t) ≤ budget − miss from the marginals of p (problem
    feature-release, Theorems 2 and 3) thus decides for users yet to come (Bravo-Hermsdorff et al. 2022,
    Section 7).

    Args:
        n: the number of users.
        k: the anonymity asked for, from 2 to n.
        miss: the probability with which such a user may lack it, between 0 and 1.

    >>> t = threshold_for_users(1000, 10, 0.01)
    >>> round(float(stats.binom.cdf(8, 999, t)), 12)
    0.01
    """
    n, k = validate.whole_number("n", n, 1), validate.whole_number("k", k, 2)
    if k > n:
        raise InvalidInputError(f"k must be at most {n}, the number of users, not {k}")
    return float(stats.beta.isf(validate.share("miss", miss), k - 1, n - k + 1))


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
        seed: the seed of the bootstrap.

    >>> estimate = estimate_statistical_exposure([40, 30, 20, 10], 128, 32)
    >>> estimate.low <= estimate.bootstrap[0] <= estimate.value <= estimate.high
    True
    """
    seen = read_counts(counts, support)
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
    """Compute max(1, (k−1) max b(k−1; n−1, x)) over low ≤ x ≤ high; the mass is unimodal in x."""
    if k <= 1:
        return np.zeros_like(low)
    if k > n:
        return np.ones_like(low)
    mode = np.clip((k - 1) / max(n - 1, 1), low, high)
    return np.maximum(1.0, (k - 1) * stats.binom.pmf(k - 1, n - 1, mode))
