"""The cone of all columns that are private against a χ² set, by the members of the set that cut it out.

{w ≥ 0 : P_{U|s}·w_s ≤ e^ε P_{U|z}·w_z for all P ∈ F, s ≠ z} is an intersection of half-spaces, hence a
convex cone; PolyOpt's cone lies inside it. The exact audit is its separation oracle: for a column it
returns the member of F that tells two secrets apart most, and with it an inequality that the column
violates. Finitely many members describe an *outer* cone, which contains every private column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from ldpopt.core.forms.cut_program import Cut, CutCone
from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import all_worst, bound_of, least
from ldpopt.models.uncertainty_sets import Chi2Set

if TYPE_CHECKING:
    from ldpopt.models.shared_slack_cone import SlackCone

SHRINK = 1e-12
"""Cuts come from a set smaller than F by this, relatively, so that they stay in F despite rounding."""
WORST = 0.3
"""Pairs of secrets whose excess is below this share of the largest get no cut."""
FAR, MOST_LOG = 18.0, 300.0
"""The largest log x/(1 − x) of a share x; the value at which infinite logarithms are cut off."""
ROOM = 1e-12
"""Added to an excess to allow for rounding, relative to the largest entry of the column."""
LOWEST = 1e-6
"""No entry is lowered below this share of the largest one, so that no column becomes 0."""


@dataclass(frozen=True, eq=False)
class ExactCone(CutCone):
    """All columns that are private against F at the level ε.

    >>> cone = ExactCone(Chi2Set([[0.3, 0.2], [0.15, 0.35]], 1000), 1.0)
    >>> constant = np.ones((4, 1))
    >>> bool(np.isclose(cone.excess(constant)[0].max(), 1 - np.e))
    True
    """

    F: Chi2Set
    epsilon: float

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`CutCone.shape`."""
        return self.F.shape

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

    def first_cut(self, column: Array, pair: tuple[int, int]) -> Cut:
        """See :meth:`CutCone.first_cut`: the first secret takes all of the slack."""
        return self._members(column[:, None], [self.pairs.index(pair)], np.ones(1))[0]

    def cuts(self, columns: Array, least: float) -> tuple[Array, list[list[Cut]]]:
        """Return the excess of every column and pair, and the cuts violated by more than ``least``.

        Only the pairs of secrets that a column violates nearly as much as the worst pair get a cut.
        """
        excess, shares = self.excess(columns)
        over = excess > np.maximum(least, WORST * excess.max(axis=1))[:, None]
        j, pair = np.nonzero(over)
        found: list[list[Cut]] = [[] for _ in excess]
        for column, cut in zip(
            j.tolist(), self._members(columns[:, j], pair.tolist(), shares[over]), strict=True
        ):
            found[column].append(cut)
        return excess, found

    def _members(self, columns: Array, pairs: Sequence[int], shares: Array) -> list[Cut]:
        """Build the members of F that tell pairs of secrets apart most, and their inequalities.

        Args:
            columns: a column for every cut.
            pairs: its pair, by the number.
            shares: the share of the slack that the first secret takes.
        """
        a1, a2 = self.F.shape
        blocks, chosen = (
            columns.reshape(a1, a2, -1),
            np.array([self.pairs[i] for i in pairs], int).reshape(-1, 2),
        )
        (first, second), here = chosen.T, np.arange(len(chosen))
        step, other = shares * self._steps[first], (1 - shares) * self._steps[second]
        mine = all_worst(-blocks[first, :, here].T, self.F.given[first].T, bound_of(step))
        theirs = all_worst(blocks[second, :, here].T, self.F.given[second].T, bound_of(other))
        found = []
        for i, (s, z) in enumerate(chosen.tolist()):
            row = np.zeros(self.dimension)
            row[z * a2 : (z + 1) * a2] = math.exp(self.epsilon) * theirs[:, i]
            row[s * a2 : (s + 1) * a2] = -mine[:, i]
            sides = {s: (mine[:, i], float(step[i])), z: (theirs[:, i], float(other[i]))}
            found.append(Cut(self.F.with_conditionals(sides), (s, z), row))
        return found

    def shared_slack(self) -> SlackCone:
        """Return the parts in which two secrets share the slack; together they contain this cone."""
        from ldpopt.models.shared_slack_cone import SlackCone

        return SlackCone(self.F, self.epsilon)

    def inside(self, columns: Array, excess: Array) -> Array:
        """Move columns of a known excess to the edge of the cone: see :func:`moved_to_edge`."""
        return moved_to_edge(columns, excess, self.F.shape, self.epsilon)


def moved_to_edge(columns: Array, excess: Array, shape: tuple[int, ...], epsilon: float) -> Array:
    """Make columns private: raise all entries of a secret by the same amount, about the least possible.

    P_{U|s} sums to 1 for every P, so that raising all entries of s by δ_s changes the excess of a pair
    into excess_{sz} + δ_s − e^ε δ_z exactly. One δ = max(excess)/(e^ε − 1) for all secrets is enough.
    From there δ_z ← max(0, max_s (excess_{sz} + δ_s)/e^ε) lowers δ at every step, as the right-hand side
    rises with δ, and every step keeps δ_z ≥ (excess_{sz} + δ_s)/e^ε: the column stays private. A column
    inside the cone is a sum of a constant one, which tells nothing, and one at the edge, which is kept.

    Args:
        columns: a matrix with a row per input (s, u).
        excess: a row per column and an entry per ordered pair of secrets, from :meth:`ExactCone.excess`.
        shape: the numbers of secrets and of public values.
        epsilon: the level.
    """
    a1, a2 = shape
    top = columns.max(axis=0)
    over = np.full((columns.shape[1], a1, a1), -np.inf)  # [column][s][z]
    over[:, ~np.eye(a1, dtype=bool)] = excess + ROOM * top[:, None]
    most = np.maximum(over.max(axis=(1, 2)), 0.0)
    rise = np.repeat(most[:, None] / math.expm1(epsilon), a1, axis=1)
    # steps by which the rise of a column is lowered; each has e^−ε of the effect of the one before it
    for _ in range(30):
        rise = np.maximum((over + rise[:, :, None]).max(axis=1) / math.exp(epsilon), 0.0)
    moved = columns + np.repeat(rise, a2, axis=1).T
    left = -(over + rise[:, :, None] - math.exp(epsilon) * rise[:, None, :]).max(axis=(1, 2))
    constant = np.minimum(left / math.expm1(epsilon), moved.min(axis=0) - LOWEST * top)
    return moved - np.maximum(constant, 0.0)


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
