"""PolyOpt with sharper polytopes around the conditional sets.

Lopuhaä-Zwakenberg and Goseling 2021, Remark 14. Besides R_u ≥ P^min_{u|s} the polytope D_s has further
hyperplanes c·R ≤ max_{F_{U|s}} c·R. A column T is admissible iff V·T_s ≤ e^ε V'·T_s' for all vertices V
of D_s and V' of D_s', s ≠ s'. The cone is larger than that of the simplices, but it is not a union of
boxes any more: its rays come from vertex enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations, product

import numpy as np

from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import Chi2Ball
from ldpopt.models.cones import worst_log_ratio
from ldpopt.models.uncertainty_sets import Chi2Set


@dataclass(frozen=True, eq=False)
class FacetCone:
    """The cone of a χ² set whose conditional sets are enclosed by simplices with extra hyperplanes.

    Args:
        uncertainty: the χ² set.
        epsilon: the level, in nats.
        pairs: "distinct" constrains s ≠ s' only; "all" also s = s'.
        facets: how many extra hyperplanes per secret: first R_u ≤ P^max_{u|s} for every u, then
            R_u − R_v ≤ max for all pairs.
    """

    uncertainty: Chi2Set
    epsilon: float
    pairs: str
    facets: int

    @property
    def dimension(self) -> int:
        """The number of inputs (s, u)."""
        return int(self.uncertainty.p_hat.size)

    @cached_property
    def polytopes(self) -> tuple[Array, ...]:
        """For every s the vertices of D_s, as rows."""
        return tuple(outer_vertices(ball, self.facets) for ball in self.uncertainty.conditionals)

    def size(self) -> float:
        """Return infinity: the number of rays is not known before the enumeration."""
        return math.inf

    def rays(self) -> Array:
        """Refuse to list the rays: vertex enumeration finds them from the inequalities."""
        raise NotImplementedError("the rays of a cone with extra facets are not explicit")

    def inequalities(self) -> Array:
        """State T ≥ 0, and E V'·T_s' ≥ V·T_s for all vertices and the constrained pairs of secrets."""
        a1 = self.uncertainty.shape[0]
        E = math.exp(self.epsilon)
        rows = [np.eye(self.dimension)]
        for s in range(a1):
            for t in range(a1):
                if s != t or self.pairs == "all":
                    for V, W in product(self.polytopes[s], self.polytopes[t]):
                        row = np.zeros(self.uncertainty.shape)
                        row[t] += E * W
                        row[s] -= V
                        rows.append(row.reshape(1, -1))
        stacked = np.vstack(rows)
        return stacked[np.abs(stacked).max(axis=1) > 0]

    def level(self, matrix: Array) -> float:
        """Compute the largest log max V·T_s / min V'·T_s' over constrained pairs; it may be inf."""
        blocks = matrix.reshape(*self.uncertainty.shape, -1)
        high = np.array([(V @ T).max(axis=0) for V, T in zip(self.polytopes, blocks, strict=True)])
        low = np.array([(V @ T).min(axis=0) for V, T in zip(self.polytopes, blocks, strict=True)])
        return worst_log_ratio(high, low, own=self.pairs == "all")

    def admits(self, matrix: Array) -> bool:
        """Return whether every column lies in the cone."""
        return self.level(matrix) <= self.epsilon


def directions(k: int) -> Iterator[Array]:
    """List the linear functions that the extra hyperplanes bound, in order.

    >>> [c.astype(int).tolist() for c in directions(2)]
    [[1, 0], [0, 1], [1, -1], [-1, 1]]
    """
    unit = np.eye(k)
    yield from unit
    for u, v in permutations(range(k), 2):
        yield unit[u] - unit[v]


def outer_vertices(ball: Chi2Ball, facets: int) -> Array:
    """List the vertices of {R ≥ lower, Σ R = 1, c·R ≤ max over the ball for the first directions c}."""
    import cdd

    k = len(ball.center)
    rows = [[1.0, *(-np.ones(k))]]
    rows += [[-low, *unit] for low, unit in zip(ball.lower(), np.eye(k), strict=True)]
    rows += [[ball.maximum(c)[0], *(-c)] for c in islice(directions(k), facets)]
    matrix = cdd.matrix_from_array(
        [[float(x) for x in row] for row in rows], rep_type=cdd.RepType.INEQUALITY
    )
    matrix.lin_set = {0}
    generators = np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array)
    return generators[:, 1:]
