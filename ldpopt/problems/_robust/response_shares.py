"""Limit how often a randomised response on u may be right, depending on the split of the budget.

The lemmas stand in ``ldpopt/checker/kernel/proofs/response_limits.py``; here they serve floats, in whole
batches. A limit is a row (n₁, n₀, m₁, m₀): r ≤ (n₁ g + n₀)/(m₁ g + m₀) where that is at most 1, with g =
e^ε₂.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import bound_of, extreme
from ldpopt.models.uncertainty_sets import Chi2Set

IntArray = NDArray[np.int64]
GOLDEN = (5**0.5 - 1) / 2


def of_distance(k: int, d: Array) -> Array:
    """Limit a response on k values by an ℓ₁ distance: Theorems 15 and 17, one row per distance."""
    two = np.full_like(d, 2.0)
    return np.stack([two, d - 2, two, k * d - 2], axis=-1)


def of_pair(k: int, a: Array, b: Array) -> Array:
    """Limit a response by the probabilities of one value under two distributions.

    Args:
        k: the number of values.
        a: the greater probabilities.
        b: the smaller ones.
    """
    return np.stack([1 - b, a - 1, 1 - k * b, k * a - 1], axis=-1)


def of_pair_back(k: int, a: Array, b: Array, E: float) -> Array:
    """Limit a response as :func:`of_pair` does, but by the factor E²/g instead of g.

    The row is divided by E², which keeps floats small.

    Args:
        k: the number of values.
        a: the greater probabilities.
        b: the smaller ones.
        E: e^ε.
    """
    return np.stack([(a - 1) / E**2, 1 - b, (k * a - 1) / E**2, 1 - k * b], axis=-1)


def _quotients(limits: Array, g: Array) -> Array:
    """Evaluate the limits; a limit above 1 does not apply and is returned as infinite."""
    top = limits[..., 0] * g + limits[..., 1]
    bottom = limits[..., 2] * g + limits[..., 3]
    holds = (bottom > 0) & (top <= bottom)
    return np.where(holds, top / np.where(holds, bottom, 1.0), np.inf)


def rights(limits: Array, g: Array) -> Array:
    """Compute how often each block may be right; limits [points][blocks][limits][4], g [points]."""
    return np.minimum(_quotients(limits, g[:, None, None]).min(axis=-1, initial=np.inf), 1.0)


def lines(limits: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Find for each block the lowest line above a limit on a range of g; return its values at both ends.

    Args:
        limits: the limits [points][blocks][limits][4].
        low: the least g [points].
        high: the greatest g [points].
    """
    low, high = low[:, None, None], high[:, None, None]
    left, right = _quotients(limits, low), _quotients(limits, high)
    n1, n0, m1, m0 = np.moveaxis(limits, -1, 0)
    rise = n1 * m0 - n0 * m1
    holds = np.isfinite(left) & np.isfinite(right)
    at = np.where(rise > 0, m1 * high + m0, m1 * low + m0)
    step = rise * (high - low) / np.where(holds, at, 1.0) ** 2
    concave = m1 * rise > 0
    left, right = (
        np.where(concave & (rise > 0), right - step, left),
        np.where(concave & (rise < 0), left + step, right),
    )
    left, right = np.where(holds, left, 1.0), np.where(holds, right, 1.0)
    best = (left + right).argmin(axis=-1)[..., None]
    return np.take_along_axis(left, best, -1)[..., 0], np.take_along_axis(right, best, -1)[..., 0]


# ---------------------------------------------------------------- two secrets that share the slack


def extremes(F: Chi2Set, s: IntArray, value: IntArray, share: Array, sign: int) -> Array:
    """Compute the greatest or least R_v of secrets that take a share of the slack.

    Args:
        F: the confidence set.
        s: the secrets.
        value: the values v.
        share: the shares of the slack, from 0 to 1.
        sign: 1 for the greatest, −1 for the least.
    """
    return extreme(F.given[s, value], bound_of(share * F.slack / F.secrets[s]), sign)


def golden(function: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """Find the shares x ∈ [0, 1] where quasi-concave functions of x are largest, all at once.

    Each step keeps one of its two inner points for the next, with its value, and computes one more.
    """
    low, high = np.zeros(shape), np.ones(shape)
    first, second = np.full(shape, 1 - GOLDEN), np.full(shape, GOLDEN)
    left, right = function(first), function(second)
    # steps of a golden-section search: 0.618^60 is below 1e-12
    for _ in range(60):
        better = left >= right
        low, high = np.where(better, low, first), np.where(better, second, high)
        width = (high - low) * GOLDEN
        point = np.where(better, high - width, low + width)
        value = function(point)
        first, second = np.where(better, point, second), np.where(better, first, point)
        left, right = np.where(better, value, right), np.where(better, left, value)
    middle = (low + high) / 2
    ends = np.stack([np.zeros(shape), middle, np.ones(shape)])
    best = np.stack([function(x) for x in ends]).argmax(axis=0)[None]
    return np.take_along_axis(ends, best, 0)[0]


def member(F: Chi2Set, secrets: tuple[int, int], values: tuple[int, int], share: float) -> Array:
    """Build the member of F with the greatest R_v of the first secret and the least of the second.

    Args:
        F: the confidence set.
        secrets: the two secrets.
        values: the value of each.
        share: the share of the slack of the first.
    """
    changed, parts = {}, ((1, share), (-1, 1 - share))
    for s, v, (sign, part) in zip(secrets, values, parts, strict=True):
        R = min(max(float(extremes(F, np.array(s), np.array(v), np.array(part), sign)), 0.0), 1.0)
        rest = F.given[s].copy()
        rest[v] = 0.0
        if not rest.any():
            rest = np.ones_like(rest)
            rest[v] = 0.0
        rest *= (1 - R) / rest.sum()
        rest[v] = R
        changed[s] = rest, part * F.slack / F.secrets[s]
    return F.with_conditionals(changed)


class Apart(NamedTuple):
    """Two secrets, a value for each, the share of the slack of the first, and the level between them."""

    level: float
    secrets: tuple[int, int]
    values: tuple[int, int]
    share: float


def reported_apart(F: Chi2Set, right: Array) -> Apart:
    """Find the reports v and w of u that tell two secrets s and z apart most, compared with p̂.

    The probability of the report v given s, at its greatest, is divided by that under p̂; so is that
    of w given z, at its least. The level is the logarithm of the first quotient over the second.

    Args:
        F: the confidence set.
        right: how often the response for u is right, for every secret.
    """
    a1, a2 = F.shape
    wrong = (1 - right) / (a2 - 1)
    listed = np.array([*product(permutations(range(a1), 2), product(range(a2), repeat=2))])
    (s, z), (v, w) = listed[:, 0].T, listed[:, 1].T

    def reported(t: IntArray, share: Array) -> Array:
        return wrong[t] + (right[t] - wrong[t]) * share

    base = np.log(reported(z, F.given[z, w])) - np.log(reported(s, F.given[s, v]))

    def level(x: Array) -> Array:
        most, least = extremes(F, s, v, x, 1), extremes(F, z, w, 1 - x, -1)
        return base + np.log(reported(s, most)) - np.log(reported(z, least))

    with np.errstate(divide="ignore"):
        shares = golden(level, (len(s),))
        levels = level(shares)
    i = int(levels.argmax())
    return Apart(float(levels[i]), (int(s[i]), int(z[i])), (int(v[i]), int(w[i])), float(shares[i]))
