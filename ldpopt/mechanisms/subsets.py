"""Subsets of the inputs, listed."""

from __future__ import annotations

import numpy as np

from ldpopt.core.validate import Array


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
