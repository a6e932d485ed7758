"""Selections that cover too much of a mechanism, and a tree of prices that none covers more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ldpopt.core.exact import SelectionsNotion
from ldpopt.core.forms.selection_program import SelectionProgram
from ldpopt.core.limits import UNLIMITED
from ldpopt.core.validate import Array
from ldpopt.measures import leakage_selection
from ldpopt.measures.leakage_selection_lp import Branching
from ldpopt.models.privacy import LEAST_EXCESS, Outside

MOST_NODES = 2000
"""Nodes of the search for the best selection; a tree with open leaves proves a larger bound."""
GAP = 1e-13
STARTS = 24
"""Local searches for further selections."""


def kept_by(matrix: Array, notion: SelectionsNotion) -> dict[str, Any] | None:
    """Find a tree of prices that shows the notion to be kept, exactly; None if it does not."""
    tree = covered_most(matrix, notion.groups).tree
    return tree if notion.shown(tree, "privacy").holds(matrix.tolist()) else None


def selections_outside(matrix: Array, notion: SelectionsNotion) -> Outside:
    """Tell what a mechanism lacks: selections that cover too much, and the share of noise that it takes.

    Noise in the share t takes what any selection covers from C to (1 − t) C + t.
    """
    found, allowed = covered_most(matrix, notion.groups), math.exp(notion.leakage)
    most = allowed * (1 + LEAST_EXCESS)
    cuts = [own for own, amount in zip(found.selections, found.amounts, strict=True) if amount > most]
    return Outside(cuts, max(found.most - allowed, 0.0) / (found.most - 1) if cuts else 0.0)


class Covered(NamedTuple):
    """Selections from the best on, what each covers, and a tree of prices with what it bounds."""

    selections: list[list[int]]
    amounts: list[float]
    tree: dict[str, Any]
    most: float


def covered_most(matrix: Array, groups: Sequence[Sequence[int]]) -> Covered:
    """Search for the selections of one row per group that cover most: Σ_y max_g W[θ_g, y].

    Args:
        matrix: the mechanism.
        groups: the rows of each group.
    """
    numbers = np.empty(len(matrix), np.int64)
    for g, rows in enumerate(groups):
        numbers[list(rows)] = g
    form, rng = SelectionProgram(csr_array(matrix), numbers), np.random.default_rng(0)
    search = Branching(replace(UNLIMITED, gap=GAP), MOST_NODES)
    best, tree = search.run(form, leakage_selection.improve(form, leakage_selection.greedily(form)))
    starts = ([int(rng.choice(list(rows))) for rows in groups] for _ in range(STARTS))
    others = (leakage_selection.improve(form, np.array(start)) for start in starts)
    found = {
        tuple(chosen.tolist()): float(leakage_selection.covered(form.matrix, chosen).sum())
        for chosen in [best, *others]
    }
    ranked = sorted(found, key=lambda chosen: -found[chosen])
    amounts = [found[chosen] for chosen in ranked]
    return Covered([list(chosen) for chosen in ranked], amounts, tree, search.bound)
