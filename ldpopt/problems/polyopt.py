"""The best mechanism that hides s against every distribution of a polytope around a confidence set."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import certify, validate
from ldpopt.core.exact import (
    conditional_entropy_above,
    dominates_polyopt_cone,
)
from ldpopt.core.exact import merged_table as merged
from ldpopt.core.form import Form, FormSolution, Stage, Status
from ldpopt.core.forms.column_program import ColumnProgram, Columns, Cone, Sublinear
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Stages
from ldpopt.core.validate import Array
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.block_cone import PAIRS, BlockCone, mixed_inside
from ldpopt.models.chi2_ball import RobustInformation
from ldpopt.models.cones import staircase_cone
from ldpopt.models.sharp_polyopt_cone import FacetCone
from ldpopt.models.uncertainty_sets import Chi2Set, entropy_keeping_groups
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems._robust.calibration import SLACK, Tried, levels, tightened
from ldpopt.problems.column_problem import ColumnProblem
from ldpopt.problems.table_problem import (
    ConePrivacy,
    RobustPrivacy,
    TableProblem,
)

HIGHEST = validate.EPSILON_RANGE[1]


@dataclass(frozen=True, eq=False)
class PolyOpt(TableProblem, ColumnProblem):
    """Maximise I(X; Y) over mechanisms whose columns lie in the polyhedral cone Γ.

    Lopuhaä-Zwakenberg and Goseling 2021, (44). By Theorem 11 every such mechanism is (ε, F)-RLDP for the
    χ² confidence set F. Γ is described in :mod:`ldpopt.models.block_cone`; (44) is printed with
    the rows s1 = s2, which Definition 1 does not need.

    Args:
        epsilon: the level, in nats.
        p_hat: the observed distribution [s][u], with ``n``; or else ``counts``.
        n: the number of samples.
        alpha: the significance level of the confidence set.
        counts: the contingency table [s][u].
        pairs: "distinct" (s1 ≠ s2 only) or "all" (as (44) is printed).
        objective: "empirical" maximises I under p̂ (Q¹ of Theorem 12); "robust" maximises the bound L of
            Theorem 12 on min_{P∈F} I_P (its Q²): the value is a guarantee for every P ∈ F.
        calibrate: search the level of the cone whose best mechanism, made private against F by the exact
            audit, is worth most.
        facets: extra hyperplanes per secret that sharpen the polytopes (Remark 14); few inputs only.
        width: merge public values so that this many groups are left, for very wide tables.
        groups: the group of each public value, numbered in order of first appearance; by default those
            of :mod:`ldpopt.models.uncertainty_sets`, which keep H(U | S) large.

    >>> table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
    >>> PolyOpt(epsilon=1, p_hat=table, n=1000).cone.dimension
    9
    """

    kind: ClassVar[str] = "polyopt"
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    pairs: str = "distinct"
    objective: str = "empirical"
    calibrate: bool = False
    facets: int = 0
    width: int | None = None
    groups: Any = None

    def cleaned(self) -> dict[str, Any]:
        """Choose the groups of the public values, where some are to be merged and none are given."""
        given, F, groups = super().cleaned(), self.uncertainty, self.groups
        if groups is None and isinstance(self.width, int) and 2 <= self.width < F.shape[1]:
            groups = entropy_keeping_groups(F.p_hat, self.width).tolist()
        return {**given, "groups": groups}

    @cached_property
    def merged(self) -> tuple[Chi2Set, NDArray[np.int64]]:
        """The confidence set of the merged table, and the new value of each u."""
        groups = np.array(self.groups or range(self.uncertainty.shape[1]), np.int64)
        return self.uncertainty.merged(groups), groups

    @property
    def cone(self) -> Cone:
        """Γ at the level ε."""
        return self.cone_at(self.epsilon)

    def cone_at(self, epsilon: float) -> Cone:
        """Build Γ at another level."""
        F = self.merged[0]
        if self.facets:
            return FacetCone(F, epsilon, self.pairs, self.facets)
        return BlockCone(F.lower_conditionals(), epsilon, self.pairs)

    @property
    def sublinear(self) -> Sublinear:
        """The (least) mutual information that a column adds."""
        if self.objective == "robust":
            return RobustInformation(self.merged[0].ball)
        return MutualInformation(self.merged[0].p_hat.ravel())

    @property
    def inputs(self) -> Iterable[tuple[int, int]]:
        """The joint inputs (s, u)."""
        a1, a2 = self.uncertainty.shape
        return product(range(a1), range(a2))

    def stages(self, form: Form) -> Stages:
        """Solve for the ceiling of all private mechanisms; in Γ at the level ε; to calibrate, at others.

        The calibration is a search, see :mod:`ldpopt.problems._robust.calibration`.
        """
        secret = self.uncertainty.p_hat.sum(axis=1)
        channel = ColumnProgram(staircase_cone(len(secret), self.epsilon), MutualInformation(secret))
        yield Stage(channel, self._ceiling, share=0.25, bound_only=True)
        first = yield Stage(form, self._within_cone, share=0.5 if self.calibrate else 1.0)
        if not self.calibrate or first.point is None or self._is_outside(first.point):
            return  # a solver that answers outside Γ does not depend on its level
        search = levels(
            self.epsilon, min(2 * self.epsilon + 1, HIGHEST), self.epsilon, self._tried(first)
        )
        level = next(search)
        while True:
            trial = ColumnProgram(self.cone_at(level), self.sublinear)
            found = yield Stage(trial, self._calibrated, share=0.25)
            try:
                level = search.send(self._tried(found))
            except StopIteration:
                return

    def _tried(self, found: FormSolution) -> Tried:
        """Describe what a cone gave: what it is worth, and the exact level of its best mechanism."""
        if found.value is None or found.point is None:
            return Tried(-math.inf, math.inf)
        exact = (found.stats or {}).get("exact_level")
        return Tried(found.value, self._level(found.point) if exact is None else exact)

    def _level(self, point: Columns) -> float:
        rows = point.matrix / point.matrix.sum(axis=1, keepdims=True)
        return rldp_level(rows, self.merged[0]).level

    def _within_cone(self, solution: FormSolution) -> FormSolution:
        """Keep a private point; claim its bound only if the answer is sought in Γ alone.

        A solver that proves no bound may give a point outside Γ. With ``calibrate``, the audit makes it
        private if it is not private already; otherwise it is moved into Γ.
        """
        known = solution.bound is None and solution.point is not None
        if known and self._is_outside(solution.point):
            if not self.calibrate:
                return self._moved_inside(solution)
            private = self._level(solution.point) <= self.epsilon * (1 + SLACK)
            return solution if private else self._calibrated(solution)
        if not (self.calibrate or self.facets or self.objective == "robust"):
            seen = self._privacy().question
            return certify.prove_rounded(
                solution, lambda dual: dominates_polyopt_cone(dual, seen, self.pairs)
            )
        return replace(solution, bound=None, proof=None)

    def _moved_inside(self, solution: FormSolution) -> FormSolution:
        """Mix a point with a constant release, as little as it takes to lie in Γ."""
        mixed = mixed_inside(solution.point.matrix, self.cone.level, self.epsilon)
        point = Columns(np.ones(mixed.shape[1]), mixed)
        return replace(solution, point=point, value=float(self.sublinear(mixed).sum()))

    def _is_outside(self, point: Columns) -> bool:
        # how far above ε the level of a point in the sense of Γ is, at least, where the point is outside
        return self.cone.level(point.matrix) > self.epsilon + 1e-6

    def _calibrated(self, solution: FormSolution) -> FormSolution:
        """Give every column of a point of a wider cone the level ε against F."""
        nothing = replace(solution, status=Status.LIMIT, point=None, value=None, bound=None, proof=None)
        if solution.point is None or solution.value is None:
            return nothing
        rows = solution.point.matrix / solution.point.matrix.sum(axis=1, keepdims=True)
        private = tightened(rows, self.merged[0], self.epsilon)
        value = float(self.sublinear(private).sum())
        return replace(
            nothing,
            status=Status.FEASIBLE,
            point=Columns(np.ones(private.shape[1]), private),
            value=value,
            stats={**(solution.stats or {}), "exact_level": rldp_level(rows, self.merged[0]).level},
        )

    def _ceiling(self, best: FormSolution) -> FormSolution:
        """Bound every mechanism private against F by max I(S; Y) + H(U | S), with a proof.

        I(X; Y) = I(S; Y) + I(U; Y | S); as p̂ ∈ F, the channel from S to Y is ε-LDP. In Γ the ceiling
        is the bound of a dual vector, see :meth:`_ceiling_dual`.
        """
        if best.proof is None:
            return FormSolution(Status.LIMIT)
        secret_dual = best.proof["dual"]
        entropy = conditional_entropy_above(self.question.robust)
        ceiling = certify.value_above(sum(map(Fraction, secret_dual), entropy))
        proof: dict[str, Any] = {"ceiling": ceiling, "secret_dual": secret_dual}
        if self.calibrate or self.facets or self.objective == "robust":
            return FormSolution(Status.LIMIT, bound=ceiling, proof=proof)
        dual = self._ceiling_dual(np.array(secret_dual))
        proof["dual"] = dual.tolist()
        return FormSolution(Status.LIMIT, bound=certify.dual_bound(dual), proof=proof)

    def _ceiling_dual(self, secret_dual: Array) -> Array:
        """Build the dual vector over Γ whose sum is the ceiling (of the merged table).

        With t_s = Σ_u P̂_{u|s} T_su, a column T is worth μ(T) = μ(t) + Σ_su P̂_su T_su log(T_su / t_s).
        The first term is at most Σ_s d_s t_s for the dual vector d of the secret, as t lies in the cone
        of ε-LDP; in the second, P̂_{u|s} T_su ≤ t_s. Together μ(T) ≤ β·T with
        β_su = P̂_{u|s} d_s + P̂_su log(1 / P̂_{u|s}).
        """
        p_hat = self.merged[0].p_hat
        given = p_hat / p_hat.sum(axis=1, keepdims=True)
        dual = given * secret_dual[:, None] + p_hat * -np.log(given, where=given > 0, out=0 * given)
        # by how much the ceiling's dual vector is raised, so that rounding does not break its proof
        return dual.ravel() + 1e-12 / dual.size

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism with columns θ_v v, robustly private in exact arithmetic."""
        return self._spread(certify.repair_mixed(solution.point.matrix, self._privacy()))

    def unrepaired(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism with columns θ_v v, its rows divided by their sums."""
        matrix = solution.point.matrix
        return self._spread(matrix / matrix.sum(axis=1, keepdims=True))

    def _spread(self, rows: Array) -> Mechanism:
        """Give merged values of u the rows of their groups."""
        F, groups = self.merged
        spread = rows.reshape(*F.shape, -1)[:, groups]
        return Mechanism(spread.reshape(-1, rows.shape[1]), inputs=self.inputs)

    def _privacy(self) -> RobustPrivacy:
        """Return what the repair keeps: membership in Γ where the bound is one over Γ, else privacy."""
        asked = self.question
        seen = merged(asked.robust, asked.groups)
        return ConePrivacy(seen, asked.pairs) if asked.cone else RobustPrivacy(seen)

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a Dirichlet(½) table of ``size`` secrets with two values each, for both pair rules.

        The number of samples is n = 1000.
        """
        p_hat = rng.dirichlet(np.full(size * 2, 0.5)).reshape(size, 2)
        for pairs in PAIRS:
            yield f"{size}x2 epsilon=1 pairs={pairs}", cls(1.0, p_hat, 1000, pairs=pairs)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima of a 3 × 3 table; the last is that of all distributions, as F grows."""
        table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
        yield Example(cls(1.0, table, 1000), 0.908081315593)
        yield Example(cls(1.0, table, 1000, pairs="all"), 0.801185563490)
        yield Example(cls(2.0, table, 1000), 1.141053319382)
        yield Example(cls(4.0, table, 1000, pairs="all"), 1.720364712025)
