"""The circulant mechanism through which distributions are learnt best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ldpopt.core.problem import Example
from ldpopt.problems.phi_problem import PhiProblem


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
