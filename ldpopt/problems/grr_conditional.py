"""The best split of the budget when u is reported only where s came out true."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example
from ldpopt.core.validate import Array
from ldpopt.mechanisms import catalogue
from ldpopt.theory.columns.utilities import MutualInformation
from ldpopt.theory.robust.protocols import (
    Reporting,
    best_block,
    response,
    response_information,
)
from ldpopt.theory.robust.response_limits import of_distance, of_pair, of_pair_back


@dataclass(frozen=True, eq=False)
class GRRConditional(Reporting):
    """Maximise I(X; Y) over ε₂ for GRR-CR (Lopuhaä-Zwakenberg and Goseling 2021, Protocol 2).

    Theorem 17: s at level ε − ε₂ and, for each s, u at level δ_s = log(1 + 2 (e^ε₂ − 1)/d_s) make it
    (ε, F)-RLDP. The utility (86) of Theorem 18 is exact for P = p̂ (only). With ``calibrate`` δ_s is the
    highest level that is (ε, F)-RLDP: explicit, as the output (s, v) tells s from others by what R^s
    makes of one value v, whose greatest and least probability given s are those of Lemma 9.

    >>> GRRConditional(1.0, [[0.3, 0.2], [0.1, 0.4]], 1000).box
    (array([0.]), array([1.]))
    """

    kind: ClassVar[str] = "grr-conditional"

    @property
    def box(self) -> tuple[Array, Array]:
        """ε₂ ∈ [0, ε]."""
        return np.zeros(1), np.array([self.epsilon])

    @cached_property
    def fixed_limits(self) -> Array:
        """The limits of every block, which do not depend on the split."""
        k = self.uncertainty.shape[1]
        if not self.calibrate:
            return of_distance(k, self.radii)[:, None]
        balls = self.uncertainty.conditionals
        most = np.array([ball.upper() for ball in balls])
        least = np.array([ball.lower() for ball in balls])
        return np.concatenate(
            [of_pair(k, most, self.given), self.back_limits(self.given, least)], axis=1
        )

    def back_limits(self, given: Array, least: Array) -> Array:
        """Limit the blocks by what makes another secret likelier: the factor is E²/g here."""
        return of_pair_back(given.shape[1], given, least, math.exp(self.epsilon))

    def limits(self, g: Array) -> Array:
        """Return the same limits for every split."""
        return self.fixed_limits[None]

    def utility(self, first: Array, blocks: Array) -> Array:
        """Compute the utility (86)."""
        secrets = self.uncertainty.secrets
        c, d = response(len(secrets), first)
        return response_information(secrets, first) + (c + d) * self.block_utilities(blocks)

    def block_utilities(self, levels: Array) -> Array:
        """Compute I(R^S(U); U | S) for every row of levels."""
        total = np.zeros(len(levels))
        for p, q, level in zip(self.uncertainty.secrets, self.given, levels.T, strict=True):
            if self.blocks == "grr":
                total += p * response_information(q, level)
            else:
                total += p * np.array([best_block(MutualInformation(q), len(q), x)[0] for x in level])
        return total

    def block_mechanisms(self, point: Array) -> list[Mechanism]:
        """Build R^s for every s."""
        levels = self.block_levels(point)
        if self.blocks == "grr":
            return [catalogue.response(self.given.shape[1], level) for level in levels]
        pairs = zip(self.given, levels, strict=True)
        return [best_block(MutualInformation(q), len(q), level)[1] for q, level in pairs]

    def mechanism(self, point: Array) -> Mechanism:
        """Build GRR-CR with the given ε₂."""
        blocks = self.block_mechanisms(point)
        p_hat = self.uncertainty.p_hat
        return catalogue.grr_conditional_reporting(p_hat, self.epsilon - point[0], blocks)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima of a 3 × 3 table."""
        table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
        yield Example(cls(0.5, table, 1000), 0.112367115715, 1e-6)
        yield Example(cls(1.0, table, 1000), 0.188991, 1e-5)
