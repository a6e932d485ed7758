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
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.core.validate import Array
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.estimation_fidelity import square_phi_bound
from ldpopt.measures.moment_objectives import MomentObjective
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


@dataclass(frozen=True)
class BroadFidelity(PhiProblem):
    """Minimise φ(W) over all ε-LDP mechanisms on k inputs.

    Solved for every k and ε: subset selection with the best subset size m attains the bound φ*. This
    closes the gap between O(K²) and O(K³) that Pastore and Gastpar 2021, Section 8 leaves open. Where
    the C(k, m) outputs are too many for a matrix and no symmetric design is known, the answer is plain
    data: ``{"mechanism": "subset-selection", "inputs": k, "size": m, "ratio": E}``.

    Args:
        epsilon: the level, in nats.
        inputs: the number of inputs k.
    """

    kind: ClassVar[str] = "broad-fidelity"
    family: ClassVar[str] = "broad"
    bench_sizes: ClassVar[tuple[int, ...]] = (10, 100, 1000)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give a design, and subset selections as a matrix and as plain data."""
        yield Example(cls(0.5, 7), 571.530243354543)
        yield Example(cls(0.3, 5), 708.766150666434)
        yield Example(cls(0.3, 17), 11302.8977841403)


@dataclass(frozen=True)
class SquareFidelity(PhiProblem):
    """Minimise φ(W) over ε-LDP mechanisms with k outputs.

    Pastore and Gastpar 2021, Section 7.1 conjectures that the step mechanism is the answer; that is
    false for small ε. Symmetric designs attain the bound φ* where their block size is the best one;
    elsewhere the best mechanisms known have entries strictly between the two levels.

    The bound is one over mechanisms with k outputs: above φ* where no two blocks of the best size can
    have the best number of inputs in common, see :mod:`ldpopt.checker.kernel.proofs.square_phi_bound`.

    Args:
        epsilon: the level, in nats.
        inputs: the number of inputs k and outputs.
    """

    kind: ClassVar[str] = "square-fidelity"
    family: ClassVar[str] = "square"
    bench_sizes: ClassVar[tuple[int, ...]] = (4, 5, 6, 7)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (4, 5, 6, 7, 8, 10, 11)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Show the Fano plane, and the step mechanism where it is optimal."""
        yield Example(cls(0.5, 7), 571.530243354543)
        yield Example(cls(1.0, 3), 16.080264454524)


@dataclass(frozen=True)
class CirculantFidelity(PhiProblem):
    """Minimise φ(W) over circulant ε-LDP mechanisms.

    Pastore and Gastpar 2021, Theorem 9 says that the step mechanism is the answer; that is false for
    small ε (its proof takes the maximum of a quasi-concave function at the ends of the interval).
    Circulants of cyclic difference sets attain the bound φ* where their block size is the best one. Up
    to 12 inputs the bound is one over circulants, proven by a tree of boxes of their columns.

    Args:
        epsilon: the level, in nats.
        inputs: the number of inputs k (and outputs).

    >>> from ldpopt import solve
    >>> result = solve(CirculantFidelity(epsilon=0.5, inputs=7))
    >>> result.status.value, round(result.value, 6)
    ('optimal', 571.530243)
    """

    kind: ClassVar[str] = "circulant-fidelity"
    family: ClassVar[str] = "circulant"
    bench_sizes: ClassVar[tuple[int, ...]] = (5, 7, 13, 30)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (5, 7, 13, 30, 60)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give difference sets at levels where they are optimal; the step mechanism where that is."""
        yield Example(cls(0.5, 7), 571.530243354543)
        yield Example(cls(0.8, 13), 854.523338506134)
        yield Example(cls(1.0, 4), 34.224891557110)
