"""The estimates and intervals of :mod:`ldpopt.measures.intervals` for encodings without a matrix.

An encoding treats all inputs alike: the second moments of the estimate of a set of inputs depend on the
number of these alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.validate import Array
from ldpopt.measures.intervals import Estimates, solved
from ldpopt.mechanisms.stated import StatedEncoding


def encoded_intervals(
    of: StatedEncoding, mean: Array, sizes: NDArray[np.int64], n: int, level: float
) -> Estimates:
    """Estimate frequencies, each with its score interval.

    Args:
        of: the encoding.
        mean: the sum of the unbiased estimates of the inputs of each set.
        sizes: how many inputs each set has.
        n: the number of reports.
        level: the probability with which the interval of one frequency covers it.
    """
    return solved(mean, *of.squares(sizes.astype(float)), n, level)


def encoded_covariance(of: StatedEncoding, mean: Array, sizes: NDArray[np.int64], n: int) -> Array:
    """Compute the covariance of the estimates of disjoint sets, at these estimates.

    E[a_A a_B] is half of E[a_{A ∪ B}²] − E[a_A²] − E[a_B²], given that the own input lies in A, in B or
    in neither.

    Args:
        of: the encoding.
        mean: the unbiased estimates of the sets, which hold every input once.
        sizes: how many inputs each set has.
        n: the number of reports.
    """
    share, k = np.clip(mean, 0, 1), len(sizes)
    inside, outside = of.squares(sizes.astype(float))
    both = (sizes[:, None] + sizes).astype(float).ravel()
    within, beyond = (part.reshape(k, k) for part in of.squares(both))
    first = (within - inside[:, None] - outside) / 2
    neither = (beyond - outside[:, None] - outside) / 2
    rest = np.clip(1 - share[:, None] - share, 0, 1)
    found = share[:, None] * first + share * first.T + rest * neither - np.outer(share, share)
    np.fill_diagonal(found, of.variances(share, sizes.astype(float)))
    result: Array = found / n
    return result
