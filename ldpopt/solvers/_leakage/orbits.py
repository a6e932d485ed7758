"""Use the symmetries of a leakage program: entries that they exchange may be taken as equal.

Let G be a group of permutations of the rows and columns that keeps costs and secrets. The mean of the
images of a mechanism W under G has no larger cost (a maximum of linear functions is convex), and every
image satisfies the same cuts: so does the mean. So entries of one orbit are one variable, and a dual of
that smaller program is one of the whole program if it is shared equally within orbits and images.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.forms.selections import LeakageProgram
from ldpopt.core.validate import Array


class Orbits:
    """The orbits of entries, rows and columns.

    Attributes:
        entry: the orbit of each entry [θ][y].
        sizes: how many entries each orbit has.
        firsts: a row of each orbit of rows.
        row: the orbit of each row.
        column: the orbit of each column.

    >>> swapped = np.array([[0, 1, 2], [0, 2, 1]])
    >>> form = LeakageProgram(1 - np.eye(3, dtype=int), 1, np.array([0, 1, 1]), 0.5, symmetries=swapped)
    >>> Orbits(form).entry.tolist()
    [[0, 1, 1], [2, 3, 4], [2, 4, 3]]
    """

    def __init__(self, form: LeakageProgram) -> None:
        m, n = form.counts.shape
        given = form.symmetries
        self.rows: NDArray[np.int64] = np.arange(m)[None] if given is None else given
        self.columns: NDArray[np.int64] = np.arange(n)[None] if given is None else given
        labels = (self.rows[:, :, None] * n + self.columns[:, None, :]).min(axis=0)
        self.entry = np.unique(labels, return_inverse=True)[1].reshape(m, n)
        self.sizes = np.bincount(self.entry.ravel())
        self.firsts, self.row = np.unique(self.rows.min(axis=0), return_inverse=True)
        self.column = np.unique(self.columns.min(axis=0), return_inverse=True)[1]

    def mean(self, matrix: Array) -> Array:
        """Average a mechanism over its images."""
        sums = np.bincount(self.entry.ravel(), matrix.ravel())
        return (sums / self.sizes)[self.entry]

    def images(
        self, chosen: NDArray[np.int64], takers: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """List the images of a cut, one for each permutation.

        Args:
            chosen: the selected row of each secret.
            takers: the secret that takes each output.
        """
        found = []
        for rows, columns in zip(self.rows, self.columns, strict=True):
            moved = np.empty_like(takers)
            moved[columns] = takers
            found.append((rows[chosen], moved))
        return found
