"""The mechanism with as many outputs as inputs through which distributions are learnt best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ldpopt.core.problem import Example
from ldpopt.problems.phi_problem import PhiProblem


@dataclass(frozen=True)
class SquareFidelity(PhiProblem):
    """Minimise φ(W) over ε-LDP mechanisms with k outputs.

    Pastore and Gastpar 2021, Section 7.1 conjectures that the step mechanism is the answer; that is
    false for small ε. Symmetric designs attain the bound φ* where their block size is the best one;
    elsewhere the best mechanisms known have entries strictly between the two levels.

    The bound is one over mechanisms with k outputs: above φ* where no two blocks of the best size can
    have the best number of inputs in common, see :mod:`ldpopt.checker.kernel.proofs.square_phi_bound`.

    Args:
        epsilon: the level, in nats.
        inputs: the number of inputs k and outputs.
    """

    kind: ClassVar[str] = "square-fidelity"
    family: ClassVar[str] = "square"
    bench_sizes: ClassVar[tuple[int, ...]] = (4, 5, 6, 7)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (4, 5, 6, 7, 8, 10, 11)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Show the Fano plane, and the step mechanism where it is optimal."""
        yield Example(cls(0.5, 7), 571.530243354543)
        yield Example(cls(1.0, 3), 16.080264454524)
