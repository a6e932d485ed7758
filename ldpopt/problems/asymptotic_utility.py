"""Find the ε-LDP mechanism whose reports, if very many, tell most about an unknown distribution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core.problem import Example
from ldpopt.problems.design_problem import DesignProblem


@dataclass(frozen=True, eq=False)
class AsymptoticUtility(DesignProblem):
    """Maximise U^as = −½ log 2πe + E log det(Qᵀ D_P Q)/(2k − 2) over ε-LDP mechanisms on k values.

    Lopuhaä-Zwakenberg et al. 2019, Definition 6.5; the "future work" of its Section 11. This is a
    D-optimal design problem: see :class:`ldpopt.problems.design_problem.DesignProblem`.

    Args:
        epsilon: the level, in nats.
        dirichlet: the parameters of the Dirichlet prior; 1/2 everywhere is Jeffreys' prior.
        min_average_privacy: a floor on S_μ of (4.1), at least 0 and less than 1; by default none.

    >>> AsymptoticUtility(epsilon=1, dirichlet=[0.5, 0.5, 0.5]).prior.size
    3
    """

    kind: ClassVar[str] = "asymptotic-utility"
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (3, 4, 5, 6)
    epsilon: float
    dirichlet: Any
    min_average_privacy: float | None = None

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw Jeffreys' prior on ``size`` values at two levels."""
        for level in (1.0, 2.0):
            yield f"k={size} epsilon={level:g}", cls(level, [0.5] * size)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give randomised response where it is optimal (its utility has a closed form)."""
        yield Example(cls(2.0, [0.5, 0.5, 0.5]), RESPONSE_3_2, 1e-8)
        yield Example(cls(1.0, [1.0, 1.0]), RESPONSE_2_1, 1e-8)


RESPONSE_3_2 = -0.832840006592843
RESPONSE_2_1 = -1.459590385461081
"""U^as of randomised response, (10.5): Jeffreys, k = 3, ε = 2; uniform, k = 2, ε = 1."""
