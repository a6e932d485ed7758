"""The largest asymptotic utility at a given average privacy, with ε fixed or free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core.problem import Example
from ldpopt.problems.asymptotic_utility import RESPONSE_2_1
from ldpopt.problems.design_problem import DesignProblem


@dataclass(frozen=True, eq=False)
class PrivacyUtilityFrontier(DesignProblem):
    """Maximise U^as subject to S_μ ≥ ``min_average_privacy``: one point of the frontier.

    Lopuhaä-Zwakenberg et al. 2019, Section 11 asks for it (with S_μ ≤ L printed for S_μ ≥ L). The class
    of mechanisms is made of columns with two values at several levels up to ε; see
    :class:`ldpopt.problems.design_problem.DesignProblem`.

    Args:
        dirichlet: the parameters of the Dirichlet prior.
        min_average_privacy: the floor on S_μ, at least 0 and less than 1.
        epsilon: the largest LDP level, in nats; by default free (up to 10, where e^−ε = 5e-5).

    >>> PrivacyUtilityFrontier(dirichlet=[0.5, 0.5, 0.5], min_average_privacy=0.8).question.epsilon
    10.0
    """

    kind: ClassVar[str] = "privacy-utility-frontier"
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (3, 4, 5, 6)
    dirichlet: Any
    min_average_privacy: float
    epsilon: float | None = None  # type: ignore[assignment]

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw Jeffreys' prior on ``size`` values under a floor of 0.8, the level fixed."""
        yield f"k={size} floor=0.8 epsilon=2", cls([0.5] * size, 0.8, 2.0)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Show that a floor that does not bind leaves the optimum of ``asymptotic-utility``."""
        yield Example(cls([1.0, 1.0], 0.0, 1.0), RESPONSE_2_1, 1e-8)
