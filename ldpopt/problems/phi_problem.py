"""Questions of one shape: the mechanism of a family through which distributions are learnt best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import balanced_phi, exp_above, phi_above, phi_bound
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.matrix_program import MatrixProgram, SubsetSelection
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Measure, Problem
from ldpopt.core.validate import Array
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.estimation_fidelity import square_phi_bound
from ldpopt.measures.estimator_variance import MomentObjective
from ldpopt.models.cones import staircase_cone

LEARNING_COST = Measure("α: times as many reports as without noise")
"""What the questions for a given distribution, or for the worst one, minimise."""


def repaired(matrix: Array, epsilon: float, family: str) -> Array:
    """Repair the solver's mechanism in exact arithmetic, so that it stays in its family.

    Args:
        matrix: the mechanism as the solver found it.
        epsilon: the level ε, in nats.
        family: "circulant", or any other family, whose mechanisms keep no pattern.
    """
    if family == "circulant":
        return certify.repair_circulant(matrix[0], epsilon)
    return certify.repair(matrix, staircase_cone(len(matrix), epsilon))


def stated(found: Fraction | None) -> float:
    """Round the upper end of the checker's enclosure up to a float."""
    if found is None:
        raise SolverError("the solver's mechanism does not tell all distributions apart")
    return certify.value_above(found)


@dataclass(frozen=True)
class PhiProblem(Problem):
    """Minimise φ(W) over the ε-LDP mechanisms of a family on k inputs.

    α_MSE(uniform) = α_f(uniform) = (φ − 1)/(k − 1): φ says how many more reports privacy asks for. The
    bound φ*(ε, k) of :func:`ldpopt.measures.estimation_fidelity.phi_bound` holds for all mechanisms.
    That of :func:`ldpopt.measures.estimation_fidelity.square_phi_bound` is larger where it can be,
    and holds for mechanisms with k outputs, circulant or not: the claim of a result says which of the
    two it is.
    """

    sense: ClassVar = "minimise"
    measure: ClassVar[Measure] = Measure("φ, the cost of learning the frequencies (less is better)")
    family: ClassVar[str]
    epsilon: float
    inputs: int

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Give three levels on ``size`` inputs, one of them drawn at random."""
        for level in (0.3, 2.0, round(float(rng.uniform(0.1, 3)), 6)):
            yield f"k={size} epsilon={level:g}", cls(level, size)

    def forms(self) -> Iterable[Form]:
        """Give one form: φ over the family."""
        if self.family == "broad":
            bound = certify.value_below(phi_bound(self.inputs, exp_above(self.epsilon)))
        else:
            bound = certify.value_below(square_phi_bound(self.inputs, self.epsilon))
        objective = MomentObjective(np.full(self.inputs, 1 / self.inputs))
        return [MatrixProgram(objective, self.epsilon, self.family, bound)]

    def lift(self, form: Form, solution: FormSolution) -> Any:
        """Repair the mechanism in exact arithmetic.

        A subset selection that is too wide for a matrix becomes plain data.
        """
        point = solution.point
        if isinstance(point, SubsetSelection):
            plain = {"inputs": self.inputs, "size": point.size, "ratio": point.ratio}
            return {"mechanism": "subset-selection", **plain}
        return Mechanism(repaired(point, self.epsilon, self.family))

    def value(self, answer: Any) -> float:
        """Compute φ of the answer."""
        if isinstance(answer, Mechanism):
            return estimation_fidelity.phi(answer)
        return estimation_fidelity.balanced_phi(
            self.inputs, float(np.log(answer["ratio"])), answer["size"]
        )

    def claim(self, answer: Any) -> float:
        """Compute φ by the checker's exact arithmetic, rounded up."""
        if isinstance(answer, Mechanism):
            return stated(phi_above(answer.matrix.tolist()))
        ratio = Fraction(answer["ratio"])
        return certify.value_above(balanced_phi(self.inputs, answer["size"], ratio))
