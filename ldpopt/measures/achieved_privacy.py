"""How much of what a notion of privacy allows a mechanism uses.

A notion (:mod:`ldpopt.models.privacy`) is made of differences, left·w ≤ e^c right·w for every column w,
and of budgets, Σ_y max_l (left_l·w_y − e^c right_l·w_y) ≤ b; or it is a level over a set of
distributions, or a divergence of rows. So one number tells of every notion how far a mechanism is from
what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from ldpopt.core.exact import Budget, Difference, Notion, RenyiNotion, RobustNotion, SelectionsNotion
from ldpopt.core.limits import UNLIMITED
from ldpopt.core.problem import Promise
from ldpopt.core.validate import Array
from ldpopt.measures.channel import matrix_of
from ldpopt.measures.leakage import indistinguishability
from ldpopt.measures.level_over_set import worst_place
from ldpopt.measures.row_selection_lp import covered_most
from ldpopt.models.privacy import Privacy, renyi_power


def used(mechanism: Any, notion: Notion) -> float:
    """Compute the share of its level, leakage or δ that a mechanism uses: at most 1 if it is private.

    Of a difference that is log(left·w / right·w)/c, or left·w / right·w where c = 0; of a budget
    b = e^L, log(Σ_y …)/L, and of a budget b = δ, Σ_y …/δ. The largest of all counts; a column that may
    lie in one of several cones counts in the cone where it uses least.

    Args:
        mechanism: a mechanism or a matrix.
        notion: the notion, as the checker reads it.
    """
    W = matrix_of(mechanism)
    if isinstance(notion, RobustNotion):
        return worst_place(W, notion.members, UNLIMITED).level / notion.epsilon
    if isinstance(notion, RenyiNotion):
        order = float(notion.order)
        most = max(renyi_power(p, q, order) for p, q in permutations(W, 2))
        return float(np.log(most) / (order - 1)) / notion.epsilon
    if isinstance(notion, SelectionsNotion):
        return math.log(max(covered_most(W, notion.groups).amounts)) / notion.leakage
    if notion.secrets:
        return indistinguishability(W, notion.secrets) / notion.epsilon
    cones = [_of_differences(cone, W) for cone in notion.cones()]
    budgets = [_of_budget(budget, W) for budget in notion.budgets]
    return float(max([np.min(cones, axis=0).max(), *budgets]))


def promised(mechanism: Any, notion: Privacy, part: Notion) -> Promise:
    """Measure what a mechanism uses of a notion, as a promise in its own words.

    Args:
        mechanism: a mechanism or a matrix.
        notion: the notion.
        part: the same, as the checker reads it.
    """
    return Promise(
        notion.measure,
        used(mechanism, part) * notion.promised,
        notion.promised,
        f"the least number at which the mechanism keeps the notion {notion.name}",
    )


def _of_differences(cone: Sequence[Difference], W: Array) -> Array:
    """Compute what each column uses of a cone."""
    found = np.zeros(W.shape[1])
    for left, right, level in cone:
        a, b = _product(left, W), _product(right, W)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(a > 0, a / b, 0.0)
            share = np.log(ratio) / float(level) if level else ratio
        found = np.maximum(found, share)
    return found


def _of_budget(budget: Budget, W: Array) -> float:
    pieces = [
        _product(left, W) - np.exp(float(level)) * _product(right, W)
        for left, right, level in budget.pieces
    ]
    spent = float(np.max(pieces, axis=0).sum() / float(budget.most))
    return float(np.log(spent)) / float(budget.level) if budget.level else spent


def _product(vector: Any, W: Array) -> Array:
    """Compute vector·w for every column w."""
    weights = np.array([float(entry) for entry in vector.values()])
    return weights @ W[list(vector)]
