"""Prove a lower bound on φ of circulant mechanisms: branch and bound over boxes of columns."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core.exact import circulant_phi_reaches, exp_above
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array

MOST_INPUTS = 12
MOST_CORNERS = 3_900_000
"""Corners of all leaves together: the checker visits them in some seconds."""
MOST_LEAVES = 2_000


class Box(NamedTuple):
    """A lower bound on φ − 1 in a box of t, the vector z that proves it, and how far inputs spread."""

    bound: float
    vector: Array
    spread: Array


@dataclass(eq=False)
class Node:
    """A box that may be cut: the parts are its two children, the lower one first."""

    low: Array
    high: Array
    box: Box | None
    cut: tuple[int, float] | None = None
    parts: list[Node] = field(default_factory=list)

    def plain(self) -> list[dict[str, Any]]:
        """List the tree in preorder."""
        if self.cut is None:
            return [{"vector": [] if self.box is None else self.box.vector.tolist()}]
        here = {"input": self.cut[0], "at": self.cut[1]}
        return [here, *(node for part in self.parts for node in part.plain())]


def circulant_proof(
    k: int, epsilon: float, value: float, known: float, limits: Limits
) -> tuple[float, dict[str, Any] | None]:
    """Cut the box with the least bound until it is the value, or until the tree is large.

    The bound of a box is the A-optimal design of its corners: with x_j = |û_j|²/û_0², the least
    Σ_j 1/x_j over convex combinations of the x of corners.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        value: the least φ found.
        known: what is proven without a tree.
        limits: the gap, and when to stop.

    Returns:
        The bound and its proof; the known bound and None if the tree proves no more.
    """
    excess, leaves = math.expm1(epsilon), 1
    low, high = np.zeros(k), np.append(0.0, np.ones(k - 1))
    root = Node(low, high, _box(low, high, excess))
    assert root.box is not None
    waiting = [(root.box.bound, 0, root)]
    most = min(MOST_LEAVES, MOST_CORNERS >> (k - 1))
    while 1 + waiting[0][0] < value * (1 - limits.gap / 4) and leaves < most and not limits.expired():
        least, _, node = heapq.heappop(waiting)
        assert node.box is not None
        at = int(node.box.spread.argmax())
        middle = float(node.low[at] + node.high[at]) / 2
        node.cut = (at, middle)
        for first, last in ((node.low[at], middle), (middle, node.high[at])):
            low, high = node.low.copy(), node.high.copy()
            low[at], high[at] = first, last
            mirrored = low[1] >= high[k - 1]
            box = None if mirrored else _box(low, high, excess)
            if box is not None and box.bound < least:  # the whole box's vector proves more of its part
                box = box._replace(bound=least, vector=node.box.vector)
            part = Node(low, high, box)
            node.parts.append(part)
            leaves += 1
            if box is not None:
                heapq.heappush(waiting, (box.bound, leaves, part))
    tree, E = root.plain(), exp_above(epsilon)
    for room in (1e-13, 1e-11, 1e-9, 1e-7):
        bound = (1 + waiting[0][0]) * (1 - room)
        if bound <= known:
            break
        if circulant_phi_reaches(k, E, Fraction(bound), tree):
            return bound, {"tree": tree}
    return known, None


def _box(low: Array, high: Array, excess: float) -> Box:
    """Bound φ − 1 in a box by the multiplicative rule of A-optimal design."""
    k, free = len(low), np.flatnonzero(low < high)
    t = np.tile(low, (2 ** len(free), 1))
    upper = (np.arange(len(t))[:, None] >> np.arange(len(free))) & 1 == 1
    t[:, free] = np.where(upper, high[free], low[free])
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
    spread = share @ (t - share @ t) ** 2
    vector = np.fft.irfft(np.append(0.0, middle.min() / middle), k)
    return Box(best, vector, np.where(low < high, spread + 1e-12 * (high - low), -1.0))
