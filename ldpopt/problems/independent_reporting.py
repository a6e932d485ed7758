"""The best split of the budget when s and u are reported independently."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import entr

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
    response_noise,
)


@dataclass(frozen=True, eq=False)
class IndependentReporting(Reporting):
    """Maximise I(X; Y) over ε₂ for IR: s at level ε − ε₂, u at level δ₂.

    Lopuhaä-Zwakenberg and Goseling 2021, Protocol 1. Theorem 15: with d of (66), δ₂ = log(1 + 2 (e^ε₂ −
    1)/d) makes it (ε, F)-RLDP.

    >>> IndependentReporting(1.0, [[0.3, 0.2], [0.1, 0.4]], 1000).box
    (array([0.]), array([1.]))
    """

    kind: ClassVar[str] = "independent-reporting"

    @property
    def box(self) -> tuple[Array, Array]:
        """ε₂ ∈ [0, ε]."""
        return np.zeros(1), np.array([self.epsilon])

    @cached_property
    def distance(self) -> float:
        """d of (66): no two P_{U|s}, P_{U|s'} are further apart in ℓ1."""
        apart = np.abs(self.given[:, None] - self.given[None]).sum(axis=2).max()
        return float(min(2.0, 2 * self.radii.max() + apart))

    def utilities(self, least: Array, most: Array) -> Array:
        """Compute the utility of Theorem 16, with ε₁ = ε − least and ε₂ = most."""
        first = np.maximum(self.epsilon - least[:, 0], 0.0)
        second = relaxed_level(most[:, 0], self.distance)
        if self.blocks == "optimal":
            return np.array([self._best(a, b)[0] for a, b in zip(first, second, strict=True)])
        P = self.uncertainty.p_hat
        a1, a2 = P.shape
        c, d = (x[:, None, None] for x in response(a1, first))
        e, f = (x[:, None, None] for x in response(a2, second))
        out = c * e * P + c * f * P.sum(axis=1)[:, None] + d * e * P.sum(axis=0) + d * f
        noise = response_noise(a1, first) + response_noise(a2, second)
        return entr(out).sum(axis=(1, 2)) - noise

    def _best(self, first: float, second: float) -> tuple[float, Mechanism]:
        """Find the best R² for a given R¹: a staircase program, as I(U; R²(U) | R¹(S)) is a sum."""
        P = self.uncertainty.p_hat
        c, d = response(len(P), np.array([first]))
        reported = c * P + d * P.sum(axis=0)
        own = float(response_information(P.sum(axis=1), np.array([first]))[0])
        value, block = best_block(Conditional(reported), P.shape[1], second)
        return own + value, block

    def mechanism(self, point: Array) -> Mechanism:
        """Build IR with the given ε₂."""
        first, second = self.epsilon - point[0], float(relaxed_level(point[0], self.distance))
        a1, a2 = self.uncertainty.shape
        block = mechanisms.response(a2, second) if self.blocks == "grr" else self._best(first, second)[1]
        return mechanisms.independent_reporting(mechanisms.response(a1, first), block)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima of a 3 × 3 table."""
        table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
        yield Example(cls(0.5, table, 1000), 0.047085220034, 1e-6)
        yield Example(cls(2.0, table, 1000), 0.508172130104, 1e-6)


class Conditional:
    """I(U; R(U) | R¹(S)) as a sublinear function of the columns of R; ``joint``[r][u] = P(r, u)."""

    def __init__(self, joint: Array) -> None:
        self.parts = [(row.sum(), MutualInformation(row / row.sum())) for row in joint]

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        return sum((weight * part(columns) for weight, part in self.parts), np.zeros(columns.shape[1]))
