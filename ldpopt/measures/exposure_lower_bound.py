"""Why no estimator of the exposure converges (Bravo-Hermsdorff et al. 2022, Theorems 6 and 12).

Two distributions that n samples hardly tell apart have exposures that differ by nearly 1/s at one
threshold. The proof sets ε = (s − 1)/(s² n) and bounds n·KL by 2, while its Theorem 12 asks for at most
log 2. The divergence of the pair is of the order 1/n², so the condition does hold from some n on: it is
computed here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.measures.exposure import exposure


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
