"""Bound by prices what sets of features weigh that the rules of ``exposure_rules.py`` prove safe.

Statement. w_j ≥ 0 are the weights of features with given marginals, t > 0 the threshold, b < 1 the
budget. The claim is that no set J with a proof by theorem-3-tight or theorem-2 of Q(t) ≤ b weighs more
than a bound.

**Lemma 1 (prices).** Let theorem-3-tight prove Q(t) ≤ b for J. Then for all λ, μ ≥ 0

    w(J) ≤ λ b + max_N (μ log N − λ t N) + Σ_{j∈J} v_j,   v_j = max over caps (w_j − λ Q_j − μ log N_j),

over whole N from 1 to b/t and caps with Q_j < 1. *Proof.* Its caps have Σ Q_j + t Π N_j ≤ b, so Q_j ≤ b
< 1 and N_j ≥ 1, and N = Π N_j is a whole number from 1 to b/t. Add λ (b − Σ Q_j − t N) ≥ 0 and
μ (log N − Σ log N_j) = 0 to w(J). ∎ As μ log N − λ t N is concave in N, it is largest next to
N = μ/(λ t).

A tree divides the sets by whether they hold a feature. In a leaf the features that all of its sets hold
count with v_j, those that none holds do not, and the others count with max(0, v_j). A leaf with
λ = μ = 0 may also hold because theorem-3-tight does not prove safe what all of its sets hold, and so
proves no set of it safe.

**Lemma 2 (pairs).** If theorem-2 proves Q(t) ≤ b for two or more features, theorem-3-tight does, too.
*Proof.* Take the same thresholds; Q_j are the same. N_i values of at least t_i have N_i t_i ≤ 1, and
every t_j |V_j| beside the pivot is at most b < 1: t Π N_j ≤ Π t_j N_j ≤ Π_{j≠i} t_j |V_j| ≤ Σ_{j≠i} t_j
|V_j|. ∎ Of one feature alone theorem-2 proves Q_j(t), with t_j = t, and no less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from ..arithmetic import log_above, log_below
from ..budget import tick
from ..reading import UnreadableError
from .box_trees import Division
from .exposure_rules import Marginals, provable

Ends = tuple[list[int], list[int]]
Choice = tuple[Fraction, int]
"""What a cap leaves: Q_j and N_j."""
TREE = "certificate.proof.tree"


@dataclass(frozen=True)
class Features(Division[int]):
    """Trees that divide sets of features: those without a feature first, then those with it."""

    @property
    def cut(self) -> Sequence[str]:
        """The key of a cut."""
        return (self.axis,)

    def parts(self, node: dict[str, Any], low: list[int], high: list[int]) -> tuple[Ends, Ends]:
        """Divide the sets by a feature.

        Args:
            node: the cut.
            low: 1 for the features that all sets hold.
            high: 0 for those that none holds.

        Raises:
            UnreadableError: the table has no such feature, or it is not open.
        """
        j = node[self.axis]
        if j >= len(low) or low[j] == high[j]:
            raise UnreadableError(f"{self.place} must divide by a feature that is open")
        without, with_it = list(high), list(low)
        without[j], with_it[j] = 0, 1
        return (low, without), (with_it, high)


SETS = Features("feature", ("exposure", "factors"), TREE, int)


def choices(p: Sequence[Fraction]) -> list[Choice]:
    """List Q_j and N_j for the caps with Q_j < 1.

    >>> choices([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
    [(Fraction(0, 1), 3), (Fraction(1, 2), 1)]
    """
    below = ((cap, sum((x for x in p if x < cap), Fraction(0))) for cap in sorted({*p}))
    return [(lost, sum(x >= cap for x in p)) for cap, lost in below]


@dataclass(frozen=True)
class SafeWeights:
    """The marginals, the weights, the threshold and the budget."""

    marginals: Marginals
    weights: Sequence[Fraction]
    threshold: Fraction
    budget: Fraction

    def alone(self) -> Fraction:
        """Return the greatest weight of a feature that theorem-2 proves safe alone: Lemma 2."""
        t, pairs = self.threshold, zip(self.weights, self.marginals, strict=True)
        safe = (w for w, p in pairs if sum((x for x in p if x < t), Fraction(0)) <= self.budget)
        return max(safe, default=Fraction(0))

    def none_heavier(self, tree: Sequence[dict[str, Any]], bound: Fraction) -> bool:
        """Return whether no set that is proven safe weighs more than a bound.

        Args:
            tree: the tree for theorem-3-tight.
            bound: the weight in question.

        Raises:
            UnreadableError: the list is not a tree.
        """
        n = len(self.weights)
        leaves = list(SETS.leaves(tree, [0] * n, [1] * n))
        if not 0 <= bound or self.budget >= 1 or self.alone() > bound:
            return False
        if self.budget < self.threshold:  # no N: theorem-3-tight proves no set safe
            return True
        options = [choices(p) for p in self.marginals]
        return all(self._leaf_holds(options, *leaf, bound) for leaf in leaves)

    def _leaf_holds(
        self,
        options: list[list[Choice]],
        leaf: dict[str, Any],
        low: list[int],
        high: list[int],
        bound: Fraction,
    ) -> bool:
        """Return whether Lemma 1 proves the bound in a leaf, or none of its sets is proven safe.

        Args:
            options: the choices of every feature.
            leaf: λ and μ.
            low: 1 for the features that all sets of the leaf hold.
            high: 0 for those that none holds.
            bound: the weight in question.
        """
        price, factor = Fraction(leaf["exposure"]), Fraction(leaf["factors"])
        most = price * self.budget + self._product(price, factor)
        for weight, listed, needed, allowed in zip(self.weights, options, low, high, strict=True):
            tick()
            worth = max(weight - price * q - factor * _log(n)[0] for q, n in listed)
            most += worth if needed else max(worth, Fraction(0)) if allowed else 0
        if most <= bound or price or factor:
            return most <= bound
        held = [p for p, needed in zip(self.marginals, low, strict=True) if needed]
        return not provable(held, self.threshold, "theorem-3-tight", self.budget, less=False)

    def _product(self, price: Fraction, factor: Fraction) -> Fraction:
        """Bound μ log N − λ t N over the whole N up to b/t."""
        largest = math.floor(self.budget / self.threshold)
        middle = math.floor(factor / (price * self.threshold)) if price else largest
        near = {min(max(n, 1), largest) for n in (middle, middle + 1)}
        return max(factor * _log(n)[1] - price * self.threshold * n for n in near)


@cache
def _log(n: int) -> tuple[Fraction, Fraction]:
    """Enclose log n."""
    return (log_below(n), log_above(n)) if n > 1 else (Fraction(0), Fraction(0))
