"""A lower bound on φ of mechanisms with as many outputs as inputs, better than that of all mechanisms.

Notation. W is a square ε-LDP mechanism with φ(W) < ∞, w_y its columns, c_y = |w_y|₁, so Σ c_y = K; e =
E − 1. The column w_y/c_y is a(1 + e s) with s ∈ [0, 1]^K and a = ρ(M) = 1/(K + eM), M = Σ s. Less its
mean 1/K it is e u, u = ρ(M) (s − M/K). With σ = Σ s_i (1 − s_i) and τ(M) = ρ(M)² M (K − M)/K,

    |u|² = τ(M) − ρ(M)² σ,    u·v = ρ(M) ρ(N) (L − MN/K) for two columns, L = Σ s_i t_i.

t is the largest τ(m), m = 1..K−1: the largest |u|², as a convex function is largest at a vertex. d = t −
|u|² ≥ 0 is a column's deficit; μ = Kt/(K−1); ν = μ/K. The eigenvalues of W D⁻¹ Wᵀ are 1 and e²λ_2, …,
e²λ_K, with Σ λ_i = Σ_y c_y |u_y|² = Kt − Σ_y c_y d_y, so φ* = 1 + (K−1)/(e²μ).

Lemma 1. If φ(W) < Φ, Λ ≥ μ and 1/Λ + (K−2)²/(Kt − Λ) ≥ e²(Φ − 1), then every λ_i is at most Λ: the
others sum to at most Kt − λ_i, so their harmonic mean gives e²(φ − 1) ≥ 1/λ_i + (K−2)²/(Kt − λ_i),
convex in λ_i and least at μ. (Kt is such a Λ in any case.) ∎

Lemma 2. Let θ = h(K−1)/μ · (1 + hΛ/μ²), hΛ ≤ μ², θ ≤ 1, η = (1 − θ)/2K. If for all pairs of columns

    H = η (d_u + d_v) + (u·v + ν)²/Λ ≥ h,        then φ(W) ≥ φ* + K(K−1) h/(e²μ²).

Proof. 1/λ = 2/μ − λ/μ² + (λ−μ)²/(λμ²) ≥ 2/μ − λ/μ² + (λ−μ)²/(Λμ²). Σ (λ_i − μ)² is the sum of squares
of the Gram matrix (√(c_y c_z) u_y·u_z) less μ(I − √c√cᵀ/K), as both have the kernel √c. So e²μ²(φ − φ*)
is at least

    Σ_y [ c_y d_y + (μ(c_y − 1) − c_y d_y)²/Λ ] + Σ_{y≠z} c_y c_z (u_y·u_z + ν)²/Λ.

Of c_y d_y a part θ stays, and the rest is at least (1−θ) c_y d_y Σ_{z≠y} c_z/K. Therefore it is at least

    Σ_y [ θ s_y + (μ(c_y − 1) − s_y)²/Λ ] + h Σ_{y≠z} c_y c_z,    s_y = c_y d_y ≥ 0,

and Σ_{y≠z} c_y c_z = K(K−1) − Σ (c_y − 1)². It remains that x = μ(c − 1) has θs + (x − s)²/Λ ≥ h x²/μ²
for s ≥ 0. For x ≤ θΛ/2 the least is at s = 0, where hΛ ≤ μ² says so. Else it is θx − θ²Λ/4; the
difference is concave in x, and at x = μ(K−1), the most, it is (θμ(K−1) − h(K−1)²) − θ²Λ/4 =
h(K−1)²κ (1 − (1+κ)²/4) ≥ 0 with κ = hΛ/μ² ≤ 1. ∎

Lemma 3. With β(x) = (x − ⌊x⌋)(1 − x + ⌊x⌋): σ_u ≥ β(M), σ_v ≥ β(N), and σ_u + σ_v ≥ ½ (β(L) + β(M−L) +
β(N−L) + β(K−M−N+L)). Proof. Let X_i, Y_i be independent, 1 with probability s_i, t_i. ΣX_i is a whole
number of mean M and variance σ_u, and no whole number of mean M varies less than β(M). The same is true
of the numbers of i with (X_i, Y_i) = (1,1), (1,0), (0,1) and (0,0); with α = 2s(1−s), γ = 2t(1−t) the
four variances of one i add up to 1 − (1−α)(1−γ) ≤ α + γ. ∎

So H is at least a function of three real numbers M, N and L alone, with M + N − K ≤ L ≤ M, N. That it is
at least h is proven by halving boxes of them: τ rises up to K/(E+1) and falls from there, ρ falls, Mρ(M)
rises, and β is concave between whole numbers. By symmetry M ≤ N. Where some m with τ(m) = t has m(m−1)
divisible by K − 1, h is 0 and nothing is gained: a symmetric design may attain φ*.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple

from ..budget import UndecidedError, tick
from ..fixed_point import BITS, UNIT, ratio_up, root_above, units_down, units_up

GRID = 24
"""M, N and L are whole multiples of 2^−GRID at the ends of a box."""
MOST_BOXES = 200_000
Box = tuple[int, int, int, int, int, int]


def square_phi_reaches(k: int, E: Fraction, target: Fraction, most: int = MOST_BOXES) -> bool:
    """Return whether the lemmas prove φ(W) ≥ ``target`` for all mechanisms with K outputs.

    Suppose φ(W) < Φ, the target: Lemma 1 has a Λ, and Lemma 2 with the h that makes its bound Φ says
    φ(W) ≥ Φ.

    Args:
        k: the number K of inputs and outputs, at least 3.
        E: a rational just above e^ε.
        target: Φ, at least φ*.
        most: how many boxes may be looked at.

    Raises:
        UndecidedError: there are more boxes.
    """
    excess = Fraction(units_up(E), UNIT) - 1
    t = max(_tau(k, excess, Fraction(m)) for m in range(1, k))
    mu = k * t / (k - 1)
    scaled = (target - 1) * excess**2
    h = (scaled - (k - 1) / mu) * mu**2 / (k * (k - 1))
    if h <= 0:
        return True
    most_eigen = _largest_eigenvalue(k, t, scaled)
    theta = h * (k - 1) / mu * (1 + h * most_eigen / mu**2)
    if h * most_eigen > mu**2 or theta > 1:
        return False
    pairs = _Pairs(k, excess, t, h, most_eigen, (1 - theta) / (2 * k))
    whole = k << GRID
    boxes: list[Box] = [(0, whole, 0, whole, 0, whole)]
    for _ in range(most):
        if not boxes:
            return True
        tick()
        box = pairs.feasible(boxes.pop())
        if box is None or pairs.clear(box):
            continue
        halves = _halves(box)
        if halves is None:
            return False
        boxes += halves
    raise UndecidedError(f"more than {most} boxes of block sizes and intersections")


def _tau(k: int, excess: Fraction, m: Fraction) -> Fraction:
    return m * (k - m) / (k * (k + excess * m) ** 2)


def _largest_eigenvalue(k: int, t: Fraction, scaled: Fraction) -> Fraction:
    """Compute Lemma 1's Λ: the larger root of scaled·λ(Kt − λ) = Kt − λ + (K−2)²λ, rounded up."""
    trace = k * t
    middle = scaled * trace - (k - 2) ** 2 + 1
    inside = max(middle**2 - 4 * scaled * trace, Fraction(0))
    return min((middle + root_above(inside)) / (2 * scaled), trace)


def _halves(box: Box) -> list[Box] | None:
    """Cut the widest side, at a whole number if there is one inside; None if no side can be cut."""
    at = max((0, 2, 4), key=lambda i: box[i + 1] - box[i])
    low, high = box[at], box[at + 1]
    if high - low < 2:
        return None
    middle = (low + high) // 2
    nearest = ((middle >> (GRID - 1)) + 1 >> 1) << GRID
    if low < nearest < high:
        middle = nearest
    return [
        (*box[:at], low, middle, *box[at + 2 :]),  # type: ignore[list-item]
        (*box[:at], middle, high, *box[at + 2 :]),  # type: ignore[list-item]
    ]


class _Side(NamedTuple):
    """What the bound on H needs of a range of M: the least β, 2 β ρ², the largest τ, ρ and M ρ(M)."""

    beta: int
    spread: int
    tau: int
    rho: tuple[int, int]
    rising: tuple[int, int]


class _Pairs:
    """The lower bound on H − h over a box of M, N and L, in whole numbers."""

    def __init__(
        self, k: int, excess: Fraction, t: Fraction, h: Fraction, most_eigen: Fraction, eta: Fraction
    ) -> None:
        self.k, self.whole = k, k << GRID
        self.t, self.nu = units_down(t), t / (k - 1)
        self.nu_low, self.nu_high = units_down(self.nu), units_up(self.nu)
        self.h, self.inverse = units_up(h), units_down(1 / most_eigen)
        self.eta, self.eta_high = units_down(eta), units_up(eta)
        share, peak = units_down(excess), k / (excess + 2)
        summit, top = units_down(peak, GRID), units_up(_tau(k, excess, peak))

        @cache
        def side(low: int, high: int) -> _Side:
            first, last = ((k << BITS + GRID) + share * m for m in (low, high))  # 1/ρ, exactly
            rho = (1 << 2 * BITS + GRID) // last
            inside = low <= summit < high
            m, inverse = (high, last) if high <= summit else (low, first)
            steep = top if inside else ratio_up(m * (self.whole - m) << 3 * BITS, k * inverse**2)
            beta = _beta(low, high)
            rising = (low << 2 * BITS) // first, ratio_up(high << 2 * BITS, last)
            both = rho, ratio_up(1 << 2 * BITS + GRID, first)
            return _Side(beta, 2 * beta * rho**2, steep, both, rising)

        self.side = side

    def feasible(self, box: Box) -> Box | None:
        """Narrow L to max(0, M+N−K) ≤ L ≤ M, N; None if nothing with M ≤ N is left."""
        a, b, c, d, p, q = box
        p, q = max(p, a + c - self.whole, 0), min(q, b, d)
        return None if p > q or a > d else (a, b, c, d, p, q)

    def clear(self, box: Box) -> bool:
        """Return whether H ≥ h in the whole box."""
        a, b, c, d, p, q = box
        one, two = self.side(a, b), self.side(c, d)
        (rho_b, rho_a), (rho_d, rho_c) = one.rho, two.rho
        cells = _beta(p, q) + _beta(a - q, b - p) + _beta(c - q, d - p)
        cells += _beta(self.whole - b - d + p, self.whole - a - c + q)
        more = cells - 2 * (one.beta + two.beta)  # twice what the four cells add
        spread = one.spread + two.spread + (more * min(rho_b, rho_d) ** 2 if more > 0 else 0)
        deficit = 2 * self.t - one.tau - two.tau + (spread >> BITS + 2 * GRID + 1)
        rise = -(-one.rising[1] * two.rising[1] // (self.k << BITS))
        low = (rho_b * rho_d * p >> BITS + GRID) - rise + self.nu_low
        fall = one.rising[0] * two.rising[0] // (self.k << BITS)
        high = -(-rho_a * rho_c * q >> BITS + GRID) - fall + self.nu_high
        off = 0 if low <= 0 <= high else min(low * low, high * high)
        weight = self.eta if deficit >= 0 else self.eta_high
        return weight * deficit + (off * self.inverse >> BITS) >= self.h << BITS


def _beta(low: int, high: int) -> int:
    """Compute the least β on an interval, in multiples of 2^−2·GRID; 0 if a whole number is in it."""
    base = low >> GRID << GRID
    low, high = low - base, high - base
    unit = 1 << GRID
    if low == 0 or high >= unit:
        return 0
    return min(low * (unit - low), high * (unit - high))
