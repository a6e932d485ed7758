"""The best parameters when a random set of secrets is reported, each with a value of u."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr

from ldpopt.core import certify
from ldpopt.core.certify import GRID
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.exact import (
    UNIT,
    Protocol,
    is_reporting_protocol,
    is_unary_private,
    read_unary,
    unary_value_below,
    units_down,
)
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.searches import ScalarSearch
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example
from ldpopt.core.validate import Array
from ldpopt.mechanisms import catalogue
from ldpopt.models.block_cone import subset_sums
from ldpopt.problems._robust import unary_bound
from ldpopt.problems._robust.response_shares import Apart, lines, of_pair, reported_apart, rights
from ldpopt.problems.grr_conditional import GRRConditional
from ldpopt.problems.reporting_problem import level_of, plain_member

MOST_REPORTS = 4096
"""With more different reports the answer states the parameters of the protocol, not its matrix."""
SMALLER = (1e-9, 1e-8, 1e-7, 1e-6)
"""The relative steps by which a split is made smaller until its protocol is private up to rounding."""
NEVER = 1e-9
"""Probabilities below this, which the grid would distort, are 0."""


@dataclass(frozen=True, eq=False)
class UEConditional(GRRConditional):
    """Maximise I(X; Y) over ε₂, κ, λ for UE-CR (Lopuhaä-Zwakenberg and Goseling 2021, Protocol 3).

    Theorem 19, with δ_s of Theorem 17: the protocol is (max(ε₁ + ε₂, 2 ε₂), F)-RLDP where e^ε₁ is the
    ratio of the odds of κ and λ. A smaller λ at the same κ is always better (bit by bit, a report with
    a larger λ can be computed from it), so λ is as small as ε₁ = ε − ε₂ allows: two variables are left.
    The utility (96) of Theorem 20 is exact for P = p̂ (only). With ``calibrate`` δ_s is the highest level
    at which, for every member of F, a report of u given s is at most e^ε₂ times as likely as one of a
    drawn value, and not less than e^−ε₂ times; ε₂ ends where reports of two secrets tell them apart by
    e^ε.

    >>> UEConditional(1.0, [[0.3, 0.2], [0.1, 0.4]], 1000).box
    (array([0., 0.]), array([0.5, 1. ]))
    """

    kind: ClassVar[str] = "ue-conditional"
    any_reports: ClassVar[bool] = False
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5, 6)

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        given = super().cleaned()
        if self.blocks == "optimal" and self.reports > MOST_REPORTS:
            raise InvalidInputError(
                f"optimal blocks need a list of all reports: at most {MOST_REPORTS} are allowed, and "
                f"this table has (1 + {self.uncertainty.shape[1]})^{self.uncertainty.shape[0]}"
            )
        return given

    @property
    def reports(self) -> int:
        """How many different reports there are at most."""
        a1, a2 = self.uncertainty.shape
        return int((1 + a2) ** a1)

    @property
    def box(self) -> tuple[Array, Array]:
        """ε₂ ∈ [0, ε/2], or up to the last private split, and κ ∈ [0, 1]."""
        top = self.last_split[0] if self.calibrate else self.epsilon / 2
        return np.zeros(2), np.array([top, 1.0])

    def back_limits(self, given: Array, least: Array) -> Array:
        """Limit the blocks by what makes another secret likelier, by the same factor."""
        return of_pair(given.shape[1], given, least)

    @cached_property
    def last_split(self) -> tuple[float, Apart | None]:
        """The largest ε₂ at which two secrets' reports are private, and what tells them apart there."""
        F = self.uncertainty

        def worst(split: float) -> Apart:
            g = np.array([math.exp(split)])
            return reported_apart(F, rights(self.limits(g), g)[0])

        low, high = self.epsilon / 2, self.epsilon
        if worst(high).level <= self.epsilon:
            return high, None
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if worst(middle).level <= self.epsilon else (low, middle)
        return low, worst(high)

    def block_levels(self, point: Array) -> Array:
        """Compute the level of every block at one point, exactly where it is a randomised response."""
        if self.blocks != "grr":
            return super().block_levels(point)
        return level_of(self.uncertainty.shape[1], self.exact_rights(point))

    def exact_rights(self, point: Array) -> Array:
        """Compute how often the responses for u are right by the checker's arithmetic.

        At small ε and large n the limits are quotients of numbers that cancel: floats keep so few
        digits that no split has the blocks found, and the checker would refuse the protocol.
        """
        parts = Protocol(self.question, [])
        g = min(max(units_down(math.exp(point[0])), UNIT), parts.top)
        return np.array([right / UNIT for right in parts.rights(g)])

    def members(self) -> list[dict[str, Any]]:
        """Name the member of F that makes larger splits unsafe, if there are any."""
        found = self.last_split[1]
        return [] if found is None else [plain_member(self.uncertainty, found)]

    def search(self, limits: Callable[[Array], Array]) -> ScalarSearch:
        """State a search over ε₂ and κ, bounded by :mod:`ldpopt.problems._robust.unary_bound`."""

        weights = unary_bound.SetWeights(*self._subsets)
        E, k = math.exp(self.epsilon), self.uncertainty.shape[1]
        entropy = entr(self.uncertainty.secrets).sum()

        def objective(points: Array) -> Array:
            g, kappa = np.exp(points[:, 0]), points[:, 1]
            lam = self.smallest(kappa, self.epsilon - points[:, 0])
            first = unary_bound.information(weights(E / g), kappa, lam)
            return first + kappa * self.block_utilities(level_of(k, rights(limits(g), g)))

        def upper(low: Array, high: Array) -> Array:
            g = np.exp(low[:, 0]), np.exp(high[:, 0])
            ratios = E / g[1], E / g[0]
            blocks = self.block_utilities(level_of(k, rights(limits(g[1]), g[1])))
            said = [blocks, blocks]  # optimal blocks need not be convex in how often they are right
            if self.blocks == "grr":
                right = lines(limits(np.sqrt(g[0] * g[1])), *g)
                said = [self.block_utilities(level_of(k, np.minimum(ends, 1.0))) for ends in right]
            ends = unary_bound.Ends(
                ratios,
                (weights(ratios[0]), weights(ratios[1])),
                (np.maximum(*said), said[0]),
            )
            found = unary_bound.most(ends, low[:, 1], high[:, 1])
            spent = self.epsilon - low[:, 0]
            said_of_secrets = np.minimum(spent * np.tanh(spent / 2), entropy)
            return np.minimum(found, said_of_secrets + 1e-15 + high[:, 1] * blocks)

        return ScalarSearch(*self.box, objective, upper, self.cost)

    @staticmethod
    def smallest(kappa: Array, first: Array) -> Array:
        """Compute the smallest λ: odds of κ = e^ε₁ · odds of λ."""
        return kappa / (kappa + (1 - kappa) * np.exp(first))

    @cached_property
    def _subsets(self) -> tuple[Array, Array]:
        """P(s ∈ Z) and |Z| for all sets Z of secrets."""
        secrets = self.uncertainty.secrets
        return subset_sums(secrets), subset_sums(np.ones(len(secrets)))

    def encoding_information(self, kappa: Array, lam: Array) -> Array:
        """Compute I(S; UE(S)): the entropy of the reported set less that of its independent bits."""
        mass, count = self._subsets
        k = len(self.uncertainty.secrets)
        ones, x, y = count[None, :], kappa[:, None], lam[:, None]
        inside = x * y ** np.maximum(ones - 1, 0) * (1 - y) ** (k - ones)
        outside = (1 - x) * y**ones * (1 - y) ** np.maximum(k - 1 - ones, 0)
        out = mass * inside + (1 - mass) * outside
        noise = entr(kappa) + entr(1 - kappa) + (k - 1) * (entr(lam) + entr(1 - lam))
        return entr(np.maximum(out, 0.0)).sum(axis=1) - noise

    def lift(self, form: Form, solution: FormSolution) -> Any:
        """Build the protocol at the point found: its matrix, or its parameters if that is wide."""
        if self.reports <= MOST_REPORTS:
            return self._matrix(form, solution)
        return self._parameters(solution)

    def _parameters(self, solution: FormSolution) -> dict[str, Any]:
        """State the parameters of the protocol at the point found, made private in exact arithmetic."""
        a2 = self.uncertainty.shape[1]
        kappa = solution.point[1:]
        kappa = np.where(1 - kappa < NEVER, 1.0, np.where(kappa < NEVER, 0.0, kappa))
        right = self.exact_rights(solution.point)
        lam = self.smallest(kappa, self.epsilon - solution.point[:1])[0]
        for touch in certify.rising(GRID / math.expm1(self.epsilon), 1e-3):
            answer = {
                "kappa": _on_grid(kappa[0]),
                "lambda": _on_grid(lam + touch * (kappa[0] - lam)),
                "right": [
                    max(_on_grid(y), _on_grid(1 / a2 + GRID)) for y in right - touch * (right - 1 / a2)
                ],
            }
            if is_unary_private(read_unary(answer, self.question.robust), self.question.robust):
                return answer
        raise SolverError("the solver's protocol is too far from private to be repaired")

    def _matrix(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the matrix; a calibrated one at a split so much smaller that its repair is small.

        Where the last private split is the best, floats may miss it by some 1e-9. The repair would then
        take the mechanism further from the protocol than the checker allows.
        """
        found = super().lift(form, solution)
        for step in SMALLER if self.calibrate else ():
            if is_reporting_protocol(found.matrix.tolist(), self.question):
                break
            point = solution.point * np.array([1 - step, 1.0])
            found = super().lift(form, replace(solution, point=point))
        return found

    def value(self, answer: Any) -> float:
        """Compute I(X; Y) under p̂, from the matrix or from the parameters."""
        if isinstance(answer, Mechanism):
            return super().value(answer)
        kappa, lam = np.array([answer["kappa"]]), np.array([answer["lambda"]])
        levels = level_of(self.uncertainty.shape[1], np.array([answer["right"]]))
        blocks = kappa * self.block_utilities(levels)
        return float((self.encoding_information(kappa, lam) + blocks)[0])

    def claim(self, answer: Any) -> float:
        """Evaluate the utility by the checker's exact arithmetic, rounded down."""
        if isinstance(answer, Mechanism):
            return super().claim(answer)
        robust = self.question.robust
        return certify.value_below(unary_value_below(read_unary(answer, robust), robust))

    def audit(self, answer: Any) -> dict[str, Any]:
        """Measure the exact level of a matrix; parameters are decided by the checker alone."""
        return super().audit(answer) if isinstance(answer, Mechanism) else {}

    def protocol(self, point: Array) -> catalogue.UEConditional:
        """Build the protocol as a sampler."""
        kappa = np.array([point[1]])
        lam = float(self.smallest(kappa, np.array([self.epsilon - point[0]]))[0])
        blocks = self.block_mechanisms(point)
        p_hat = self.uncertainty.p_hat
        return catalogue.ue_conditional_reporting(p_hat, float(kappa[0]), lam, blocks)

    def mechanism(self, point: Array) -> Mechanism:
        """Build UE-CR with the given ε₂ and κ; outputs that never occur are left out."""
        full = self.protocol(point).mechanism()
        used = np.flatnonzero(full.matrix.any(axis=0))
        outputs = [full.outputs[i] for i in used]
        return Mechanism(full.matrix[:, used], full.inputs, outputs)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima of a 3 × 3 table; every secret is reported, and the budget goes to u."""
        table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
        yield Example(cls(0.5, table, 1000), 0.164444363189, 1e-8)
        yield Example(cls(1.0, table, 1000), 0.337101347144, 1e-8)


def _on_grid(x: float) -> float:
    """Round down to a whole multiple of 2^−52."""
    return math.floor(x / GRID) * GRID
