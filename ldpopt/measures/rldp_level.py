"""Compute how private a mechanism is against every distribution of an uncertainty set.

Lopuhaä-Zwakenberg and Goseling 2021, Def. 1.

Secrets that are correlated with the data without being a part of it.

Lopuhaä-Zwakenberg and Goseling 2021, Section IX. A person has data x, and a secret s that x tells
something about: P(s, x) = P(x) K(s|x). The mechanism sees x alone. That is the case x = (s, u) with u =
x and a mechanism whose rows do not depend on s, so that every set of joint distributions [s][x] and
every audit applies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.limits import UNLIMITED
from ldpopt.core.mechanism import Channel, Mechanism
from ldpopt.core.problem import Uncertainty
from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.measures.channel import matrix_of
from ldpopt.measures.level_over_set import product_level, worst_place
from ldpopt.models.chi2_ball import bound_of, least, worst
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set, Single

ALONE, BATCH = 1, 512
"""Places that are searched one by one, which is often enough, and the size of the batches after them."""
FIRST = np.concatenate([[0.0], 10.0 ** np.arange(-13, 0), np.linspace(0.2, 0.8, 13)])
FIRST = np.concatenate([FIRST, 1 - FIRST[13::-1]])
"""The first shares of a search for the worst one, closer and closer next to 0 and 1."""
FINER, ROUNDS = 17, 10
"""So many shares are tried between the neighbours of the best one, so many times."""
SHARES = 32
"""Steps of the bisection for the worst share of the slack."""


@dataclass(frozen=True, eq=False)
class Level:
    """A robust privacy level with its witness.

    Attributes:
        level: sup over P ∈ F, y and s ≠ s' of log P(Y=y|S=s)/P(Y=y|S=s').
        y, s, other: where it is attained (output index, secrets s and s').
        witness: a member P of F, as a matrix [s][u], that attains it.
        product_level: the level over the larger product set F' = {P : every P_{U|s} ∈ F_{U|s}}
            (Lopuhaä-Zwakenberg and Goseling 2021, Remark 14); equal to ``level`` where F is its own
            product set.
    """

    level: float
    y: int
    s: int
    other: int
    witness: Array
    product_level: float

    def __float__(self) -> float:
        return self.level


def rldp_level(mechanism: Channel | Any, uncertainty: Uncertainty) -> Level:
    """Compute the exact level of robust local differential privacy of a mechanism on inputs (s, u).

    For a χ² set: the members reach exactly Σ_s P̂_s √r_s ≤ √(B+1) (Cauchy–Schwarz), so a pair (s, s')
    shares the slack, √r_s = 1 + x t/P̂_s and √r_s' = 1 + (1−x) t/P̂_s', and the level is a search over
    x ∈ [0, 1]. For all distributions: Proposition 4. For a :class:`ConvexSet` the level is found by a
    climb, which may end at a local maximum; the kind ``robust-level`` proves it.

    >>> from ldpopt.mechanisms import secret_randomized_response
    >>> found = rldp_level(secret_randomized_response(2, 3, 1.0), AllDistributions(2, 3))
    >>> round(found.level, 9)
    1.0
    """
    matrix = mechanism.matrix if isinstance(mechanism, Channel) else np.asarray(mechanism)
    a1, a2 = uncertainty.shape
    if a1 < 2:
        raise InvalidInputError(
            "the uncertainty set must have two or more secrets (rows), not one secret alone"
        )
    if matrix.shape[0] != a1 * a2:
        raise InvalidInputError(
            f"the mechanism must have {a1 * a2} inputs, one per cell of the uncertainty set "
            f"({a1} × {a2}), not {matrix.shape[0]}"
        )
    columns = matrix.reshape(a1, a2, -1)
    if isinstance(uncertainty, AllDistributions):
        return _level_of_all(columns)
    if isinstance(uncertainty, Single):
        p = uncertainty.p
        given = np.einsum("su,suy->sy", p / p.sum(axis=1, keepdims=True), columns)
        level, y, s, other = _worst(given, given)
        return Level(level, y, s, other, p.copy(), level)
    if isinstance(uncertainty, Chi2Set):
        return _level_of_chi2(columns, uncertainty)
    if isinstance(uncertainty, ConvexSet):
        found, F = worst_place(matrix, uncertainty.exact, UNLIMITED), uncertainty
        most = max(product_level(matrix, F.exact), found.level)
        return Level(found.level, found.y, found.s, found.z, F.table(found.witness.tolist()), most)
    raise InvalidInputError(
        "the uncertainty set must be AllDistributions, Single, Chi2Set or ConvexSet, not "
        f"{type(uncertainty).__name__}"
    )


def level_given_public(matrix: Array, shape: tuple[int, int]) -> float:
    """Compute the LDP level of the secret for an observer who knows the public value.

    >>> level_given_public(np.array([[1, 0], [0.5, 0.5], [0, 1], [0.5, 0.5]]), (2, 2))
    inf
    """
    given = matrix.reshape(*shape, -1).transpose(1, 0, 2)
    return max(Mechanism(rows).epsilon() for rows in given)


def _level_of_all(columns: Array) -> Level:
    a1, a2, _ = columns.shape
    level, y, s, other = _worst(columns.max(axis=1), columns.min(axis=1))
    witness = np.zeros((a1, a2))
    witness[s, columns[s, :, y].argmax()] = 0.5
    witness[other, columns[other, :, y].argmin()] = 0.5
    return Level(level, y, s, other, witness, level)


def _level_of_chi2(columns: Array, F: Chi2Set) -> Level:
    a1, _, outputs = columns.shape
    high = np.zeros((a1, outputs))
    low = np.zeros((a1, outputs))
    for s, ball in enumerate(F.conditionals):
        high[s], low[s] = -ball.minima(-columns[s]), ball.minima(columns[s])
    bounds, ranked = _ratio_bounds(high, low)
    order = np.argsort(-bounds, kind="stable")
    bounds, ranked = bounds[order], ranked[order]
    product_level = float(bounds[0]) if len(bounds) else 0.0
    level, y, s, other, share = -math.inf, 0, 0, 1, 0.0
    first = 0
    while first < len(ranked) and bounds[first] > level:
        last = first + (1 if first < ALONE else BATCH)
        places = ranked[first:last][bounds[first:last] > level]
        first = last
        best = 0
        if len(places) > 1:
            levels = _levels(columns, F, places)
            best = int(levels.argmax())
            if levels[best] <= level:
                continue
        place = places[best].tolist()
        found, x = _shared(columns, F, *place)
        if found > level:
            level, share = found, x
            y, s, other = place
    return Level(level, y, s, other, _witness(columns, F, y, s, other, share), product_level)


def _levels(columns: Array, F: Chi2Set, places: Whole) -> Array:
    """Compute the largest log P_{y|s} − log P_{y|s'} at many places (y, s, s').

    It has one maximum in the share x of the slack that s takes, and its slope is explicit: the least R·c
    over Σ q²/R ≤ r is ν + A²/r at its best level ν, so that it changes with r by −A²/r².

    Args:
        columns: the mechanism, [s][u][y].
        F: the confidence set.
        places: a row (y, s, s') for each level.
    """
    y, s, other = places.T
    both = np.hstack([-columns[s, :, y].T, columns[other, :, y].T])  # [u][place], first those of s
    centres = np.hstack([F.given[s].T, F.given[other].T])
    k, m = F.slack / F.secrets[s], F.slack / F.secrets[other]
    low, high = np.zeros(len(y)), np.ones(len(y))
    best = np.full(len(y), -np.inf)
    for step in range(SHARES):
        x = np.array([0.0, 1.0])[step] if step < 2 else (low + high) / 2
        root, rest = 1 + x * k, 1 + (1 - x) * m
        found = least(both, centres, np.concatenate([bound_of(x * k), bound_of((1 - x) * m)]))
        (top, bottom), (A, C) = (np.split(part, 2) for part in found)
        gain, loss = A**2 * k / root**3, C**2 * m / rest**3  # half the rates at which both rise with x
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.fmax(best, np.log(-top) - np.log(np.maximum(bottom, 0.0)))
            rises = gain / -top > loss / bottom
        if step >= 2:
            low, high = np.where(rises, x, low), np.where(rises, high, x)
    return best


def _ratio_bounds(high: Array, low: Array) -> tuple[Array, Whole]:
    """Return the bounds log(high_s/low_s') over the product set with their places (y, s, s').

    Both are in reverse order. Places where s never reports y are left out.
    """
    top, bottom = high.T[:, :, None], low.T[:, None, :]
    bounds = _log_ratios(top, bottom)
    known = (top > 0) & ~np.eye(len(high), dtype=bool)
    return bounds[known][::-1], np.argwhere(known)[::-1]


def _worst(high: Array, low: Array) -> tuple[float, int, int, int]:
    """Return the largest log(high_s/low_s') over y and s ≠ s', and the last place (y, s, s').

    For each y and s the least low_s' decides, so that no pair of secrets is listed: these are many.
    """
    every, first = np.arange(low.shape[1]), low.argmin(axis=0)
    others = np.tile(low[first, every], (len(low), 1))
    rest = low.copy()
    rest[first, every] = math.inf
    others[first, every] = rest.min(axis=0)
    bounds = np.where(high > 0, _log_ratios(high, others), -math.inf).T
    best = bounds.size - 1 - int(bounds[::-1, ::-1].argmax())
    y, s = divmod(best, len(high))
    if bounds[y, s] == -math.inf:
        return 0.0, 0, 0, 1
    equal = _log_ratios(high[s, y], low[:, y]) == bounds[y, s]
    equal[s] = False
    return float(bounds[y, s]), y, s, int(np.flatnonzero(equal)[-1])


def _log_ratios(high: Array, low: Array) -> Array:
    """Return log(high/low), and ∞ where low is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(low > 0, np.log(high / low), math.inf)


def _steps(F: Chi2Set, s: int, other: int, share: Any) -> Array:
    """Return √r − 1 of the secrets s and s' when s takes a share of the slack, or each of many."""
    return (F.slack * np.array([share, 1 - share]).T / F.secrets[[s, other]]).T


def _shared(columns: Array, F: Chi2Set, y: int, s: int, other: int) -> tuple[float, float]:
    """Compute the level of one output and one pair, and the share of the slack that attains it.

    The numerator is concave in √r_s, the denominator convex in √r_s' (both by duality, see
    ``ldpopt/checker/kernel/proofs/robust_privacy.py``), so their ratio has no local maximum but the
    global one: it lies between the neighbours of the best share that was tried.
    """

    both = np.array([-columns[s, :, y], columns[other, :, y]])
    centres = F.given[[s, other]]
    shares, found = FIRST, (-math.inf, 0.0)
    for _ in range(ROUNDS):
        each = len(shares)
        bounds = bound_of(_steps(F, s, other, shares)).ravel()
        ends = least(both.repeat(each, axis=0).T, centres.repeat(each, axis=0).T, bounds)[0]
        levels = _log_ratios(-ends[:each], ends[each:])
        best = int(levels.argmax())
        found = max(found, (float(levels[best]), float(shares[best])))
        shares = np.linspace(shares[max(best - 1, 0)], shares[min(best + 1, each - 1)], FINER)
    return found


def _witness(columns: Array, F: Chi2Set, y: int, s: int, other: int, share: float) -> Array:
    """Build the member of F with the worst conditionals."""
    mine, theirs = steps = _steps(F, s, other, share)
    high, low = bound_of(steps)
    most = worst(-columns[s, :, y], F.given[s], high)
    fewest = worst(columns[other, :, y], F.given[other], low)
    return F.with_conditionals({s: (most, mine), other: (fewest, theirs)})


def joint_distribution(prior: Any, channel: Any) -> Array:
    """Compute P(s, x) = P(x) K(s|x) as a matrix [s][x].

    Args:
        prior: P(x).
        channel: K, one row per x, the distribution of the secret given x.
    """
    p = validate.distribution("prior", prior)
    K = Mechanism(channel).matrix
    if len(K) != len(p):
        raise InvalidInputError(f"the channel must have {len(p)} rows, one per x, not {len(K)}")
    return np.asarray((p[:, None] * K).T)


def on_pairs(mechanism: Mechanism | Any, secrets: int) -> Mechanism:
    """Return the same mechanism on the pairs (s, x): it sees x alone.

    >>> on_pairs([[0.8, 0.2], [0.3, 0.7]], 2).matrix.tolist()
    [[0.8, 0.2], [0.3, 0.7], [0.8, 0.2], [0.3, 0.7]]
    """
    rows = matrix_of(mechanism)
    return Mechanism(np.tile(rows, (secrets, 1)))


def correlated_level(mechanism: Mechanism | Any, uncertainty: Uncertainty) -> Level:
    """Compute the level at which a mechanism on x hides a secret that is correlated with x.

    That is the largest log P(y|s)/P(y|z) over the joint distributions [s][x] of a set.

    Args:
        mechanism: on the inputs x.
        uncertainty: joint distributions of s and x.

    >>> from ldpopt.models.uncertainty_sets import Single
    >>> joint = joint_distribution([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]])
    >>> round(correlated_level([[0.8, 0.2], [0.3, 0.7]], Single(joint)).level, 6)
    0.795378
    """
    return rldp_level(on_pairs(mechanism, uncertainty.shape[0]), uncertainty)
