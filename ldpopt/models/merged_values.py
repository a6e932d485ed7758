"""Choose which public values of a wide table to merge, so that a mechanism can still tell much.

A mechanism that is private against F has I(X; Y) ≤ I(S; Y) + H(U | S), and in the merged table H(G | S)
takes the place of H(U | S), where G is the group of U. So the groups are chosen to keep H(G | S) large:
each step merges the two groups for which it falls least. Merging the rarest values instead
would leave one group that is often large and tells little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.validate import Array


def entropy_keeping_groups(p_hat: Array, width: int) -> NDArray[np.int64]:
    """Group the public values so that ``width`` groups are left; return the group of each value.

    The loss of merging the groups g and h is Σ_s η(P_sg + P_sh) − η(P_sg) − η(P_sh) with η(p) = p log p.
    Groups are numbered in the order of their first values.

    >>> entropy_keeping_groups(np.array([[0.1, 0.2, 0.1], [0.1, 0.4, 0.1]]), 2)
    array([0, 1, 0])
    """
    columns = np.asarray(p_hat, float).T.copy()
    group = np.arange(len(columns))
    alive = np.ones(len(columns), bool)
    losses = np.full((len(columns), len(columns)), np.inf)
    for g in range(len(columns)):
        losses[g, g + 1 :] = _losses(columns[g], columns[g + 1 :])
    for _ in range(len(columns) - width):
        first, second = np.unravel_index(int(losses.argmin()), losses.shape)
        columns[first] += columns[second]
        group[group == second] = first
        alive[second] = False
        losses[second], losses[:, second] = np.inf, np.inf
        others = np.flatnonzero(alive)
        new = _losses(columns[first], columns[others])
        below, above = others < first, others > first
        losses[others[below], first], losses[first, others[above]] = new[below], new[above]
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _losses(column: Array, others: Array) -> Array:
    lost = _eta(column + others) - _eta(column) - _eta(others)
    # losses are rounded to so many digits before they are compared, so that all machines agree
    return np.round(lost.sum(axis=1), 12)


def _eta(p: Array) -> Array:
    return p * np.log(p, where=p > 0, out=np.zeros_like(p))
