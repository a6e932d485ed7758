"""Compute tails and quantiles of the normal, χ² and beta distributions.

They are those of ``scipy.stats``, to the last bit. Importing that takes a third of a second, which every
command would wait for; ``scipy.special`` is imported anyway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ldpopt.core.validate import Array


def normal_quantile(tail: float) -> float:
    """Compute the x that a standard normal variable exceeds with the probability ``tail``.

    >>> round(normal_quantile(0.025), 4)
    1.96
    """
    return float(-special.ndtri(tail))


def chi2_quantile(tail: float, degrees: float) -> float:
    """Compute the x that a χ² variable exceeds with the probability ``tail``.

    >>> round(chi2_quantile(0.05, 3), 4)
    7.8147
    """
    return float(special.chdtri(degrees, tail))


def chi2_tail(x: float, degrees: float) -> float:
    """Compute the probability that a χ² variable exceeds x.

    >>> round(chi2_tail(7.8147, 3), 4)
    0.05
    """
    return float(special.chdtrc(degrees, x))


def least_share(tail: float, hits: ArrayLike, trials: ArrayLike) -> Array:
    """Compute the lower Clopper–Pearson bound of a probability: it holds with probability 1 − ``tail``.

    Args:
        tail: the probability of an error.
        hits: how often the event was seen.
        trials: how often it could have been seen.

    >>> float(least_share(0.05, 0, 10)), round(float(least_share(0.05, 10, 10)), 4)
    (0.0, 0.7411)
    """
    seen, missed = np.asarray(hits), np.asarray(trials) - np.asarray(hits)
    return np.where(seen > 0, special.betaincinv(np.maximum(seen, 1), missed + 1, tail), 0.0)


def greatest_share(tail: float, hits: ArrayLike, trials: ArrayLike) -> Array:
    """Compute the upper Clopper–Pearson bound of a probability: it holds with probability 1 − ``tail``.

    Args:
        tail: the probability of an error.
        hits: how often the event was seen.
        trials: how often it could have been seen.
    """
    seen, missed = np.asarray(hits), np.asarray(trials) - np.asarray(hits)
    return np.where(missed > 0, special.betainccinv(seen + 1, np.maximum(missed, 1), tail), 1.0)


def hypergeometric_tail(hits: int, drawn: int, marked: int, size: int) -> float:
    """Compute the probability to draw at least so many marked ones, without putting any back.

    >>> round(hypergeometric_tail(2, 2, 2, 4), 12) == round(1 / 6, 12)
    True

    Args:
        hits: how many of those that are drawn are marked.
        drawn: how many are drawn.
        marked: how many are marked.
        size: how many there are.
    """
    from scipy.stats import hypergeom  # scipy.special has no such law

    return float(hypergeom.sf(hits - 1, size, marked, drawn))


def binomial(trials: int, chance: float) -> Array:
    """Compute the probabilities of 0, 1, … hits in so many trials.

    >>> binomial(2, 0.5).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    from scipy.stats import binom  # scipy.special has no such law that is precise for many trials

    return np.asarray(binom.pmf(np.arange(trials + 1), trials, chance))
