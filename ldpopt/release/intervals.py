"""One estimate and one interval for each frequency by itself; the intervals cover as stated.

A frequency c·P, c of entries 0 and 1, is estimated by the mean over the reports of an a with W a = c:
without bias, whatever P is. Of all such a it is the one of least variance under the law of reports of a
plain first estimate of P. With g = W(a ∘ a) the variance of one a is Σ_x P_x g_x − v², v = c·P, and
Σ_x P_x g_x = v g¹ + (1 − v) g⁰ with the means of g over the inputs that have the value and over those
that do not. The interval holds the v with

    (mean of a − v)² ≤ z² (v g¹ + (1 − v) g⁰ − v²)/n,

a quadratic inequality: the score interval, which is Wilson's where the data are released as they are.
The variance is taken at v, not at the estimate, so it does not vanish where a value was never seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.quantiles import normal_quantile
from ldpopt.core.validate import Array
from ldpopt.mechanisms.stated import StatedEncoding
from ldpopt.release.accuracy import are_determined, unbiased_weights


class Estimates(NamedTuple):
    """An estimate with its interval for each functional, and whether the reports determine it."""

    value: Array
    low: Array
    high: Array
    determined: NDArray[np.bool_]


def score_intervals(W: Array, counts: NDArray[np.int64], functionals: Array, level: float) -> Estimates:
    """Estimate frequencies, each with an interval that holds by itself with about the given probability.

    Args:
        W: the mechanism W[x, y].
        counts: how often each report was made, an entry per output; not all 0.
        functionals: c, one per row, of entries 0 and 1.
        level: the probability with which the interval of one frequency covers it.

    >>> found = score_intervals(np.eye(2), np.array([0, 10]), np.eye(2), 0.95)  # Wilson's interval
    >>> found.low.round(3).tolist(), found.high.round(3).tolist()
    ([0.0, 0.722], [0.278, 1.0])
    """
    used = W.any(axis=0)
    W, seen = W[:, used], counts[used]
    n = int(seen.sum())
    P = _first_estimate(W, seen / n)
    a = unbiased_weights(W, functionals, P @ W)
    determined = are_determined(W, functionals, a)
    mean = a @ (seen / n)
    inside = functionals > 0.5
    g = (a**2) @ W.T
    g1, g0 = _mean_over(g, P, inside), _mean_over(g, P, ~inside)
    value, low, high = _solved(mean, g1, g0, n, level)
    return Estimates(value, low, high, determined)


def encoded_intervals(
    of: StatedEncoding, mean: Array, sizes: NDArray[np.int64], n: int, level: float
) -> Estimates:
    """Return the same for an encoding, from the unbiased estimates of sets of inputs.

    The second moments g¹ and g⁰ of an encoding depend on the number of inputs in the set alone.

    Args:
        of: the encoding.
        mean: the sum of the estimates of the inputs of each set.
        sizes: how many inputs each set has.
        n: the number of reports.
        level: the probability with which the interval of one frequency covers it.
    """
    g1, g0 = of.squares(sizes.astype(float))
    value, low, high = _solved(mean, g1, g0, n, level)
    return Estimates(value, low, high, np.full(len(mean), True))


def _solved(mean: Array, g1: Array, g0: Array, n: int, level: float) -> Array:
    """Solve the quadratic inequality; return the estimates and the ends, cut to [0, 1]."""
    share = normal_quantile((1 - level) / 2) ** 2 / n
    middle = (mean + share * (g1 - g0) / 2) / (1 + share)
    square = middle**2 - (mean**2 - share * g0) / (1 + share)
    half = np.sqrt(np.maximum(square, 0.0))
    return np.clip([mean, middle - half, middle + half], 0, 1)


def _first_estimate(W: Array, shares: Array) -> Array:
    """Estimate P from the shares of the reports, and keep a touch of every input."""
    k = len(W)
    law = np.full(k, 1 / k) @ W
    plain = unbiased_weights(W, np.eye(k), law) @ shares
    positive = np.maximum(plain, 0.0)
    mass = positive.sum()
    found = positive / mass if mass > 0 else np.full(k, 1 / k)
    return 0.9 * found + 0.1 / k


def _mean_over(g: Array, P: Array, inside: NDArray[np.bool_]) -> Array:
    weights = np.where(inside, P, 0.0)
    mass = weights.sum(axis=1)
    mean: Array = (g * weights).sum(axis=1) / np.where(mass > 0, mass, 1.0)
    return mean
