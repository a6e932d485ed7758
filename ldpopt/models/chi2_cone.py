"""The cone of all columns that are private against a χ² set, by the members of the set that cut it out.

{w ≥ 0 : P_{U|s}·w_s ≤ e^ε P_{U|z}·w_z for all P ∈ F, s ≠ z} is an intersection of half-spaces, hence a
convex cone; PolyOpt's cone lies inside it. The exact audit is its separation oracle: for a column it
returns the member of F that tells two secrets apart most, and with it an inequality that the column
violates. Finitely many members describe an *outer* cone, which contains every private column.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from ldpopt.core.forms.cut_program import Cut
from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import bound_of, least, worst
from ldpopt.models.uncertainty_sets import Chi2Set

if TYPE_CHECKING:
    from ldpopt.models.half_slack_cone import HalfCone

SHRINK = 1e-12
"""Cuts come from a set smaller than F by this, relatively, so that they stay in F despite rounding."""
WORST = 0.3
"""Pairs of secrets whose excess is below this share of the largest get no cut."""
FAR, MOST_LOG = 18.0, 300.0
"""The largest log x/(1 − x) of a share x; the value at which infinite logarithms are cut off."""
ROOM = 1e-12
"""Added to an excess to allow for rounding, relative to the largest entry of the column."""


@dataclass(frozen=True, eq=False)
class ExactCone:
    """All columns that are private against F at the level ε.

    >>> cone = ExactCone(Chi2Set([[0.3, 0.2], [0.15, 0.35]], 1000), 1.0)
    >>> constant = np.ones((4, 1))
    >>> bool(np.isclose(cone.excess(constant)[0].max(), 1 - np.e))
    True
    """

    F: Chi2Set
    epsilon: float

    @property
    def dimension(self) -> int:
        """The number of inputs."""
        return int(self.F.p_hat.size)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """All ordered pairs of secrets."""
        return list(permutations(range(self.F.shape[0]), 2))

    @cached_property
    def _steps(self) -> Array:
        """t/P̂_s of a set that is a little smaller than F."""
        return self.F.slack * (1 - SHRINK) / self.F.secrets

    def excess(self, columns: Array) -> tuple[Array, Array]:
        """Compute max P(y|s) − e^ε P(y|z) over F for every column and pair, and the best shares.

        A share is the part x of the slack of F that s takes. For fixed x the maximum is explicit, and it
        is concave in x, so its slope has one root. Both results have a row per column and an entry per
        pair.
        """
        a1, a2 = self.F.shape
        blocks = columns.reshape(a1, a2, -1)
        first = [s for s, _ in self.pairs]
        second = [z for _, z in self.pairs]
        given, step = self.F.given, self._steps
        mine, theirs = -blocks[first], blocks[second]  # [pair][u][column]
        q, p = given[first][:, :, None], given[second][:, :, None]
        k, m = step[first][:, None], step[second][:, None]
        power = math.exp(self.epsilon)

        def gain(x: Array) -> Array:
            """Compute log of the rate at which P(y|s) rises with x over that of e^ε P(y|z); it falls."""
            root, other = 1 + x * k, 1 + (1 - x) * m
            A, C = least(mine, q, bound_of(x * k))[1], least(theirs, p, bound_of((1 - x) * m))[1]
            with np.errstate(divide="ignore"):
                own, cost = np.log(A * A * k / root**3), np.log(power * C * C * m / other**3)
            return np.clip(own, -MOST_LOG, MOST_LOG) - np.clip(cost, -MOST_LOG, MOST_LOG)

        x = falling_root(gain, mine.shape[::2])
        own, cost = least(mine, q, bound_of(x * k))[0], least(theirs, p, bound_of((1 - x) * m))[0]
        return (-own - power * cost).T, x.T

    def plain_columns(self) -> Array:
        """List the columns of the mechanisms that release the input (s, u), s alone, or u alone."""
        return plain_columns(*self.F.shape)

    def first_cuts(self) -> list[Cut]:
        """List a cut for every cell (s, u) and other secret z, of a member with the largest P_{u|s}.

        These cuts bound every entry of a column by e^ε P(y|z)/P_{u|s}.
        """
        found = []
        for x, column in enumerate(np.eye(self.dimension)):
            own = x // self.F.shape[1]
            found += [self._cut(column, pair, 1.0) for pair in self.pairs if pair[0] == own]
        return found

    def cuts(self, columns: Array, least: float) -> tuple[Array, list[list[Cut]]]:
        """Return the excess of every column and pair, and the cuts violated by more than ``least``.

        Only the pairs of secrets that a column violates nearly as much as the worst pair get a cut.
        """
        excess, shares = self.excess(columns)
        found = [
            [
                self._cut(column, pair, share)
                for pair, share, over in zip(self.pairs, taken, own, strict=True)
                if over > max(least, WORST * own.max())
            ]
            for column, taken, own in zip(columns.T, shares, excess, strict=True)
        ]
        return excess, found

    def _cut(self, column: Array, pair: tuple[int, int], share: float) -> Cut:
        """Build the member of F that tells a pair of secrets apart most, and its inequality."""
        s, z = pair
        a2 = self.F.shape[1]
        blocks = column.reshape(self.F.shape)
        step, other = share * self._steps[s], (1 - share) * self._steps[z]
        mine = worst(-blocks[s], self.F.given[s], bound_of(step))
        theirs = worst(blocks[z], self.F.given[z], bound_of(other))
        row = np.zeros(self.dimension)
        row[z * a2 : (z + 1) * a2] = math.exp(self.epsilon) * theirs
        row[s * a2 : (s + 1) * a2] = -mine
        return Cut(self.F.with_conditionals({s: (mine, step), z: (theirs, other)}), pair, row)

    def half_shares(self) -> HalfCone:
        """Return the cone where each of two secrets may take half of the slack; it contains this one."""
        from ldpopt.models.half_slack_cone import HalfCone

        return HalfCone(self.F, self.epsilon)

    def inside(self, columns: Array, excess: Array) -> Array:
        """Raise columns of a known excess until they are private: see :func:`raised`."""
        return raised(columns, excess, self.F.shape, self.epsilon)


def plain_columns(a1: int, a2: int) -> Array:
    """List the columns of the mechanisms that release the input (s, u), s alone, or u alone."""
    secrets, values = np.repeat(np.eye(a1), a2, axis=0), np.tile(np.eye(a2), (a1, 1))
    return np.hstack([np.eye(a1 * a2), secrets, values])


def raised(columns: Array, excess: Array, shape: tuple[int, ...], epsilon: float) -> Array:
    """Make columns private: raise all entries of a secret by the same amount, about the least possible.

    P_{U|s} sums to 1 for every P, so that raising all entries of s by δ_s changes the excess of a pair
    into excess_{sz} + δ_s − e^ε δ_z exactly. One δ = max(excess)/(e^ε − 1) for all secrets is enough.
    From there δ_z ← max(0, max_s (excess_{sz} + δ_s)/e^ε) lowers δ at every step, as the right-hand side
    rises with δ, and every step keeps δ_z ≥ (excess_{sz} + δ_s)/e^ε: the column stays private.

    Args:
        columns: a matrix with a row per input (s, u).
        excess: a row per column and an entry per ordered pair of secrets, from :meth:`ExactCone.excess`.
        shape: the numbers of secrets and of public values.
        epsilon: the level.
    """
    a1, a2 = shape
    over = np.full((columns.shape[1], a1, a1), -np.inf)  # [column][s][z]
    over[:, ~np.eye(a1, dtype=bool)] = excess + ROOM * columns.max(axis=0)[:, None]
    most = np.maximum(over.max(axis=(1, 2)), 0.0)
    rise = np.repeat(most[:, None] / math.expm1(epsilon), a1, axis=1)
    # steps by which the rise of a column is lowered; each has e^−ε of the effect of the one before it
    for _ in range(30):
        rise = np.maximum((over + rise[:, :, None]).max(axis=1) / math.exp(epsilon), 0.0)
    return columns + np.repeat(rise, a2, axis=1).T


def falling_root(f: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """Find where falling functions of x cross 0 in [0, 1], each close to linear in log x/(1 − x).

    The Illinois method works on that scale: follow the secant through the ends of a bracket, and halve
    the value at an end that has stayed twice in a row.
    """
    low, high = np.full(shape, -FAR), np.full(shape, FAR)
    at_low, at_high = np.maximum(f(expit(low)), 0.0), np.minimum(f(expit(high)), 0.0)
    before = np.zeros(shape)
    # steps of the search for a share of the slack, whose error counts squared
    for _ in range(12):
        width = at_low - at_high
        share = np.divide(at_low, width, out=np.full(shape, 0.5), where=width > 0)
        z = low + (high - low) * share
        found = f(expit(z))
        above = found > 0
        side = np.where(above, 1.0, -1.0)
        kept = np.where(side == before, 0.5, 1.0)
        at_low, at_high = np.where(above, found, at_low * kept), np.where(above, at_high * kept, found)
        low, high = np.where(above, z, low), np.where(above, high, z)
        before = side
    return expit(z)
