"""Prove lower bounds on φ of circulant and square mechanisms: branch and bound over boxes of columns."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core.exact import circulant_phi_reaches, exp_above, square_phi_proven
from ldpopt.core.forms.matrix_program import MatrixProgram
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.solvers._query_columns import gains
from ldpopt.solvers._query_interior import QueryInterior

MOST_INPUTS = {"circulant": 12, "square": 4}
"""The most inputs for which there is a tree, for each family that has one."""
MOST_CORNERS = 3_900_000
"""Corners of all leaves together: the checker visits them in some seconds."""
MOST_LEAVES = {"circulant": 2_000, "square": 12_000}
CENTRED = 1e-10
"""The relative gap to which the design of a box of square mechanisms is found."""


class Box(NamedTuple):
    """A lower bound on φ − 1 in a box, the leaf that proves it, and how far each entry spreads."""

    bound: float
    leaf: dict[str, Any]
    spread: Array


@dataclass(eq=False)
class Node:
    """A box that may be cut: the parts are its two children, the lower one first."""

    low: Array
    high: Array
    box: Box | None
    cut: tuple[int, float] | None = None
    parts: list[Node] = field(default_factory=list)

    def plain(self, axis: str, outside: dict[str, Any]) -> list[dict[str, Any]]:
        """List the tree in preorder.

        Args:
            axis: the key of what is cut.
            outside: the leaf of a box in which nothing needs a proof.
        """
        if self.cut is None:
            return [outside if self.box is None else self.box.leaf]
        here = {axis: self.cut[0], "at": self.cut[1]}
        return [here, *(node for part in self.parts for node in part.plain(axis, outside))]


def phi_proof(form: MatrixProgram, value: float, limits: Limits) -> tuple[float, dict[str, Any] | None]:
    """Prove a better bound on φ than the form's own by a tree.

    Args:
        form: circulant or square mechanisms.
        value: the least φ found.
        limits: the gap, and when to stop.

    Returns:
        The bound and its proof; those of the form if the tree proves no more.
    """
    k, excess, E = form.k, math.expm1(form.epsilon), exp_above(form.epsilon)
    if form.family == "circulant":
        low, high = np.zeros(k), np.append(0.0, np.ones(k - 1))
        least, root = _cut(low, high, partial(_turned_box, excess), form, value, limits)
        name, tree = "tree", root.plain("input", {"vector": []})
        reaches = circulant_phi_reaches
    else:
        boxes = ColumnBoxes(k, excess)
        least, root = _cut(np.zeros(k * k), np.ones(k * k), boxes.box, form, value, limits)
        name, tree = "boxes", root.plain("entry", {"Y": [], "beta": []})
        reaches = square_phi_proven
    for room in (1e-13, 1e-11, 1e-9, 1e-7):
        bound = (1 + least) * (1 - room)
        if bound <= form.bound:
            break
        if reaches(k, E, Fraction(bound), tree):
            return bound, {name: tree}
    return form.bound, form.proof


def _cut(
    low: Array,
    high: Array,
    bounded: Callable[[Array, Array], Box | None],
    form: MatrixProgram,
    value: float,
    limits: Limits,
) -> tuple[float, Node]:
    """Cut the box with the least bound until it is the value, or until the tree is large.

    Args:
        low: the lower ends of the whole box.
        high: its upper ends.
        bounded: bounds φ − 1 in a box; None where nothing needs a proof.
        form: circulant or square mechanisms.
        value: the least φ found.
        limits: the gap, and when to stop.

    Returns:
        The least bound on φ − 1 of all boxes, and the tree.
    """
    leaves, root = 1, Node(low, high, bounded(low, high))
    assert root.box is not None
    waiting = [(root.box.bound, 0, root)]
    most = min(MOST_LEAVES[form.family], MOST_CORNERS >> (form.k - 1))
    while 1 + waiting[0][0] < value * (1 - limits.gap / 4) and leaves < most and not limits.expired():
        least, _, node = heapq.heappop(waiting)
        assert node.box is not None
        at = int(node.box.spread.argmax())
        middle = float(node.low[at] + node.high[at]) / 2
        node.cut = (at, middle)
        for first, last in ((node.low[at], middle), (middle, node.high[at])):
            low, high = node.low.copy(), node.high.copy()
            low[at], high[at] = first, last
            box = bounded(low, high)
            if box is not None and box.bound < least:  # what proves the whole box proves its part
                box = box._replace(bound=least, leaf=node.box.leaf)
            part = Node(low, high, box)
            node.parts.append(part)
            leaves += 1
            if box is not None:
                heapq.heappush(waiting, (box.bound, leaves, part))
    return waiting[0][0], root


def _corners(low: Array, high: Array) -> Array:
    """List the corners of a box, one per row."""
    free = np.flatnonzero(low < high)
    t = np.tile(low, (2 ** len(free), 1))
    upper = (np.arange(len(t))[:, None] >> np.arange(len(free))) & 1 == 1
    t[:, free] = np.where(upper, high[free], low[free])
    return t


def _spread(share: Array, t: Array, low: Array, high: Array) -> Array:
    """Compute how far the entries of weighted corners spread; −1 where the box has no width."""
    middle = share @ t / max(share.sum(), 1e-300)
    return np.where(low < high, share @ (t - middle) ** 2 + 1e-12 * (high - low), -1.0)


def _turned_box(excess: float, low: Array, high: Array) -> Box | None:
    """Bound φ − 1 of circulants by the multiplicative rule of A-optimal design.

    With x_j = |û_j|²/û_0², the bound is the least Σ_j 1/x_j over convex combinations of the x of
    corners. None where t_1 ≥ t_{K−1} everywhere.
    """
    k, t = len(low), _corners(low, high)
    if low[1] >= high[k - 1]:
        return None
    power = np.abs(np.fft.rfft(1 + excess * t, axis=1)) ** 2
    x = power[:, 1:] / power[:, :1]
    twice = np.where(np.arange(1, k // 2 + 1) * 2 == k, 1.0, 2.0)
    share = np.full(len(x), 1 / len(x))
    best, middle = 0.0, np.ones(x.shape[1])
    for step in range(40):
        mean = share @ x + 1e-300
        gain, total = (x / mean**2) @ twice, float((twice / mean).sum())
        if total**2 / gain.max() > best:
            best, middle = total**2 / float(gain.max()), mean
        if gain.max() <= total * (1 + 1e-12):
            break
        share = share * (gain / gain.max()) ** (0.5 if step % 2 else 1.0)
        share = share / share.sum()
    vector = np.fft.irfft(np.append(0.0, middle.min() / middle), k)
    return Box(best, {"vector": vector.tolist()}, _spread(share, t, low, high))


class ColumnBoxes:
    """Boxes of all K columns of a square mechanism.

    The bound is the least φ − 1 of a mechanism whose columns are corners of any of the K boxes: an
    A-optimal design, whose vectors and prices are the proof.

    Args:
        k: the number K of inputs.
        excess: e^ε − 1.
    """

    def __init__(self, k: int, excess: float) -> None:
        self.k, self.excess = k, excess
        self.program = QueryInterior(np.full(k, 1 / k), np.eye(k))

    def box(self, low: Array, high: Array) -> Box | None:
        """Bound φ − 1 in a box; None if it is outside of the order that renaming allows."""
        k = self.k
        lows, highs = low.reshape(k, k), high.reshape(k, k)
        if self._is_outside(lows, highs):
            return None
        ends = zip(lows, highs, strict=True)
        t = np.unique(np.vstack([_corners(*pair) for pair in ends]), axis=0)
        T, spread = 1 + self.excess * t, np.where(low < high, high - low, -1.0)
        try:
            now = self.program.solve(T / T.max(), CENTRED, lambda: False)
        except np.linalg.LinAlgError:
            return Box(0.0, {}, spread)
        Y = now.Y - now.Y.mean(axis=1, keepdims=True)
        needed, paid = gains(T, T.sum(axis=1), Y), T @ now.beta
        if not (paid > 0).all():
            return Box(0.0, {}, spread)
        beta = now.beta * (needed / paid).max() * (1 + 1e-13)
        weights = now.weights * T.sum(axis=1)
        inside = [((t >= a) & (t <= b)).all(axis=1) for a, b in zip(lows, highs, strict=True)]
        spreads = [
            _spread(weights * here, t, a, b) for here, a, b in zip(inside, lows, highs, strict=True)
        ]
        leaf = {"Y": Y.tolist(), "beta": beta.tolist()}
        return Box(float(np.trace(Y)) ** 2 / beta.sum(), leaf, np.concatenate(spreads))

    @staticmethod
    def _is_outside(low: Array, high: Array) -> bool:
        """Return whether t_00 is not largest, the first row or column is unordered, or no t is 0."""
        unordered = [
            high[0, 0] <= low.ravel()[1:],
            high[1:-1, 0] <= low[2:, 0],
            high[0, 1:-1] <= low[0, 2:],
        ]
        return any(part.any() for part in unordered) or bool((low.min(axis=1) > 0).any())
