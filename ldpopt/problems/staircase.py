"""The best ε-LDP mechanism for a known prior or for telling hypotheses apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.forms.column_program import Sublinear
from ldpopt.core.problem import Example
from ldpopt.core.validate import Array
from ldpopt.models.cones import SecretCone, staircase_cone
from ldpopt.models.utilities import cleaned_utility, named_utility
from ldpopt.problems.column_problem import ColumnProblem


@dataclass(frozen=True, eq=False)
class Staircase(ColumnProblem):
    """Maximise a sublinear utility over all ε-LDP mechanisms on k inputs.

    Some optimum has columns with entries in {1, e^ε} only (up to scale) and at most k of them: an LP
    over the 2^k rays of the staircase cone (Kairouz, Oh and Viswanath 2014, Theorems 2, 4).

    Args:
        epsilon: the level, in nats.
        prior: the distribution of the input, for mutual information.
        hypotheses: two distributions [p0, p1], for a divergence of the released p0 from p1; two or more
            for "bayes".
        utility: "mutual-information" or "guessing" (with ``prior``); "kl", "total-variation",
            "chi-squared", "hellinger", "renyi" or "bayes" (with ``hypotheses``); or any sublinear
            function of Python that maps a k × m matrix to the m values of its columns (with neither,
            and then ``size`` says k).
        size: the number of inputs k, for a utility that is a function.
        weights: the probabilities of the hypotheses, for "bayes"; equal ones if not given.
        order: the order α of "renyi", the power divergence (Σ_y q₀^α q₁^(1−α) − 1)/(α − 1), which grows
            with the Rényi divergence: the same mechanism is best for both.

    >>> Staircase(epsilon=1, prior=[0.7, 0.3]).size
    2
    """

    kind: ClassVar[str] = "staircase"
    bench_sizes: ClassVar[tuple[int, ...]] = (4, 6, 8, 10, 12)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (4, 8, 12, 16, 32, 64)
    epsilon: float
    prior: Any = None
    hypotheses: Any = None
    utility: str | Callable[[Array], Array] | None = None
    size: int | None = None
    weights: Any = None
    order: float | None = None

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        given = self._own() if callable(self.utility) else self._named()
        return {"epsilon": validate.epsilon(self.epsilon), **given}

    def _own(self) -> dict[str, Any]:
        named = (self.prior, self.hypotheses, self.weights, self.order)
        if any(parameter is not None for parameter in named):
            raise InvalidInputError(
                "a utility that is a function takes no prior, hypotheses, weights or order"
            )
        if not isinstance(self.size, int) or self.size < 2:
            raise InvalidInputError(f"size must be a whole number >= 2, not {self.size!r}")
        return {}

    def _named(self) -> dict[str, Any]:
        given = cleaned_utility(self.kind, 1, vars(self))
        k = (given["prior"] if "prior" in given else given["hypotheses"]).shape[-1]
        if k < 2:
            raise InvalidInputError(f"there must be two or more inputs, not {k}: one hides nothing")
        if self.size not in (None, k):
            raise InvalidInputError(f"size must be {k}, the number of inputs, not {self.size}")
        return given | {"size": k}

    @property
    def cone(self) -> SecretCone:
        """The staircase cone: every ratio of two entries of a column is at most e^ε."""
        assert self.size is not None
        return staircase_cone(self.size, self.epsilon)

    @property
    def sublinear(self) -> Sublinear:
        """The utility of a column."""
        if callable(self.utility):
            return self.utility
        assert self.utility is not None
        return named_utility(self.utility, self.prior, self.hypotheses, self.weights, self.order)

    def check_params(self) -> None:
        """Check the parameters as the checker does, unless the utility is a Python function."""
        if not callable(self.utility):
            super().check_params()

    def statement(self) -> dict[str, Any] | None:
        """Return None for a utility that is a Python function: the checker cannot run it."""
        return None if callable(self.utility) else super().statement()

    def to_params(self) -> dict[str, Any]:
        """Return the parameters; ``size`` follows from the others."""
        params = super().to_params()
        del params["size"]
        return params

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a Dirichlet(½) prior on ``size`` inputs at four levels, and five hypotheses."""
        prior = rng.dirichlet(np.full(size, 0.5))
        for level in (0.5, 1.0, 2.0, 4.0):
            yield f"k={size} epsilon={level:g}", cls(level, prior=prior)
        hypotheses = rng.dirichlet(np.full(size, 0.5), size=5)
        yield f"k={size} epsilon=1 kl", cls(1.0, hypotheses=hypotheses[:2], utility="kl")
        yield f"k={size} epsilon=1 bayes", cls(1.0, hypotheses=hypotheses, utility="bayes")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima, most from the LP; ½(1 + 0.1848…) for bayes from total variation."""
        prior, pair = [0.4, 0.3, 0.2, 0.1], [[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.25, 0.35]]
        yield Example(cls(0.5, prior=prior), 0.030571552775)
        yield Example(cls(1.0, prior=prior), 0.121973473181)
        yield Example(cls(2.0, prior=prior), 0.429363219342)
        yield Example(cls(1.0, hypotheses=pair, utility="kl"), 0.073481135587)
        yield Example(cls(1.0, hypotheses=pair, utility="total-variation"), 0.184846862904)
        yield Example(cls(1.0, hypotheses=pair, utility="chi-squared"), 0.158310260520)
        yield Example(cls(1.0, hypotheses=pair, utility="hellinger"), 0.035742545609)
        yield Example(cls(1.0, hypotheses=pair, utility="renyi", order=3.5), 0.325180155036)
        yield Example(cls(1.0, hypotheses=pair, utility="bayes"), 0.592423431452)
        yield Example(cls(1.0, prior=prior, utility="guessing"), 0.518505196289)
        yield Example(cls(1.0, prior=[1.0, 0.0, 0.0]), 0.0)
        yield Example(cls(1.0, prior=[0.5, 0.5, 0.0]), 0.110944071672)
