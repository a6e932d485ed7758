"""Compute how private several reports about one person are.

Robust LDP does not compose. One report limits P(y|s)/P(y|s') for the distributions P of a set F; after
it the public value has another distribution, P(u|s,y), which need not lie in F, so that the next report
may tell more. Two reports of level ε can have a level above 2ε, even an infinite one.

Against *all* distributions it composes. By Proposition 4 of Lopuhaä-Zwakenberg and Goseling 2021 the
level is then the largest log W[(s,u),y]/W[(s',u'),y] over s ≠ s', a statement about entries; an entry of
the product mechanism is a product of entries, so that reports of levels ε₁, …, ε_r have together at most
the level ε₁ + … + ε_r. For r reports of one mechanism it is exactly r times the level: repeat the worst
output. Plain LDP is the case in which every input is its own secret.

>>> from ldpopt.mechanisms import secret_randomized_response
>>> from ldpopt.models.uncertainty_sets import AllDistributions
>>> flip = secret_randomized_response(2, 3, 1.0)
>>> round(repeated_level(flip, AllDistributions(2, 3), 2).level, 9)
2.0
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, islice, permutations, product
from typing import NamedTuple

import numpy as np

from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Uncertainty
from ldpopt.core.validate import Array, InvalidInputError, Whole, whole_number
from ldpopt.measures.rldp_level import Level, rldp_level
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set

MOST_COLUMNS = 2_000_000
"""The most collections of reports that are listed."""
MOST_ENTRIES = 50_000_000
"""The most entries of their product columns for which :func:`together` lists them: some seconds."""
CHUNK, FEW = 2_000, 20_000
"""How many collections are looked at together, and how many count as few."""
ROUNDING = 1e-12
"""The relative rounding of a level in floats."""
LEAST_LOG, MOST_LEVEL = -700.0, 600.0
"""Smaller products are raised to e^−700 of their column's largest; finite levels are exact up to 600."""


@dataclass(frozen=True, eq=False)
class RepeatedLevel:
    """The exact level of several reports about one person, with its witness.

    Attributes:
        level: sup over P ∈ F, y₁, …, y_r and s ≠ s' of log P(y₁…y_r|s)/P(y₁…y_r|s').
        outputs: the reports that attain it, one of each use.
        s, other: the secrets s and s'.
        witness: a member P of F, as a matrix [s][u], that attains it.
    """

    level: float
    outputs: tuple[int, ...]
    s: int
    other: int
    witness: Array

    def __float__(self) -> float:
        return self.level


def repeated_level(mechanism: Mechanism, uncertainty: Uncertainty, reports: int) -> RepeatedLevel:
    """Compute the exact level of ``reports`` independent reports by one mechanism about one person.

    Args:
        mechanism: the mechanism on the inputs (s, u).
        uncertainty: the distributions of (s, u) against which s is hidden.
        reports: how many, at least 1.

    Raises:
        InvalidInputError: the reports have too many collections of outputs to list.
    """
    whole_number("reports", reports, 1)
    return composed_level([mechanism] * reports, uncertainty)


def composed_level(mechanisms: Sequence[Mechanism], uncertainty: Uncertainty) -> RepeatedLevel:
    """Compute the exact level of one report of each mechanism, drawn independently for one person.

    This is the level of the product mechanism, whose columns are T_{y₁}·…·T_{y_r}, entry by entry. It is
    as exact as :func:`ldpopt.measures.rldp_level.rldp_level` for the set.
    The order of outputs does not change a product, and proportional columns have equal ratios, so every
    collection of distinct directions is looked at once, a chunk at a time. The search ends where the
    level reaches the sum of the levels against all distributions, which is an upper bound. For a χ² set
    the exact audit sees only those columns of a chunk whose level over the simplices {R ≥ P^min_{·|s}}
    (Theorem 11), an upper bound as well, exceeds the largest level found so far.

    Args:
        mechanisms: one for each report; the same mechanism may occur several times.
        uncertainty: the distributions of (s, u) against which s is hidden.

    Raises:
        InvalidInputError: there are more than :data:`MOST_COLUMNS` collections, for which
            :func:`least_composed_level` gives a lower bound; or the level is finite and above
            :data:`MOST_LEVEL`.
    """
    uses = _uses(mechanisms)
    if len(uses) == 1 and isinstance(uncertainty, AllDistributions):
        return _added_up(mechanisms[0], uncertainty, len(mechanisms))
    if (total := collections(mechanisms)) > MOST_COLUMNS:
        raise InvalidInputError(
            f"{len(mechanisms)} reports have {total:,} different collections of outputs, more than "
            f"{MOST_COLUMNS:,}"
        )
    found = least_composed_level(mechanisms, uncertainty)
    everything = AllDistributions(*uncertainty.shape)
    most = sum(use.times * rldp_level(use.mechanism, everything).level for use in uses)
    for chosen in _chunks(uses):
        if found.level >= most * (1 - ROUNDING):
            break
        columns = _columns(uses, chosen)
        worth = np.arange(columns.shape[1])
        if isinstance(uncertainty, Chi2Set):
            worth = np.flatnonzero(_simplex_levels(columns, uncertainty) > found.level)
        if len(worth):
            best = rldp_level(columns[:, worth], uncertainty)
            if best.level > found.level:
                found = _named(best, uses, chosen[worth[best.y]])
    if not _told(found):
        raise InvalidInputError(
            f"{len(mechanisms)} reports have a level above {MOST_LEVEL:g} nats, too high for floats"
        )
    return found


def _told(found: RepeatedLevel) -> bool:
    """Return whether the level is exact although small products were raised: see :data:`LEAST_LOG`."""
    return found.level <= MOST_LEVEL or found.level == math.inf


def _added_up(mechanism: Mechanism, everything: AllDistributions, reports: int) -> RepeatedLevel:
    """Compute r times the level against all distributions, where the worst output is repeated."""
    one = rldp_level(mechanism, everything)
    return RepeatedLevel(reports * one.level, (one.y,) * reports, one.s, one.other, one.witness)


class Together(NamedTuple):
    """The level of several reports about one person, or a lower bound of it."""

    found: RepeatedLevel
    exact: bool


def together(mechanism: Mechanism, uncertainty: Uncertainty, reports: int) -> Together:
    """Compute the exact level of several reports, or a lower bound where the exact one is out of reach.

    Args:
        mechanism: the mechanism on the inputs (s, u).
        uncertainty: the distributions of (s, u) against which s is hidden.
        reports: how many, at least 1.
    """
    uses = [mechanism] * whole_number("reports", reports, 1)
    if isinstance(uncertainty, AllDistributions):
        return Together(_added_up(mechanism, uncertainty, reports), exact=True)
    found = least_composed_level(uses, uncertainty)
    listed = collections(uses)
    few = listed <= MOST_COLUMNS and listed * len(mechanism.matrix) <= MOST_ENTRIES
    if few and _told(found):
        proven = not isinstance(uncertainty, ConvexSet)  # there a climb finds the worst member
        return Together(composed_level(uses, uncertainty), exact=proven)
    # the most reports for which :func:`together` adds one at a time if the collections are too many
    if reports <= 64 and _told(found):
        found = max(found, _climbed(mechanism, uncertainty, reports), key=lambda one: one.level)
    return Together(found, exact=found.level == math.inf)


def _climbed(mechanism: Mechanism, uncertainty: Uncertainty, reports: int) -> RepeatedLevel:
    """Bound the level from below: begin with a few reports, then add the report that tells most.

    The level never falls: Σ_y P(y₁…y_r, y|s) = P(y₁…y_r|s), so for some y the ratio is no smaller.
    """
    few = next(r for r in range(reports, 0, -1) if collections([mechanism] * r) <= FEW or r == 1)
    (use,) = _uses([mechanism])
    found = repeated_level(mechanism, uncertainty, few)
    outputs = use.outputs.tolist()
    chosen = np.array([[outputs.index(y) for y in found.outputs]])
    for count in range(few + 1, reports + 1):
        if not _told(found):
            break
        uses, every = _uses([mechanism] * count), np.arange(len(outputs))[:, None]
        longer = np.hstack([np.repeat(chosen, len(every), axis=0), every])
        best = rldp_level(_columns(uses, longer), uncertainty)
        chosen, found = longer[[best.y]], _named(best, uses, longer[best.y])
    return found


def least_composed_level(mechanisms: Sequence[Mechanism], uncertainty: Uncertainty) -> RepeatedLevel:
    """Bound :func:`composed_level` from below by collections in which each mechanism repeats one output.

    For several mechanisms, at most :data:`FEW` such collections are looked at.
    """
    uses = _uses(mechanisms)
    powers = product(*(range(use.columns.shape[1]) for use in uses))
    repeats = [use.times for use in uses]
    most = None if len(uses) == 1 else FEW
    chosen = np.array([np.repeat(which, repeats) for which in islice(powers, most)])
    best = rldp_level(_columns(uses, chosen), uncertainty)
    return _named(best, uses, chosen[best.y])


@dataclass(frozen=True, eq=False)
class _Use:
    """A mechanism, its distinct directions of columns, the output of each, and how often it reports."""

    mechanism: Mechanism
    columns: Array
    outputs: Whole
    times: int

    @cached_property
    def logs(self) -> Array:
        """The logarithms of the columns."""
        with np.errstate(divide="ignore"):
            return np.log(self.columns)


def _uses(mechanisms: Sequence[Mechanism]) -> list[_Use]:
    if not mechanisms:
        raise InvalidInputError("at least one report is needed")
    times: dict[Mechanism, int] = {}
    for mechanism in mechanisms:
        times[mechanism] = times.get(mechanism, 0) + 1
    found = []
    for mechanism, count in times.items():
        used = np.flatnonzero(mechanism.matrix.any(axis=0))
        columns = mechanism.matrix[:, used]
        directions, first = np.unique(columns / columns.max(axis=0), axis=1, return_index=True)
        found.append(_Use(mechanism, directions, used[first], count))
    return found


def collections(mechanisms: Sequence[Mechanism]) -> int:
    """Count the collections of outputs that :func:`composed_level` looks at."""
    sizes = ((use.columns.shape[1], use.times) for use in _uses(mechanisms))
    return math.prod(math.comb(outputs + times - 1, times) for outputs, times in sizes)


def _chunks(uses: list[_Use]) -> Iterator[Whole]:
    """List all collections as rows of column numbers, in the order of the uses, a chunk at a time."""
    own = [combinations_with_replacement(range(use.columns.shape[1]), use.times) for use in uses]
    collections = (sum(parts, ()) for parts in product(*own))
    while rows := list(islice(collections, CHUNK)):
        yield np.array(rows)


def _columns(uses: list[_Use], chosen: Whole) -> Array:
    """Compute the product columns of the collections, each divided by its largest entry.

    Columns of collections that never occur are zero. A product of positive numbers stays positive,
    so that a level is infinite only where a product is 0.
    """
    with np.errstate(invalid="ignore"):
        factors = [use.logs for use in uses for _ in range(use.times)]
        found = np.add.reduce([f[:, which] for f, which in zip(factors, chosen.T, strict=True)])
        relative = np.maximum(found - found.max(axis=0), LEAST_LOG)
        return np.where(np.isneginf(found), 0.0, np.exp(relative))


def _simplex_levels(columns: Array, F: Chi2Set) -> Array:
    """Compute the largest level of each column over the simplices that contain the conditional sets."""
    blocks = columns.reshape(*F.shape, -1)
    p_min = F.lower_conditionals()
    free = 1 - p_min.sum(axis=1)
    sure = np.einsum("su,suy->sy", p_min, blocks)
    high = sure + free[:, None] * blocks.max(axis=1)
    low = sure + free[:, None] * blocks.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [np.log(high[s]) - np.log(low[t]) for s, t in permutations(range(len(high)), 2)]
    return np.nan_to_num(np.array(ratios), nan=-math.inf, posinf=math.inf).max(axis=0) * (1 + 1e-12)


def _named(level: Level, uses: list[_Use], chosen: Whole) -> RepeatedLevel:
    """Express the level's outputs by the mechanisms' own numbers."""
    outputs = [use.outputs for use in uses for _ in range(use.times)]
    names = tuple(int(own[i]) for own, i in zip(outputs, chosen, strict=True))
    return RepeatedLevel(level.level, names, level.s, level.other, level.witness)
