"""Privacy against a polyhedron of conditional distributions: Lemma 13.

Lopuhaä-Zwakenberg and Goseling 2021, Lemma 13, with e^ε where (48) to (55) print ε. D is a set of
tables R of conditional distributions R_s of u, cut out by A R + b ≥ 0; equalities are two inequalities.
A mechanism is private against D if for every output y and s ≠ z there are multipliers w ≥ 0 with

    Σ_s max_u (c + Aᵀ w)_su + b·w ≤ 0,    c = Q_y on the block of s, −e^ε Q_y on that of z, else 0.

Proof. For R ∈ D, c·R ≤ c·R + w·(A R + b) = (c + Aᵀ w)·R + b·w, and every R_s is a distribution. ∎ This
is (49) to (51) with the equations Σ_u R_su = 1 worked in, so that floats need not satisfy an equation
exactly; it is decided in fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import exp_below
from ldpopt.core.validate import Array, Cleaned


@dataclass(frozen=True, eq=False)
class Polyhedron(Cleaned):
    """Tables R of conditional distributions R[s][u] with A R + b ≥ 0.

    Args:
        shape: the numbers of secrets and of public values.
        A: one row per inequality, over the cells (s, u) row by row.
        b: one number per inequality.

    >>> half = Polyhedron((2, 2), np.eye(4), -0.25 * np.ones(4))  # every R[s][u] is at least 1/4
    >>> rows = np.array([[0.8, 0.2], [0.6, 0.4], [0.4, 0.6], [0.4, 0.6]])
    >>> round(half.level(rows), 6), half.is_private(rows, 0.8755), half.is_private(rows, 0.8754)
    (0.875469, True, False)
    """

    shape: tuple[int, int]
    A: Any
    b: Any

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        A, b = validate.array("A", self.A, 2), validate.array("b", self.b, 1)
        cells = self.shape[0] * self.shape[1]
        if A.shape != (len(b), cells):
            raise InvalidInputError(
                f"A must have a row per entry of b and {cells} columns, not {A.shape} for {len(b)}"
            )
        if linprog(np.zeros(cells), A_ub=-A, b_ub=b, **self._rows()).status == 2:
            raise InvalidInputError("the polyhedron is empty")
        return {"A": A, "b": b}

    def _rows(self) -> dict[str, Any]:
        """State that every R_s sums to 1."""
        a1, a2 = self.shape
        return {"A_eq": np.kron(np.eye(a1), np.ones(a2)), "b_eq": np.ones(a1), "bounds": (0, None)}

    def _cost(self, column: Array, s: int, z: int, factor: float) -> Array:
        cost, blocks = np.zeros(self.shape), column.reshape(self.shape)
        cost[s], cost[z] = blocks[s], -factor * blocks[z]
        return cost.ravel()

    def level(self, matrix: Array) -> float:
        """Compute the largest log R_s·c_s/R_z·c_z over R ∈ D, outputs and s ≠ z, in floats.

        For each it is a linear-fractional program; Dinkelbach's method solves it by linear programs.
        """
        worst = 0.0
        for column in matrix.T:
            for s, z in permutations(range(self.shape[0]), 2):
                factor = math.exp(worst)
                while True:
                    found = self._largest(self._cost(column, s, z, factor))
                    R = np.asarray(found.x).reshape(self.shape)
                    blocks = column.reshape(self.shape)
                    top, bottom = R[s] @ blocks[s], R[z] @ blocks[z]
                    if top <= factor * bottom * (1 + 1e-13):
                        break
                    if bottom <= 0:
                        return math.inf
                    factor = top / bottom
                worst = math.log(factor)
        return worst

    def _largest(self, cost: Array) -> Any:
        """Maximise cost·R over D, in which every R_s sums to 1."""
        a1, a2 = self.shape
        sums = np.kron(np.eye(a1), np.ones(a2))
        return linprog(-cost, -self.A, self.b, sums, np.ones(a1), bounds=(0, None))

    def multipliers(self, column: Array, pair: tuple[int, int], epsilon: float) -> Array:
        """Find the w of the lemma that makes its left side least.

        Args:
            column: Q_y, one entry per input (s, u).
            pair: the secrets s and z.
            epsilon: the level, in nats.
        """
        found = self._largest(self._cost(column, *pair, math.exp(epsilon)))
        return np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)

    def is_private(self, matrix: Array, epsilon: float) -> bool:
        """Return whether Lemma 13 proves the mechanism private at the level, decided in fractions."""
        rows = [[Fraction(a) for a in row] for row in self.A.tolist()]
        offsets = [Fraction(b) for b in self.b.tolist()]
        E, (a1, a2) = exp_below(epsilon), self.shape
        for column in matrix.T:
            exact = [Fraction(c) for c in column.tolist()]
            for s, z in permutations(range(a1), 2):
                weights = [Fraction(w) for w in self.multipliers(column, (s, z), epsilon).tolist()]
                c = [
                    x if i // a2 == s else -E * x if i // a2 == z else Fraction(0)
                    for i, x in enumerate(exact)
                ]
                for w, row in zip(weights, rows, strict=True):
                    if w:
                        c = [x + w * a for x, a in zip(c, row, strict=True)]
                left = sum((max(c[i * a2 : (i + 1) * a2]) for i in range(a1)), Fraction(0))
                if left + sum((w * b for w, b in zip(weights, offsets, strict=True)), Fraction(0)) > 0:
                    return False
        return True
