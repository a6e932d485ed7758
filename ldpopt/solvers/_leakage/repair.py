"""Repair mechanisms to exact arithmetic of bounded leakage, and round their bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.certify import GRID, rising, rounded, value_below
from ldpopt.core.exact import LeakageStatement, PriceTree, cost_bound, is_private, leaks_within
from ldpopt.core.validate import Array
from ldpopt.measures import row_selection

Proof = dict[str, Any]


def repair_leakage(
    matrix: Array,
    tree: Proof,
    groups: NDArray[np.int64],
    leakage: float,
    epsilon: float | None = None,
) -> tuple[Array, Proof]:
    """Make a mechanism stochastic and keep it within the leakage allowed, by exact prices.

    Mixing with a constant release c, W' = (1−t) W + t c and v' = (1−t) v + t c at every leaf, takes the
    bound of the tree from e^b to (1−t) e^b + t; at t = 1 the release is constant and leaks nothing.

    Args:
        matrix: the mechanism W[x, y] as a solver found it, its rows summing to 1 up to rounding.
        tree: a proof tree with prices v_y ≥ 0 at its leaves; the leakage of what a leaf leaves to
            choose is at most the log of Σ_y v_y + Σ_s max_{x of s} Σ_y (W[x, y] − v_y)⁺.
        groups: the number of the secret of each input.
        leakage: the leakage allowed, in nats.
        epsilon: the level of ε-LDP that is asked for as well; mixing lowers it, too.

    Returns:
        The exact mechanism, and a tree that proves its leakage to be within that.
    """
    rows = np.maximum(matrix, 0.0)  # linear programs return entries such as −1e-14
    if epsilon is not None:
        # outputs that linear programs give with less than this probability are noise
        rows[:, rows.max(axis=0) < 1e-9] = 0.0
        rows = np.maximum(rows, rows.max(axis=0) * math.exp(-epsilon))
    rows /= rows.sum(axis=1, keepdims=True)
    constant = rows.mean(axis=0)
    listed = [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]
    for touch in rising(GRID * matrix.shape[1], 1.0):
        candidate = rounded((1 - touch) * rows + touch * constant)
        scaled = _mixed(tree, touch, constant)
        allowed = epsilon is None or is_private(candidate.tolist(), range(len(rows)), epsilon)
        if allowed and _leaks_within(candidate, scaled, listed, leakage):
            return candidate, scaled
    exactly = rounded(constant[None, :]).repeat(len(rows), axis=0)
    return exactly, row_selection.leaf(exactly[0])


def _mixed(tree: Proof, touch: float, constant: Array) -> Proof:
    """Mix the prices at every leaf with a constant release."""
    if "branches" in tree:
        return tree | {"branches": [_mixed(child, touch, constant) for child in tree["branches"]]}
    prices = touch * constant
    prices[tree["outputs"]] += (1 - touch) * np.array(tree["prices"])
    return row_selection.leaf(prices)


def _leaks_within(matrix: Array, tree: Proof, groups: list[list[int]], leakage: float) -> bool:
    return leaks_within(matrix.tolist(), groups, leakage, PriceTree().read(tree, "privacy")) is True


def cost_below(question: LeakageStatement, proof: dict[str, Any]) -> float:
    """Compute the lower bound that a prior and weighted cuts prove, rounded down."""
    return value_below(cost_bound(question, proof))
