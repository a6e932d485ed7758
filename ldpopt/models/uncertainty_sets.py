"""Sets F of possible distributions of the data x = (s, u), against all of which privacy must hold.

Lopuhaä-Zwakenberg and Goseling 2021, Sections II to IV: all distributions, a single one, or the
confidence set of a χ² test. A set of joint distributions is described by matrices [s][u]; a set of
distributions of u alone, such as what a confidence set says about u given s, is a :class:`Chi2Ball`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ldpopt.checker.confidence import ALPHA, SAMPLES, check_table
from ldpopt.checker.reading import UnreadableError
from ldpopt.checker.schema import normalised
from ldpopt.core import validate
from ldpopt.core.cleaned import Cleaned
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.quantiles import chi2_quantile
from ldpopt.core.validate import Array


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
        B, q = self.bound, self.center
        # (36) multiplied out: no cancellation where q is small
        return 2 * q**2 / (B + 2 * q + self._root())

    def upper(self) -> Array:
        """Compute the largest value of every coordinate: Lemma 9, (37)."""
        return (self.bound + 2 * self.center + self._root()) / (2 * self.bound + 2)

    def _root(self) -> Array:
        B, q = self.bound, self.center
        return np.sqrt(B * B + 4 * B * q * (1 - q))

    def maximum(self, c: Any) -> tuple[float, Array]:
        """Compute max c·R over the ball, and the R that attains it."""
        return largest(self.center, self.bound, validate.array("linear function", c, 1))

    def minimum(self, c: Any) -> tuple[float, Array]:
        """Compute min c·R over the ball, and the R that attains it."""
        value, R = self.maximum(-validate.array("linear function", c, 1))
        return -value, R

    def minima(self, columns: Array) -> Array:
        """Compute min c·R over the ball for every column c of a matrix.

        >>> ball = Chi2Ball([0.5, 0.3, 0.2], 0.2)
        >>> c = np.array([1.0, 2.0, 4.0])
        >>> bool(np.isclose(ball.minima(c[:, None])[0], ball.minimum(c)[0]))
        True
        """
        q, r = self.center, self.bound + 1
        bottom = columns.min(axis=0)
        spread = columns.max(axis=0) - bottom
        gaps = (columns - bottom) / np.where(spread > 0, spread, 1.0)
        low, high = np.full(len(bottom), -60.0), np.full(len(bottom), 60.0)
        for _ in range(60):
            middle = (low + high) / 2
            roots = np.sqrt(gaps + np.exp(middle))
            tight = (q @ roots) * (q @ (1 / roots)) > r
            low, high = np.where(tight, middle, low), np.where(tight, high, middle)
        roots = np.sqrt(gaps + np.exp(high))
        # R ∝ q/roots; the rest of the mass goes where the gap is zero
        R = q[:, None] / roots * (q @ roots) / r
        return bottom + spread * (gaps * R).sum(axis=0)

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


def largest(q: Array, bound: float, c: Array) -> tuple[float, Array]:
    """Compute max c·R over the ball of a center and a bound, and the R that attains it.

    Stationary points are R_u ∝ q_u/√(ν − c_u) with a level ν ≥ max c, the one root of Σ q²/R = B + 1.
    Where an entry with q_u = 0 has the largest c, ν may stop there; it then takes the remaining mass.

    Args:
        q: the center.
        bound: B.
        c: the linear function.
    """
    used = q > 0
    free = int(np.argmax(np.where(used, -np.inf, c)))
    drops = c[used].max() - c[used]  # measured from the top: ν − c without cancellation
    rise = -math.inf if used.all() else float(c[free] - c[used].max())
    if bound == 0 or (drops.max() == 0 and rise <= 0):
        return float(c @ q), q.copy()
    stops = rise > 0 and _excess(q[used], drops, rise) <= bound
    height = rise if stops else max(_height(q[used], drops, bound), rise)
    R = np.zeros_like(q)
    gaps = np.sqrt(drops + height)
    R[used] = q[used] / gaps * (q[used] @ gaps) / (bound + 1)
    if rise >= height:
        R[free] = max(0.0, 1 - R.sum())
    R /= R.sum()
    return float(c @ R), R


def _excess(q: Array, drops: Array, height: float) -> float:
    """Compute Σ q²/R − 1 for R ∝ q/√(ν − c), which falls from ∞ to 0 as the level ν rises.

    It is (Σ q √gap)(Σ q/√gap) − 1 = ½ Σ_ij q_i q_j (√gap_i − √gap_j)²/(√gap_i √gap_j), without the
    cancellation that blurs small sets.

    Args:
        q: the center, without its zeros.
        drops: max c − c.
        height: ν − max c.
    """
    roots = np.sqrt(drops + height)
    product = float((q @ roots) * (q @ (1 / roots))) - 1
    if product > 1e-3:
        return product
    apart = (drops[:, None] - drops) / (roots[:, None] + roots)
    return float((q / roots) @ apart**2 @ (q / roots)) / 2


def _height(q: Array, drops: Array, bound: float) -> float:
    """Find how far above max c the level is at which the excess is the bound, on a logarithmic scale.

    The search is between two bounds on the excess. Let κ be the ratio of the largest root of the gaps
    to the smallest, with masses a and b there: ab (κ − 1)²/κ ≤ excess ≤ (κ − 1)²/(4κ), the second by
    Kantorovich. Either side is the bound at one κ, and κ² − 1 = spread/height.
    """
    spread = float(drops.max())

    def above(t: float) -> float:
        return math.log(max(_excess(q, drops, spread * math.exp(t)), 1e-300) / bound)

    ends = float(q[drops == 0].sum() * q[drops == spread].sum())
    low, high = _log_height(bound / max(2 * ends, 1e-300)), _log_height(2 * bound)
    if above(low) <= 0:
        return spread * math.exp(low)
    if above(high) >= 0:
        return spread * math.exp(high)
    return spread * math.exp(float(brentq(above, low, high, xtol=1e-13)))


def _log_height(x: float) -> float:
    """Compute log(height/spread) = −log(κ² − 1) for (κ − 1)²/κ = 2x, kept within ±60."""
    x = min(float(x), 1e20)  # any larger x is below −60 as well
    step = x + math.sqrt(x * (x + 2))  # κ − 1
    return min(max(-math.log(step) - math.log(2 + step), -60.0), 60.0)


def _l1(B: float, mass: Any) -> Any:
    """Compute the ℓ1 distance (154) reached by raising entries of the given total mass."""
    return (B - 2 * B * mass + np.sqrt(B * B + 4 * B * mass * (1 - mass))) / (B + 1)


@dataclass(frozen=True, eq=False)
class Chi2Set(Cleaned):
    """The 1 − α confidence set of a χ² test around p̂ from n samples.

    Lopuhaä-Zwakenberg and Goseling 2021, (3).

    Args:
        p_hat: the observed distribution as a matrix [s][u]. Cells may be zero, but not a whole row: the
            data say nothing about a secret that was never seen.
        n: the number of samples.
        alpha: the significance level.
        cells: the number of cells of the χ² test, where p̂ is a merged version of a larger table.

    >>> F = Chi2Set([[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]], 1000, 0.05)
    >>> round(F.bound, 12)
    0.015507313056
    """

    p_hat: Any
    n: float
    alpha: float = 0.05
    cells: int | None = None

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        p_hat = validate.distribution("p_hat", self.p_hat, ndim=2)
        n = validate.positive_number("n", self.n)
        alpha = validate.positive_number("alpha", self.alpha)
        if p_hat.size < 2:
            raise InvalidInputError("p_hat must have two or more cells, not one")
        _check_secrets("p_hat", p_hat)
        try:
            SAMPLES.read(n, "n")
            ALPHA.read(alpha, "alpha")
            check_table(normalised(np.asarray(self.p_hat, dtype=float).tolist(), "p_hat"))
        except UnreadableError as error:
            raise InvalidInputError(str(error)) from None
        return {"p_hat": p_hat, "n": n, "alpha": alpha}

    @classmethod
    def from_counts(cls, counts: Any, alpha: float = 0.05) -> Self:
        """Build the set around the frequencies of a contingency table [s][u].

        >>> Chi2Set.from_counts([[3, 1], [2, 4]], 0.05).n
        10.0
        """
        table = validate.array("counts", counts, 2)
        if (table < 0).any() or (table != np.floor(table)).any():
            bad = table[(table < 0) | (table != np.floor(table))].flat[0]
            raise InvalidInputError(f"counts must be whole numbers >= 0, not {bad}")
        if table.sum() == 0:
            raise InvalidInputError("counts are all zero: there are no data")
        _check_secrets("counts", table)
        return cls(table / table.sum(), float(table.sum()), alpha)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""
        return self.p_hat.shape[0], self.p_hat.shape[1]

    @cached_property
    def bound(self) -> float:
        """B of (3): the quantile of χ² with (number of cells − 1) degrees of freedom, over n."""
        return chi2_quantile(self.alpha, (self.cells or self.p_hat.size) - 1) / self.n

    def merged(self, groups: NDArray[np.int64]) -> Chi2Set:
        """Merge public values: ``groups`` is the new value of each old one.

        Merging contracts the χ² divergence. So with the same B the new set contains the merged version
        of every member of the old one. A mechanism that sees only the merged values, private against the
        new set, is therefore private against the old one.

        >>> F = Chi2Set([[0.1, 0.2, 0.1], [0.1, 0.4, 0.1]], 100, 0.05).merged(np.array([0, 1, 0]))
        >>> F.p_hat.round(3).tolist()
        [[0.2, 0.2], [0.2, 0.4]]
        """
        joined = np.zeros((self.shape[0], int(groups.max()) + 1))
        np.add.at(joined.T, groups, self.p_hat.T)
        return Chi2Set(joined, self.n, self.alpha, self.cells or self.p_hat.size)

    @cached_property
    def ball(self) -> Chi2Ball:
        """The same set as a ball of flat vectors."""
        return Chi2Ball(self.p_hat.ravel(), self.bound)

    @cached_property
    def secrets(self) -> Array:
        """P̂_s."""
        return self.p_hat.sum(axis=1)

    @cached_property
    def conditionals(self) -> tuple[Chi2Ball, ...]:
        """For every s the set of all P_{U|s}, P ∈ F: Lemma 8, (23)."""
        rows, steps = (row / row.sum() for row in self.p_hat), self.slack / self.secrets
        given = (row / row.sum() for row in rows)
        return tuple(map(Chi2Ball, given, steps * (2 + steps)))  # (1 + t/p)² − 1

    @cached_property
    def given(self) -> Array:
        """P̂_{u|s} as a matrix [s][u]."""
        return np.array([ball.center for ball in self.conditionals])

    @cached_property
    def slack(self) -> float:
        """t = √(B+1) − 1: members have Σ_s P̂_s √r_s ≤ 1 + t, r_s = Σ_u P̂_{u|s}²/P_{u|s}."""
        return self.bound / (math.sqrt(self.bound + 1) + 1)

    def lower_conditionals(self) -> Array:
        """Compute P^min_{u|s} as a matrix [s][u]: Lemmas 8 and 9."""
        return np.array([ball.lower() for ball in self.conditionals])

    def contains(self, p: Any) -> bool:
        """Return whether the joint distribution p is a member (up to rounding)."""
        return self.ball.contains(np.asarray(p, dtype=float).ravel())

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw a member."""
        return self.ball.sample(rng).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class AllDistributions:
    """All joint distributions of a1 secrets and a2 public values.

    Lopuhaä-Zwakenberg and Goseling 2021, Section III.
    """

    a1: int
    a2: int

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""
        return self.a1, self.a2

    def contains(self, p: Any) -> bool:
        """Return whether p is a distribution of the right shape."""
        q = np.asarray(p, dtype=float)
        return q.shape == self.shape and bool((q >= 0).all()) and abs(q.sum() - 1) <= 1e-9

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw uniformly from the simplex."""
        return rng.dirichlet(np.ones(self.a1 * self.a2)).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Single(Cleaned):
    """One known joint distribution, a matrix [s][u]."""

    p: Any

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        p = validate.distribution("p", self.p, ndim=2)
        _check_secrets("p", p)
        return {"p": p}

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""
        return self.p.shape[0], self.p.shape[1]

    def contains(self, p: Any) -> bool:
        """Return whether p is that distribution (up to rounding)."""
        return np.shape(p) == self.shape and bool(np.allclose(p, self.p, rtol=1e-9, atol=1e-12))

    def sample(self, rng: np.random.Generator) -> Array:
        """Return the distribution."""
        return self.p.copy()


def _check_secrets(name: str, table: Array) -> None:
    for s, row in enumerate(table):
        if not row.any():
            raise InvalidInputError(
                f"{name}[{s}] is all zero: nothing is known about that secret; leave its row out"
            )
