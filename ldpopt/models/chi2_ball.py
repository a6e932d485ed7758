"""A χ² ball of distributions, and the least value of linear functions over it.

min c·R over {R : Σ q²/R ≤ B + 1} is attained at R ∝ q/√(c − ν) for a level ν ≤ min c. In terms of the
gaps c − min c and of the height h = min c − ν it is the one root of

    excess(h) = (Σ q √(gap + h)) (Σ q/√(gap + h)) − 1 = B,

which falls from ∞ to 0 as h rises. Where the least c has q = 0, h may stop at 0; the least c then takes
the remaining mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.problem import Measure
from ldpopt.core.validate import Array, Cleaned
from ldpopt.models.utilities import MutualInformation

STEPS, CLOSE, FAR = 80, 1e-13, 60.0
"""The most steps to the root; the error of log(excess/B) that is small enough; the largest |log h|."""


@dataclass(frozen=True, eq=False)
class Chi2Ball(Cleaned):
    """{R : Σ_u (q_u − R_u)²/R_u ≤ B} = {R : Σ_u q_u²/R_u ≤ B + 1}.

    Lopuhaä-Zwakenberg and Goseling 2021, (3), (4). Entries with q_u = 0 may carry mass; the only
    cost is that less is left for the others.

    >>> ball = Chi2Ball([0.5, 0.5], 1.0)
    >>> ball.lower().round(6), ball.upper().round(6)
    (array([0.146447, 0.146447]), array([0.853553, 0.853553]))
    """

    center: Any
    bound: float

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        center = validate.distribution("center", self.center)
        if not self.bound >= 0:
            raise InvalidInputError(f"the bound of a χ² ball must be >= 0, not {self.bound}")
        return {"center": center}

    def lower(self) -> Array:
        """Compute the smallest value of every coordinate: Lemma 9, (36)."""
        return extreme(self.center, self.bound, -1)

    def upper(self) -> Array:
        """Compute the largest value of every coordinate: Lemma 9, (37)."""
        return extreme(self.center, self.bound, 1)

    def minimum(self, c: Any) -> tuple[float, Array]:
        """Compute min c·R over the ball, and the R that attains it."""
        c = validate.array("linear function", c, 1)
        R = worst(c, self.center, self.bound)
        return float(c @ R), R

    def maximum(self, c: Any) -> tuple[float, Array]:
        """Compute max c·R over the ball, and the R that attains it."""
        value, R = self.minimum(-validate.array("linear function", c, 1))
        return -value, R

    def minima(self, columns: Array) -> Array:
        """Compute min c·R over the ball for every column c of a matrix.

        >>> ball = Chi2Ball([0.5, 0.3, 0.2], 0.2)
        >>> c = np.array([1.0, 2.0, 4.0])
        >>> bool(np.isclose(ball.minima(c[:, None])[0], ball.minimum(c)[0]))
        True
        """
        return least(columns, self.center[:, None], np.array([self.bound]))[0]

    def l1_bound(self) -> float:
        """Bound ‖R − q‖₁ from above by (43) or √B, Proposition 10 as printed. It is d_s of (65)."""
        if self.bound >= 1:
            return float(_l1(self.bound, self.center.min()))
        return math.sqrt(self.bound)

    def l1_radius(self) -> float:
        """Compute max ‖R − q‖₁, exactly up to 22 values.

        It is (154) at the best subset sum; √B of Proposition 10 is its envelope.

        (154) as a function of the mass q(X₁) is unimodal with its peak at (1 − √B)/2, so only the
        reachable masses next to it matter. They are listed; above 22 values, the bound √B is returned.
        """
        if self.bound == 0:
            return 0.0
        if self.bound >= 1 or len(self.center) > 22:
            return self.l1_bound()
        sums = np.zeros(1)
        for entry in self.center:
            sums = np.unique(np.append(sums, sums + entry))
        inner = sums[(sums > 0) & (sums < 1 - 1e-12)]
        candidates = np.append(inner, 0.0) if (self.center == 0).any() else inner
        return float(_l1(self.bound, candidates).max(initial=0.0))

    def contains(self, R: Any, tolerance: float = 1e-9) -> bool:
        """Return whether Σ q²/R ≤ B + 1, up to a relative tolerance."""
        R, q = np.asarray(R, dtype=float), self.center
        if R.shape != q.shape or (R < 0).any() or abs(R.sum() - 1) > tolerance:
            return False
        used = q > 0
        if (R[used] == 0).any():
            return False
        return bool((q[used] ** 2 / R[used]).sum() <= (self.bound + 1) * (1 + tolerance))

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw a member: from the center a random part of the way to the boundary, in any direction."""
        far = rng.dirichlet(np.ones(len(self.center)))
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            inside = self.contains((1 - middle) * self.center + middle * far, tolerance=0.0)
            low, high = (middle, high) if inside else (low, middle)
        step = low * rng.random() ** (1 / len(self.center))
        return (1 - step) * self.center + step * far


def bound_of(step: Any) -> Any:
    """Compute B from the step √(B + 1) − 1, without cancellation."""
    return step * (2 + step)


def extreme(q: Array, B: Any, sign: int) -> Array:
    """Compute the greatest or least R_u over {R : Σ q²/R ≤ B + 1}: Lemma 9, (36) and (37).

    Args:
        q: q_u, the entries of the centre.
        B: the bound.
        sign: 1 for the greatest, −1 for the least.
    """
    total = B + 2 * q + np.sqrt(B * B + 4 * B * q * (1 - q))
    if sign > 0:
        return np.asarray(total / (2 * B + 2))
    # (36) multiplied out: no cancellation where q is small, and 0 for a value never seen without slack
    return np.asarray(2 * q**2 / np.where(total > 0, total, 1.0))


def least(c: Array, q: Array, bound: Array) -> tuple[Array, Array]:
    """Compute min R·c over {R : Σ q²/R ≤ B + 1}, and A = Σ_u q_u √(c_u − ν) at the best level ν.

    The minimum is ν + A²/(B + 1), so that it changes with B by −A²/(B + 1)².

    Args:
        c: linear functions; the last axis but one is u.
        q: the centres, with the same axes.
        bound: B for each of them.
    """
    bottom, spread, gaps, height = _heights(c, q, bound)
    roots = np.sqrt(gaps + height[..., None, :])
    A = (q * roots).sum(axis=-2)
    value = (gaps * q / roots).sum(axis=-2) * A / (bound + 1)  # the rest of the mass has no gap
    return bottom + spread * value, A * np.sqrt(spread)


def worst(c: Array, q: Array, bound: float) -> Array:
    """Compute the R that attains min c·R over {R : Σ q²/R ≤ B + 1}.

    Args:
        c: the linear function.
        q: the centre.
        bound: B.
    """
    return all_worst(c[:, None], q[:, None], np.array([bound]))[:, 0]


def all_worst(c: Array, q: Array, bound: Array) -> Array:
    """Compute the R that attain min c·R for many linear functions at once.

    Args:
        c: linear functions; the last axis but one is u.
        q: the centres, with the same axes.
        bound: B for each of them.
    """
    _, spread, gaps, height = _heights(c, q, bound)
    roots = np.sqrt(gaps + height[..., None, :])
    R = q / roots * ((q * roots).sum(axis=-2) / (bound + 1))[..., None, :]
    free = np.maximum(1 - R.sum(axis=-2, keepdims=True), 0.0)
    first = np.expand_dims(c.argmin(axis=-2), -2)
    np.put_along_axis(R, first, np.take_along_axis(R, first, -2) + free, -2)
    flat = ((np.broadcast_to(bound, spread.shape) == 0) | (spread == 0))[..., None, :]
    return np.where(flat, q, R / R.sum(axis=-2, keepdims=True))


def _heights(c: Array, q: Array, bound: Array) -> tuple[Array, Array, Array, Array]:
    """Return min c, the spread of c, the gaps and the height h in spreads: Newton's method in a bracket.

    Both logarithms, of the excess and of h, make the excess almost linear.
    """
    bottom = c.min(axis=-2)
    spread = c.max(axis=-2) - bottom
    gaps = (c - bottom[..., None, :]) / np.where(spread > 0, spread, 1.0)[..., None, :]
    bound = np.broadcast_to(bound, bottom.shape)
    low, high = np.full(bottom.shape, -FAR), np.full(bottom.shape, FAR)
    # the level is at an end for constant functions, for free mass at the bottom, and without slack
    t = np.where(bound == 0, high, np.where(_excess(gaps, q, low)[0] <= bound, low, 0.0))
    ended = t != 0
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(STEPS):
            if ended.all():
                break
            excess, slope = _excess(gaps, q, t)
            off = np.log(excess / bound)
            ended |= np.abs(off) <= CLOSE
            low, high = np.where(off > 0, t, low), np.where(off > 0, high, t)
            newton = t - off * excess / slope
            inside = (newton > low) & (newton < high)
            t = np.where(ended, t, np.where(inside, newton, (low + high) / 2))
    return bottom, spread, gaps, np.exp(t)


def _excess(gaps: Array, q: Array, t: Array) -> tuple[Array, Array]:
    """Compute the excess at h = e^t, and its slope in t.

    With r = √(gap + h), d = r − √h and means over q it is the mean of (d − mean d)²/(r · mean r): so
    written, nothing cancels where the ball is small.
    """
    h = np.exp(t)[..., None, :]
    shifted = gaps + h
    roots = np.sqrt(shifted)
    apart = gaps / (roots + np.sqrt(h))
    up, down = (q * roots).sum(axis=-2), (q / roots).sum(axis=-2)
    far = apart - (q * apart).sum(axis=-2, keepdims=True)
    slope = (h[..., 0, :] / 2) * (down**2 - up * (q / (roots * shifted)).sum(axis=-2))
    return (q * far**2 / roots).sum(axis=-2) / up, slope


def _l1(B: float, mass: Any) -> Any:
    """Compute the ℓ1 distance (154) reached by raising entries of the given total mass."""
    return (B - 2 * B * mass + np.sqrt(B * B + 4 * B * mass * (1 - mass))) / (B + 1)


@dataclass(frozen=True, eq=False)
class RobustInformation:
    """A lower bound, with a small error, of μ²(T) = min_{P∈F} μ_P(T) for a χ² ball F.

    Lopuhaä-Zwakenberg and Goseling 2021, (46). −q log q = min_λ e^(λ−1) − λ q, so μ² = min_λ e^(λ−1) +
    min_P P·(T log T − λ T). The inner minimum is concave in λ; on each of a number of intervals its
    chord is a lower bound, and the sum with e^(λ−1) has an explicit least value. μ² is a minimum of
    sublinear functions, and not sublinear itself; but Σ_y μ²(W[:, y]) is a guarantee for every P ∈ F.

    >>> from ldpopt.models.chi2_ball import Chi2Ball
    >>> round(float(RobustInformation(Chi2Ball([0.5, 0.5], 0.1))(np.eye(2)).sum()), 3)
    0.559
    """

    measure: ClassVar[Measure] = Measure(
        "information released, I(X; Y), at least this for every distribution of the set", "nats"
    )
    ball: Chi2Ball
    pieces: int = 32

    @property
    def nominal(self) -> MutualInformation:
        """The information under the centre of the ball, which is at least this."""
        return MutualInformation(self.ball.center)

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        low, high = self.ball.minima(columns), -self.ball.minima(-columns)
        flat = ~(low < high)
        low, high = np.where(flat, 1.0, np.maximum(low, 1e-12 * high)), np.where(flat, 2.0, high)
        shares = np.linspace(0, 1, self.pieces + 1)[:, None]
        cuts = 1 + np.log(low) + shares * np.log(high / low)
        own = xlogy(columns, columns)
        ends = np.array([self.ball.minima(own - cut * columns) for cut in cuts])
        slopes = np.diff(ends, axis=0) / np.diff(cuts, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            stationary = np.where(slopes < 0, 1 + np.log(-slopes), -np.inf)
        best = np.clip(stationary, cuts[:-1], cuts[1:])
        least = (np.exp(best - 1) + ends[:-1] + slopes * (best - cuts[:-1])).min(axis=0)
        return np.where(flat, 0.0, least)
