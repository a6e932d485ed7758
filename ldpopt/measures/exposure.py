"""Exposure: which fraction of the users shares its data with too few others.

Bravo-Hermsdorff et al. 2022. A value v of probability p(v) < t hides its owner among fewer than t·n of n
users. The *exposure* Q(t) is the probability of such values. Everywhere here *strict* means p < t, as
Definition 1 prints; the non-strict version p ≤ t, which Proposition 13 needs, is called
``exposure_at_most``.

Information is measured in nats.

Why no estimator of the exposure converges (Bravo-Hermsdorff et al. 2022, Theorems 6 and 12).

Two distributions that n samples hardly tell apart have exposures that differ by nearly 1/s at one
threshold. The proof sets ε = (s − 1)/(s² n) and bounds n·KL by 2, while its Theorem 12 asks for at most
log 2. The divergence of the pair is of the order 1/n², so the condition does hold from some n on: it is
computed here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from ldpopt.core import validate
from ldpopt.core.validate import Array, InvalidInputError
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
        """Compute Q(t), strict: the probability of the values with p < t."""
        return self._steps(t, "left")

    def at_most(self, t: ArrayLike) -> Array:
        """Compute the probability of the values with p ≤ t."""
        return self._steps(t, "right")

    def _steps(self, t: ArrayLike, side: Any) -> Array:
        place = np.searchsorted(self.thresholds, np.asarray(t, np.float64), side=side)
        return np.concatenate([[0.0], self.exposures])[place]


def exposure_curve(p: ArrayLike) -> ExposureCurve:
    """Compute the exposure at every threshold at once.

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
    """Compute Q(t) = Σ_v p(v) 1{p(v) < t}, strict (Bravo-Hermsdorff et al. 2022, (1)).

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
    """Compute Σ_v p(v) 1{p(v) ≤ t}: the non-strict exposure.

    >>> exposure_at_most([0.5, 0.25, 0.25], 0.25)
    0.5
    """
    return _scalar(exposure_curve(p).at_most(_thresholds(t)))


# ---------------------------------------------------------------- exposure of data


def exposure_of_table(table: Any, columns: Any, t: Any) -> Any:
    """Compute Q(t) of the empirical joint distribution of some columns.

    Bravo-Hermsdorff et al. 2022, (1) and (2).

    Args:
        table: a pandas or polars data frame, a dictionary of columns, or a matrix with a user per row.
        columns: the names (or, for a matrix, the numbers) of the columns; None for all.
        t: one threshold in [0, 1], or several.

    >>> exposure_of_table([(1, 0)] * 4 + [(0, 0)] + [(0, 1)] * 4, None, 1 / 8)
    0.1111111111111111
    """
    return _scalar(exposure_curve_of_table(table, columns)(_thresholds(t)))


def exposure_curve_of_table(table: Any, columns: Any = None) -> ExposureCurve:
    """Compute the exposure curve of the empirical joint distribution of some columns."""
    # counts, not masses, are added up: the exposure of data is an exact fraction of the users
    sizes, groups = np.unique(group_sizes(table, columns), return_counts=True)
    users = np.cumsum(sizes * groups)
    return ExposureCurve(sizes / users[-1], users / users[-1])


def anonymity_level(table: Any, columns: Any = None) -> int:
    """Compute the largest k for which the columns are k-anonymous: the size of the smallest group.

    >>> anonymity_level([(1, 0)] * 4 + [(0, 0)] + [(0, 1)] * 4)
    1
    """
    return int(group_sizes(table, columns).min())


# ---------------------------------------------------------------- exposure from a sample (Theorem 5)


class Interval(NamedTuple):
    """Two numbers with a quantity in between."""

    low: float
    high: float


def exposure_interval(
    p_hat: ArrayLike, t: float, samples: int, *, support: int | None = None, delta: float = 0.05
) -> Interval:
    """Enclose the true exposure with probability 1 − delta, given a sample's frequencies.

    Q̂(t−γ) − γ|V| ≤ Q(t) ≤ Q̂(t+γ) + γ|V| with γ = √(log(2|V|/δ) / 2n) (Bravo-Hermsdorff et al. 2022,
    Theorem 5; corrected: the two-sided Hoeffding bound of its proof needs log(2|V|/δ), not log(|V|/δ)).

    Args:
        p_hat: the frequencies of the sample.
        t: the threshold, in [0, 1].
        samples: n, the size of the sample.
        support: |V|, how many values are possible, if more than p_hat lists.
        delta: δ, the probability with which the interval may be wrong.

    >>> exposure_interval([0.5, 0.3, 0.2], 0.4, 10_000).high < 0.55
    True
    """
    frequencies = validate.distribution("p_hat", p_hat)
    values = read_support(support, len(frequencies))
    gamma = deviation(samples, values, delta)
    curve, threshold = exposure_curve(frequencies), float(_thresholds(t))
    low, high = (float(curve(threshold + sign * gamma) + sign * gamma * values) for sign in (-1, 1))
    return Interval(max(0.0, low), min(1.0, high))


def deviation(samples: int, support: int, delta: float) -> float:
    """Compute the γ within which all frequencies of n samples are right, with probability 1 − δ.

    Args:
        samples: n.
        support: |V|, how many values are possible.
        delta: δ, between 0 and 1.

    >>> round(deviation(10_000, 4, 0.05), 6)
    0.01593
    """
    n = validate.whole_number("samples", samples, 1)
    values = validate.whole_number("support", support, 1)
    return math.sqrt(math.log(2 * values / validate.share("delta", delta)) / (2 * n))


def samples_needed(gamma: float, support: int, delta: float) -> int:
    """Compute the fewest samples for which :func:`deviation` is at most gamma.

    Args:
        gamma: γ, > 0.
        support: |V|, how many values are possible.
        delta: δ, between 0 and 1.

    >>> samples_needed(0.01, 4, 0.05)
    25376
    """
    gamma = validate.positive_number("gamma", gamma)
    return math.ceil(deviation(1, support, delta) ** 2 / gamma**2)


# ---------------------------------------------------------------- exposure and entropy


def entropy_from_curve(curve: ExposureCurve) -> float:
    """Compute H = ∫₀¹ Q(t)/t dt exactly, step by step (Bravo-Hermsdorff et al. 2022, Proposition 9).

    >>> round(entropy_from_curve(exposure_curve([0.5, 0.25, 0.25])), 12)
    1.03972077084
    """
    ends = np.append(curve.thresholds[1:], 1.0)
    return float((curve.exposures * np.log(ends / curve.thresholds)).sum())


def entropy_bound(entropy: float, t: float) -> float:
    """Bound Q(t), and the non-strict exposure, by H / (−log t).

    Bravo-Hermsdorff et al. 2022, Proposition 9.

    >>> entropy_bound(8 * math.log(2), 2**-16)
    0.5
    """
    if not entropy >= 0:
        raise InvalidInputError(f"entropy must be >= 0, not {entropy}")
    return min(1.0, entropy / -math.log(validate.share("t", t)))


def entropy_bound_example(t: float, copies: int) -> Array:
    """Build a distribution that shows Proposition 9 to be tight up to 1/e in the entropy.

    It has ``copies`` values of probability t and one with the rest: for B = −copies·t·log t its
    *non-strict* exposure at t is B/(−log t) and H ≤ B + 1/e (Bravo-Hermsdorff et al. 2022, Proposition
    13; with the strict Q(t) of Definition 1, as printed, it would be 0).

    >>> exposure_at_most(entropy_bound_example(0.125, 3), 0.125)
    0.375
    """
    m = validate.whole_number("copies", copies, 1)
    if not (0 < t < 1 and 1 - m * t > t):
        raise InvalidInputError(
            f"copies must leave a value that is more probable than t = {t}, which {m} copies do not"
        )
    return np.append(np.full(m, t), 1 - m * t)


# ---------------------------------------------------------------- composition


def slack_example(c: float, values: int) -> Array:
    """Build a joint distribution of two features that needs (almost) the whole slack c of Theorem 3.

    Both marginals are uniform on m values, so Q_j(1/m) = 0, and every cell off the diagonal has just
    less than c/m²: Q(c/m²) = c (1 − 1/m), where Theorem 3 proves c. So no smaller slack holds for all
    distributions (Bravo-Hermsdorff et al. 2022, Theorem 4, whose own example has a vanishing exposure).

    >>> joint = slack_example(0.5, 100)
    >>> round(exposure(joint.ravel(), 0.5 / 100**2), 9)
    0.495
    """
    m, c = validate.whole_number("values", values, 2), validate.share("c", c)
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


def read_support(support: int | None, seen: int) -> int:
    """Read how many values are possible: at least those that were seen."""
    values = seen if support is None else validate.whole_number("support", support, 1)
    if values < seen:
        raise InvalidInputError(
            f"support must be at least {seen}, the number of values seen, not {values}"
        )
    return values


def read_counts(counts: ArrayLike, support: int | None) -> Array:
    """Read how often each possible value was seen."""
    seen = validate.array("counts", counts, 1)
    if (seen < 0).any() or (seen % 1).any() or not seen.any():
        raise InvalidInputError(
            f"counts must be whole numbers >= 0, one of them > 0, not {counts!r:.80}"
        )
    return np.pad(seen, (0, read_support(support, len(seen)) - len(seen)))


def le_cam_bound(p0: ArrayLike, p1: ArrayLike, samples: int, distance: float) -> float:
    """Bound the minimax risk of n samples from below by distance/4 · e^{−n KL(p0‖p1)}.

    Theorem 12 is the case n KL ≤ log 2, with 1/16 where this has 1/8. For an estimate f of θ,
    d(θ0, θ1) ≤ d(f, θ0) + d(f, θ1), so the mean of the two risks is at least d/2 · (1 − TV of the n
    samples), and 1 − TV ≥ e^{−n KL}/2 (Bretagnolle and Huber).

    Args:
        p0: a distribution.
        p1: another one on the same values.
        samples: n.
        distance: d(θ(p0), θ(p1)) of what is estimated, d a semi-metric with the triangle inequality.

    >>> le_cam_bound([0.5, 0.5], [0.5, 0.5], 10, 1.0)
    0.25
    """
    a, b = validate.distribution("p0", p0), validate.distribution("p1", p1)
    if len(a) != len(b):
        raise InvalidInputError(f"p0 and p1 must have equally many entries, not {len(a)} and {len(b)}")
    n = validate.whole_number("samples", samples, 1)
    if not (math.isfinite(distance) and distance >= 0):
        raise InvalidInputError(f"distance must be a number >= 0, not {distance!r}")
    return distance / 4 * math.exp(-n * float(rel_entr(a, b).sum()))


class HardPair(NamedTuple):
    """Two distributions on s + 1 values, and the threshold at which their exposures differ.

    Attributes:
        p0: s values just below the threshold.
        p1: the same values just above it.
        threshold: between them.
        distance: Q of p0 less Q of p1 there: 1/s − s ε.
        risk: no estimator of n samples has a smaller expected error on both, by :func:`le_cam_bound`.
    """

    p0: Array
    p1: Array
    threshold: float
    distance: float
    risk: float


def hard_pair(s: int, samples: int) -> HardPair:
    """Build the pair of the proof of Theorem 6: as n grows, its risk nears 1/(4s), above 1/(16s).

    The theorem speaks of s values, its proof of s + 1; so for s values its bound is 1/(16(s − 1)).

    Args:
        s: how many values lie at the threshold, at least 2.
        samples: n.

    >>> pair = hard_pair(3, 10**6)
    >>> round(4 * 3 * pair.risk, 4)
    1.0
    """
    s, n = validate.whole_number("s", s, 2), validate.whole_number("samples", samples, 1)
    epsilon = (s - 1) / (s * s * n)
    p1 = np.append(np.full(s, 1 / s**2), (s - 1) / s)
    p0 = np.append(np.full(s, 1 / s**2 - epsilon), (s - 1) / s + s * epsilon)
    threshold = 1 / s**2 - epsilon / 2
    distance = float(exposure(p0, threshold)) - float(exposure(p1, threshold))
    return HardPair(p0, p1, threshold, distance, le_cam_bound(p0, p1, n, distance))
