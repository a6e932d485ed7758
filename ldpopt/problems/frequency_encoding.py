"""How to report one of many values so that their frequencies are known best, without a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ldpopt.core.certify import value_above, value_below
from ldpopt.core.exact import encoding_error, exp_above, phi_bound
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.searches import EncodingChoice
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.mechanisms import ENCODINGS
from ldpopt.mechanisms.randomizer import Values
from ldpopt.mechanisms.stated import encoding


@dataclass(frozen=True, eq=False)
class FrequencyEncoding(Problem):
    """Choose the parameters of an ε-LDP encoding with the least squared error of all frequencies.

    The answer states the parameters, not a matrix, so it can have thousands of inputs. The value is the
    largest expected squared error of all frequencies together, over all distributions, times the number
    of reports (:mod:`ldpopt.checker.kernel.proofs.encodings`, Lemma 3). The bound is that of
    the unbiased estimates of all ε-LDP mechanisms, (φ* − 1)/k at the uniform distribution; "subset"
    attains it.

    Args:
        epsilon: the level, in nats.
        encoding: "unary" and "hashing" (Wang et al. 2017) or "subset" (Ye and Barg 2018).
        inputs: the number of values, from 2 to 65,536.
        buckets: for "hashing", how many buckets, a prime; 2 is Hadamard response (Acharya et al. 2019).
            If not given, the prime up to 1021 with the least error.

    >>> FrequencyEncoding(1.0, "subset", 1000).measure.name
    'squared error of all frequencies, times the number of reports, for the worst distribution'
    """

    kind: ClassVar[str] = "frequency-encoding"
    sense: ClassVar[Literal["maximise", "minimise"]] = "minimise"
    measure: ClassVar[Measure] = Measure(
        "squared error of all frequencies, times the number of reports, for the worst distribution"
    )
    bench_sizes: ClassVar[tuple[int, ...]] = (10, 100, 1000)
    epsilon: float
    encoding: str
    inputs: int
    buckets: int | None = None

    def forms(self) -> Iterable[Form]:
        """Give one form."""
        k = self.inputs
        bound = value_below((phi_bound(k, exp_above(self.epsilon)) - 1) / k)
        return [EncodingChoice(self.encoding, k, self.epsilon, self.buckets, bound)]

    def lift(self, form: Form, solution: FormSolution) -> dict[str, Any]:
        """Return the parameters."""
        return solution.point

    def value(self, answer: Any) -> float:
        """Compute the error for the uniform distribution, the worst one."""
        k = self.inputs
        return float(encoding(answer).variances(np.full(k, 1 / k), [Values(np.arange(k), k)])[0].sum())

    def claim(self, answer: Any) -> float:
        """Compute the error exactly, rounded up."""
        return value_above(encoding_error(encoding(answer).exact))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a level, and ask for each encoding of ``size`` inputs."""
        epsilon = round(float(rng.uniform(0.5, 4)), 3)
        for name in ENCODINGS:
            yield f"{name} {size}, ε {epsilon}", cls(epsilon, name, size)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give encodings whose best parameters are known."""
        E = math.e
        # subset selection of 3 inputs at ε = 1 has m = 1: randomised response, p = e/(e + 2)
        own, other = E / (E + 2), 1 / (E + 2)
        yield Example(cls(1.0, "subset", 3), 3 * (2 / 9) / (own - other) ** 2)
        # Hadamard response: p = e/(e + 1), q = 1/2, and s (1 − s) = 1/4 − (s − 1/2)²
        gain = E / (E + 1) - 0.5
        yield Example(cls(1.0, "hashing", 5, 2), 5 * (0.25 - (gain / 5) ** 2) / gain**2)
        # unary encoding of 2 inputs: by symmetry κ = 1 − λ, s = 1/2
        root = math.exp(0.5)
        yield Example(cls(1.0, "unary", 2), 0.5 / ((root - 1) / (root + 1)) ** 2, 1e-7)
