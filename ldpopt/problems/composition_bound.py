"""How large can the exposure of a joint distribution be, if only its marginals are known?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ldpopt.core import validate
from ldpopt.core.certify import printed_above, printed_below
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import (
    COMPOSITION_METHODS,
    composition_proven,
    composition_reached,
)
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.joint_program import JointProgram
from ldpopt.core.forms.searches import BestBound, ThresholdSearch
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.core.validate import Array
from ldpopt.measures.exposure_from_marginals import Choice
from ldpopt.models.exact_joint import exact_joint


@dataclass(frozen=True, eq=False)
class CompositionBound(Problem):
    """Find the least upper bound on the joint exposure Q(t) that follows from the marginals.

    Bravo-Hermsdorff et al. 2022.

    * "theorem-2", "theorem-3": what these theorems prove with the best thresholds, j* and c (minimise).
    * "worst-joint": the joint distribution of the largest exposure, and a proof that no other has
      more (maximise). A cell of mass exactly t counts, too: the strict exposure of Definition 1 comes
      arbitrarily close at all but special thresholds, and never exceeds it.
    * "best": the least upper bound that any of these, or their tighter variants, prove (minimise);
      its ``bound`` is the exposure of the worst joint found, so no proof can give less.

    Args:
        marginals: the distribution of every feature; values of probability 0 are left out.
        threshold: t, in (0, 1].
        method: one of the above.

    >>> CompositionBound([[0.6, 0.3, 0.1], [0.9, 0.1]], 0.01, "theorem-3").sense
    'minimise'
    """

    kind: ClassVar[str] = "composition-bound"
    measure: ClassVar[Measure] = Measure("exposure, a share of the users")
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5, 8, 10)
    marginals: Any
    threshold: float
    method: str = "best"

    def cleaned(self) -> dict[str, Any]:
        """Leave values of probability 0 out of the marginals."""
        return {**super().cleaned(), "marginals": read_marginals(self.marginals)}

    @property
    def sense(self) -> Literal["maximise", "minimise"]:
        """The worst joint has the largest exposure; a bound is to be small."""
        return "maximise" if self.method == "worst-joint" else "minimise"

    def forms(self) -> Iterable[Form]:
        """Return the form of the method."""
        if self.method == "worst-joint":
            return [JointProgram(self.marginals, self.threshold)]
        if self.method == "best":
            return [BestBound(self.marginals, self.threshold)]
        return [ThresholdSearch(self.marginals, self.threshold, self.method)]

    def lift(self, form: Form, solution: FormSolution) -> dict[str, Any]:
        """Return thresholds, a joint distribution (its cells of positive mass), or the best proof."""
        if self.method == "best":
            return solution.point
        if self.method == "worst-joint":
            cells = JointProgram(self.marginals, self.threshold).cells
            exact = self.question.marginals, self.question.threshold
            return exact_joint(*exact, cells, solution.point, self.threshold, strict=False)
        choice: Choice = solution.point
        return {"thresholds": list(choice.thresholds), "pivot": choice.pivot}

    def _exact(self, answer: dict[str, Any]) -> Fraction:
        if self.method != "worst-joint":
            return composition_proven(self.question, answer, "the answer")
        reached = composition_reached(self.question, answer, "the answer")
        if reached is None:
            raise InvalidInputError("the joint does not meet the marginals")
        return reached

    def value(self, answer: dict[str, Any]) -> float:
        """Compute the exposure of the joint, or what the thresholds or the proof tree prove."""
        return float(self._exact(answer))

    def claim(self, answer: dict[str, Any]) -> float:
        """Compute the same, rounded down for a joint and up for a proof."""
        rounded = printed_below if self.method == "worst-joint" else printed_above
        return rounded(self._exact(answer))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw ``size`` features of three values each, by every method."""
        marginals = rng.dirichlet(np.ones(3), size=size).tolist()
        for method in COMPOSITION_METHODS:
            yield f"features={size} {method}", cls(marginals, 0.01, method)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give two and three marginals, every method."""
        two, three = [[0.6, 0.3, 0.1], [0.9, 0.1]], [[0.6, 0.3, 0.1], [0.5, 0.5], [0.7, 0.2, 0.05, 0.05]]
        known = {
            "theorem-2": (0.133333333333, 0.266666666667, 0.309838667697),
            "theorem-3": (0.211111111111, 0.385185185185, 0.2),
            "worst-joint": (0.02, 0.15, 0.017),
        }
        for method, (first, second, third) in known.items():
            yield Example(cls(two, 0.01, method), first)
            yield Example(cls(two, 0.05, method), second)
            if method != "worst-joint":
                yield Example(cls(three, 0.001, method), third)
        yield Example(cls(two, 0.01, "best"), 0.02)
        yield Example(cls([[0.7, 0.2, 0.1]], 0.15, "best"), 0.1)


def read_marginals(marginals: Any) -> tuple[Array, ...]:
    """Read a list of distributions, without the values of probability 0."""
    if not isinstance(marginals, (list, tuple)):
        raise InvalidInputError(f"marginals must be a list of distributions, not {marginals!r:.80}")
    rows = [validate.distribution(f"marginals[{j}]", p) for j, p in enumerate(marginals)]
    return tuple(p[p > 0] for p in rows)
