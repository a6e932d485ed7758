"""The mechanism through which a distribution near a known one is learnt best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import certify, validate
from ldpopt.core.exact import alpha_bound, exp_above, loss_above, normalised
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.matrix_program import MatrixProgram
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.moment_objectives import MomentObjective
from ldpopt.problems.least_phi import LEARNING_COST, repaired, stated


@dataclass(frozen=True, eq=False)
class Fidelity(Problem):
    """Minimise α(W, p), the factor by which privacy asks for more reports, at a given p.

    The feasibility problem of Pastore and Gastpar 2021, (8). For any number of outputs it is a convex
    program over staircase columns (an optimal design), for all three losses, with a proof of optimality;
    with as many outputs as inputs the bound is that of all mechanisms. For more inputs than a design can
    list the bound is (46) with φ* in place of Lemma 11.

    Args:
        epsilon: the level, in nats.
        prior: the distribution p, all entries positive.
        loss: "f-divergence", "mse" or "tv".
        family: "broad" (any number of outputs) or "square" (as many as inputs).
    """

    kind: ClassVar[str] = "fidelity"
    sense: ClassVar = "minimise"
    measure: ClassVar[Measure] = LEARNING_COST
    bench_sizes: ClassVar[tuple[int, ...]] = (3, 5, 7, 9)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (3, 5, 7, 9, 12, 16)
    epsilon: float
    prior: Any
    loss: str = "f-divergence"
    family: str = "broad"

    def cleaned(self) -> dict[str, Any]:
        """Read the level and the prior."""
        return {**super().cleaned(), "prior": validate.distribution("prior", self.prior)}

    def forms(self) -> Iterable[Form]:
        """Give α over the family, then over square mechanisms, which belong to both families."""
        bound = certify.value_below(alpha_bound(self._source(), exp_above(self.epsilon), self.loss))
        objective = MomentObjective(self.prior, self.loss)
        families = dict.fromkeys([self.family, "square"])
        return [MatrixProgram(objective, self.epsilon, family, bound) for family in families]

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Repair the mechanism in exact arithmetic."""
        assert isinstance(form, MatrixProgram)
        return Mechanism(repaired(solution.point, self.epsilon, form.family))

    def value(self, answer: Mechanism) -> float:
        """Compute α of the mechanism at p."""
        return estimation_fidelity.alpha(answer, self.prior, self.loss)

    def claim(self, answer: Mechanism) -> float:
        """Compute α by the checker's exact arithmetic, rounded up."""
        return stated(loss_above(answer.matrix.tolist(), self._source(), self.loss))

    def _source(self) -> list[Fraction]:
        """Return the distribution as fractions that sum to 1: what the result is about."""
        return normalised([self.prior.tolist()], "prior")[0]

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a Dirichlet(2) distribution on ``size`` inputs, for all losses and two levels."""
        p = rng.dirichlet(np.full(size, 2.0))
        for loss, level in product(estimation_fidelity.LOSSES, (0.5, 2.0)):
            yield f"k={size} {loss} epsilon={level:g}", cls(level, p, loss)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give the uniform distribution, where α is (φ* − 1)/(K − 1)."""
        yield Example(cls(1.0, [0.25] * 4, "mse"), (34.224891557110 - 1) / 3)
        yield Example(cls(1.0, [0.25] * 4, "f-divergence"), (34.224891557110 - 1) / 3)
        yield Example(cls(1.0, [0.25] * 4, "tv"), (34.224891557110 - 1) / 3)
