"""The best split of the budget when a report depends on u only where it tells s truly."""

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
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems._robust.response_shares import of_distance, of_pair, of_pair_back
from ldpopt.problems.reporting_problem import (
    Reporting,
    best_block,
    response,
    response_information,
)


@dataclass(frozen=True, eq=False)
class GRRConditional(Reporting):
    """Maximise I(X; Y) over ε₂ for GRR-CR (Lopuhaä-Zwakenberg and Goseling 2021, Protocol 2).

    Theorem 17: s at level ε − ε₂ and, for each s, u at level δ_s = log(1 + 2 (e^ε₂ − 1)/d_s) make it
    (ε, F)-RLDP. The utility (86) of Theorem 18 is exact for P = p̂ (only). With ``calibrate`` δ_s is the
    highest level that is (ε, F)-RLDP: explicit, as the output (s, v) tells s from others by what R^s
    makes of one value v, whose greatest and least probability given s are those of Lemma 9.

    With ``blocks="optimal"`` s is reported by the best mechanism of level ε − ε₂ that announces a secret
    t with every output; u is reported through R^t where s = t, and otherwise a value is drawn. Theorem
    17 holds as it stands: of the report on s, its proof uses only the level, and that t is announced.
    What follows an output y tells about u only where s = t, so that with I_t = I(R^t(U); U | S = t)

        I(X; Y) = Σ_y [h(v_y) + P(t, y) I_t],  v_y = P(y | ·),  Σ_y h(v_y) = I(S; Y),

    and each column takes the t of the largest P(t, y) I_t: a staircase program.

    >>> GRRConditional(1.0, [[0.3, 0.2], [0.1, 0.4]], 1000).box
    (array([0.]), array([1.]))
    """

    kind: ClassVar[str] = "grr-conditional"

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
        if self.blocks == "optimal":
            pairs = zip(first, self.block_information(blocks), strict=True)
            return np.array([best_block(Announced(secrets, each), len(each), x)[0] for x, each in pairs])
        c, d = response(len(secrets), first)
        return response_information(secrets, first) + (c + d) * self.block_utilities(blocks)

    def block_utilities(self, levels: Array) -> Array:
        """Compute I(R^S(U); U | S) for every row of levels."""
        return self.block_information(levels) @ self.uncertainty.secrets

    def block_information(self, levels: Array) -> Array:
        """Compute I(R^s(U); U | S = s) for every row of levels and every s."""
        if self.blocks == "grr":
            return response_information(self.given, levels)
        return np.array([[best_block(*part)[0] for part in self._parts(row)] for row in levels])

    def _parts(self, levels: Array) -> list[tuple[MutualInformation, int, float]]:
        """List for every s the utility, the values and the level of its block."""
        return [(MutualInformation(q), len(q), x) for q, x in zip(self.given, levels, strict=True)]

    def block_mechanisms(self, point: Array) -> list[Mechanism]:
        """Build R^s for every s."""
        levels = self.block_levels(point)
        if self.blocks == "grr":
            return [catalogue.response(self.given.shape[1], level) for level in levels]
        return [best_block(*part)[1] for part in self._parts(levels)]

    def mechanism(self, point: Array) -> Mechanism:
        """Build GRR-CR with the given ε₂."""
        blocks = self.block_mechanisms(point)
        first, F = self.epsilon - float(point[0]), self.uncertainty
        if self.blocks == "grr":
            return catalogue.grr_conditional_reporting(F.p_hat, first, blocks)
        return catalogue.conditional_reporting(F.p_hat, *self._announcing(point), blocks)

    def reports_of(self, point: Array) -> list[list[int]]:
        """List for every output on s the secret that it announces, and how many outputs on u follow."""
        blocks = self.block_mechanisms(point)
        return [[t, blocks[t].shape[1]] for t in self._announcing(point)[1]]

    def _announcing(self, point: Array) -> tuple[Mechanism, list[int]]:
        """Find the best report on s at a point, and the secret that each of its outputs announces."""
        prior = self.uncertainty.secrets
        utility = Announced(prior, self.block_information(self.block_levels(point)[None])[0])
        _, report = best_block(utility, len(prior), self.epsilon - float(point[0]))
        return report, utility.secrets(report.matrix)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima of a 3 × 3 table."""
        table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
        yield Example(cls(0.5, table, 1000), 0.112367115715, 1e-6)
        yield Example(cls(1.0, table, 1000), 0.188991, 1e-5)


class Announced:
    """What a report on s and u is worth if each output announces the secret of which u tells most."""

    def __init__(self, prior: Array, information: Array) -> None:
        """Take the law of the secrets, and what u is worth where each is announced and true."""
        self.information, self.weights = MutualInformation(prior), prior * information

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column: sublinear, as a sum of such functions."""
        return self.information(columns) + (self.weights[:, None] * columns).max(axis=0)

    def secrets(self, columns: Array) -> list[int]:
        """Return the secret that each column announces."""
        return (self.weights[:, None] * columns).argmax(axis=0).tolist()
