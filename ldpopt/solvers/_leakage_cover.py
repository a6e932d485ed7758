"""Columns that pay under a floor on the average privacy, and a cover of all columns that proves a bound.

At prices β and π a column v is worth h(v) = g(v) − π ℓ(v) − β·v, with g and ℓ of
:mod:`ldpopt.checker.kernel.proofs.leakage_cover`; h is homogeneous. No mechanism beats the bound of a
linear step if h ≤ 0 everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ldpopt.core.exact import column_renamings
from ldpopt.core.forms.convex_program import Column, ConvexProgram
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array
from ldpopt.models.priors import Dirichlet

STARTS = 12
"""Random columns from which each round of pricing climbs."""
APART = 1e-6
"""Columns whose logarithms differ by less, in parts of ε, are one."""
LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
"""How far, relative to the value, a cover may lie above the linear step; each rung takes more leaves."""
MOST_LEAVES = 3000
MOST_WORK, PER_SECOND = 10_000_000, 1_000_000
"""Entries of columns, over all corners, renamings and points, that a cover may ask the checker for; and
how many it decides in a second."""
WORK_OF_TANGENT = 20_000
"""What a tangent takes in the same measure."""


class Prices:
    """h(v) per unit of Σ v at the prices of a linear step, for many columns at once.

    Args:
        form: the program.
        moments: F at the reference, for every point, as the program scales it.
        dual: β, an entry per input; their sum if all α are equal.
        price: π.
    """

    def __init__(self, form: ConvexProgram, moments: Array, dual: Array, price: float) -> None:
        self.form, self.price, self.equal = form, price, form.question.equal
        self.prior, self.k = Dirichlet(form.question.alpha), len(form.question.alpha)
        self.top = 1 + float(form.question.contrast)
        self.beta = np.full(self.k, dual[0] / self.k) if self.equal else dual
        self.weights = form.scale * form.weights / (self.top - 1) ** 2
        self.inverse = np.linalg.inv(moments)

    def slopes(self, columns: Array) -> Array:
        """Compute g of the rows of a matrix; with equal α the mean over their renamings."""
        if not self.equal:
            return self._gain(columns)
        renamed = [np.array(column_renamings(tuple(sorted(v)))) for v in columns.tolist()]
        gains = np.split(self._gain(np.vstack(renamed)), np.cumsum([len(own) for own in renamed])[:-1])
        return np.array([own.mean() for own in gains])

    def _gain(self, columns: Array) -> Array:
        D = columns[:, :-1] - columns[:, -1:]
        squares = ((D @ self.inverse) * D).sum(axis=2)
        gains: Array = self.weights @ (squares / (self.form.points @ columns.T))
        return gains

    def paid(self, columns: Array) -> Array:
        """Compute β + π times the derivative of ℓ, at the rows of a matrix."""
        return self.beta + self.price * self.prior.leakage_slopes(columns.T).T

    def excess(self, logs: Array) -> tuple[float, Array]:
        """Compute −h(v)/Σv at a column v = e^u and its derivative by u, with unequal α."""
        v = np.exp(logs)
        D, q = v[:-1] - v[-1], self.form.points @ v
        turned = self.inverse @ D
        square = turned @ D
        gain = self.weights * square / q
        inner = 2 * (self.weights / q) @ turned
        slope = np.append(inner, -inner.sum()) - (gain / q) @ self.form.points
        paid = self.paid(v[None])[0]
        h = float(gain.sum() - paid @ v) / v.sum()
        return -h, -(slope - paid - h) * v / v.sum()


def new_columns(known: Sequence[Column], prices: Prices, least: float, limits: Limits) -> list[Column]:
    """Climb to columns that are worth more than they cost: from known ones, else from random ones.

    With equal α only columns of two values are sought, near the levels of those known.

    Args:
        known: the columns in use.
        prices: the prices at which columns are worth something.
        least: what h must be, per unit of Σ v.
        limits: when to stop.
    """
    top, rng = math.log(prices.top), np.random.default_rng(limits.seed)
    used, found = np.log(np.array(known)), []
    if prices.equal:
        shifts = top * np.array([-1 / 16, -1e-2, -1e-3, -1e-4, 1e-4, 1e-3, 1e-2, 1 / 16])
        moved = np.clip(used.max(axis=1)[:, None] + shifts, 0, top)
        logs = (moved[:, :, None] * (used > 0)[:, None]).reshape(-1, prices.k)
        columns = np.exp(logs)
        worth = prices.slopes(columns) - (prices.paid(columns) * columns).sum(axis=1)
        found = list(logs[worth > least * columns.sum(axis=1)])
    else:
        near = used + rng.normal(0, 0.05, used.shape)
        for i, start in enumerate(np.vstack([near, rng.uniform(0, top, (STARTS, prices.k))])):
            limits.check()
            if i >= len(near) and found:
                break
            best = minimize(
                prices.excess,
                np.clip(start - start.min(), 0, top),
                jac=True,
                bounds=[(0, top)] * prices.k,
                method="L-BFGS-B",
            )
            if -best.fun > least:
                found.append(np.clip(best.x - best.x.min(), 0, top))
    kept: list[Array] = []
    for own in found:
        if all(np.abs(own - other).max() > APART * top for other in [*kept, *used]):
            kept.append(own)
    return [tuple(np.exp(own).tolist()) for own in kept]


# ---------------------------------------------------------------- the cover


class Cover:
    """Boxes of columns, cut until h(v) ≤ tolerance · Σ v is shown in each part, in preorder.

    A part is shown by a tangent of ℓ that other parts have used, or else by that at its middle, in
    logarithms; or it is cut there, across its longest side.

    Args:
        prices: the prices.
        tolerance: what h may be, per unit of Σ v.
        limits: when to stop.
    """

    def __init__(self, prices: Prices, tolerance: float, limits: Limits) -> None:
        self.prices, self.tolerance, self.limits = prices, tolerance, limits
        self.gains: dict[tuple[float, ...], float] = {}
        self.most_work = min(MOST_WORK, PER_SECOND * limits.remaining())
        self.work, self.leaves = 0, 0
        self.tangents: list[list[float]] = []
        self.paid = np.zeros((0, prices.k))

    def found(self) -> dict[str, Any] | None:
        """Return tangents and trees as plain data; None if that takes too many leaves."""
        k, trees = self.prices.k, []
        for least in range(k - 1, k) if self.prices.equal else range(k):
            high = np.full(k, self.prices.top)
            high[least] = 1.0
            tree: list[dict[str, Any]] = []
            waiting = [(np.ones(k), high)]
            while waiting:
                low, high = waiting.pop()
                inside, outside = self._ordered(low, high)
                tangent = self._shown(inside, outside) if (inside <= outside).all() else 0
                self.leaves += tangent is not None
                if self.leaves + len(waiting) > MOST_LEAVES or self.work > self.most_work:
                    return None
                if tangent is not None:
                    tree.append({"tangent": tangent})
                    continue
                i = int((outside / inside).argmax())
                at = math.sqrt(inside[i] * outside[i])
                left, right = high.copy(), low.copy()
                left[i] = right[i] = at
                tree.append({"entry": i, "at": at})
                waiting += [(right, high), (low, left)]
            trees.append(tree)
        return {"tangents": self.tangents, "trees": trees}

    def _ordered(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Cut off what of a part holds no v_1 ≥ … ≥ v_k, which is enough with equal α."""
        if not self.prices.equal:
            return low, high
        return np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)

    def _shown(self, low: Array, high: Array) -> int | None:
        """Return the place of a tangent that shows a part, new or not; None without one."""
        self.limits.check()
        corners = np.array(list(product(*({a, b} for a, b in zip(low, high, strict=True)))))
        free = self._gain(corners) - self.tolerance * corners.sum(axis=1)
        fits = np.flatnonzero((self.paid @ corners.T >= free).all(axis=1))
        if len(fits):
            return int(fits[-1])
        middle = np.sqrt(low * high)
        paid = self.prices.paid(middle[None])
        if (paid @ corners.T < free).any():
            return None
        self.paid = np.vstack([self.paid, paid])
        self.tangents.append(middle.tolist())
        self.work += WORK_OF_TANGENT
        return len(self.tangents) - 1

    def _gain(self, corners: Array) -> Array:
        keys = [tuple(sorted(v)) if self.prices.equal else tuple(v) for v in corners.tolist()]
        new = list({key for key in keys if key not in self.gains})
        if new:
            renamed = sum(len(column_renamings(key)) for key in new) if self.prices.equal else len(new)
            self.work += renamed * len(self.prices.weights) * self.prices.k
            self.gains.update(zip(new, self.prices.slopes(np.array(new)).tolist(), strict=True))
        return np.array([self.gains[key] for key in keys])


def smallest_cover(prices: Prices, size: float, limits: Limits) -> dict[str, Any] | None:
    """Find the cover of the lowest tolerance that leaves, work and time allow; None without any.

    Args:
        prices: the prices.
        size: what tolerances are relative to: the size of the value.
        limits: when to stop, and the gap below which no tolerance need be.
    """
    best = None
    with suppress(OutOfTime):
        for rung in LADDER:
            found = Cover(prices, max(rung, limits.gap / 4) * size / prices.k, limits).found()
            best = found or best
            if found is None or rung <= limits.gap / 4:
                break
    return best
