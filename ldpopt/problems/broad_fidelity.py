"""The mechanism with any number of outputs through which distributions are learnt best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ldpopt.core.problem import Example
from ldpopt.problems.phi_problem import PhiProblem


@dataclass(frozen=True)
class BroadFidelity(PhiProblem):
    """Minimise φ(W) over all ε-LDP mechanisms on k inputs.

    Solved for every k and ε: subset selection with the best subset size m attains the bound φ*. This
    closes the gap between O(K²) and O(K³) that Pastore and Gastpar 2021, Section 8 leaves open. Where
    the C(k, m) outputs are too many for a matrix and no symmetric design is known, the answer is plain
    data: ``{"mechanism": "subset-selection", "inputs": k, "size": m, "ratio": E}``.

    Args:
        epsilon: the level, in nats.
        inputs: the number of inputs k.
    """

    kind: ClassVar[str] = "broad-fidelity"
    family: ClassVar[str] = "broad"
    bench_sizes: ClassVar[tuple[int, ...]] = (10, 100, 1000)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give a design, and subset selections as a matrix and as plain data."""
        yield Example(cls(0.5, 7), 571.530243354543)
        yield Example(cls(0.3, 5), 708.766150666434)
        yield Example(cls(0.3, 17), 11302.8977841403)
