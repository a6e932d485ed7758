"""Bound the weight of the sets that contain no *conflict*: a set that is forbidden, as are all larger.

If every set that weighs more than a bound contains a conflict of the proof, no permitted set weighs more
(:func:`all_heavier_conflict`).

**Lemma (prices).** If every conflict C of the proof has a price y_C ≥ 0 and Σ_{C ∋ j} y_C ≤ w_j for
every feature j, no permitted set weighs more than Σ_j w_j − Σ_C y_C. *Proof*: a permitted J leaves out
a feature of every C, so what it leaves out weighs at least Σ_{j ∉ J} Σ_{C ∋ j} y_C ≥ Σ_C y_C.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..budget import tick


def all_heavier_conflict(
    weights: Sequence[Fraction], conflicts: Sequence[Sequence[int]], bound: Fraction
) -> bool:
    """Return whether every set that weighs more than the bound contains a conflict.

    Branch on features by falling weight; a branch ends where its features and all that are left do not
    weigh more than the bound, or where it has a conflict. Sets are whole numbers, a bit per feature.

    Args:
        weights: the weights of the features.
        conflicts: sets of features, each with a risk above the budget.
        bound: the weight in question.
    """
    order = sorted(range(len(weights)), key=lambda j: -weights[j])
    rest = [sum((weights[j] for j in order[depth:]), Fraction(0)) for depth in range(len(order) + 1)]
    masks = [sum(1 << j for j in conflict) for conflict in conflicts]
    completed = {j: [m for m in masks if m >> j & 1] for j in order}
    pending: list[tuple[int, int, Fraction]] = [(0, 0, Fraction(0))]
    while pending:
        tick()
        chosen, depth, weight = pending.pop()
        if weight + rest[depth] <= bound:
            continue
        if depth == len(order):
            return False
        j = order[depth]
        larger = chosen | 1 << j
        pending.append((chosen, depth + 1, weight))
        if all(mask & larger != mask for mask in completed[j]):
            pending.append((larger, depth + 1, weight + weights[j]))
    return True


def priced_weight(
    weights: Sequence[Fraction], conflicts: Sequence[Sequence[int]], prices: Sequence[float]
) -> Fraction | None:
    """Bound what a set without a conflict weighs: the lemma on prices; None if they are too high.

    Args:
        weights: the weights of the features.
        conflicts: sets of features.
        prices: a price per conflict.
    """
    left = list(weights)
    for conflict, price in zip(conflicts, map(Fraction, prices), strict=True):
        tick()
        for j in conflict:
            left[j] -= price
    if min(left) < 0:
        return None
    return sum(weights, Fraction(0)) - sum(map(Fraction, prices), Fraction(0))
