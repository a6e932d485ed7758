"""The worst joint distribution: which one with given marginals puts most mass on rare cells?

A cell v (one value per marginal) carries a mass x_v between 0 and U_v = min_j p_j(v_j). It is *small*
if x_v ≤ t, and its mass counts; it is *big* if t ≤ x_v ≤ U_v, and its mass does not count. The question
is a mixed integer program: maximise the mass of the small cells such that every marginal is met.

**The bound.** For any numbers λ (one per marginal value, Λ_v = Σ_j λ_j(v_j)) the Lagrangian
Σ λ·p + Σ_v max over x_v of (f(x_v) − Λ_v x_v) is an upper bound, one pass over the cells.

**Cover cuts.** For any numbers c (one per marginal value, w_v = (Σ_j c_j(v_j))⁺) the marginals imply
Σ_v w_v x_v ≥ r = Σ c·p. Small cells alone reach at most Σ w_v min(t, U_v); if that leaves
ρ = r − Σ w_v min(t, U_v) > 0, then big cells must fill it: Σ_{v big} min(1, w_v (U_v − t)/ρ) ≥ 1.
Such cuts, weighted by μ ≥ 0, enter the Lagrangian as a prize for big cells; they are what brings the
bound close to the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.form import Form
from ldpopt.core.validate import Array

FREE, SMALL, BIG = 0, 1, 2
"""What a node of the search tree knows about a cell."""
LEAST_THRESHOLD = 1e-10
"""Masses go to HiGHS in units of the threshold; below this they are too large for its tolerances."""


@dataclass(frozen=True, eq=False)
class JointProgram(Form):
    """Maximise Σ_v x_v 1{x_v ≤ t} over the joint distributions x with the given marginals."""

    marginals: tuple[Array, ...]
    threshold: float

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """Every combination of values, one per row."""
        return np.array(list(product(*(range(len(p)) for p in self.marginals))), dtype=np.int64)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """For every cell, the places of its values in the concatenated marginals."""
        starts = np.cumsum([0, *(len(p) for p in self.marginals[:-1])])
        return self.cells + starts

    @cached_property
    def mass(self) -> Array:
        """The concatenated marginals, each divided by its sum: those of a joint sum to 1."""
        return np.concatenate([p / math.fsum(p) for p in self.marginals])

    @cached_property
    def capacity(self) -> Array:
        """U_v, the most that a cell can carry."""
        return self.mass[self.rows].min(axis=1)

    @cached_property
    def most_small(self) -> Array:
        """min(t, U_v), the most that a small cell can carry."""
        return np.minimum(self.capacity, self.threshold)

    def size(self) -> int:
        """Count the cells, without listing them."""
        size = 1
        for p in self.marginals:
            size *= len(p)
        return size

    def fits(self, most_cells: int) -> Literal[True] | str:
        """Return True, or why a solver refuses that lists at most ``most_cells`` cells for HiGHS."""
        if self.threshold < LEAST_THRESHOLD:
            return f"the threshold {self.threshold!r} is below {LEAST_THRESHOLD!r}"
        if self.size() > most_cells:
            return f"the joint has {Decimal(self.size()):.3g} cells; at most {most_cells} are allowed"
        return True

    def exposed(self, x: Array) -> float:
        """Add up x_v over the cells with x_v ≤ t."""
        return float(x[x <= self.threshold].sum())

    def cover(self, weights: Array) -> tuple[NDArray[np.bool_], Array]:
        """Compute for each row c of ``weights`` whether ρ > 0, and its cut on the big cells."""
        w = np.maximum(weights[:, self.rows].sum(axis=2), 0.0)
        rho = weights @ self.mass - w @ self.most_small
        useful = rho > 1e-9
        room = np.maximum(self.capacity - self.threshold, 0.0)
        return useful, np.minimum(1.0, w * room / np.where(useful, rho, 1.0)[:, None])

    def lagrangian(self, dual: Array, prize: Array, cuts: float, state: NDArray[np.int8]) -> float:
        """Compute the upper bound for all joint distributions whose cells are as ``state`` says.

        Args:
            dual: λ.
            prize: Σ_k μ_k α_kv for every cell.
            cuts: Σ_k μ_k.
            state: FREE, SMALL or BIG for every cell.
        """
        price = dual[self.rows].sum(axis=1)
        small = np.maximum(0.0, (1 - price) * self.most_small)
        big = prize + np.maximum(-price * self.threshold, -price * self.capacity)
        can_be_big = self.capacity > self.threshold
        best = np.where(can_be_big, np.maximum(small, big), small)
        best = np.where(state == SMALL, small, np.where(state == BIG, big, best))
        return float(dual @ self.mass - cuts + best.sum())
