"""The posterior of one number: its density, quantiles and intervals."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc, betaln, xlogy

from ldpopt.core import notebook, validate
from ldpopt.core.validate import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Marginal(ABC):
    """The posterior of one number."""

    @abstractmethod
    def pdf(self, z: ArrayLike) -> Array:
        """Evaluate the density at z."""

    @abstractmethod
    def cdf(self, z: ArrayLike) -> Array:
        """Compute P(number ≤ z)."""

    @abstractmethod
    def mean(self) -> float:
        """Compute the expected number."""

    @abstractmethod
    def quantile(self, chance: float) -> float:
        """Find the z with P(number ≤ z) = chance."""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed interval that contains the number with probability ``level``."""
        tail = (1 - validate.share("level", level)) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def plot(self, ax: Axes | None = None, level: float = 0.95) -> Axes:
        """Draw the density of the number, its mean and its interval, where the number may lie.

        Args:
            ax: where to draw; a new figure if not given.
            level: the probability of the interval.
        """
        (low, high), (first, last), axes = self.interval(level), self.interval(0.999), notebook.axes(ax)
        margin = 0.05 * (last - first)
        # not the ends of [0, 1] themselves, where a density may have poles
        start, end = max(first - margin, 1e-3 * first), min(last + margin, 1 - 1e-3 * (1 - last))
        z = np.linspace(start, end, 300)
        height, inside = self.pdf(z), (z >= low) & (z <= high)
        axes.plot(z, height, color="C0")
        axes.fill_between(z[inside], height[inside], alpha=0.3, color="C0", linewidth=0)
        axes.axvline(self.mean(), color="C1", linewidth=1)
        axes.set_yticks([])
        return axes


@dataclass(frozen=True, eq=False)
class BetaMixture(Marginal):
    """A mixture of beta distributions: the posterior of one frequency."""

    a: Array
    b: Array
    weights: Array

    def pdf(self, z: ArrayLike) -> Array:
        """Evaluate the density at z."""
        constant = betaln(self.a, self.b)

        def density(at: Array) -> Array:
            terms = xlogy(self.a - 1, at) + xlogy(self.b - 1, 1 - at) - constant
            return np.exp(terms) @ self.weights

        return self._by_parts(density, z)

    def cdf(self, z: ArrayLike) -> Array:
        """Compute P(frequency ≤ z)."""
        return self._by_parts(lambda at: betainc(self.a, self.b, at) @ self.weights, z)

    def mean(self) -> float:
        """Compute the expected frequency."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def quantile(self, chance: float) -> float:
        """Find the z with P(frequency ≤ z) = chance."""
        return float(brentq(lambda z: float(self.cdf(z)) - chance, 0.0, 1.0, xtol=1e-12))

    def _by_parts(self, f: Callable[[Array], Array], z: ArrayLike) -> Array:
        """Evaluate f of z as a column, in parts that fit into memory."""
        column = np.asarray(z, dtype=np.float64).reshape(-1, 1)
        # densities are evaluated in parts of this many numbers
        parts = np.array_split(column, math.ceil(column.size * len(self.a) / 2_000_000))
        return np.concatenate([f(part) for part in parts]).reshape(np.shape(z))


@dataclass(frozen=True, eq=False)
class Empirical(Marginal):
    """A number between ``low`` and ``high`` of which draws are known, all equally likely.

    >>> Empirical(np.array([0.25, 0.5, 0.75]), 0.0, 1.0).interval(0.5)
    (0.375, 0.625)
    """

    draws: Array
    low: float
    high: float

    def pdf(self, z: ArrayLike) -> Array:
        """Evaluate the density of the draws, blurred by a normal kernel.

        The kernel is reflected at both ends (Silverman).
        """
        spread, (lower, upper) = float(self.draws.std()), self.interval(0.5)
        width = 0.9 * min(spread, (upper - lower) / 1.34) * len(self.draws) ** -0.2
        at = np.asarray(z, dtype=np.float64)[..., None]
        images = np.concatenate([self.draws, 2 * self.low - self.draws, 2 * self.high - self.draws])
        heights = np.exp(-(((at - images) / width) ** 2) / 2).sum(axis=-1)
        inside = (at[..., 0] >= self.low) & (at[..., 0] <= self.high)
        return inside * heights / (len(self.draws) * width * math.sqrt(2 * math.pi))

    def cdf(self, z: ArrayLike) -> Array:
        """Compute the share of draws ≤ z."""
        rank = np.searchsorted(np.sort(self.draws), np.asarray(z, dtype=np.float64), side="right")
        return rank / len(self.draws)

    def mean(self) -> float:
        """Compute the mean of the draws."""
        return float(self.draws.mean())

    def quantile(self, chance: float) -> float:
        """Compute the quantile of the draws."""
        return float(np.quantile(self.draws, chance))
