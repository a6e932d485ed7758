"""The hierarchical protocol: ask for pairs, triples, … only where safe.

Bravo-Hermsdorff et al. 2022, Section 8.2. The curator starts from the marginals. A set of features may
be asked about if what is already known proves that its joint counts expose few users: a set that was
asked before counts as *one* feature with known distribution, so the composition rules apply to any
partition into known blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.forms.subset_program import Subset
from ldpopt.core.forms.threshold_search import ThresholdSearch
from ldpopt.core.validate import Array
from ldpopt.measures.exposure_curve import exposure
from ldpopt.measures.exposure_rules import best_choice

Ask = Callable[[Subset], ArrayLike]


@dataclass(frozen=True)
class Knowledge:
    """What the curator learnt.

    Attributes:
        known: the joint distribution of every set that was asked about, single features included.
        refused: the sets that were not safe to ask about.
        released: the heaviest set that is known, or proven, to be within the budget.
        exposure: the exposure of the released set, the true one if the set was asked about, else the
            least bound.
    """

    known: dict[Subset, Array]
    refused: tuple[Subset, ...]
    released: Subset
    exposure: float


def ask_hierarchically(
    ask: Ask, weights: Sequence[float], threshold: float, budget: float, *, largest: int = 3
) -> Knowledge:
    """Ask about ever larger sets of features while that is safe, then decide what to release.

    Args:
        ask: the joint distribution of a set of features (as the users answer, through the shuffler).
        weights: how useful every feature is.
        threshold: t.
        budget: the fraction of users that may be exposed, by a question or by the release.
        largest: the largest sets to ask about.

    >>> fair = {(0,): [0.5, 0.5], (1,): [0.5, 0.5], (0, 1): [0.25] * 4}
    >>> ask_hierarchically(fair.__getitem__, [1, 1], 0.1, 0.5, largest=2).released
    (0, 1)
    """
    if not len(weights):
        raise InvalidInputError("weights must name at least one feature")
    features = range(len(weights))
    known: dict[Subset, Array] = {(j,): _answer(ask, (j,)) for j in features}
    refused: list[Subset] = []
    for size in range(2, min(largest, len(weights)) + 1):
        for subset in combinations(features, size):
            if proven_exposure(known, subset, threshold) <= budget:
                known[subset] = _answer(ask, subset)
            else:
                refused.append(subset)
    released, risk = _heaviest(known, weights, threshold, budget)
    return Knowledge(known, tuple(refused), released, risk)


def proven_exposure(known: dict[Subset, Array], subset: Subset, threshold: float) -> float:
    """Return the exposure of a known set, else the least bound over partitions into known blocks.

    Args:
        known: the joint distribution of every set that was asked about.
        subset: the features.
        threshold: t.
    """
    if subset in known:
        return exposure(known[subset], threshold)
    return min(
        best_choice(ThresholdSearch(tuple(known[b] for b in blocks), threshold, rule)).bound
        for blocks in partitions(subset, known)
        for rule in ("theorem-3-tight", "theorem-2")
    )


def partitions(subset: Subset, known: Container[Subset]) -> Iterator[tuple[Subset, ...]]:
    """List the ways to put a set together from sets that are known, each feature once."""
    if not subset:
        yield ()
        return
    first, rest = subset[0], subset[1:]
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            block = (first, *others)
            if block in known:
                left = tuple(j for j in rest if j not in others)
                for blocks in partitions(left, known):
                    yield (block, *blocks)


def _heaviest(
    known: dict[Subset, Array], weights: Sequence[float], threshold: float, budget: float
) -> tuple[Subset, float]:
    features = range(len(weights))
    subsets = [s for size in features for s in combinations(features, size + 1)]
    for subset in sorted(subsets, key=lambda s: (-sum(weights[j] for j in s), s)):
        risk = proven_exposure(known, subset, threshold)
        if risk <= budget:
            return subset, risk
    return (), 0.0


def _answer(ask: Ask, subset: Subset) -> Array:
    p = validate.distribution(f"the answer about {subset}", np.asarray(ask(subset)).ravel())
    return p[p > 0]
