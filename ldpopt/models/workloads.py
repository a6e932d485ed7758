"""Linear queries that are asked of a column of many values, or of a table: ``queries`` of a problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ldpopt.core.validate import Array


def prefixes(k: int) -> Array:
    """Return the queries P(X ≤ x) for k ordered inputs, one per row: the distribution function.

    >>> prefixes(3)
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    """
    return np.asarray(np.tri(k))


def ranges(k: int) -> Array:
    """Return k + 1 queries whose error is that of all P(a ≤ X ≤ b) together, to rounding.

    The k(k + 1)/2 ranges are the differences of k + 1 prefixes, that of no input being one, and the
    squares of all differences of vectors add up to their number times those from the mean: the errors of
    both lists depend on the same Σ_i c_i c_iᵀ.

    >>> float((ranges(3) ** 2).sum().round(9))  # of 1 1 1, 1 1, 1 1, 1, 1, 1
    10.0
    """
    vectors = np.vstack([np.zeros(k), prefixes(k)])
    return np.asarray((vectors - vectors.mean(axis=0)) * math.sqrt(k + 1))


def marginals(sizes: Sequence[int], order: int) -> Array:
    """Return the frequencies of all combinations of values of so many columns of a table.

    Args:
        sizes: the numbers of values of the columns; an input is a cell, the last column varying fastest.
        order: how many columns are looked at together.

    >>> marginals([2, 2], 1)
    array([[1., 1., 0., 0.],
           [0., 0., 1., 1.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """
    found = []
    for columns in combinations(range(len(sizes)), order):
        rows: Array = np.ones((1, 1))
        for column, size in enumerate(sizes):
            part = np.eye(size) if column in columns else np.ones((1, size))
            rows = np.kron(rows, part).astype(float)
        found.append(rows)
    return np.vstack(found)
