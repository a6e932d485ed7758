"""The supremum of α over all distributions p ≥ p0, for a square mechanism, enclosed from above.

Let Φ = W (W⁻¹ ∘ W⁻¹), so that the second moments are pΦ. The vertices of {p ≥ p0} are the K points with
one entry h = 1 − (K−1) p0 and the others p0.

Lemma (f-divergence). Σ_k (pΦ)_k/p_k = Σ Φ_ik p_i/p_k is convex in (p_i, p_j) along p_i + p_j constant,
as Φ ≥ 0; so its maximum has at most one entry that is not p0. ∎ Lemma (mse). (u − v)/(1 − v) with u =
pΦ1 ≥ 1 and v = p·p < 1 increases in both. u is linear, largest at a vertex; v is largest at every
vertex. ∎ Lemma (tv). √α = N/D, N = Σ √s_k, s_k = (pΦ)_k − p_k², D = Σ √(p_k − p_k²). If N − tD is
convex on {p ≥ p0}, then N ≤ tD holds there if it holds at the vertices. Along x with Σ x = 0, for any
c_k and g_k = Φ_k − c_k 1 − 2 p_k e_k,

    −xᵀN''x = Σ_k (g_k·x)²/(4 s_k^{3/2}) + x_k²/√s_k,    −xᵀD''x = Σ_j x_j²/(4 (p_j − p_j²)^{3/2}),

and (g·x)² ≤ |g|₁ Σ_j |g_j| x_j². So N − tD is convex if for every j and p

    [ Σ_{k≠j} |g_kj| |g_k|₁/s_k^{3/2} + (|g_jj| |g_j|₁ + 4 s_j)/s_j^{3/2} ] (p_j − p_j²)^{3/2} ≤ t.
    (*)

(*) is proven on pieces [a, b] of the range of p_j. s_k is concave in p, so it is least at a vertex of
{p ≥ p0, a ≤ p_j ≤ b}: p_j is a or b, and of the others all but one are p0. The term of k = j falls in
s_j, which at p_j = x is at least A x + B − x² with A = Φ_jj − l, B = l + p0 Σ_{i≠j} (Φ_ij − l), l =
min_{i≠j} Φ_ij; there g_jj² + 4 s_j is linear in x, and (x − x²)/(A x + B − x²) ≤ ρ on [a, b] if the
quadratic ρ (A x + B − x²) − (x − x²) is ≥ 0 at both ends and, where it is convex with its vertex
between them, has no positive discriminant. ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..arithmetic import Interval, enclose, total
from ..budget import tick
from ..fixed_point import root_above, root_below
from .second_moments import Enclosed, added, moments_above, phi_matrix

MOST_PIECES = 64
TINY = Fraction(1, 1 << 40)
"""By how much of itself a guessed ratio is raised before it is tested."""


def worst_alpha_above(matrix: Sequence[Sequence[float]], p0: Fraction, loss: str) -> Fraction | None:
    """Bound sup α over {p ≥ p0} closely from above; None if W has no inverse.

    The rows of W must sum to 1.

    For "tv" it is the square of the least t found that satisfies both conditions of the lemma.

    Args:
        matrix: W.
        p0: the least entry of p, above 0 and at most 1/K.
        loss: "f-divergence", "mse" or "tv".
    """
    k = len(matrix)
    Phi = phi_matrix(matrix)
    if Phi is None or len(matrix[0]) != k:
        return None
    worst = max(_alpha_above(Phi, i, p0, loss) for i in range(k))
    if loss != "tv" or p0 * k == 1:
        return worst
    t = root_above(worst)
    return max(worst, convex_from(Phi, p0, t) ** 2)


def _alpha_above(Phi: Enclosed, at: int, p0: Fraction, loss: str) -> Fraction:
    """Bound α at the vertex with h at one input from above."""
    k = len(Phi.entries)
    high = 1 - (k - 1) * p0
    unit = 1 << Phi.bits
    moments = []
    for j in range(k):
        column = sum(row[j] for row in Phi.entries)
        own = Phi.entries[at][j]
        moments.append(p0 * Fraction(column - own, unit) + high * Fraction(own, unit) + Phi.radius)
    p = [high if i == at else p0 for i in range(k)]
    return alpha_above(moments, p, loss)


def loss_above(matrix: Sequence[Sequence[float]], p: Sequence[Fraction], loss: str) -> Fraction | None:
    """Compute a number just above α of the mechanism at p.

    Args:
        matrix: the mechanism, its rows summing to exactly 1.
        p: the distribution to be learnt, all entries positive.
        loss: "f-divergence", "mse" or "tv".
    """
    found = moments_above(matrix, p)
    return None if found is None else alpha_above(found, p, loss)


def alpha_above(moments: Sequence[Fraction], p: Sequence[Fraction], loss: str) -> Fraction:
    """Compute α from second moments that are not too small; Pastore and Gastpar 2021, (20a)–(20c).

    Args:
        moments: at least the second moments, an entry per input.
        p: the distribution to be learnt, all entries positive.
        loss: "f-divergence", "mse" or "tv".
    """
    square = added(x * x for x in p)
    if loss == "f-divergence":
        return (added(m / x for m, x in zip(moments, p, strict=True)) - 1) / (len(p) - 1)
    if loss == "mse":
        return (added(moments) - square) / (1 - square)
    spread = added(root_above(m - x * x) for m, x in zip(moments, p, strict=True))
    return (spread / added(root_below(x - x * x) for x in p)) ** 2


def convex_from(Phi: Enclosed, p0: Fraction, least: Fraction) -> Fraction:
    """Return a t ≥ ``least`` from which on N − tD is convex on {p ≥ p0}.

    It is ``least`` itself if (*) holds with it.

    Args:
        Phi: Φ, enclosed.
        p0: the least entry of p.
        least: the smallest t of interest.
    """
    reach = _Reach(Phi, p0)
    pieces = [(reach.needed(p0, reach.high), p0, reach.high)]
    while pieces[-1][0] > least and len(pieces) < MOST_PIECES:
        _, low, high = pieces.pop()
        middle = _cut(low, high)
        pieces += [(reach.needed(low, middle), low, middle), (reach.needed(middle, high), middle, high)]
        pieces.sort()
    return max(least, pieces[-1][0])


def _cut(low: Fraction, high: Fraction) -> Fraction:
    """Choose a point between, near the end at which p − p² is small; any point between would do."""
    if low < Fraction(1, 2) < high:
        return Fraction(1, 2)
    if high <= Fraction(1, 2):
        found = 2 * low * high / (low + high)
    else:
        found = 1 - 2 * (1 - low) * (1 - high) / (2 - low - high)
    rounded = Fraction(float(found))
    return rounded if low < rounded < high else (low + high) / 2


class _Reach:
    """How large t must be for (*) where p_j is in a piece: enclosed, and rounded up."""

    def __init__(self, Phi: Enclosed, p0: Fraction) -> None:
        k = len(Phi.entries)
        self.k, self.p0, self.high = k, p0, 1 - (k - 1) * p0
        self.bits, self.entries, self.radius = Phi.bits, Phi.entries, Phi.radius
        columns = [[row[j] for row in Phi.entries] for j in range(k)]
        others = [
            [entry for i, entry in enumerate(column) if i != j] for j, column in enumerate(columns)
        ]
        self.two_least = [
            sorted((column[i], i) for i in range(k) if i != j)[:2] for j, column in enumerate(columns)
        ]
        unit = 1 << Phi.bits
        self.sums = [Fraction(sum(column), unit) - k * self.radius for column in columns]  # from below
        # any c_k is allowed: the median, rounded, of the exact middles; |Φ_jk − c_k| from above
        centre = [Fraction(sorted(rest)[len(rest) // 2], unit) for rest in others]
        self.apart = [
            [
                enclose(abs(Fraction(entry, unit) - c) + self.radius)
                for entry, c in zip(row, centre, strict=True)
            ]
            for row in Phi.entries
        ]
        self.off = [total(self.apart[j][i] for j in range(k) if j != i) for i in range(k)]
        self.own = [Fraction(columns[j][j], unit) - c for j, c in enumerate(centre)]
        lowest = [Fraction(min(rest), unit) - self.radius for rest in others]
        self.A = [Fraction(columns[j][j], unit) - self.radius - low for j, low in enumerate(lowest)]
        own_sum = [Fraction(sum(rest), unit) - (k - 1) * self.radius for rest in others]
        self.B = [low + p0 * (s - (k - 1) * low) for low, s in zip(lowest, own_sum, strict=True)]

    def needed(self, low: Fraction, high: Fraction) -> Fraction:
        """Find the least t that (*) needs for all j; a large number if some s_k may be 0."""
        tick()
        widest = min(max(low, Fraction(1, 2)), high)
        spread = enclose(widest - widest * widest)
        across = spread * spread.sqrt()
        top = 1 - low - (self.k - 2) * self.p0
        sizes = [self.off[i] + enclose(self._swing(i, self.p0, top)) for i in range(self.k)]
        worst = Fraction(0)
        for j in range(self.k):
            mine = self._mine(j, low, high)
            if mine is None:
                return HUGE
            terms = [mine]
            for i in range(self.k):
                if i != j:
                    s = min(self._least(j, i, low), self._least(j, i, high))
                    if s <= 0:
                        return HUGE
                    terms.append(self.apart[j][i] * sizes[i] / _cubed_root(s) * across)
            worst = max(worst, Fraction(total(terms).high))
        return worst

    def _swing(self, i: int, low: Fraction, high: Fraction) -> Fraction:
        """Compute the largest |g_ii| where p_i is between two numbers."""
        return max(abs(self.own[i] - 2 * low), abs(self.own[i] - 2 * high)) + self.radius

    def _least(self, j: int, i: int, x: Fraction) -> Fraction:
        """Compute the least s_i, i ≠ j, where p_j = x.

        One other entry is 1 − x − (K−2) p0, the rest are p0.
        """
        big, unit = 1 - x - (self.k - 2) * self.p0, 1 << self.bits
        base = self.p0 * self.sums[i] + (x - self.p0) * (
            Fraction(self.entries[j][i], unit) - self.radius
        )
        rise = big - self.p0
        found = base + rise * (Fraction(self.entries[i][i], unit) - self.radius) - big * big
        least = next((entry for entry, a in self.two_least[i] if a != j), None)
        if least is not None:
            found = min(found, base + rise * (Fraction(least, unit) - self.radius) - self.p0**2)
        return found

    def _mine(self, j: int, low: Fraction, high: Fraction) -> Interval | None:
        """Bound the term of k = j in (*) from above."""
        A, B = self.A[j], self.B[j]
        if min(A * x + B - x * x for x in (low, high)) <= 0:
            return None
        ratio = self._ratio(A, B, low, high)
        if ratio is None:
            return None
        own, r = self.own[j], self.radius
        linear = max((abs(own - 2 * x) + r) ** 2 + 4 * (A * x + B - x * x) for x in (low, high))
        # (|own − 2x| + r)² is convex in x, so with the rest, whose x² cancels, it is largest at an end
        top = enclose(linear) + enclose(self._swing(j, low, high)) * self.off[j]
        return top * enclose(ratio) * enclose(ratio).sqrt()

    def _ratio(self, A: Fraction, B: Fraction, low: Fraction, high: Fraction) -> Fraction | None:
        """Find a ρ with (x − x²)/(A x + B − x²) ≤ ρ on [low, high]: guessed, then tested exactly."""
        ends = [low, high]
        guess = float(B * B - (1 - A) * B)
        if guess >= 0 and B > 0:
            turn = Fraction(float(B) / (float(B) + guess**0.5))
            ends += [turn] if low < turn < high else []
        rho = max((x - x * x) / (A * x + B - x * x) for x in ends) * (1 + TINY)
        # ρ(Ax + B − x²) − (x − x²) = (1 − ρ) x² + (ρA − 1) x + ρB
        a, b, c = 1 - rho, rho * A - 1, rho * B
        if any(a * x * x + b * x + c < 0 for x in (low, high)):
            return None
        if a > 0 and low < -b / (2 * a) < high and b * b > 4 * a * c:
            return None
        return rho


HUGE = Fraction(10**150)
"""A t that no file states: (*) could not be shown at all."""


def _cubed_root(s: Fraction) -> Interval:
    """Enclose s^{3/2}."""
    found = enclose(s)
    return found * found.sqrt()
