"""Bounds on cells of splits where s and u are reported by any mechanisms of their levels.

Lopuhaä-Zwakenberg and Goseling 2021, Theorems 15 and 17. The lemmas stand in
``ldpopt/checker/kernel/proofs/block_splits.py``; here the dual vectors are found that its cells need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ldpopt.core.exact import BlockCells, BlockSplits, Reporting
from ldpopt.core.highs import solve_listed
from ldpopt.core.limits import Limits
from ldpopt.core.validate import EPSILON_RANGE, Array
from ldpopt.models.utilities import MutualInformation

SLACK = 1e-14
"""What every entry of a dual vector is raised by, so that rounding in floats does not break a proof."""

Cell = tuple[float, float]
"""The least and the greatest ε₂ of a cell."""


class SplitCells:
    """The cells of splits that a search has looked at, with the dual vectors that bound each.

    A search begins with one cell and halves cells; those that were not halved cover the range.
    """

    def __init__(self, question: Reporting) -> None:
        self.question, self.parts = question, BlockSplits(question)
        self.secrets = _floats(self.parts.secrets)
        self.publics = [_floats(q) for q in self.parts.publics]
        self.blocks: dict[Fraction, list[list[float] | None]] = {}
        self.found: dict[Cell, list[list[float]]] = {}
        self.open: set[Cell] = set()

    def upper(self, lows: Array, highs: Array) -> Array:
        """Bound the utility on cells from above."""
        cells = zip(lows[:, 0].tolist(), highs[:, 0].tolist(), strict=True)
        return np.array([self._above(cell) for cell in cells])

    def _above(self, cell: Cell) -> float:
        ends = self._split(cell[0]), self._split(cell[1])
        if ends[0] == ends[1]:
            return -math.inf  # the cells beside it hold all of its splits
        information = self.parts.lines(ends, self._worth(ends[0]), self._worth(ends[1]))
        self.found[cell] = self._duals(ends, information)
        halved = {other for other in self.open if other[0] <= cell[0] and cell[1] <= other[1]}
        self.open = self.open - halved | {cell}
        duals = self.found[cell]
        if not self.parts.conditional:
            duals = [beta for beta in duals for _ in (0, 1)]
        return float(
            self.parts.above(
                ends, information, [sum(map(Fraction, beta), Fraction(0)) for beta in duals]
            )
        )

    def _split(self, spent: float) -> Fraction:
        """Return g = e^ε₂, at the end of the range just above e^ε."""
        if spent >= self.question.robust.epsilon:
            return self.parts.top
        return min(Fraction(math.exp(spent)), self.parts.top)

    def _block(self, g: Fraction) -> list[list[float] | None]:
        """Find the dual vectors of the reports on u at a split; None where only entropy bounds one."""
        if g not in self.blocks:
            levels = [self.parts.public_level(g, t) for t in range(len(self.publics))]
            self.blocks[g] = [
                None if level > EPSILON_RANGE[1] else _dual(q, level)
                for q, level in zip(self.publics, levels, strict=True)
            ]
        return self.blocks[g]

    def _worth(self, g: Fraction) -> list[Fraction]:
        if g == 1:
            return [Fraction(0)] * len(self.publics)
        return self.parts.worth(self._block(g))

    def _duals(self, ends: tuple[Fraction, Fraction], information: Sequence[Any]) -> list[list[float]]:
        """Find the dual vectors of the reports on s, at both splits and for both ends of the lines."""
        found = []
        for g in ends:
            if g == self.parts.top:
                break
            for i in (0, 1) if self.parts.conditional else (0,):
                weights = _floats(self.parts.weights(information, i))
                found.append(_dual(self.secrets, self.parts.secret_level(g), weights))
        return found

    def proof(self) -> tuple[float, dict[str, Any]]:
        """State the bound that the open cells prove, and the proof."""
        cells = sorted(self.open)
        uppers = [self._split(high) for _, high in cells]
        proof = {
            "splits": [float(g) for g in uppers[:-1]],
            "public": [self._block(g) for g in uppers],
            "secret": [self.found[cell] for cell in cells],
        }
        bound = BlockCells(self.question, proof).bound()
        return math.nextafter(float(bound), math.inf), proof


def _floats(exact: Sequence[Fraction]) -> Array:
    return np.array([float(p) for p in exact])


def _dual(prior: Array, level: float, weights: Array | None = None) -> list[float]:
    """Find a dual vector that bounds μ(v) + max_t weight_t v_t, summed over the columns at a level.

    Args:
        prior: the distribution of the input.
        level: the level of the report, in nats.
        weights: what each input adds where an output announces it.
    """
    high = np.array(list(product((0.0, 1.0), repeat=len(prior)))).T
    rays = 1 + math.expm1(max(level, EPSILON_RANGE[0])) * high
    gains = MutualInformation(prior)(rays)
    if weights is not None:
        gains = gains + (weights[:, None] * rays).max(axis=0)
    if gains.max() <= SLACK:
        return [float(max((gains / rays.sum(axis=0)).max(), 0.0)) + SLACK] * len(prior)
    proof = solve_listed(rays, gains, Limits()).proof
    assert proof is not None
    return [entry + SLACK for entry in proof["dual"]]
