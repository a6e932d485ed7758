"""Independent and conditional reporting: utilities in closed form, and bounds on ranges of splits.

Lopuhaä-Zwakenberg and Goseling 2021, Sections VI and VII. The budget ε is split: ε₂ for u, the rest for
s. The utility rises with the probabilities that the responses for s and for u are right, and is convex
in each. On a range of ε₂ these probabilities lie below lines, which bounds the utility to the second
order (the lemmas stand in ``ldpopt/checker/kernel/proofs/response_limits.py``).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy.special import entr

from ldpopt.core import certify, validate
from ldpopt.core.form import Form, FormSolution, Stage, Status
from ldpopt.core.forms.column_program import Sublinear
from ldpopt.core.forms.searches import ScalarSearch
from ldpopt.core.highs import solve_listed
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import INFORMATION, Measure, Stages
from ldpopt.core.validate import Array
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.models.cones import staircase_cone
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.problems._robust.response_shares import Apart, lines, member, rights
from ldpopt.problems._robust.split_cells import SplitCells
from ldpopt.problems.table_problem import (
    RobustPrivacy,
    TableProblem,
    ceiling_of,
    inside,
)

BOUND_SLACK, ROUNDING = 1e-12, 4e-15
"""A bound from floats is raised by these, so that rounding does not break its proof.

BOUND_SLACK is absolute. ROUNDING is relative and divided by ε, as levels come from floats around 1.
"""


@dataclass(frozen=True, eq=False)
class Reporting(TableProblem):
    """A reporting protocol whose parameters are optimised; subclasses say which protocol.

    Lopuhaä-Zwakenberg and Goseling 2021, Sections VI and VII.

    Args:
        epsilon: the level, in nats.
        p_hat: the observed distribution [s][u], with ``n``; or else ``counts``.
        n: the number of samples.
        alpha: the significance level of the confidence set F.
        counts: the contingency table [s][u].
        blocks: "grr", randomised response for u as in the paper; or "optimal", the best mechanism for u
            at the same level. In independent and in GRR conditional reporting, "optimal" also uses the
            best mechanism for s, which may group secrets, and the bound is over all splits of the level
            and all mechanisms of these levels.
        calibrate: choose the levels for u by the exact level over F instead of Theorems 15 and 17.
    """

    measure: ClassVar[Measure] = INFORMATION
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 4, 8)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (2, 4, 8, 16)
    blocks: str = "grr"
    calibrate: bool = False

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a Dirichlet(½) table of ``size`` secrets and two values, for two levels; n = 1000."""
        p_hat = rng.dirichlet(np.full(size * 2, 0.5)).reshape(size, 2)
        for level in (1.0, 4.0):
            yield f"{size}x2 epsilon={level:g}", cls(level, p_hat, 1000)

    @property
    def box(self) -> tuple[Array, Array]:
        """The range of the parameters, of which ε₂ ∈ [0, ε] is the first."""
        return np.zeros(1), np.array([self.epsilon])

    @abstractmethod
    def limits(self, g: Array) -> Array:
        """Limit how often the responses for u are right: [points][blocks][limits][4].

        Every row is a limit for all splits. The rows of a point include all limits that bind there.
        """

    @abstractmethod
    def utility(self, first: Array, blocks: Array) -> Array:
        """Compute the utility for the levels of the response for s [points] and of the blocks."""

    @abstractmethod
    def mechanism(self, point: Array) -> Mechanism:
        """Build the protocol with the given parameters."""

    def block_levels(self, point: Array) -> Array:
        """Compute the level of every block at one point."""
        g = np.exp(point[:1])
        return level_of(self.uncertainty.shape[1], rights(self.limits(g), g))[0]

    def search(self, limits: Callable[[Array], Array]) -> ScalarSearch:
        """State a search over the split, with given limits of the blocks."""
        a1, a2 = self.uncertainty.shape
        reported = np.array([0.0, 1.0, (a1 - 1) * math.exp(-self.epsilon), 1.0])[None, None, None]

        def utility(first: Array, blocks: Array) -> Array:
            return self.utility(level_of(a1, first[:, 0]), level_of(a2, blocks))

        def objective(points: Array) -> Array:
            g = np.exp(points[:, 0])
            return utility(rights(reported, g), rights(limits(g), g))

        def upper(low: Array, high: Array) -> Array:
            ends = np.exp(low[:, 0]), np.exp(high[:, 0])
            own = lines(reported, *ends)
            blocks = lines(limits(np.sqrt(ends[0] * ends[1])), *ends)
            if self.blocks == "optimal":
                return utility(own[0], blocks[1])
            mixed = utility(own[0], blocks[1]) + utility(own[1], blocks[0])
            corners = [utility(own[0], blocks[0]), mixed / 2, utility(own[1], blocks[1])]
            return cast(Array, np.max(corners, axis=0))

        return ScalarSearch(*self.box, objective, upper, self.cost)

    any_reports: ClassVar[bool] = True
    """Whether "optimal" blocks include the report on s, so that cells of splits bound the protocol."""

    def reports_of(self, point: Array) -> list[list[int]]:
        """List the reports that the protocol at a point is made of, as its proof names them."""
        raise NotImplementedError

    @property
    def cost(self) -> int:
        """The number of evaluations that a solver may use."""
        return 40_000 if self.blocks == "grr" else 400

    def forms(self) -> Iterable[Form]:
        """State a search over the parameters."""
        yield self.search(self.limits)

    def stages(self, form: Form) -> Stages:
        """Declare one stage; where reports of any kind are allowed, it bounds cells of splits."""
        if self.blocks == "grr":
            yield Stage(form, self.proven)
        elif not self.any_reports:
            yield Stage(form, self._below_ceiling)
        else:
            cells = SplitCells(self.question)
            bounded = replace(cast(ScalarSearch, form), upper=cells.upper)
            yield Stage(bounded, partial(self._within_cells, cells))

    def _within_cells(self, cells: SplitCells, solution: FormSolution) -> FormSolution:
        """Claim what the cells prove about all splits and reports, or the ceiling where that is less."""
        found = self._below_ceiling(solution)
        if found.point is None:
            return found
        if cells.open:
            bound, proof = cells.proof()
            if found.bound is None or bound < found.bound:
                found = replace(found, bound=bound, proof=proof)
        return replace(found, proof={"reports": self.reports_of(found.point), **(found.proof or {})})

    def _below_ceiling(self, solution: FormSolution) -> FormSolution:
        """Claim the ceiling of all private mechanisms as the bound.

        The bracket that the solver found for "optimal" blocks is in floats; it is kept among the counts.
        """
        found = unclaimed(solution)
        # more secrets make too many staircase columns for the ceiling
        if found.point is None or self.uncertainty.shape[0] > 12:
            return found
        ceiling = ceiling_of(self.uncertainty.secrets, self.question.robust)
        return replace(found, bound=ceiling["ceiling"], proof=ceiling)

    def proven(self, solution: FormSolution) -> FormSolution:
        """Raise the bound by more than the rounding of floats, and name the members that prove it."""
        if solution.bound is None:
            return solution
        proof = {"members": self.members()} if self.calibrate else solution.proof
        bound = solution.bound * (1 + ROUNDING / self.epsilon) + BOUND_SLACK
        return replace(solution, bound=bound, proof=proof)

    def members(self) -> list[dict[str, Any]]:
        """List the members of F that prove the bound of a calibrated protocol."""
        return []

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the protocol at the point found, repaired to be robustly private in exact arithmetic."""
        found = self.mechanism(solution.point)
        rows = certify.repair(found.matrix, RobustPrivacy(self.question.robust))
        return Mechanism(rows, found.inputs, found.outputs)

    @cached_property
    def radii(self) -> Array:
        """d_s: how far P_{U|s} can be from P̂_{U|s} in ℓ1; Proposition 10 as in (65)."""
        return np.array([ball.l1_bound() for ball in self.uncertainty.conditionals])

    @cached_property
    def given(self) -> Array:
        """P̂_{u|s}."""
        return self.uncertainty.given


def unclaimed(solution: FormSolution) -> FormSolution:
    """Return the point without its bound, which is kept among the counts."""
    if solution.bound is None:
        return solution
    stats = {**(solution.stats or {}), "bracket": solution.bound}
    return FormSolution(Status.FEASIBLE, solution.point, solution.value, stats=stats)


def plain_member(F: Chi2Set, apart: Apart) -> dict[str, Any]:
    """Build the member of F that tells two secrets apart, as plain data."""
    found = inside(member(F, apart.secrets, apart.values, apart.share), F)
    plain = {"secrets": list(apart.secrets), "values": list(apart.values)}
    return {"distribution": found.tolist(), **plain}


def level_of(k: int, right: Array) -> Array:
    """Compute the level of randomised response on k values from how often it is right.

    >>> level_of(2, np.array([0.5, 1.0]))
    array([ 0., inf])
    """
    right = np.maximum(right, 1 / k)  # rounding may put it below 1/k
    with np.errstate(divide="ignore"):
        return np.log(right * (k - 1)) - np.log1p(-right)


def response(k: int, level: Array) -> tuple[Array, Array]:
    """Compute c and d for every level, where randomised response turns p into c·p + d."""
    odds = np.exp(-level)
    d = odds / (1 + (k - 1) * odds)
    return 1 - k * d, d


def response_noise(k: int, level: Array) -> Array:
    """Compute H(Y|X) of randomised response."""
    c, d = response(k, level)
    return entr(c + d) + (k - 1) * entr(d)


def response_information(p: Array, level: Array) -> Array:
    """Compute I(X; Y) of randomised response for X of distribution p, for every level.

    For several distributions [blocks][values] the levels are [points][blocks].
    """
    c, d = response(p.shape[-1], level)
    out = c[..., None] * p + d[..., None]
    return cast(Array, entr(out).sum(axis=-1)) - response_noise(p.shape[-1], level)


def best_block(utility: Sublinear, k: int, level: float) -> tuple[float, Mechanism]:
    """Find the best mechanism at a level, by the staircase program, and its value.

    Args:
        utility: the utility of a column.
        k: the number of its inputs.
        level: the level of the block, in nats.

    >>> from ldpopt.models.utilities import MutualInformation
    >>> value, mechanism = best_block(MutualInformation(np.array([0.5, 0.5])), 2, 1.0)
    >>> round(value, 9)
    0.110944072
    """
    # blocks below this level have one output
    if level < 1e-6:
        return float(utility(np.ones((k, 1)))[0]), Mechanism(np.ones((k, 1)))
    rays = staircase_cone(k, min(level, validate.EPSILON_RANGE[1])).rays()
    gains = utility(rays)
    if gains.max() <= 1e-14:
        return 0.0, randomized_response(k, min(level, validate.EPSILON_RANGE[1]))
    solution = solve_listed(rays, gains, Limits())
    matrix = solution.point.matrix
    return cast(float, solution.value), Mechanism(matrix / matrix.sum(axis=1, keepdims=True))
