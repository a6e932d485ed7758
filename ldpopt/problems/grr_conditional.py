"""The best split of the budget when u is reported only where s came out true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example
from ldpopt.core.validate import Array
from ldpopt.mechanisms import catalogue as mechanisms
from ldpopt.theory.columns.utilities import MutualInformation
from ldpopt.theory.robust.protocols import (
    Reporting,
    best_block,
    relaxed_level,
    response,
    response_information,
)


@dataclass(frozen=True, eq=False)
class GRRConditional(Reporting):
    """Maximise I(X; Y) over ε₂ for GRR-CR (Lopuhaä-Zwakenberg and Goseling 2021, Protocol 2).

    Theorem 17: s at level ε − ε₂ and, for each s, u at level δ_s = log(1 + 2 (e^ε₂ − 1)/d_s) make it
    (ε, F)-RLDP. The utility (86) of Theorem 18 is exact for P = p̂ (only).

    >>> GRRConditional(1.0, [[0.3, 0.2], [0.1, 0.4]], 1000).box
    (array([0.]), array([1.]))
    """

    kind: ClassVar[str] = "grr-conditional"

    @property
    def box(self) -> tuple[Array, Array]:
        """ε₂ ∈ [0, ε]."""
        return np.zeros(1), np.array([self.epsilon])

    def utilities(self, least: Array, most: Array) -> Array:
        """Compute the utility (86), with ε₁ = ε − least and ε₂ = most."""
        first = np.maximum(self.epsilon - least[:, 0], 0.0)
        secrets = self.uncertainty.secrets
        c, d = response(len(secrets), first)
        return response_information(secrets, first) + (c + d) * self.block_utilities(most[:, 0])

    def block_utilities(self, second: Array) -> Array:
        """Compute I(R^S(U); U | S) for every ε₂."""
        total = np.zeros(len(second))
        for p, q, d in zip(self.uncertainty.secrets, self.given, self.radii, strict=True):
            level = relaxed_level(second, d)
            if self.blocks == "grr":
                total += p * response_information(q, level)
            else:
                total += p * np.array([best_block(MutualInformation(q), len(q), x)[0] for x in level])
        return total

    def block_mechanisms(self, second: float) -> list[Mechanism]:
        """Build R^s for every s."""
        levels = [float(relaxed_level(np.array(second), d)) for d in self.radii]
        if self.blocks == "grr":
            return [mechanisms.response(self.given.shape[1], level) for level in levels]
        pairs = zip(self.given, levels, strict=True)
        return [best_block(MutualInformation(q), len(q), level)[1] for q, level in pairs]

    def mechanism(self, point: Array) -> Mechanism:
        """Build GRR-CR with the given ε₂."""
        blocks = self.block_mechanisms(point[0])
        p_hat = self.uncertainty.p_hat
        return mechanisms.grr_conditional_reporting(p_hat, self.epsilon - point[0], blocks)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima of a 3 × 3 table."""
        table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
        yield Example(cls(0.5, table, 1000), 0.112367115715, 1e-6)
        yield Example(cls(1.0, table, 1000), 0.188991, 1e-5)
