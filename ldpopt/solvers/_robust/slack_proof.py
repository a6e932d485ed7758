"""Write the proof of a bound over shared slack: a tree of boxes for each block of a part.

In a box l ≤ w ≤ h of a block the convex t log t is at most its chord, so that a linear program over the
corners bounds f_s − τ q_s; its multipliers are the proof of the leaf, as
``ldpopt/checker/kernel/proofs/shared_slack.py`` reads it. The boxes of all parts are cut together, where
their chords lie highest above the curve, until the bound of every block is near the largest value at its
vertices. Before that the trees prove less, but they prove something at any time.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import xlogy

from ldpopt.core.errors import SolverError
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array
from ldpopt.models.shared_slack_cone import ALL, SHARES
from ldpopt.solvers._robust.chord_box import ChordBox
from ldpopt.solvers._robust.corner_programs import maxima
from ldpopt.solvers._robust.outer_bound import DIGITS
from ldpopt.solvers._robust.slack_bound import SlackSearch
from ldpopt.solvers._robust.slack_part import Part

ROOM = 1e-12
"""The ends are widened by this factor, which allows for the rounding of e^ε."""
FIRST, LAST = 6.4e-2, 1e-3
"""How much the trees may add to the excess, relative to the value, at first and at last."""


@dataclass(eq=False)
class Box(ChordBox):
    """A box of a block, with its multipliers where it is a leaf.

    Attributes:
        weights: the multipliers of the corners.
        most: the bound of this box.
    """

    weights: Array = field(default_factory=lambda: np.zeros(0))
    most: float = math.inf

    def nodes(self) -> list[dict[str, Any]]:
        """Write the tree below as plain data, the lower part of a box first."""
        if self.cut is None:
            used = np.flatnonzero(self.weights)
            return [{"corners": used.tolist(), "weights": self.weights[used].tolist()}]
        u, at = self.cut
        return [{"input": u, "at": at}, *(node for part in self.parts for node in part.nodes())]


@dataclass(eq=False)
class Block:
    """A block of a part.

    Attributes:
        low, high: the ends of its corners.
        linear: β + τ p + G.
        floor: the largest Σ p w log w − linear·w at its vertices.
        root: the whole tree.
        leaves: its leaves.
    """

    low: Array
    high: Array
    linear: Array
    floor: float
    root: Box
    leaves: list[Box]

    @property
    def most(self) -> float:
        """The bound of the block."""
        return max(box.most for box in self.leaves)


class SlackProof:
    """The trees of all parts of a search, at its prices."""

    def __init__(self, search: SlackSearch, limits: Limits) -> None:
        self.search, self.limits, self.cone = search, limits, search.cone
        corners = self.cone.corners
        self.rows = [np.array([R for own in listed for R in own]) for listed in corners]
        self.shares = [np.repeat(np.arange(ALL + 1), [len(own) for own in listed]) for listed in corners]
        self.parts = {part: self._blocks(part) for part in search.leaves if part.excess > -math.inf}
        for s in range(self.cone.shape[0]):
            self._bound(s, [(blocks[s], blocks[s].root) for blocks in self.parts.values()])

    def _blocks(self, part: Part) -> list[Block]:
        bounds, prior = self.search.bounds, self.search.prior
        tables = bounds.tables(part)
        assert tables is not None
        found = []
        linear = self.search.prices.reshape(prior.shape) + bounds.pulls(part) + part.slope * prior
        for s, (t, row) in enumerate(zip(tables, linear, strict=True)):
            low, high = part.low[s][self.shares[s]], part.high[s][self.shares[s]] * (1 + ROOM)
            top = high[0] / self.cone.centres[s]
            root = Box(np.zeros(len(top)), top)
            floor = float((t.entropy - row @ t.T).max())
            found.append(Block(low * (1 - ROOM), high, row, floor, root, [root]))
        return found

    def rise(self, part: Part) -> float:
        """Return the δ of a part that its trees prove."""
        owed = -sum(block.most for block in self.parts[part])
        return part.slope - 1 - math.log(owed) if owed > 0 else math.inf

    def refine(self, goal: float) -> None:
        """Cut boxes until the trees of every part prove a δ, if its vertices allow it."""
        while True:
            self.limits.check()
            worst: list[tuple[int, Block, Box]] = []
            for part, blocks in self.parts.items():
                if self.rise(part) <= goal:
                    continue
                allowed = -math.exp(part.slope - 1 - goal) - sum(block.floor for block in blocks)
                spare = max(allowed, 0.0) / len(blocks)
                for s, block in enumerate(blocks):
                    worst += [
                        (s, block, box)
                        for box in block.leaves
                        # a leaf whose chords are this close is not cut again
                        if box.most > block.floor + spare and box.gaps.max() > 1e-13
                    ]
            if not worst:
                return
            fresh: list[list[tuple[Block, Box]]] = [[] for _ in self.rows]
            for s, block, box in worst:
                x, at = box.worst_cut()
                fresh[s] += [(block, half) for half in box.halves(x, at)]
                box.cut, box.parts = (x, at), (fresh[s][-2][1], fresh[s][-1][1])
            for s, boxes in enumerate(fresh):
                self._bound(s, boxes)
            for _, block, box in worst:
                block.leaves.remove(box)
                block.leaves += box.parts

    def _bound(self, s: int, boxes: list[tuple[Block, Box]]) -> None:
        """Bound blocks of a secret within boxes by the chords, and keep the multipliers."""
        if not boxes:
            return
        p, rows = self.search.prior[s], self.rows[s]
        low, high, linear, least, most = (
            np.array(column)
            for column in zip(*((b.low, b.high, b.linear, x.low, x.high) for b, x in boxes), strict=True)
        )
        at_least, at_most = xlogy(least, least), xlogy(most, most)
        slope = (at_most - at_least) / (most - least)
        points, weights = maxima(rows, p * slope - linear, (low, high), (least, most))
        weights = weights.round(DIGITS)
        points = np.clip(points, least, most)
        gaps = p * (at_least + slope * (points - least) - xlogy(points, points))
        g = -linear - weights @ rows
        own = np.maximum(p * at_least + g * least, p * at_most + g * most).sum(axis=1)
        bound = own + (np.where(weights > 0, high, low) * weights).sum(axis=1)
        for i, (_, box) in enumerate(boxes):
            box.weights, box.point, box.gaps, box.most = weights[i], points[i], gaps[i], float(bound[i])

    def plain(self) -> dict[str, Any]:
        """Write the proof as plain data; the dual vector is raised by as much as the trees need.

        Raises:
            SolverError: the trees of a part do not reach a bound.
        """
        # the bound is raised by this, so that rounding does not break the proof
        rise = max(map(self.rise, self.parts)) + 1e-11
        if math.isinf(rise):
            raise SolverError("the trees of a part do not reach a bound")
        corners = [np.delete(rows, 0, axis=0).tolist() for rows in self.rows]
        shares = [SHARES[own[1:]].tolist() for own in self.shares]
        places: dict[tuple[int, int], int] = {}
        cover = []
        for root in self.search.roots:
            nodes: list[dict[str, Any]] = []
            waiting = [root]
            while waiting:
                part = waiting.pop()
                if part.parts:
                    cut = part.parts[0].cuts[-1]
                    side = "most" if cut.most else "least"
                    share = float(SHARES[cut.share])
                    nodes.append({"secret": cut.secret, "share": share, "side": side, "at": cut.at})
                    waiting += reversed(part.parts)
                elif part not in self.parts:
                    nodes.append({"slope": 0.0, "pairs": [], "weights": [], "blocks": []})
                else:
                    nodes.append(self._leaf(part, rise, corners, shares, places))
            cover.append(nodes)
        dual = self.search.prices + rise * self.search.prior.ravel()
        return _used({"dual": dual.tolist(), "corners": corners, "shares": shares, "cover": cover})

    def _leaf(
        self,
        part: Part,
        rise: float,
        corners: list[list[list[float]]],
        shares: list[list[float]],
        places: dict[tuple[int, int], int],
    ) -> dict[str, Any]:
        """Write a leaf; the corners of its pairs join the list.

        Args:
            part: the part.
            rise: by how much the dual vector is raised.
            corners: the corners so far.
            shares: their shares.
            places: where the corners of pairs stand, by their identity.
        """

        def place(s: int, share: int, R: Array) -> int:
            if share == 0:
                return 0
            if (s, id(R)) not in places:
                corners[s].append(R.tolist())
                shares[s].append(float(SHARES[share]))
                places[s, id(R)] = len(corners[s])
            return places[s, id(R)]

        pairs, weights = [], []
        for (s, z, share, R, other), weight in zip(part.pairs, part.weights, strict=True):
            if weight > 0:
                pairs.append([s, place(s, share, R), z, place(z, ALL - share, other)])
                weights.append(float(weight))
        return {
            "slope": part.slope - rise,
            "pairs": pairs,
            "weights": weights,
            "blocks": [block.root.nodes() for block in self.parts[part]],
        }


def _used(proof: dict[str, Any]) -> dict[str, Any]:
    """Leave out the corners that no leaf uses; q_s, which is number 0, is not listed."""
    leaves = [node for nodes in proof["cover"] for node in nodes if "blocks" in node]
    used: list[set[int]] = [{0} for _ in proof["corners"]]
    for leaf in leaves:
        for s, i, z, j in leaf["pairs"]:
            used[s].add(i)
            used[z].add(j)
        for s, tree in enumerate(leaf["blocks"]):
            used[s].update(i for box in tree for i in box.get("corners", ()))
    places = [{old: new for new, old in enumerate(sorted(own))} for own in used]
    for leaf in leaves:
        leaf["pairs"] = [[s, places[s][i], z, places[z][j]] for s, i, z, j in leaf["pairs"]]
        for s, tree in enumerate(leaf["blocks"]):
            for box in tree:
                if "corners" in box:
                    box["corners"] = [places[s][i] for i in box["corners"]]
    kept = [sorted(own)[1:] for own in used]
    return proof | {
        key: [[own[i - 1] for i in places] for own, places in zip(proof[key], kept, strict=True)]
        for key in ("corners", "shares")
    }


def slack_proof(search: SlackSearch, limits: Limits) -> dict[str, Any]:
    """Prove the best bound of a search, as closely as the time allows.

    Raises:
        OutOfTime: there is no time for the first box of every block.
        SolverError: the trees of a part do not reach a bound.

    Args:
        search: the prices and the parts.
        limits: the limits of this part of the work.
    """
    if not search.leaves:
        raise OutOfTime
    search.prices, search.limits = search.best_prices, limits
    search.reprice()
    proof = SlackProof(search, limits)
    top = max(part.excess for part in proof.parts)
    with suppress(OutOfTime):
        more = FIRST
        while more >= LAST:
            proof.refine(top + more * search.least)
            more /= 2
    return proof.plain()
