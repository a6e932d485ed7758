"""The mechanism through which the hardest of many distributions is learnt best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.checker.moments import minimax_bound_below, worst_alpha_above
from ldpopt.core import certify, validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.measure import Measure
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Problem
from ldpopt.forms.matrix_program import MatrixProgram
from ldpopt.theory.fidelity import measures as fidelity
from ldpopt.theory.fidelity.minimax import worst_alpha
from ldpopt.theory.fidelity.moments import WorstObjective
from ldpopt.theory.fidelity.problem import LEARNING_COST, inputs, repaired


@dataclass(frozen=True)
class MinimaxFidelity(Problem):
    """Minimise the supremum of α(W, p) over all p with entries ≥ p0, W with k outputs.

    The minimax problem of Pastore and Gastpar 2021, (9) and (35), with the lower bounds (48), (50) and
    (54) and φ* in place of Lemma 11. For "mse" a symmetric design that attains φ* attains the bound. For
    "tv" the value is the upper bound (43) on the supremum.

    Args:
        k: the number of inputs and outputs.
        epsilon: the level, in nats.
        p0: the least probability of an input, at most 1/k.
        loss: "f-divergence", "mse" or "tv".
    """

    kind: ClassVar[str] = "minimax-fidelity"
    sense: ClassVar = "minimise"
    measure: ClassVar[Measure] = LEARNING_COST
    bench_sizes: ClassVar[tuple[int, ...]] = (5, 7, 13)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (5, 7, 13, 21)
    k: int
    epsilon: float
    p0: float
    loss: str = "mse"

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        k, epsilon = inputs(self.k), validate.epsilon(self.epsilon)
        p0 = validate.positive_number("p0", self.p0)
        if p0 > 1 / k:
            raise InvalidInputError(f"p0 must be at most 1/k = 1/{k}, not {p0:g}")
        validate.choice("loss", self.loss, fidelity.LOSSES)
        return {"k": k, "epsilon": epsilon, "p0": p0}

    def forms(self) -> Iterable[Form]:
        """One form: the supremum over square mechanisms."""
        least = minimax_bound_below(self.k, self.epsilon, self.loss, self.p0)
        objective = WorstObjective(np.full(self.k, 1 / self.k), self.loss, self.p0)
        return [MatrixProgram(objective, self.epsilon, "square", certify.value_below(least))]

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """The mechanism in exact arithmetic."""
        return Mechanism(repaired(solution.point, self.epsilon, "square"))

    def value(self, answer: Mechanism) -> float:
        """The supremum of α; for "tv" its proven bound, which is tighter than (43) in :meth:`claim`."""
        return worst_alpha(answer, self.p0, self.loss).bound

    def claim(self, answer: Mechanism) -> float:
        """The supremum with the checker's 60 digits, rounded up."""
        above = worst_alpha_above(answer.matrix.tolist(), self.p0, self.loss)
        return certify.value_above(above)

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """All losses on ``size`` inputs, for a drawn least probability."""
        p0 = round(float(rng.uniform(0.1, 0.9)) / size, 9)
        for loss in fidelity.LOSSES:
            yield f"k={size} {loss} p0={p0:g}", cls(size, 1.0, p0, loss)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """The seven-point plane attains the bound (50) with φ*."""
        optimum = 1 + (571.530243354543 / 7 - 1) / (0.05 * 6 * (2 - 7 * 0.05))
        yield Example(cls(7, 0.5, 0.05, "mse"), optimum)
