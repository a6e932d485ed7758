"""Write the proof of a bound over the cone of half shares: a tree of boxes for each block of a piece.

In a box l ≤ w ≤ h of a block the convex t log t is at most its chord, so that a linear program over the
corners bounds f_s − τ q_s; its multipliers are the proof of the leaf, as
``ldpopt/checker/kernel/proofs/half_cone.py`` reads it. The worst leaf is cut where its chords lie
highest above the curve, until the bound of the block is near the largest value at its vertices; the
slack of the piece says how near.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import highspy
import numpy as np
from scipy.special import xlogy

from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.solvers._robust.chord_box import ChordBox
from ldpopt.solvers._robust.half_bound import HalfSearch, Piece
from ldpopt.solvers._robust.outer_bound import DIGITS
from ldpopt.solvers._robust.outer_lp import PENALTY, TOLERANCE

ABOVE = 1 + 1e-12
"""The ends of the blocks are widened by this factor, which allows for the rounding of e^ε."""


@dataclass(eq=False)
class Box(ChordBox):
    """A box of a block, with its multipliers where it is a leaf.

    Attributes:
        used, weights, centre: the corners with a multiplier, their multipliers, and that of P̂_{U|s}.
        most: the bound of this box; at the root, that of the worst leaf.
    """

    used: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    centre: float = 0.0
    most: float = math.inf

    def nodes(self) -> list[dict[str, Any]]:
        """Write the tree below as plain data, the lower part of a box first."""
        if self.cut is None:
            return [{"corners": self.used, "weights": self.weights, "centre": self.centre}]
        u, at = self.cut
        return [{"input": u, "at": at}, *(node for part in self.parts for node in part.nodes())]


class BlockModel:
    """A HiGHS model of the block of one secret, with elastic constraints of the corners, within a box.

    Args:
        corners: a matrix whose rows are the corners R.
        centre: P̂_{U|s}.
        prior: p of the block.
    """

    def __init__(self, corners: Array, centre: Array, prior: Array) -> None:
        self.rows, self.prior = np.vstack([centre, corners]), prior
        k = len(prior)
        self._inputs = np.arange(k, dtype=np.int32)
        infinity, none = highspy.kHighsInf, np.zeros(0)
        options: dict[str, highs.Setting] = {"presolve": "off", "simplex_strategy": 1}
        self._model = highs.new_model(options, maximise=True, tolerance=TOLERANCE)
        self._model.addVars(k, np.zeros(k), np.ones(k))
        for _ in range(2):  # by how much a corner is above and below its ends
            self._model.addCol(-PENALTY, 0.0, infinity, 0, none.astype(np.int32), none)
        for column, sign in ((k, -1.0), (k + 1, 1.0)):
            places = np.append(self._inputs, column).astype(np.int32)
            for row in self.rows:
                self._model.addRow(-infinity, infinity, k + 1, places, np.append(row, sign))
        self.low = self.high = np.zeros(len(self.rows))
        self.linear = np.zeros(k)

    def bounded(self, linear: Array, target: float, part: Limits, limits: Limits) -> Box:
        """Bound Σ p w log w − linear·w by a tree that grows until a target or a limit is reached.

        Args:
            linear: the linear part.
            target: the bound at which to stop.
            part: the time for this block.
            limits: the limits of the whole proof.
        """
        self.linear = linear
        for i, (low, high) in enumerate(zip(self.low.tolist(), self.high.tolist(), strict=True)):
            self._model.changeRowBounds(i, -highspy.kHighsInf, high)
            self._model.changeRowBounds(len(self.rows) + i, low, highspy.kHighsInf)
        top = self.high[0] * self.prior.sum() / self.prior
        root = self._solved(Box(np.zeros(len(top)), top), limits)
        order = count()
        heap = [(-root.most, next(order), root)]
        # a tree of 400 leaves is used as it is, and a leaf whose chords are this close is not cut again
        while -heap[0][0] > target and len(heap) < 400 and heap[0][2].gaps.max() > 1e-13:
            if part.expired():
                break
            leaf = heapq.heappop(heap)[2]
            for box in self._split(leaf, limits):
                heapq.heappush(heap, (-box.most, next(order), box))
        root.most = -heap[0][0]
        return root

    def _split(self, leaf: Box, limits: Limits) -> tuple[Box, ...]:
        leaf.cut = leaf.worst_cut()
        leaf.parts = tuple(self._solved(part, limits) for part in leaf.halves(*leaf.cut))
        return leaf.parts

    def _solved(self, box: Box, limits: Limits) -> Box:
        """Bound the block within a box by the chords, and keep the multipliers."""
        limits.check()
        p, k = self.prior, len(self.prior)
        at_low, at_high = xlogy(box.low, box.low), xlogy(box.high, box.high)
        slope = (at_high - at_low) / (box.high - box.low)
        self._model.changeColsBounds(k, self._inputs, box.low, box.high)
        self._model.changeColsCost(k, self._inputs, p * slope - self.linear)
        if not highs.run_within(self._model, limits):
            limits.check()
        found = self._model.getSolution()
        weights = np.array(found.row_dual).reshape(2, -1).sum(axis=0).round(DIGITS)
        used = np.flatnonzero(weights[1:])
        box.used, box.weights = used.tolist(), weights[1:][used].tolist()
        box.centre = float(weights[0])
        box.point = np.clip(np.array(found.col_value[:k]), box.low, box.high)
        box.gaps = p * (at_low + slope * (box.point - box.low) - xlogy(box.point, box.point))
        g = -self.linear - weights @ self.rows
        own = np.maximum(p * at_low + g * box.low, p * at_high + g * box.high)
        spent = np.where(weights > 0, self.high, self.low) @ weights
        box.most = float(spent + own.sum())
        return box


def half_proof(search: HalfSearch, limits: Limits) -> dict[str, Any]:
    """Build the trees of all pieces, and raise the dual vector by as much as they need.

    Raises:
        SolverError: the trees of a piece do not reach a bound.

    Args:
        search: the prices and the pieces.
        limits: the limits of this part of the work.
    """
    cone, prior = search.cone, search.prior
    models = [
        BlockModel(np.array(own), centre, p)
        for own, centre, p in zip(cone.corners, cone.centres, prior, strict=True)
    ]
    dual = search.optimum.dual
    # how much the trees may add to a bound, relative to the value
    goal = search.rise + 4e-3 * search.optimum.value
    # the share of the time for cutting boxes; the first box of every block needs the rest
    left, cutting = iter(range(len(search), 0, -1)), limits.part(0.9)
    found = [_pieces(search, root, models, goal, left, cutting, limits) for root in search.roots]
    # the bound is raised by this, so that rounding does not break the proof
    rise = max(node["rise"] for nodes in found for node in nodes if "rise" in node) + 1e-11
    for node in (node for nodes in found for node in nodes if "rise" in node):
        node["slope"] -= rise
        del node["rise"]
    return {
        "dual": (dual + rise * prior.ravel()).tolist(),
        "corners": [np.array(own).tolist() for own in cone.corners],
        "cover": found,
    }


def _pieces(
    search: HalfSearch,
    piece: Piece,
    models: list[BlockModel],
    goal: float,
    left: Iterator[int],
    cutting: Limits,
    limits: Limits,
) -> list[dict[str, Any]]:
    """Write the tree of pieces below one, each leaf with τ and with the δ that its trees reach.

    Args:
        search: the prices.
        piece: where to begin.
        models: the models of the blocks.
        goal: the δ that the trees should reach.
        left: counts down the leaves that are left, to 1, so that each gets its part of the time.
        cutting: the time for cutting boxes.
        limits: the limits of the whole proof.
    """
    if piece.cut is not None:
        below, above = (
            _pieces(search, part, models, goal, left, cutting, limits) for part in piece.parts
        )
        return [{"interval": piece.cut[0], "at": piece.cut[1]}, *below, *above]
    share = 1 / next(left)
    if piece.found is None:
        return [{"slope": 0.0, "rise": -math.inf, "blocks": []}]
    tau, most = piece.found.slope, []
    for t, f in zip(piece.found.tables, piece.found.f, strict=True):
        most.append(float((f - tau * t.q).max()))
    spare = (-math.exp(tau - 1 - goal) - sum(most)) / len(models)
    prices = search.optimum.dual.reshape(search.cone.shape)
    ends = search.cone.product(piece.secret, *piece.ratio)
    blocks = []
    for s, model in enumerate(models):
        low, high = ends[s][0], ends[s][1] * ABOVE
        model.low, model.high = np.full(len(model.rows), low), np.full(len(model.rows), high)
        model.low[0], model.high[0] = max(low, piece.masses[s][0]), min(high, piece.masses[s][1] * ABOVE)
        linear = prices[s] + tau * search.prior[s]
        part = cutting.part(share / (len(models) - share * s))
        blocks.append(model.bounded(linear, most[s] + max(spare, 0.0), part, limits))
    owed = -sum(block.most for block in blocks)
    if owed <= 0:
        raise SolverError("the trees of a piece do not reach a bound")
    rise = tau - 1 - math.log(owed)
    return [{"slope": tau, "rise": rise, "blocks": [block.nodes() for block in blocks]}]
