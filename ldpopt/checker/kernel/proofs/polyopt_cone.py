"""Decide whether a mechanism lies in the PolyOpt cone of a table, some public values of it merged.

Merging. A mechanism of the merged table sees the merged value only: its rows are equal within a group,
and its information under p̂ is that of the merged table. The χ² divergence shrinks under merging,
whatever the groups, so the set of the merged table with the same B contains every member after merging.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..arithmetic import exp_below
from .confidence_set import RobustStatement, uncertain
from .private_rows import Rows
from .robust_privacy import (
    Simplices,
    split,
)


def merged(question: RobustStatement, group: Sequence[int]) -> RobustStatement:
    """Restate the question for the table with merged values of u."""
    p_hat = [[Fraction(0) for _ in range(max(group) + 1)] for _ in question.p_hat]
    for row, new in zip(question.p_hat, p_hat, strict=True):
        for entry, g in zip(row, group, strict=True):
            new[g] += entry
    return question._replace(p_hat=p_hat)


def in_cone(matrix: Rows, question: RobustStatement, pairs: str, group: Sequence[int]) -> bool:
    """Return whether every column certainly lies in Γ, and rows of merged values are equal.

    Lemma. With p ≤ P^min the simplices {R ≥ p} are larger, so what Lemma 1 of ``robust_privacy.py``
    proves with p holds for the cone of P^min.

    Args:
        matrix: the mechanism, one row per input (s, u).
        question: p̂ and its uncertainty set, and the level.
        pairs: "distinct" constrains s ≠ z only; "all" also s = z.
        group: the group of each public value.
    """
    a2 = len(group)
    kept = [group.index(g) for g in range(max(group) + 1)]
    for start in range(0, len(matrix), a2):
        if any(matrix[start + u] != matrix[start + kept[g]] for u, g in enumerate(group)):
            return False
    rows = [matrix[start + u] for start in range(0, len(matrix), a2) for u in kept]
    simplices = Simplices(uncertain(merged(question, group)), exp_below(question.epsilon))
    columns = (split(column, len(kept)) for column in zip(*rows, strict=True))
    return not any(simplices.open_pairs(column, own=pairs == "all") for column in columns)
