"""Listings: all ways to share out whole numbers, all subsets of the inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.validate import Array


def compositions(n: int, parts: int) -> NDArray[np.int64]:
    """List all ways to write n as an ordered sum of ``parts`` whole numbers ≥ 0, one per row.

    There are C(n + parts − 1, parts − 1), in lexicographic order; each step splits what is left of
    every row so far.

    >>> compositions(2, 2)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    rows, left = np.zeros((1, 0), np.int64), np.array([n], np.int64)
    for _ in range(parts - 1):
        repeats = left + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = np.arange(repeats.sum()) - starts
        rows = np.hstack([np.repeat(rows, repeats, axis=0), taken[:, None]])
        left = np.repeat(left, repeats) - taken
    return np.hstack([rows, left[:, None]])


def subsets(k: int) -> Array:
    """Return all subsets of k values as the rows of a 0/1 matrix, 2^k of them.

    >>> subsets(2)
    array([[0., 0.],
           [0., 1.],
           [1., 0.],
           [1., 1.]])
    """
    bits = (np.arange(2**k)[:, None] >> np.arange(k)[::-1]) & 1
    return bits.astype(np.float64)
