"""The parts of the cone of private columns in which two secrets share the slack of a χ² set.

F lets two secrets share its slack, x for one and 1 − x for the other. For one x the condition on a
column separates: with A_s the greatest and B_s the least R·w_s over the R = P_{U|s} that a share
reaches, it is A_s(x) ≤ e^ε B_z(1−x) for s ≠ z. A *part* gives every A_s and B_s of a few shares two
ends, so that it is contained in a product of blocks, one for each secret. Finitely many R, the
*corners*, describe a block from outside; more are added where a column shows that they are missing. The
lemmas stand in ``ldpopt/checker/kernel/proofs/shared_slack.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import HalfspaceIntersection, QhullError

from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import all_worst, bound_of, least, worst
from ldpopt.models.chi2_cone import SHRINK
from ldpopt.models.uncertainty_sets import Chi2Set

SHARES = np.array([0, 39, 150, 316, 512, 708, 874, 985, 1024]) / 1024
"""The shares: sin² of nine angles at equal steps; the i-th and the i-th from the end sum to 1."""
HALF, ALL = 4, len(SHARES) - 1
"""Where ½ and 1 stand in the list of shares."""
THIN = 1e-9
"""A block whose ends are closer than this, relatively, is widened to it."""


class Cut(NamedTuple):
    """A cut of a part in two, and which of them is meant.

    Attributes:
        secret: s.
        share: the place of the share x.
        most: whether the near part has R·w_s ≤ v for all R of a share of at most x, or ≥ v.
        at: v.
        far: whether the other part is meant.
    """

    secret: int
    share: int
    most: bool
    at: float
    far: bool


class SlackCone:
    """The corners so far, and the blocks between given ends.

    Args:
        F: the confidence set; every cell of p̂ is positive.
        epsilon: the level.

    >>> cone = SlackCone(Chi2Set([[0.3, 0.2], [0.15, 0.35]], 1000), 1.0)
    >>> low, high = cone.ends(0, [])
    >>> cone.vertices(0, low[0], high[0]).shape
    (2, 6)
    """

    def __init__(self, F: Chi2Set, epsilon: float) -> None:
        self.shape: tuple[int, int] = (F.shape[0], F.shape[1])
        self.E = math.exp(epsilon)
        self.centres = np.array([ball.center for ball in F.conditionals])
        steps = F.slack * (1 - SHRINK) / F.secrets
        self.bounds: Array = bound_of(steps[:, None] * SHARES)
        self.corners: list[list[list[Array]]] = []
        for q, bounds in zip(self.centres, self.bounds, strict=True):
            ways = np.vstack([np.eye(len(q)), -np.eye(len(q))])
            self.corners.append([[q], *([worst(way, q, b) for way in ways] for b in bounds[1:])])

    @property
    def dimension(self) -> int:
        """The number of inputs."""
        return math.prod(self.shape)

    def ends(self, star: int, cuts: Sequence[Cut]) -> tuple[Array, Array]:
        """Compute the ends of R·w_s for every secret and share in a part: Lemmas 2 and 3.

        Args:
            star: the secret s* with the least B(½), which is 1.
            cuts: the cuts that lead to the part.
        """
        n, E = self.shape[0], self.E
        low, high = np.zeros((n, ALL + 1)), np.full((n, ALL + 1), E**3)
        low[:, : HALF + 1], high[:, : HALF + 1] = 1.0, E
        high[star, : HALF + 1] = E * E
        for s, share, most, v, far in cuts:
            others = np.arange(n) != s
            raises = most == far
            if not far or share == 0:
                _narrow(low, high, s, share, v, raises)
            reached = ALL - share if far else ALL
            _narrow(low, high, others, reached, v / E if raises else v * E, raises)
        # q_s is a corner of every share
        low[:, 0], high[:, 0] = low.max(axis=1), high.min(axis=1)
        return low, high

    def vertices(self, s: int, low: Array, high: Array) -> Array:
        """List the vertices of a block as the columns of a matrix.

        Args:
            s: the secret of the block.
            low: the lower ends for every share; that of q_s is not above the upper one.
            high: the upper ends.
        """
        k, (least_mass, most_mass) = self.shape[1], (low[0], high[0])
        if most_mass < least_mass * (1 + THIN):
            high = np.maximum(high, least_mass * (1 + THIN))
        planes = [np.hstack([-np.eye(k), np.zeros((k, 1))])]
        for share, corners in enumerate(self.corners[s]):
            rows, one = np.array(corners), np.ones((len(corners), 1))
            if self.limits(high, share, most=True):
                planes.append(np.hstack([rows, -high[share] * one]))
            if self.limits(low, share, most=False):
                planes.append(np.hstack([-rows, low[share] * one]))
        middle = np.full(k, (low[0] + high[0]) / 2)
        try:
            found = HalfspaceIntersection(np.vstack(planes), middle).intersections
        except QhullError:  # too thin for floats
            return np.full((k, 1), high[0])
        found = found[np.isfinite(found).all(axis=1)]
        return np.unique(np.maximum(found, 0.0).round(12), axis=0).T

    def limits(self, ends: Array, share: int, *, most: bool) -> bool:
        """Return whether the end of a share says more than those of larger shares, which hold for it.

        Args:
            ends: the upper or the lower ends of a block.
            share: the place of the share.
            most: whether they are the upper ends.
        """
        if (most and ends[share] >= self.E**3 * (1 - THIN)) or (not most and ends[share] <= 0):
            return False
        larger = ends[share + 1 :]
        return share == 0 or not bool((larger <= ends[share] if most else larger >= ends[share]).any())

    def reach(self, blocks: Array) -> tuple[Array, Array]:
        """Compute the greatest and the least R·w_s for every secret, share and column [s][u][column]."""
        w, q, bounds = blocks[:, None], self.centres[:, None, :, None], self.bounds[:, :, None]
        both = least(np.stack([-w, w]) * np.ones((1, 1, ALL + 1, 1, 1)), q * np.ones_like(w), bounds)[0]
        return -both[0], both[1]

    def farthest(self, secrets: Array, shares: Array, columns: Array, *, most: bool) -> Array:
        """Find the R with the greatest or the least R·w for secrets, shares and columns, as rows.

        Args:
            secrets: the secret of each.
            shares: the place of its share.
            columns: w, as columns.
            most: whether the greatest is meant.
        """
        signed = -columns if most else columns
        return all_worst(signed, self.centres[secrets].T, self.bounds[secrets, shares]).T

    def refine(self, s: int, ends: tuple[Array, Array], points: Array, tolerance: float) -> bool:
        """Add the corners by which columns of a block exceed its ends; return whether there is one.

        Args:
            s: the secret of the block.
            ends: its lower and upper ends.
            points: columns [u][column].
            tolerance: by how much an end may be exceeded, relatively.
        """
        (low, high), found = ends, False
        shares = [
            (share, most)
            for share in range(1, ALL + 1)
            for most in (True, False)
            if self.limits(high if most else low, share, most=most)
        ]
        if not shares:
            return False
        signs = np.array([-1.0 if most else 1.0 for _, most in shares])[:, None, None]
        bounds = self.bounds[s][[share for share, _ in shares]][:, None]
        q = np.broadcast_to(self.centres[s][:, None], (len(shares), *points.shape))
        values = signs[:, 0] * least(signs * points, q, bounds)[0]
        for (share, most), row in zip(shares, values, strict=True):
            end = high[share] if most else low[share]
            broken = np.flatnonzero((row - end if most else end - row) > tolerance * end)
            if len(broken):
                which = np.full(len(broken), s), np.full(len(broken), share)
                self.corners[s][share] += list(self.farthest(*which, points[:, broken], most=most))
                found = True
        return found


def _narrow(low: Array, high: Array, secrets: int | Array, share: int, v: float, raises: bool) -> None:
    """Raise the lower ends of all shares up to one, or lower the upper ends."""
    if raises:
        low[secrets, : share + 1] = np.maximum(low[secrets, : share + 1], v)
    else:
        high[secrets, : share + 1] = np.minimum(high[secrets, : share + 1], v)
