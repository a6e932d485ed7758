"""Bound the utility of unary encoding on boxes of splits and of κ to the second order, in floats.

The lemmas stand in ``ldpopt/checker/kernel/proofs/unary_encoding_bound.py``, which repeats the bound in
exact arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldpopt.core.validate import Array

Span = tuple[Array, Array]
"""The least and the greatest of a number, an entry per box."""
Sides = tuple[Span, Span]
"""The spans of θ and of κ."""


class Ends(NamedTuple):
    """What is known at the ends of ranges of splits, an entry per range.

    Attributes:
        ratios: ρ₀ and ρ₁, the least and the greatest ratio of the odds of κ and λ.
        sets: l₀ and l₁, the Φ_o at these ratios: [ranges][o].
        reported: B₁ and B₀, the information that the responses give at the ends.
    """

    ratios: tuple[Array, Array]
    sets: tuple[Array, Array]
    reported: tuple[Array, Array]


class SetWeights:
    """Φ_o for o = 1, …, m − 1 at any ratio R: sums over all sets of secrets.

    Boxes share their ends with their neighbours, parents and halves, so that a search asks for few
    different ratios: the results are kept.

    Args:
        mass: the probabilities of all sets of secrets.
        size: the number of secrets in each set.
    """

    def __init__(self, mass: Array, size: Array) -> None:
        self._mass = mass
        self._of_size = (size[:, None] == np.arange(1, size.max())).astype(np.float64)
        self._kept: dict[float, Array] = {}

    def __call__(self, ratio: Array) -> Array:
        """Return Φ_o for every ratio: [ratios][o]."""
        distinct, where = np.unique(ratio, return_inverse=True)
        wanted = distinct.tolist()
        new = [R for R in wanted if R not in self._kept]
        if new:
            self._kept.update(zip(new, self._sums(np.array(new)[:, None]), strict=True))
        return np.array([self._kept[R] for R in wanted])[where]

    def _sums(self, R: Array) -> Array:
        mixed = 1 + self._mass * (R - 1)
        phi = self._mass * (R * np.log(R)) - mixed * np.log(mixed)
        return np.maximum(phi @ self._of_size, 0.0)


def information(weights: Array, kappa: Array, lam: Array) -> Array:
    """Compute what the reported set tells about s (Lemma 1) from Φ_o at the ratio of the odds.

    Args:
        weights: Φ_o at every point, [points][o].
        kappa: κ, the probability that the true secret is in the set.
        lam: λ, the probability that another given secret is in the set.
    """
    o, others = np.arange(1, weights.shape[1] + 1), weights.shape[1]
    powers = lam[:, None] ** o * (1 - lam[:, None]) ** (others - o)
    return (1 - kappa) * (weights * powers).sum(axis=1)


def most(ends: Ends, least: Array, greatest: Array) -> Array:
    """Bound the utility on boxes: ranges of splits, with κ between two numbers for each.

    Args:
        ends: the ends of the splits.
        least: the least κ.
        greatest: the greatest κ.
    """
    sides: Sides = (np.zeros_like(least), np.ones_like(least)), (least, greatest)
    edges = _edges(_Box(ends, *sides).slopes(), sides)
    slopes = _Box(ends, *edges).slopes()
    theta, kappa = edges = _edges(slopes, edges)
    middles = (theta[0] + theta[1]) / 2, (kappa[0] + kappa[1]) / 2
    found = _Box(ends, *((c, c) for c in middles)).value()
    for (low, high), (first, last), c in zip(slopes, edges, middles, strict=True):
        found = found + np.maximum(high * (last - c), low * (first - c))
    return found


def _edges(slopes: Sides, sides: Sides) -> Sides:
    """Shrink every side along which V only rises, or only falls, to the end at which V is largest."""
    theta, kappa = (
        (np.where(low >= 0, last, first), np.where((low < 0) & (high <= 0), first, last))
        for (low, high), (first, last) in zip(slopes, sides, strict=True)
    )
    return theta, kappa


class _Box:
    """V and its derivatives, enclosed on boxes of θ and κ."""

    def __init__(self, ends: Ends, theta: Span, kappa: Span) -> None:
        low, high = ends.ratios
        self.width = high - low
        self.kappa = kappa
        self.R = low + theta[0] * self.width, low + theta[1] * self.width
        self.D = tuple(k + (1 - k) * r for k, r in zip(kappa[::-1], self.R, strict=True))
        self.lam = kappa[0] / self.D[1], kappa[1] / self.D[0]
        l0, l1 = ends.sets
        self.rises = l1 - l0
        weights = [l0 + t[:, None] * self.rises for t in theta]
        self.L = np.minimum(*weights), np.maximum(*weights)
        first, last = ends.reported
        self.fall = last - first
        self.C = first + theta[1] * self.fall, first + theta[0] * self.fall
        self.o = np.arange(1, l0.shape[1] + 1)
        self.m = l0.shape[1] + 1

    def value(self) -> Array:
        """Compute V at points."""
        return information(self.L[0], self.kappa[0], self.lam[0]) + self.kappa[0] * self.C[0]

    def slopes(self) -> Sides:
        """Enclose the derivatives in θ and κ."""
        lam = self.lam
        apart = self.o - (self.m - 1) * lam[1][:, None], self.o - (self.m - 1) * lam[0][:, None]
        scale = self.width / self.R[1], self.width / self.R[0]
        weighted = _times(self.L, apart)
        tilt = _times(weighted, (scale[0][:, None], scale[1][:, None]))
        tilted = self.rises - tilt[1], self.rises - tilt[0]
        silent = 1 - self.kappa[1], 1 - self.kappa[0]
        own = _times(self._total(tilted, 0), silent)
        falls = _times(self.kappa, (self.fall, self.fall))
        turned = _times(self.L, (apart[0] - self.kappa[1][:, None], apart[1] - self.kappa[0][:, None]))
        inverse = 1 / self.D[1], 1 / self.D[0]
        of_kappa = _times(self._total(turned, 1), inverse)
        return (
            (own[0] + falls[0], own[1] + falls[1]),
            (of_kappa[0] + self.C[0], of_kappa[1] + self.C[1]),
        )

    def _total(self, weights: Span, less: int) -> Span:
        """Add up weight · λ^(o−less) (1−λ)^(m−1−o)."""
        low, high = self.lam
        powers = self._powers(low, 1 - high, less), self._powers(high, 1 - low, less)
        found = _times(weights, powers)
        return found[0].sum(axis=1), found[1].sum(axis=1)

    def _powers(self, lam: Array, other: Array, less: int) -> Array:
        return lam[:, None] ** (self.o - less) * other[:, None] ** (self.m - 1 - self.o)


def _times(a: Span, b: Span) -> Span:
    products = [x * y for x in a for y in b]
    return np.minimum.reduce(products), np.maximum.reduce(products)
