"""The cone of columns that are private where each of two secrets may take half of the slack of F.

F lets two secrets share its slack, x for one and 1 − x for the other. With x = ½ alone the condition on
a column separates into U_s ≤ e^ε L_z for s ≠ z, where U_s and L_s are the greatest and the least R·w_s
over the R = P_{U|s} that half of the slack reaches. So this cone contains every private
column, and is a union of products of blocks as PolyOpt's is. Finitely many R, the *corners*, describe it
from outside; more are added where a column shows that they are missing. The lemmas stand in
``ldpopt/checker/kernel/proofs/half_cone.py``.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from scipy.spatial import HalfspaceIntersection, QhullError

from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import bound_of, least, worst
from ldpopt.models.chi2_cone import SHRINK, raised
from ldpopt.models.uncertainty_sets import Chi2Set

THIN = 1e-9
"""A block with hi/lo closer to 1 than this is replaced by its constant column."""


class HalfCone:
    """The corners so far, and the blocks K_s(lo, hi) = {w ≥ 0 : lo ≤ R·w ≤ hi for every corner R}.

    Args:
        F: the confidence set; every cell of p̂ is positive.
        epsilon: the level.

    >>> cone = HalfCone(Chi2Set([[0.3, 0.2], [0.15, 0.35]], 1000), 1.0)
    >>> cone.vertices(0, (1.0, math.e), (1.0, math.e)).shape
    (2, 6)
    """

    def __init__(self, F: Chi2Set, epsilon: float) -> None:
        self.shape: tuple[int, int] = (F.shape[0], F.shape[1])
        self.epsilon = epsilon
        self.centres = np.array([ball.center for ball in F.conditionals])
        self.bounds = bound_of(F.slack * (1 - SHRINK) / (2 * F.secrets))
        self.corners: list[list[Array]] = []
        for q, bound in zip(self.centres, self.bounds, strict=True):
            ways = np.vstack([np.eye(len(q)), -np.eye(len(q))])
            self.corners.append([q, *(worst(way, q, bound) for way in ways)])

    @property
    def dimension(self) -> int:
        """The number of inputs."""
        return math.prod(self.shape)

    def product(self, s: int, low: float, high: float) -> list[tuple[float, float]]:
        """List the ends of all blocks of a product with s* = s that contains those of ρ ∈ [low, high].

        Args:
            s: the secret s* with the least L.
            low: the least ρ.
            high: the greatest ρ.
        """
        E = math.exp(self.epsilon)
        return [(1.0, E * high) if t == s else (low, E) for t in range(self.shape[0])]

    def vertices(self, s: int, ends: tuple[float, float], mass: tuple[float, float]) -> Array:
        """List the vertices of K_s(lo, hi) with P̂_{U|s}·w in an interval, as the columns of a matrix.

        Args:
            s: the secret of the block.
            ends: lo and hi.
            mass: the interval of P̂_{U|s}·w, inside [lo, hi].
        """
        k = self.shape[1]
        if ends[1] <= ends[0] * (1 + THIN):
            return np.full((k, 1), ends[1])
        low, high = mass if mass[1] > mass[0] * (1 + THIN) else (mass[0], mass[0] * (1 + THIN))
        corners = np.array(self.corners[s])
        one = np.ones((len(corners), 1))
        planes = np.vstack(
            [
                np.hstack([-np.eye(k), np.zeros((k, 1))]),
                np.hstack([corners, -ends[1] * one]),
                np.hstack([-corners, ends[0] * one]),
                np.append(self.centres[s], -high),
                np.append(-self.centres[s], low),
            ]
        )
        try:
            found = HalfspaceIntersection(planes, np.full(k, (low + high) / 2)).intersections
        except QhullError:  # too thin for floats
            return np.full((k, 1), high)
        found = found[np.isfinite(found).all(axis=1)]
        return np.unique(np.maximum(found, 0.0).round(12), axis=0).T

    def refine(self, column: Array, tolerance: float) -> set[int]:
        """Add the corners R that extend the range of R·w for a column w; return the secrets concerned.

        Args:
            column: the column w.
            tolerance: a corner that extends the range by less, relative to its end, is not added.
        """
        changed = set()
        for s, w in enumerate(column.reshape(self.shape)):
            known = np.array(self.corners[s]) @ w
            for sign, extreme in ((-1.0, known.max()), (1.0, known.min())):
                corner = worst(sign * w, self.centres[s], self.bounds[s])
                if sign * (extreme - corner @ w) > tolerance * extreme:
                    self.corners[s].append(corner)
                    changed.add(s)
        return changed

    def inside(self, columns: Array) -> Array:
        """Raise columns until they are private where each secret takes half of the slack."""
        blocks = columns.reshape(*self.shape, -1)
        q, bound = self.centres[:, :, None], self.bounds[:, None]
        most, fewest = -least(-blocks, q, bound)[0], least(blocks, q, bound)[0]
        E = math.exp(self.epsilon)
        pairs = permutations(range(self.shape[0]), 2)
        excess = np.array([most[s] - E * fewest[z] for s, z in pairs]).T
        return raised(columns, excess, self.shape, self.epsilon)
