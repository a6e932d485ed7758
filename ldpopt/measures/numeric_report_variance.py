"""The variance of reports that are numbers, where inputs between those of the mechanism are rounded."""

from __future__ import annotations

import numpy as np

from ldpopt.core.validate import Array

HYBRID = 0.61
"""The level above which the hybrid mechanism of Wang et al. 2019 mixes two (their ε*)."""


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


def mean_variance(matrix: Array, reports: Array, grid: Array, prior: Array) -> float:
    """Compute the mean variance of the reports of points of [−1, 1], rounded at random in the same way.

    Args:
        matrix: P(output | input), the mean reports of the inputs increasing from −1 to 1.
        reports: the number that each output reports.
        grid: the points.
        prior: the weight of each point.

    >>> response = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> mean_variance(response, np.array([-2.0, 2.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    3.5
    """
    squares = np.interp(grid, matrix @ reports, matrix @ reports**2)
    return float(prior @ (squares - grid**2))


def published_moments(epsilon: float, x: Array) -> dict[str, Array]:
    """Compute the second moments of the unbiased reports of x by three published mechanisms.

    Duchi, Jordan and Wainwright 2018 report ±C, C = (e^ε + 1)/(e^ε − 1). The piecewise mechanism of Wang
    et al. 2019 has the variance x²/(t − 1) + (t + 3)/(3 (t − 1)²), t = e^(ε/2); their hybrid takes it
    with the probability 1 − 1/t where ε > 0.61, and else that of Duchi et al.

    Args:
        epsilon: the level, in nats.
        x: numbers of [−1, 1].

    >>> moments = published_moments(1.0, np.array([0.0, 1.0]))
    >>> {name: float((m - np.array([0.0, 1.0])).max().round(3)) for name, m in moments.items()}
    {'Duchi': 4.683, 'piecewise': 5.224, 'hybrid': 4.289}
    """
    t = np.exp(epsilon / 2)
    duchi = np.full(len(x), 1 / np.tanh(epsilon / 2) ** 2)
    piecewise = x**2 + x**2 / (t - 1) + (t + 3) / (3 * (t - 1) ** 2)
    share = 1 - 1 / t if epsilon > HYBRID else 0.0
    return {
        "Duchi": duchi,
        "piecewise": piecewise,
        "hybrid": share * piecewise + (1 - share) * duchi,
    }
