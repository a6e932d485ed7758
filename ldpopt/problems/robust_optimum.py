"""The best mechanism that hides s against every distribution of a confidence set itself."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import certify
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.forms.cut_program import CutProgram
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example
from ldpopt.core.validate import Array
from ldpopt.models.block_cone import BlockCone
from ldpopt.models.chi2_ball import RobustInformation
from ldpopt.models.chi2_cone import ExactCone
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems._robust.exact_proof import exact_proof
from ldpopt.problems.cut_problem import CutProblem
from ldpopt.problems.table_problem import RobustPrivacy, TableProblem

SPARE = 2e-10
"""The slack of every inequality of a mechanism that the exact test proves at once; with less it tries
long. Smaller tables, whose gap is closed, do without: see :data:`MANY`."""
MANY = 13


@dataclass(frozen=True, eq=False)
class RobustOptimum(TableProblem, CutProblem):
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
    most_secrets: ClassVar[int] = 12
    most_inputs: ClassVar[int] = 64
    objective: str = "empirical"

    def cleaned(self) -> dict[str, Any]:
        """Check the size of the table."""
        given = super().cleaned()
        self.check_size(self.uncertainty.shape)
        return given

    @cached_property
    def utility(self) -> MutualInformation | RobustInformation:
        """I(X; Y) under p̂, or its guaranteed least value."""
        return self.information

    def forms(self) -> Iterable[Form]:
        """Give one form: the program over the exact cone."""
        F = self.uncertainty
        prior = F.p_hat.ravel()
        polyopt = BlockCone(F.lower_conditionals(), self.epsilon, "distinct")
        inner = ColumnProgram(polyopt, MutualInformation(prior))
        return [CutProgram(ExactCone(F, self.epsilon), self.utility, prior, inner)]

    @property
    def centre(self) -> Array:
        """The observed distribution."""
        return self.uncertainty.p_hat

    def exact_proof(self, proof: dict[str, Any]) -> dict[str, Any]:
        """Move the members of the outer cone into F, and raise the dual vector until it is proven."""
        return exact_proof(proof, self.uncertainty, self.question.robust)

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism, robustly private in exact arithmetic.

        Each exact test takes long where the slack is shared: floats say how much of the uniform
        mechanism takes the rounding errors in, so that one test is enough.
        """
        a1, a2 = self.uncertainty.shape
        rows = solution.point.matrix / solution.point.matrix.sum(axis=1, keepdims=True)
        excess = float(ExactCone(self.uncertainty, self.epsilon).excess(rows)[0].max())
        excess += SPARE if len(rows) >= MANY else 0.0
        touch = min(max(rows.shape[1] * excess / math.expm1(self.epsilon), 0.0), 0.5)
        rows = (1 - touch) * rows + touch / rows.shape[1]
        rows = certify.repair(rows, RobustPrivacy(self.question.robust))
        return Mechanism(rows, inputs=product(range(a1), range(a2)))

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
