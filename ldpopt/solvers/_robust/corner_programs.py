"""Many small linear programs at once: maximise c·w over a box, with two ends for every corner.

All programs of a call have the same corners. The dual simplex method starts from the multipliers of the
box, which are feasible for every c, so that each of its bases proves a bound, also where it is stopped.
"""

from __future__ import annotations

import numpy as np

from ldpopt.core.validate import Array

STEPS = 60
"""The most steps."""
BROKEN, SMALL = 1e-10, 1e-12
"""By how much a row may be broken, relative to its ends; smaller entries do not limit a step."""
FAR = 1e3
"""The step of a program without a point."""


def maxima(
    corners: Array, costs: Array, ends: tuple[Array, Array], box: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Find the best point of every program, and the multipliers of its corners, of either sign.

    Args:
        corners: the corners R, one per row.
        costs: c, a row per program.
        ends: the lower and upper ends of R·w, a row per program.
        box: the lower and upper ends of w, a row per program.
    """
    count, k = costs.shape
    rows = np.vstack([np.eye(k), corners])
    low, high = np.hstack([box[0], ends[0]]), np.hstack([box[1], ends[1]])
    size = np.maximum(high, SMALL)
    basis = np.tile(np.arange(k), (count, 1))
    upper = costs > 0  # whether a row of the basis is at its upper end
    points, weights = np.zeros((count, k)), np.zeros((count, len(rows)))
    open_ = np.arange(count)
    for _ in range(STEPS):
        at = basis[open_]
        matrix = rows[at]
        inverse = np.linalg.inv(matrix)
        y = np.einsum("nuj,nu->nj", inverse, costs[open_])
        here = np.arange(len(open_))[:, None]
        ending = np.where(upper[open_], high[open_][here, at], low[open_][here, at])
        w = np.einsum("nju,nu->nj", inverse, ending)
        points[open_] = w
        weights[open_] = 0.0
        weights[open_[:, None], at] = y
        activity = w @ rows.T
        over, under = (activity - high[open_]) / size[open_], (low[open_] - activity) / size[open_]
        broken = np.maximum(over, under)
        np.put_along_axis(broken, at, 0.0, axis=1)
        row = broken.argmax(axis=1)
        line = np.arange(len(open_))
        go = broken[line, row] > BROKEN
        if not go.any():
            break
        open_, at, y, inverse, row = open_[go], at[go], y[go], inverse[go], row[go]
        is_over = over[go][line[: len(open_)], row] > 0
        sign = np.where(is_over, 1.0, -1.0)
        alpha = np.einsum("nu,nuj->nj", rows[row], inverse) * sign[:, None]
        # y − θ α must keep its sign: the multiplier of an upper end is not negative
        side = np.where(upper[open_], 1.0, -1.0)
        falling = alpha * side
        steps = np.where(falling > SMALL, np.maximum(y * side, 0.0) / np.maximum(falling, SMALL), np.inf)
        leaving = steps.argmin(axis=1)
        line = np.arange(len(open_))
        step = steps[line, leaving]
        empty = np.isinf(step)
        if empty.any():
            lost = open_[empty]
            weights[lost[:, None], at[empty]] = y[empty] - FAR * alpha[empty]
            weights[lost, row[empty]] += FAR * sign[empty]
            keep = ~empty
            open_, row, leaving, is_over = open_[keep], row[keep], leaving[keep], is_over[keep]
            if not len(open_):
                break
        basis[open_, leaving] = row
        upper[open_, leaving] = is_over
    return points, weights[:, k:]
