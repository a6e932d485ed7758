"""Independent and conditional reporting: utilities in closed form, and their monotone bounds.

Lopuhaä-Zwakenberg and Goseling 2021, Sections VI and VII. Every block of a protocol is better (in the
order of Blackwell) at a higher level, so the utility rises with each level when the others are fixed:
over an interval of the split of the budget it is at most the utility with each level at its own best
end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy.special import entr

from ldpopt.checker import frame
from ldpopt.checker.robust import empirical_information
from ldpopt.core import certify, validate
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.limits import Limits
from ldpopt.core.measure import INFORMATION, Measure
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem, Stages
from ldpopt.core.stage import Stage
from ldpopt.core.status import Status
from ldpopt.core.subject import Subject
from ldpopt.core.validate import Array
from ldpopt.forms.column_program import Sublinear
from ldpopt.forms.scalar_search import ScalarSearch
from ldpopt.mechanisms import randomized_response
from ldpopt.theory.columns.cones import staircase_cone
from ldpopt.theory.columns.linear_program import solve_listed
from ldpopt.theory.columns.utilities import MutualInformation
from ldpopt.theory.robust.problem import RobustPrivacy, audited, confidence_set, robust_subject
from ldpopt.theory.robust.uncertainty import Chi2Set

LEAST_LEVEL = 1e-6
"""Blocks below this level release nothing."""
BOUND_SLACK = 1e-12
"""What a bound from floats is raised by, so that rounding does not break its proof."""


@dataclass(frozen=True, eq=False)
class Reporting(Problem):
    """A protocol whose parameters are to be chosen best; subclasses say which.

    Lopuhaä-Zwakenberg and Goseling 2021, Sections VI and VII.

    Args:
        epsilon: the level, in nats.
        p_hat: the observed distribution [s][u], with ``n``; or else ``counts``.
        n: the number of samples.
        alpha: the significance level of the confidence set F.
        counts: the contingency table [s][u].
        blocks: "grr", randomised response for u as in the paper; or "optimal", the best mechanism for u
            at the same level.
    """

    measure: ClassVar[Measure] = INFORMATION
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 4, 8)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (2, 4, 8, 16)
    epsilon: float
    p_hat: Any = None
    n: float | None = None
    alpha: float = 0.05
    counts: Any = None
    blocks: str = "grr"

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        F = confidence_set(self.kind, self.p_hat, self.n, self.counts, self.alpha)
        given = {"p_hat": F.p_hat, "n": F.n} if self.counts is None else {}
        validate.choice("blocks", self.blocks, ("grr", "optimal"))
        return {"epsilon": validate.epsilon(self.epsilon), **given}

    @cached_property
    def uncertainty(self) -> Chi2Set:
        """The confidence set F."""
        return confidence_set(self.kind, self.p_hat, self.n, self.counts, self.alpha)

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a Dirichlet(½) table of ``size`` secrets with two values each, n = 1000, two levels."""
        p_hat = rng.dirichlet(np.full(size * 2, 0.5)).reshape(size, 2)
        for level in (1.0, 4.0):
            yield f"{size}x2 epsilon={level:g}", cls(level, p_hat, 1000)

    @property
    @abstractmethod
    def box(self) -> tuple[Array, Array]:
        """The range of the parameters."""

    @abstractmethod
    def utilities(self, least: Array, most: Array) -> Array:
        """Compute for each row the utility with every level at its best between two parameter vectors.

        With ``least`` equal to ``most`` it is the utility there.
        """

    @abstractmethod
    def mechanism(self, point: Array) -> Mechanism:
        """Build the protocol with the given parameters."""

    def forms(self) -> Iterable[Form]:
        """State a search over the parameters."""
        low, high = self.box
        cost = 40_000 if self.blocks == "grr" else 400
        yield ScalarSearch(low, high, lambda x: self.utilities(x, x), self.utilities, cost)

    def stages(self, form: Form) -> Stages:
        """Declare one stage.

        The bracket of "optimal" blocks rests on many linear programs and is not claimed.
        """
        yield Stage(form, _unclaimed if self.blocks == "optimal" else _raised)

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the protocol at the point found, repaired to be robustly private in exact arithmetic."""
        found = self.mechanism(solution.point)
        rows = certify.repair(found.matrix, RobustPrivacy.against(self.uncertainty, self.epsilon))
        return Mechanism(rows, found.inputs, found.outputs)

    def subject(self, mechanism: Mechanism) -> Subject:
        """Describe that s is hidden against every distribution of F."""
        return robust_subject(mechanism, self.uncertainty, self.epsilon)

    def audit(self, answer: Mechanism) -> dict[str, Any]:
        """Measure the exact level over F, with a member of F that attains it."""
        return audited(answer, self.uncertainty)

    def value(self, answer: Mechanism) -> float:
        """Compute I(X; Y) under p̂, from the mechanism's matrix."""
        return float(MutualInformation(self.uncertainty.p_hat.ravel())(answer.matrix).sum())

    def claim(self, answer: Mechanism) -> float:
        """Evaluate the utility by the checker's exact arithmetic, rounded down."""
        plain = self.statement()
        assert plain is not None
        robust = frame.question(plain).robust
        return certify.value_below(empirical_information(answer.matrix.tolist(), robust))

    @cached_property
    def radii(self) -> Array:
        """d_s: how far P_{U|s} can be from P̂_{U|s} in ℓ1; Proposition 10 as in (65)."""
        return np.array([ball.l1_bound() for ball in self.uncertainty.conditionals])

    @cached_property
    def given(self) -> Array:
        """P̂_{u|s}."""
        return np.array([ball.center for ball in self.uncertainty.conditionals])


def _raised(solution: FormSolution) -> FormSolution:
    """Raise the bound by more than the rounding of floats."""
    if solution.bound is None:
        return solution
    return replace(solution, bound=solution.bound + BOUND_SLACK)


def _unclaimed(solution: FormSolution) -> FormSolution:
    """Return the point without its bound, which is kept among the counts."""
    if solution.bound is None:
        return solution
    stats = {**(solution.stats or {}), "bracket": solution.bound}
    return FormSolution(Status.FEASIBLE, solution.point, solution.value, stats=stats)


def relaxed_level(epsilon: Array, distance: Any) -> Array:
    """Compute δ = log(1 + 2 (e^ε − 1)/d), the level of a block for u that leaks at most ε about s.

    Lemma 3 of Lopuhaä-Zwakenberg and Goseling 2021.
    """
    return np.log1p(2 * np.expm1(epsilon) / distance)


def response(k: int, level: Array) -> tuple[Array, Array]:
    """Compute the c and d of every level: randomised response sends p to c·p + d."""
    odds = np.exp(-level)
    d = odds / (1 + (k - 1) * odds)
    return 1 - k * d, d


def response_noise(k: int, level: Array) -> Array:
    """Compute H(Y|X) of randomised response."""
    c, d = response(k, level)
    return entr(c + d) + (k - 1) * entr(d)


def response_information(p: Array, level: Array) -> Array:
    """Compute I(X; Y) of randomised response for X of distribution p, for every level."""
    c, d = response(len(p), level)
    out = c[:, None] * p + d[:, None]
    return cast(Array, entr(out).sum(axis=1)) - response_noise(len(p), level)


def best_block(utility: Sublinear, k: int, level: float) -> tuple[float, Mechanism]:
    """Find the best mechanism for u at a level, by the staircase program, and its value.

    Args:
        utility: of a column.
        k: the number of public values.
        level: the level of the block, in nats.

    >>> value, mechanism = best_block(MutualInformation(np.array([0.5, 0.5])), 2, 1.0)
    >>> round(value, 9)
    0.110944072
    """
    if level < LEAST_LEVEL:
        return 0.0, Mechanism(np.ones((k, 1)))
    rays = staircase_cone(k, min(level, validate.EPSILON_RANGE[1])).rays()
    gains = utility(rays)
    if gains.max() <= 1e-14:
        return 0.0, randomized_response(k, min(level, validate.EPSILON_RANGE[1]))
    solution = solve_listed(rays, gains, Limits())
    matrix = solution.point.matrix
    return cast(float, solution.value), Mechanism(matrix / matrix.sum(axis=1, keepdims=True))
