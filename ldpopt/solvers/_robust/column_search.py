"""Search columns of a cone that is known by its cuts: climb a convex utility by its tangents.

For prices β the best column maximises g(w) − β·w. The search climbs from many starts at once. Each step
maximises the tangent of g at the last column over the cuts so far, asks the oracle, and adds the cuts
that the new column violates. As g is convex, a column that follows one inside the cone is worth no less.
Every column on the way, moved into the cone, goes into the linear program of mechanisms, whose dual is
the next β.
"""

from __future__ import annotations

import numpy as np

from ldpopt.core.forms.cut_program import CutProgram
from ldpopt.core.highs import ColumnLP, Optimum
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.validate import Array
from ldpopt.models.cones import response_columns
from ldpopt.models.utilities import MutualInformation, nominal
from ldpopt.solvers._robust.outer_lp import OuterCone

COARSE, FINE = 1e-5, 1e-11
"""The excess up to which a column counts as inside the cone, in a step that follows one that gained
something; it falls while steps gain less than :data:`LITTLE`, relatively."""
LITTLE = 1e-5
TANGENTS, USED, FRESH = 4, 600, 2
"""How many tangents a climb of a step follows; the most entries of the columns in use from which it
starts, and how many fresh columns of each sort there are."""
SMALLEST_RATIO = 1e-9
"""Smaller ratios count as this large in a tangent, whose slope at 0 is infinite."""


class ColumnSearch:
    """The columns so far, the best mechanism made of them, and the cuts met on the way."""

    def __init__(self, form: CutProgram, limits: Limits) -> None:
        self.form, self.limits = form, limits
        self.rng = limits.generator()
        self.information = MutualInformation(form.prior)
        self._outer: OuterCone | None = None
        start = response_columns(form.cone.dimension, form.cone.epsilon)
        self.lp = ColumnLP(len(start), 1.0)
        self.lp.add(start, self.information(start))
        self.steps = self.idle = 0
        self.optimum: Optimum = self._solved(limits)

    @property
    def outer(self) -> OuterCone:
        """The cuts so far. The first ones take long to list, which is done at the first use."""
        if self._outer is None:
            self._outer = OuterCone(self.form.prior, self.form.cone.first_cuts())
        return self._outer

    @property
    def known_cuts(self) -> int:
        """The number of cuts listed so far."""
        return 0 if self._outer is None else len(self._outer.cuts)

    def begin(self, columns: Array) -> None:
        """Add columns that another method found, moved into the cone."""
        self.take(self.form.cone.inside(columns, self.form.cone.excess(columns)[0]))

    def take(self, columns: Array) -> None:
        """Add columns that are known to lie in the cone, without asking the slow oracle."""
        self.lp.add(columns, self.information(columns))
        self.resolve(self.limits)

    def _solved(self, limits: Limits) -> Optimum:
        found = self.lp.solve(limits)
        if found is None:
            limits.check()
        assert found is not None
        return found

    def step(self, limits: Limits) -> float:
        """Climb a little from columns in use and from fresh ones; return what the mechanism gained.

        Short climbs from few columns renew the prices often, which gains more than long climbs.
        """
        before = self.optimum.value
        used = self.optimum.point.rays
        chosen = self.rng.permutation(used.shape[1])[: USED // self.form.cone.dimension]
        starts = np.hstack([self._fresh(), used[:, chosen]])
        self._outer = self.outer.pruned()
        self.climb(starts, max(FINE, COARSE * 0.1**self.idle), TANGENTS, limits)
        self.steps += 1
        self.resolve(limits)
        gain = self.optimum.value - before
        self.idle = 0 if gain > LITTLE * self.optimum.value else self.idle + 1
        return gain

    def _fresh(self) -> Array:
        """Draw columns to start from: anew, and by changing those in use secret by secret."""
        k, (n, width) = self.form.cone.dimension, self.form.cone.shape
        used = self.optimum.point.rays / (self.form.prior @ self.optimum.point.rays)
        found = []
        for _ in range(FRESH):
            first, second = used[:, self.rng.integers(used.shape[1], size=2)].T.reshape(2, n, width)
            crossed = np.where(self.rng.random(n)[:, None] < 0.5, first, second)
            permuted, s = first.copy(), self.rng.integers(n)
            permuted[s] = self.rng.permutation(permuted[s])
            found += [self.rng.random(k) ** 4, self.rng.random(k) < self.rng.random()]
            found += [crossed.ravel(), permuted.ravel()]
        return np.array(found, float).T + SMALLEST_RATIO

    def resolve(self, limits: Limits) -> None:
        """Find the best mechanism of the columns so far."""
        self.optimum = self._solved(limits)

    def tangent(self, columns: Array) -> Array:
        """Compute the gradient of the mutual information at every column."""
        p = self.form.prior[:, None]
        q = (p * columns).sum(axis=0)
        return p * np.log(np.maximum(columns / q, SMALLEST_RATIO))

    def climb(self, starts: Array, least: float, steps: int, limits: Limits) -> None:
        """Climb from every start until the column lies in the cone and is worth no more than before.

        Args:
            starts: columns, inside the cone or not.
            least: the excess up to which a column counts as inside the cone.
            steps: the most tangents to follow.
            limits: the limits of the run.
        """
        dual = self.optimum.dual
        slopes = self.tangent(starts) - dual[:, None]
        worth = np.full(starts.shape[1], -np.inf)
        running = np.arange(starts.shape[1])
        outer = self.outer
        for _ in range(steps):
            found = [outer.maximum(slopes[:, j], outer.low, outer.high, limits) for j in running]
            points = np.array([maximum.point for maximum in found]).T
            excess = self.visit(points, least)
            gains = self.information(points) - dual @ points
            private = excess <= least
            ended = private & (gains <= worth[running] + 1e-12)
            worth[running] = np.where(private, gains, worth[running])
            slopes[:, running] = self.tangent(points) - dual[:, None]
            running = running[~ended]
            if not len(running):
                break

    def visit(self, points: Array, least: float) -> Array:
        """Add the cuts that columns violate, and the columns moved inside; return their excess."""
        excess, cuts = self.form.cone.cuts(points, least)
        for own in cuts:
            self.outer.add(own)
        columns = self.form.cone.inside(points, excess)
        self.lp.add(columns, self.information(columns))
        return excess.max(axis=1)

    def answer(self) -> Optimum:
        """Find the mechanism of the columns so far that is best for the utility of the form."""
        utility = self.form.utility
        if nominal(utility) is utility:
            return self.optimum
        lp = ColumnLP(self.form.cone.dimension, 1.0)
        lp.add(self.lp.rays, utility(self.lp.rays))
        found = lp.solve(UNLIMITED)
        assert found is not None
        return found
