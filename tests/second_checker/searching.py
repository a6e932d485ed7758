"""Members of a set that break a level, sought in floats by SLSQP of scipy and decided exactly.

What is found refutes a level for certain. What is not found leaves it open: a search proves nothing.
"""

import itertools
import math

import numpy as np
from scipy.optimize import minimize

from second_checker.intervals import bottom

STARTS = 3
STEPS = (0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3)
"""How far a point that was found is moved to the center, until it is certainly a member."""
LEAST = 1e-15


def is_broken(F, W, factor):
    """Whether a member with P(y|s) > factor P(y|z) is found."""
    draw, goal = np.random.default_rng(0), math.log(factor)
    for column in zip(*W, strict=True):
        for s, z in itertools.permutations(range(F.shape[0]), 2):
            for start in range(STARTS):
                witness = _climbed(F, np.array(column, dtype=float), s, z, start and draw)
                if witness is not None and _breaks(F, witness, column, (s, z), factor, goal):
                    return True
    return False


def _breaks(F, witness, column, pair, factor, goal):
    """Whether a point near the one that was found is a member and exceeds the factor, exactly."""
    home = np.array(F.home(), dtype=float)
    for step in STEPS:
        moved = np.maximum((1 - step) * np.array(witness) + step * home, 0.0)
        moved = moved / (moved.sum(axis=1, keepdims=True) if F.kind == "wasserstein" else moved.sum())
        P, inside = F.member(moved.tolist())
        if inside:
            top, low = (F.share(P, column, i) / F.share(P, [1] * F.cells, i) for i in pair)
            return top > factor * low
    return False


def _climbed(F, column, s, z, draw):
    """Climb log P(y|s)/P(y|z) from the center, or from a random place near it."""
    home = np.array(F.home(), dtype=float)
    p = np.array(F.center, dtype=float)
    moves = F.kind == "wasserstein"
    own = np.arange(F.cells) // F.shape[1]

    def loss(v):
        P = p @ v.reshape(F.cells, -1) if moves else v
        parts = [P[own == i] @ column[own == i] / max(P[own == i].sum(), LEAST) for i in (z, s)]
        return math.log(max(parts[0], LEAST)) - math.log(max(parts[1], LEAST))

    start = home.ravel()
    if draw:
        start = start + 0.3 * draw.random() * (draw.dirichlet(np.full(start.size, 0.3)) - start)
    bounds = [(LEAST, 1.0)] * start.size
    if moves:
        distance = p[:, None] * np.array(F.distance, dtype=float)
        limits = [
            {"type": "eq", "fun": lambda v: v.reshape(F.cells, -1).sum(axis=1) - 1},
            {"type": "ineq", "fun": lambda v: float(F.radius) - distance.ravel() @ v},
        ]
    else:
        limits = [{"type": "eq", "fun": lambda v: v.sum() - 1}]
        if F.kind == "credible":
            bounds = [(float(low), float(high)) for low, high in F.ends]
        else:
            limits.append({"type": "ineq", "fun": _room(F, p)})
    found = minimize(loss, np.clip(start, *np.array(bounds).T), bounds=bounds, constraints=limits)
    return found.x.reshape(home.shape) if np.isfinite(found.x).all() else None


def _room(F, p):
    """How far a distribution is inside a ball, in floats."""
    used = p > 0
    if F.kind == "hellinger":
        return lambda v: np.sqrt(p * v).sum() - (1 - float(F.radius) ** 2)
    if F.kind == "kullback-leibler":
        return lambda v: float(F.radius) - (v * np.log(v / np.maximum(p, 1e-300))).sum()
    if F.kind == "likelihood":
        return lambda v: float(F.radius) - (p[used] * np.log(p[used] / v[used])).sum()
    if F.kind == "total-variation":
        return lambda v: float(F.radius) - np.abs(v - p).sum() / 2
    return lambda v: 1 + float(bottom(F.B)) - (p[used] ** 2 / v[used]).sum()
