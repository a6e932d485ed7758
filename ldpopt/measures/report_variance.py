"""The variance of reports that are numbers, where inputs between those of the mechanism are rounded."""

from __future__ import annotations

import numpy as np

from ldpopt.core.validate import Array


def worst_variance(matrix: Array, reports: Array) -> float:
    """Compute the largest variance of the report of a number x of [−1, 1].

    x is rounded at random to one of the two inputs whose mean reports are next to it, with the chances
    that make the mean report x. Between two means the second moment is a line and the variance a
    concave parabola.

    Args:
        matrix: P(output | input), the mean reports of the inputs increasing from −1 to 1.
        reports: the number that each output reports.

    >>> response = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> worst_variance(response, np.array([-2.0, 2.0]))  # 4 − x², at x = 0
    4.0
    """
    means, squares = matrix @ reports, matrix @ reports**2
    slopes = np.diff(squares) / np.diff(means)
    x = np.clip(slopes / 2, means[:-1], means[1:])
    variances: Array = squares[:-1] + slopes * (x - means[:-1]) - x**2
    return float(variances.max())
