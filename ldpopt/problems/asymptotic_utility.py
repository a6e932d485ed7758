"""Find the ε-LDP mechanism whose reports, if very many, tell most about an unknown distribution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import LEAST_DIRICHLET_ALPHA, MOST_DIRICHLET_ALPHA, most_dirichlet_values
from ldpopt.core.problem import Example
from ldpopt.core.validate import Array
from ldpopt.models.priors import Dirichlet
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

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        floor = self.min_average_privacy
        return {
            "epsilon": validate.epsilon(self.epsilon),
            "dirichlet": checked_dirichlet(self.dirichlet, floor is not None),
            "min_average_privacy": None if floor is None else privacy_floor(floor),
        }

    @property
    def floor(self) -> float | None:
        """The least average privacy."""
        return self.min_average_privacy

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


def checked_dirichlet(dirichlet: Any, floor: bool) -> Array:
    """Check that the checker decides questions with these Dirichlet parameters."""
    checked = Dirichlet(dirichlet)
    most = most_dirichlet_values(checked.exchangeable, floor)
    if checked.size > most:
        which = "equal" if checked.exchangeable else "different"
        also = "with a floor on the average privacy" if floor else "without a floor"
        raise InvalidInputError(
            f"dirichlet must have at most {most} entries if they are {which}, {also}, not "
            f"{checked.size}: more sets of values cannot be certified"
        )
    low, high = LEAST_DIRICHLET_ALPHA, MOST_DIRICHLET_ALPHA
    if checked.alpha.min() < low or checked.alpha.max() > high:
        raise InvalidInputError(f"dirichlet must lie between {low:g} and {high:g}, not {checked.alpha}")
    return checked.alpha


def privacy_floor(value: Any) -> float:
    """Check a floor on the average privacy."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise InvalidInputError(f"min_average_privacy must lie in [0, 1), not {value!r}")
    return float(value)
