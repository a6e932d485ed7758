"""The pricing problem of PolyOpt with many public values, relaxed: blocks too wide to list.

In a block K(lo, hi) put m = p·T, L = max(0, (lo − m)/(1 − σ)) and H = (hi − m)/(1 − σ). At a vertex
every T_u is L or H, but for one where m = lo. With x = p(Z), Z the values at H, m is known. So for a
given x the best Z is a knapsack, and its linear relaxation replaces T log T by the chord from L to H:
one value may lie between. A value with a large p is told apart (at L, at H, or between), as its chord
would be far above. ``ldpopt.checker.wide_blocks`` proves bounds of this relaxation.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.models.block_cone import BlockCone

HEAVY, MOST_HEAVY = 0.05, 2
"""Values with at least so much of p are told apart, up to so many: as in the checker."""
PLACES = 9
"""Values of x per case."""
PARTS = 4
"""Pieces of the value of T that lies between."""
RATIOS, SLOPES = 7, 20
"""Values of ρ and of λ that are tried."""
MIXTURES = 9
"""Mixtures of two columns that are tried."""


class Best(NamedTuple):
    """The best relaxed T of a block for every ρ: f − λ q, T, and the chord of Σ P T log T."""

    value: Array
    T: Array
    entropy: Array


class Found(NamedTuple):
    """For every s* and ρ: a bound on μ(T) − β·T, and the relaxed column with its utility and mass."""

    excess: Array
    columns: Array
    utility: Array
    mass: Array


class WideBlock:
    """One secret: its best relaxed T for linear prices."""

    def __init__(self, p: Array, prior: Array) -> None:
        self.p, self.prior = p, prior
        self.free = 1 - p.sum()
        order = np.argsort(-p, kind="stable")[:MOST_HEAVY]
        self.heavy = [int(u) for u in order if p[u] >= HEAVY]
        self.light = float(np.delete(p, self.heavy).sum())

    def best(self, b: Array, low: Array, high: Array) -> Best:
        """Find the largest Σ P T log T − b·T, relaxed, for every pair of lo and hi.

        Args:
            b: the prices, an entry per public value.
            low: lo, an entry per ρ.
            high: hi, an entry per ρ.
        """
        found = None
        heavy = len(self.heavy)
        for raised in product((0.0, 1.0), repeat=heavy):
            x = self.p[self.heavy] @ raised + self.light * np.linspace(0, 1, PLACES)
            shares = {u: (share, share) for u, share in zip(self.heavy, raised, strict=True)}
            here = self._relaxed(b, low[:, None], high[:, None], x[None], shares)
            at = here.value.argmax(axis=1), np.arange(len(low))
            found = _better(found, Best(*(part[at[1], at[0]] for part in here)))
        for i, raised in product(range(heavy), product((0.0, 1.0), repeat=max(heavy - 1, 0))):
            others = [u for u in self.heavy if u != self.heavy[i]]
            for here in self._between(b, low, high, i, dict(zip(others, raised, strict=True))):
                found = _better(found, here)
        assert found is not None
        return found

    def _between(
        self, b: Array, low: Array, high: Array, i: int, others: dict[int, float]
    ) -> list[Best]:
        """Price the columns with m = lo in which the heavy value of number i is neither 0 nor H."""
        w = self.heavy[i]
        x = self.free * low / np.maximum(high - low, 1e-12)
        taken = sum(self.p[u] * share for u, share in others.items())
        least = np.clip((x - taken - self.light) / self.p[w], 0, 1)
        most = np.clip((x - taken) / self.p[w], 0, 1)
        found = []
        for j in range(PARTS):
            ends = (least + (most - least) * part / PARTS for part in (j, j + 1))
            shares = {u: (share, share) for u, share in others.items()} | {w: (next(ends), next(ends))}
            here = self._relaxed(b, low, high, x, shares)
            found.append(here._replace(value=np.where(x <= self.p.sum(), here.value, -np.inf)))
        return found

    def _relaxed(
        self, b: Array, low: Array, high: Array, x: Array, shares: dict[int, tuple[Any, Any]]
    ) -> Best:
        """Fill T from L to H in the order of the gain per p, up to p·T = m.

        Args:
            b: the prices.
            low: lo.
            high: hi.
            x: the share of p at H.
            shares: where between L and H a heavy value starts and ends.
        """
        low, high, x = np.broadcast_arrays(low, high, x)
        m = np.where(
            (high - low) * x <= self.free * low,
            self.p.sum() * low + (high - low) * x,
            high * x / (self.free + x),
        )
        L, H = np.maximum(0, (low - m) / self.free), (high - m) / self.free
        start = np.repeat(L[..., None], len(self.p), axis=-1)
        end = np.repeat(H[..., None], len(self.p), axis=-1)
        for u, (first, last) in shares.items():
            start[..., u], end[..., u] = L + first * (H - L), L + last * (H - L)
        own, more = xlogy(start, start), xlogy(end, end) - xlogy(start, start)
        gain, weight = self.prior * more - b * (end - start), self.p * (end - start)
        room = m - start @ self.p
        ratio = np.where(weight > 0, gain / np.where(weight > 0, weight, 1), np.copysign(np.inf, gain))
        order = np.argsort(-np.nan_to_num(ratio), axis=-1, kind="stable")
        sorted_weight = np.take_along_axis(weight, order, axis=-1)
        before = np.cumsum(sorted_weight, axis=-1) - sorted_weight
        filled = np.clip(
            (room[..., None] - before) / np.where(sorted_weight > 0, sorted_weight, 1), 0, 1
        )
        free_gain = np.take_along_axis(gain, order, axis=-1) > 0
        share = np.empty_like(filled)
        np.put_along_axis(share, order, np.where(sorted_weight > 0, filled, free_gain), axis=-1)
        entropy = ((own + share * more) * self.prior).sum(axis=-1)
        T = start + share * (end - start)
        fits = (room >= -1e-12) & (room <= weight.sum(axis=-1) + 1e-12)
        return Best(np.where(fits, entropy - T @ b, -np.inf), T, entropy)


def _better(one: Best | None, two: Best) -> Best:
    if one is None:
        return two
    up = two.value > one.value
    return Best(
        np.where(up, two.value, one.value),
        np.where(up[:, None], two.T, one.T),
        np.where(up, two.entropy, one.entropy),
    )


class WidePricer:
    """The relaxed pricing problem over the whole cone, for some ρ and a grid of λ."""

    def __init__(self, cone: BlockCone, prior: Array, limits: Limits) -> None:
        self.cone, self.limits = cone, limits
        self.prior = prior.reshape(cone.shape)
        self.blocks = [WideBlock(p, P) for p, P in zip(cone.p_min, self.prior, strict=True)]
        self.rng = limits.generator()
        self.slopes = np.linspace(1, 1 + 1.3 * cone.epsilon, SLOPES)

    def price(self, dual: Array) -> Found:
        """Find, for every s* and ρ, the relaxed column that β undervalues most.

        Raises:
            OutOfTime: the time of the pricer is over.
        """
        beta = dual.reshape(self.cone.shape)
        a1, E = len(self.blocks), math.exp(self.cone.epsilon)
        ratios = self._ratios()
        one = np.ones(len(ratios))
        bounds, columns, entropy = [], [], []
        for slope in self.slopes:
            self.limits.check()
            pairs = list(zip(self.blocks, beta + slope * self.prior, strict=True))
            lowest = [block.best(b, one, E * ratios) for block, b in pairs]
            others = [block.best(b, ratios, E * one) for block, b in pairs]
            chosen = [[lowest[z] if z == s else others[z] for z in range(a1)] for s in range(a1)]
            bounds.append(
                [math.exp(slope - 1) + sum(best.value for best in blocks) for blocks in chosen]
            )
            columns.append([np.hstack([best.T for best in blocks]) for blocks in chosen])
            entropy.append([sum(best.entropy for best in blocks) for blocks in chosen])
        count = a1 * len(ratios)
        return self._mixed(
            dual,
            np.array(bounds).reshape(-1, count),
            np.array(columns).reshape(len(self.slopes), count, -1),
            np.array(entropy).reshape(-1, count),
        )

    def _ratios(self) -> Array:
        """Draw the ρ that are tried: 1, and one of every stretch of the interval up to E."""
        if self.cone.pairs == "all":
            return np.ones(1)
        steps = (np.arange(RATIOS - 1) + self.rng.random(RATIOS - 1)) / (RATIOS - 1)
        return np.exp(self.cone.epsilon * np.append(0.0, steps))

    def _mixed(self, dual: Array, bounds: Array, columns: Array, entropy: Array) -> Found:
        """Mix the columns of the best λ with those of the next, on the other side of q = e^(λ−1).

        For every λ the bound is at least Σ P T log T − β·T − q log q of a mixture, with chords in the
        place of T log T; the best mixture reaches the bound, up to the grid of λ.
        """
        prior, each = self.prior.ravel(), np.arange(bounds.shape[1])
        best = bounds.argmin(axis=0)
        step = np.where(columns[best, each] @ prior > np.exp(self.slopes[best] - 1), 1, -1)
        other = np.clip(best + step, 0, len(self.slopes) - 1)
        found = None
        for share in np.linspace(0, 1, MIXTURES):
            T = (1 - share) * columns[best, each] + share * columns[other, each]
            mass = T @ prior
            worth = (1 - share) * entropy[best, each] + share * entropy[other, each]
            here = Found(worth - xlogy(mass, mass) - T @ dual, T, worth - xlogy(mass, mass), mass)
            found = here if found is None else _larger(found, here)
        assert found is not None
        return found._replace(excess=bounds[best, each])


def _larger(one: Found, two: Found) -> Found:
    up = two.excess > one.excess
    return Found(
        np.where(up, two.excess, one.excess),
        np.where(up[:, None], two.columns, one.columns),
        np.where(up, two.utility, one.utility),
        np.where(up, two.mass, one.mass),
    )
