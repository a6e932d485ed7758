"""PolyOpt with more public values than can be listed: a mechanism, and a proven bound over its cone.

The mechanism. Columns that are equal within groups of public values lie in Γ iff they lie in the cone of
blocks whose p is Σ P^min over each group (not P^min of the merged table, which is larger). So a few
groups give a small program, solved by listing, and a mechanism in Γ.

The bound. A dual vector β is sought among combinations of a few vectors per secret: P̂, P^min, P̂
times powers of log 1/P̂_{u|s}, and the most frequent values by themselves. Each relaxed column that
:mod:`ldpopt.solvers._robust.wide_pricing` finds is a row of a linear program for the combination
(Kelley's cutting planes, kept near the best β so far). β is raised until the checker proves it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ldpopt.checker.budget import UndecidedError, limited
from ldpopt.checker.fixed import rounded
from ldpopt.checker.wide_blocks import proves
from ldpopt.core import certify, highs
from ldpopt.core.form import FormSolution
from ldpopt.core.forms.column_program import ColumnProgram, Columns
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.models.block_cone import BlockCone, has_blocks
from ldpopt.models.merged_values import entropy_keeping_groups
from ldpopt.models.utilities import MutualInformation, nominal
from ldpopt.solvers._robust.block_generation import MOST_VALUES, BlockSearch
from ldpopt.solvers._robust.wide_pricing import WidePricer

GROUPS = 6
"""Groups of public values that the mechanism tells apart."""
GROUP_SHARE, DUAL_SHARE = 0.2, 0.5
"""The share of the time for the mechanism, and of what is left then for the dual vector."""
ROUGH_GAP = 1e-3
"""The gap to which the program of groups is solved."""
MOST_ROUNDS = 80
CLOSE = 0.005
"""The search for β ends when it is this close to the least possible, relatively."""
ALONE = 3
"""The most frequent values of a secret that have a price of their own."""
LARGEST = 50.0
"""The most that a vector may be multiplied by."""
LEAST_SECONDS = 0.1
ROOM = 1e-6
"""By which share of its sum a proven β is raised once more, for the rounding of the checker's P^min."""
RAISES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""By which shares of its sum β may be raised."""


def accepts(form: ColumnProgram) -> Literal[True] | str:
    """Return True if the program is PolyOpt with wide blocks and mutual information, or why not."""
    if not has_blocks(form.cone):
        return "needs a cone made of blocks, and this one names none"
    if nominal(form.utility) is not form.utility:
        return (
            f"takes up to {MOST_VALUES} public values with the robust objective, "
            f"not {form.cone.shape[1]}: merge some by width"
        )
    return True


def generate(form: ColumnProgram, limits: Limits) -> FormSolution:
    """Find a mechanism of few groups in the cone, and a bound over the whole cone."""
    assert has_blocks(form.cone)
    utility = nominal(form.utility)
    assert utility is not None
    point, value = _grouped(form.cone, utility.prior, limits)
    found = FormSolution(Status.FEASIBLE, point, value)
    limits.keep(value, np.inf, lambda: found)
    search = DualSearch(form.cone, utility.prior, limits.part(DUAL_SHARE))
    with limits.proving():
        with suppress(OutOfTime):
            search.run()
        return search.proven(found, limits)


def _grouped(cone: BlockCone, prior: Array, limits: Limits) -> tuple[Columns, float]:
    """Solve the program of columns that are equal within groups of public values."""
    table = prior.reshape(cone.shape)
    groups = entropy_keeping_groups(table, GROUPS)
    small = BlockCone(_summed(cone.p_min, groups), cone.epsilon, cone.pairs)
    inner = ColumnProgram(small, MutualInformation(_summed(table, groups).ravel()))
    rough = replace(limits.part(GROUP_SHARE), gap=max(limits.gap, ROUGH_GAP))
    solved = BlockSearch(inner, rough).run()
    rays = solved.point.rays.reshape(*small.shape, -1)[:, groups].reshape(cone.dimension, -1)
    return Columns(solved.point.weights, rays), float(solved.value or 0.0)


def _summed(table: Array, groups: NDArray[np.int64]) -> Array:
    joined = np.zeros((len(table), int(groups.max()) + 1))
    np.add.at(joined.T, groups, table.T)
    return joined


class DualSearch:
    """Cutting planes for the dual vector: the best so far, and its sum."""

    def __init__(self, cone: BlockCone, prior: Array, limits: Limits) -> None:
        self.cone, self.limits = cone, limits
        self.prior = prior
        self.pricer = WidePricer(cone, prior, limits)
        self.vectors = _vectors(prior.reshape(cone.shape), cone.p_min)
        self.costs = self.vectors.sum(axis=1)
        self.rows, self.least = [self.costs], [0.0]  # the constant column is worth nothing
        self.best: Array | None = None
        self.bound = np.inf
        self.rounds = 0

    def run(self) -> None:
        """Cut until the best β is close to the least possible, or the time is over."""
        centre, mix = np.zeros(len(self.costs)), 0.0
        self._try(centre)
        centre[:: self._per_secret()] = self.bound
        while self.rounds < MOST_ROUNDS:
            lowest = self._lowest()
            if self.bound - lowest @ self.costs <= CLOSE * self.bound:
                return
            point = mix * centre + (1 - mix) * lowest
            before = self.bound
            self._try(point)
            if self.bound < before:
                centre = point
            mix = min(0.7, mix + 0.1) if self.bound < before else 0.7 * mix

    def _per_secret(self) -> int:
        return len(self.costs) // self.cone.shape[0]

    def _lowest(self) -> Array:
        """Find the combination of least sum that all rows allow."""
        arguments: dict[str, Any] = {
            "A_ub": -np.array(self.rows),
            "b_ub": -np.array(self.least),
            "bounds": [(-LARGEST, LARGEST)] * len(self.costs),
            "options": highs.scipy_options(self.limits),
        }
        found = linprog(self.costs, **arguments)
        if found.status != 0:
            raise OutOfTime
        return np.array(found.x)

    def _try(self, weights: Array) -> None:
        """Price a combination: keep it, raised by a multiple of P̂, if its sum is the least so far."""
        self.rounds += 1
        dual = weights @ self.vectors
        found = self.pricer.price(dual)
        lift = max(0.0, float((found.excess / found.mass).max()))
        if dual.sum() + lift < self.bound:
            self.best, self.bound = dual + lift * self.prior, float(dual.sum() + lift)
        self.rows += list(found.columns @ self.vectors.T / found.mass[:, None])
        self.least += list(found.utility / found.mass)

    def proven(self, found: FormSolution, limits: Limits) -> FormSolution:
        """Raise the best β by the least share that the checker proves, and add it to a solution.

        The middle share is tried first: smaller ones while they are proven, else larger ones.
        """
        if self.best is None:
            return found
        middle = len(RAISES) // 2
        proven = None
        with suppress(UndecidedError):
            for share in RAISES[middle:]:
                if self._holds(share, limits):
                    proven = share
                    break
            if proven == RAISES[middle]:
                for share in reversed(RAISES[:middle]):
                    if not self._holds(share, limits):
                        break
                    proven = share
        if proven is None:
            return found
        dual = self._raised(proven + ROOM)
        return replace(
            found,
            status=Status.GAP,
            bound=certify.dual_bound(dual),
            proof={"dual": dual.tolist()},
            stats={"iterations": self.rounds},
        )

    def _raised(self, share: float) -> Array:
        assert self.best is not None
        return self.best + share * self.bound * self.prior

    def _holds(self, share: float, limits: Limits) -> bool:
        """Return whether the checker proves the best β, raised by a share of its sum."""
        p = [[_units(entry) for entry in row] for row in self.cone.p_min.tolist()]
        p_hat = [[Fraction(P) for P in row] for row in self.prior.reshape(self.cone.shape).tolist()]
        with limited(max(limits.remaining(), LEAST_SECONDS)):
            dual = self._raised(share).tolist()
            return proves(dual, p, p_hat, self.cone.epsilon, self.cone.pairs)


def _units(p: float) -> int:
    """Round P^min up to units, so that the checker's is below it."""
    return rounded(Fraction(p) * (1 + Fraction(1, 10**12))) + 1 if p else 0


def _vectors(prior: Array, p_min: Array) -> Array:
    """List the vectors that β is combined of; the first of each secret is its P̂."""
    a1, a2 = prior.shape
    found = []
    for s in range(a1):
        mass = prior[s].sum()
        given = prior[s] / mass
        rarity = -np.log(given, where=given > 0, out=np.zeros(a2))
        parts = [
            prior[s],
            mass * p_min[s],
            prior[s] * rarity,
            prior[s] * rarity**2,
            prior[s] * given**0.5,
        ]
        parts += [prior[s] * (np.arange(a2) == u) for u in np.argsort(-given, kind="stable")[:ALONE]]
        for part in parts:
            vector = np.zeros((a1, a2))
            vector[s] = part
            found.append(vector.ravel())
    return np.array(found)
