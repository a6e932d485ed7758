"""The best mechanism that hides s against every distribution of a confidence set itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import certify, validate
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.exact import (
    RobustStatement,
    UnreadableError,
    empirical_information,
    frame,
    robust_information,
)
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.forms.cut_program import CutProgram
from ldpopt.core.measure import Measure
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Stages
from ldpopt.core.stage import Stage
from ldpopt.models.block_cone import BlockCone
from ldpopt.models.exact_cone import ExactCone
from ldpopt.models.robust_information import RobustInformation
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems._robust.exact_proof import exact_proof
from ldpopt.problems.table_problem import RobustPrivacy, TableProblem, secret_ceiling

MOST_SECRETS, MOST_INPUTS = 12, 64
"""The most secrets (staircase columns of the ceiling) and inputs (cuts) that stay tractable."""


@dataclass(frozen=True, eq=False)
class RobustOptimum(TableProblem):
    """Maximise I(X; Y) over all mechanisms that are (ε, F)-RLDP for the χ² confidence set F.

    Lopuhaä-Zwakenberg and Goseling 2021, Definition 1. PolyOpt maximises over a polyhedral cone inside
    the cone of private columns, and calibration widens it; here the cone is cut out by members of F, and
    the bound holds for every private mechanism.

    Args:
        epsilon: the level, in nats.
        p_hat: the observed distribution [s][u], with ``n``; or else ``counts``.
        n: the number of samples.
        alpha: the significance level of the confidence set.
        counts: the contingency table [s][u].
        objective: "empirical" maximises I under p̂; "robust" a guarantee for every P ∈ F.

    >>> RobustOptimum(epsilon=1, p_hat=[[0.3, 0.2], [0.15, 0.35]], n=1000).uncertainty.shape
    (2, 2)
    """

    kind: ClassVar[str] = "robust-optimum"
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    objective: str = "empirical"

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        given = super().cleaned()
        validate.choice("objective", self.objective, ("empirical", "robust"))
        a1, a2 = self.uncertainty.shape
        if a1 > MOST_SECRETS or a1 * a2 > MOST_INPUTS:
            raise InvalidInputError(
                f"a table of {self.kind} may have at most {MOST_SECRETS} secrets and {MOST_INPUTS} "
                f"cells, not {a1} and {a1 * a2}; polyopt takes larger ones"
            )
        return given

    @cached_property
    def _utility(self) -> MutualInformation | RobustInformation:
        F = self.uncertainty
        robust = self.objective == "robust"
        return RobustInformation(F.ball) if robust else MutualInformation(F.p_hat.ravel())

    @property
    def measure(self) -> Measure:
        """What the utility measures."""
        return self._utility.measure

    def forms(self) -> Iterable[Form]:
        """Give one form: the program over the exact cone."""
        F = self.uncertainty
        prior = F.p_hat.ravel()
        polyopt = BlockCone(F.lower_conditionals(), self.epsilon, "distinct")
        inner = ColumnProgram(polyopt, MutualInformation(prior))
        return [CutProgram(ExactCone(F, self.epsilon), self._utility, prior, inner)]

    def stages(self, form: Form) -> Stages:
        """Solve over the exact cone; the bound is the better one of the tree's and the ceiling."""
        yield Stage(form, self._proven)

    def _proven(self, solution: FormSolution) -> FormSolution:
        """Make the proof exact; where the ceiling is lower, it is the bound."""
        ceiling = secret_ceiling(self.uncertainty, self._question())
        highest = ceiling["ceiling"]
        if solution.bound is None or solution.bound >= highest or solution.proof is None:
            return replace(solution, bound=highest, proof=ceiling)
        try:
            proof = exact_proof(solution.proof, self.uncertainty, self._question())
        except (SolverError, UnreadableError):  # its multipliers are too coarse, or its boxes too thin
            return replace(solution, bound=highest, proof=ceiling)
        return replace(solution, bound=certify.dual_bound(np.array(proof["dual"])), proof=proof)

    def _question(self) -> RobustStatement:
        plain = self.statement()
        assert plain is not None
        question: RobustStatement = frame.question(plain).robust
        return question

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism, robustly private in exact arithmetic."""
        a1, a2 = self.uncertainty.shape
        rows = certify.repair(solution.point.matrix, RobustPrivacy(self._question()))
        return Mechanism(rows, inputs=product(range(a1), range(a2)))

    def value(self, answer: Mechanism) -> float:
        """Compute I(X; Y) under p̂, or its guaranteed least value."""
        return float(self._utility(answer.matrix).sum())

    def claim(self, answer: Mechanism) -> float:
        """Evaluate the utility by the checker's exact arithmetic, rounded down."""
        exact = robust_information if self.objective == "robust" else empirical_information
        return certify.value_below(exact(answer.matrix.tolist(), self._question()))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a Dirichlet(½) table of ``size`` secrets with two values each, n = 1000."""
        p_hat = rng.dirichlet(np.full(size * 2, 0.5)).reshape(size, 2)
        yield f"{size}x2 epsilon=1", cls(1.0, p_hat, 1000)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give proven optima of a 2 × 2 table."""
        table = [[0.3, 0.2], [0.15, 0.35]]
        yield Example(cls(1.0, table, 1000), 0.722958722)
        yield Example(cls(2.0, table, 1000), 0.936659703)
