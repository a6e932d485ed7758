"""The mechanism through which the hardest of many distributions is learnt best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import certify
from ldpopt.core.exact import (
    exp_above,
    least_probability,
    proven_minimax_bound,
    proven_symmetric_bound,
    worst_alpha_above,
)
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.matrix_program import MatrixProgram
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.estimation_fidelity import square_phi_bound
from ldpopt.measures.minimax import symmetric_bound, worst_alpha
from ldpopt.measures.moment_objectives import WorstObjective
from ldpopt.problems.least_phi import LEARNING_COST, repaired, stated


@dataclass(frozen=True)
class MinimaxFidelity(Problem):
    """Minimise the supremum of α(W, p) over all p with entries ≥ p0, W with k outputs.

    The minimax problem of Pastore and Gastpar 2021, (9) and (35). The value is the supremum itself, at a
    distribution whose entries all are p0 except one. The bound is over mechanisms with k outputs for
    "f-divergence" and "mse", where symmetric designs of the best block size attain it, and over all
    mechanisms for "tv": see :mod:`ldpopt.measures.minimax`. For "mse" it rises with that of
    ``square-fidelity`` where there is no such design.

    Args:
        epsilon: the level, in nats.
        inputs: the number of inputs k and outputs.
        p0: the least probability of an input, at most 1/k.
        loss: "f-divergence", "mse" or "tv".
    """

    kind: ClassVar[str] = "minimax-fidelity"
    sense: ClassVar = "minimise"
    measure: ClassVar[Measure] = LEARNING_COST
    bench_sizes: ClassVar[tuple[int, ...]] = (5, 7, 13)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (5, 7, 13, 21)
    epsilon: float
    inputs: int
    p0: float
    loss: str = "mse"

    def forms(self) -> Iterable[Form]:
        """Give one form: the supremum over square mechanisms."""
        objective = WorstObjective(np.full(self.inputs, 1 / self.inputs), self.loss, self.p0)
        return [MatrixProgram(objective, self.epsilon, "square", *self._bound())]

    def _bound(self) -> tuple[float, dict[str, Any] | None]:
        """Find the best lower bound known, and its proof where it needs one."""
        E, least = exp_above(self.epsilon), least_probability(self.inputs, self.p0)
        plain = certify.value_below(proven_minimax_bound(self.inputs, E, self.loss, least))
        if self.loss == "mse":
            phi = square_phi_bound(self.inputs, self.epsilon)
            raised = 1 + (phi / self.inputs - 1) / (
                least * (self.inputs - 1) * (2 - self.inputs * least)
            )
            return max(plain, certify.value_below(raised)), None
        if self.loss == "f-divergence":
            return plain, None
        found = symmetric_bound(self.inputs, self.epsilon, self.loss, self.p0)
        rest, rows = Fraction(found.rest), [Fraction(x) for x in found.rows]
        if (
            1 - (self.inputs - 1) * rest < least
        ):  # p0 is 1/k: the uniform distribution, by the parameters alone
            return plain, None
        proven = certify.value_below(proven_symmetric_bound(self.inputs, E, rest, rows))
        if proven <= plain:
            return plain, None
        return proven, {"rest": found.rest, "rows": list(found.rows)}

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Repair the mechanism in exact arithmetic."""
        return Mechanism(repaired(solution.point, self.epsilon, "square"))

    def value(self, answer: Mechanism) -> float:
        """Compute the supremum of α; for "tv" the upper end of its enclosure, nearly always a point."""
        return worst_alpha(answer, self.p0, self.loss).bound

    def claim(self, answer: Mechanism) -> float:
        """Evaluate the supremum by the checker's exact arithmetic, rounded up."""
        least = least_probability(self.inputs, self.p0)
        return stated(worst_alpha_above(answer.matrix.tolist(), least, self.loss))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw all losses on ``size`` inputs, for a drawn least probability."""
        p0 = round(float(rng.uniform(0.1, 0.9)) / size, 9)
        for loss in estimation_fidelity.LOSSES:
            yield f"k={size} {loss} p0={p0:g}", cls(1.0, size, p0, loss)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Show the seven-point plane at two of the bounds, and the step mechanism at that of "tv"."""
        optimum = 1 + (571.530243354543 / 7 - 1) / (0.05 * 6 * (2 - 7 * 0.05))
        yield Example(cls(0.5, 7, 0.05, "mse"), optimum)
        yield Example(cls(0.5, 7, 0.05, "f-divergence"), 233.696708261370)
        yield Example(cls(2.0, 5, 0.05, "tv"), 6.216672008725)
