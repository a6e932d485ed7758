"""The hardest of many distributions: the supremum of α over {p ≥ p0}, and what no mechanism can beat.

E = e^ε, K is the number of inputs, and the *vertices* of {p ≥ p0} are its K points whose entries are p0
but for one, which is h = 1 − (K−1) p0. Two classes of mechanisms occur: *square* ones (K outputs),
whose second moments pΦ(W) are linear in p, and *all* ε-LDP mechanisms, whose second moments are only
concave in p.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.measures.channel import square_matrix
from ldpopt.measures.channel_fidelity import LOSSES, alpha_of, phi_bound, phi_matrix, weighted_phi_bound


class Supremum(NamedTuple):
    """sup α over {p ≥ p0}: a value attained at p, and a proven upper bound; equal where exact."""

    value: float
    bound: float
    p: Array


def worst_alpha(W: Any, p0: float, loss: str) -> Supremum:
    """Compute the supremum of α(W, p) over all p with entries ≥ p0, for a square W.

    It is attained at a vertex: for "f-divergence" by Pastore and Gastpar 2021, Lemma 10 and (36), for
    "mse" by (39)–(41). For "tv" the paper has the upper bound (43) only; here √α = N(p)/D(p), N = Σ
    √(pΦ_k − p_k²) and D = Σ √(p_k − p_k²), is at most t on {p ≥ p0} if it is at the vertices and N − tD
    is convex, and :func:`convex_from` says from which t on it is. The bound is the square of the larger
    of the two.

    Args:
        W: a square mechanism.
        p0: the least entry of p, above 0 and at most 1/K.
        loss: "f-divergence", "mse" or "tv".
    """
    matrix = square_matrix(W)
    k = len(matrix)
    p0 = floor(p0, k)
    validate.choice("loss", loss, LOSSES)
    points = np.full((k, k), p0) + (1 - k * p0) * np.eye(k)
    Phi = phi_matrix(matrix)
    values = [alpha_of(p @ Phi, p, loss) for p in points]
    best = int(np.argmax(values))
    bound = values[best]
    if loss == "tv" and p0 < 1 / k:
        bound = convex_from(Phi, p0, math.sqrt(bound)) ** 2
    return Supremum(values[best], max(bound, values[best]), points[best])


def convex_from(Phi: Array, p0: float, least: float) -> float:
    """Find a t ≥ ``least`` from which on N − tD is convex on {p ≥ p0}; ``least`` itself where proven.

    Along x with Σ x = 0, with s_k = pΦ_k − p_k² and g_k = Φ_k − c_k 1 − 2 p_k e_k for any c_k,

        −xᵀN''x = Σ_k (g_k·x)²/(4 s_k^{3/2}) + x_k²/√s_k,    −xᵀD''x = Σ_j x_j²/(4 (p_j − p_j²)^{3/2}).

    As (g·x)² ≤ |g|₁ Σ_j |g_j| x_j², N − tD is convex if for every j and every p

        [ Σ_{k≠j} |g_kj| |g_k|₁/s_k^{3/2} + (|g_jj| |g_j|₁ + 4 s_j)/s_j^{3/2} ] (p_j − p_j²)^{3/2} ≤ t.

    The range of p_j is cut into pieces. On a piece each s_k, a concave function, is least at a vertex:
    p_j is an end of the piece, and of the other entries all but one are p0. For k = j, at p_j = x, the
    least s_j is A x + B − x², and the largest (x − x²)/(A x + B − x²) is at an end or where (1 − A) x²
    − 2 B x + B = 0.

    Args:
        Phi: Φ(W).
        p0: the least entry of p.
        least: the smallest t of interest.
    """
    reach = _Reach(Phi, p0)
    pieces = [(reach.needed(p0, reach.high), p0, reach.high)]
    # into how many pieces the range of a probability may be cut to prove convexity
    while pieces[-1][0] > least and len(pieces) < 64:
        _, low, high = pieces.pop()
        middle = cut(low, high)
        pieces += [(reach.needed(low, middle), low, middle), (reach.needed(middle, high), middle, high)]
        pieces.sort()
    return max(least, pieces[-1][0])


def cut(low: float, high: float) -> float:
    """Choose a point between the ends, near the end where p − p² is small.

    It is ½, or the harmonic mean from 0 or 1.
    """
    if low < 0.5 < high:
        return 0.5
    if high <= 0.5:
        return 2 * low * high / (low + high)
    return 1 - 2 * (1 - low) * (1 - high) / (2 - low - high)


class _Reach:
    """How large the t of :func:`convex_from` must be where p_j lies between two numbers."""

    def __init__(self, Phi: Array, p0: float) -> None:
        k = len(Phi)
        self.Phi, self.p0, self.k, self.high = Phi, p0, k, 1 - (k - 1) * p0
        rest = np.where(np.eye(k, dtype=bool), np.nan, Phi)
        centre = np.nanmedian(rest, axis=0)
        self.apart = np.abs(Phi - centre)  # [j, k]: |g_kj| for j ≠ k
        np.fill_diagonal(self.apart, 0.0)
        self.own = np.diag(Phi) - centre
        lowest = np.nanmin(rest, axis=0)
        self.A = np.diag(Phi) - lowest
        self.B = p0 * (np.nansum(rest, axis=0) - (k - 1) * lowest) + lowest

    def needed(self, low: float, high: float) -> float:
        """Compute the t that is needed for every j where p_j is in [low, high]."""
        widest = min(max(low, 0.5), high)
        across = (widest - widest**2) ** 1.5
        s = np.minimum(self._least(low), self._least(high))
        top = 1 - low - (self.k - 2) * self.p0
        swing = np.maximum(np.abs(self.own - 2 * self.p0), np.abs(self.own - 2 * top))
        size = self.apart.sum(axis=0) + swing
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.where(self.apart > 0, self.apart * size / np.maximum(s, 0.0) ** 1.5, 0.0).sum(
                axis=1
            )
        return float((others * across + self._mine(low, high)).max())

    def _mine(self, low: float, high: float) -> Array:
        """Compute the term k = j: (|g_jj| |g_j|₁ + 4 s_j) ((x − x²)/s_j)^{3/2}."""
        A, B = self.A, self.B
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = B / (B + np.sqrt(np.maximum(B * B - (1 - A) * B, 0.0)))
        ends = np.stack([np.full_like(A, low), np.full_like(A, high), np.clip(turn, low, high)])
        ratio = ((ends - ends**2) / (A * ends + B - ends**2)).max(axis=0)
        swing = np.maximum(np.abs(self.own - 2 * low), np.abs(self.own - 2 * high))
        least = np.minimum(A * low + B - low**2, A * high + B - high**2)
        off = self.apart.sum(axis=0)
        # g² + 4s = (own − 2x)² + 4(Ax + B − x²) is linear in x, so it is largest at an end
        linear = np.maximum(self._linear(low), self._linear(high)) + swing * off
        return np.where(least > 0, linear * ratio**1.5, np.inf)

    def _linear(self, x: float) -> Array:
        return (self.own - 2 * x) ** 2 + 4 * (self.A * x + self.B - x * x)

    def _least(self, x: float) -> Array:
        """Compute the least s_k over p with p_j = x, as [j, k] for k ≠ j."""
        k, p0, Phi = self.k, self.p0, self.Phi
        big = 1 - x - (k - 2) * p0
        base = x * Phi + p0 * (Phi.sum(axis=0) - Phi)
        found = np.full((k, k), np.inf)
        for i in range(k):  # the one that is not p0
            square = np.full(k, p0 * p0)
            square[i] = big * big
            others = np.arange(k) != i
            found[others] = np.minimum(found[others], (base + (big - p0) * Phi[i] - square)[others])
        return found


def worst_step_alpha(k: int, epsilon: float, loss: str, p0: float) -> float:
    """Evaluate the closed forms for the step mechanism: Pastore and Gastpar 2021, (38), (42), (43).

    (38) corrected: (K−1)(E+K−2) where (K−1)(E+K−1) is printed; then it is the exact supremum. (42) is
    exact as well, (43) an upper bound.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        p0: the least entry of p.
    """
    k, E, p0 = validate.whole_number("k", k, 2), math.exp(validate.epsilon(epsilon)), floor(p0, k)
    validate.choice("loss", loss, LOSSES)
    high = 1 - (k - 1) * p0
    if loss == "f-divergence":
        odds = p0 / high + high / p0
        bracket = E + (k - 1) * (E + k - 2) + odds * (k - 1)
        return ((E + k - 2) / (E - 1) ** 2 * bracket - k / (E - 1) - 1) / (k - 1)
    row = ((E + k - 1) * (E + k - 2) - (E - 1)) / (E - 1) ** 2
    if loss == "mse":
        return (row - 1) / (p0 * (k - 1) * (2 - k * p0)) + 1
    clear = (k - 1) * math.sqrt(p0 * (1 - p0)) + math.sqrt(high * (1 - high))
    return (k * row - 1) / clear**2


# ---------------------------------------------------------------- lower bounds


def minimax_bound(k: int, epsilon: float, loss: str, p0: float) -> float:
    """Bound from below the supremum of α over {p ≥ p0} of every ε-LDP mechanism with K outputs.

    The class matters: for "f-divergence" and "mse" the bound is proven for square mechanisms and false
    for all (subset selection with K = 7, m = 3 at ε = 0.5, p0 = 0.05 has 160.53 < 163.92 for "mse");
    for "tv" it is :func:`symmetric_bound`, which holds for all.

    Proof for square W, B = W⁻¹. The supremum is at least the mean over the K vertices p_i. As pΦ is
    linear in p, the mean of Σ_j (p_iΦ)_j/p_ij is Σ_j Σ_y (a_j·w_y) B_yj² with a_jj = 1 and a_jx = c for
    x ≠ j, c = (h/p0 + p0/h + K − 2)/K, and that of Σ_j (p_iΦ)_j is φ(W)/K, the same with c = 1. Both
    are bounded by :func:`ldpopt.measures.channel_fidelity.weighted_phi_bound`. With c = 1 this is
    Pastore and Gastpar 2021, (50), with φ* in place of Lemma 11; their (48) is the bound at the uniform
    distribution.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        p0: the least entry of p.
    """
    k, p0 = validate.whole_number("k", k, 2), floor(p0, k)
    validate.choice("loss", loss, LOSSES)
    if loss == "tv":
        return symmetric_bound(k, epsilon, loss, p0).bound
    if loss == "mse":
        return 1 + (phi_bound(k, epsilon) / k - 1) / (p0 * (k - 1) * (2 - k * p0))
    high = 1 - (k - 1) * p0
    return (weighted_phi_bound(k, epsilon, (high / p0 + p0 / high + k - 2) / k) - 1) / (k - 1)


class SymmetricBound(NamedTuple):
    """A lower bound on sup α of all ε-LDP mechanisms, and the numbers that prove it.

    Attributes:
        bound: the bound.
        rest: the distribution is rest at all inputs but one.
        rows: (z, u, w): the vector of input 1 is z n, those of the others are u P e_k − w n.
        sizes: the sizes of the subsets in the best mixture of subset selections, one or two.
    """

    bound: float
    rest: float
    rows: tuple[float, float, float]
    sizes: tuple[int, ...]


def symmetric_bound(k: int, epsilon: float, loss: str, p0: float) -> SymmetricBound:
    """Bound the supremum of α over {p ≥ p0} from below for every ε-LDP mechanism, whatever its outputs.

    Lemma. Let p_1, …, p_K be the distributions with one entry h' and the others l, M_i = W diag(p_iW)⁻¹
    Wᵀ, and Σ_i = M_i⁻¹ − p_i p_iᵀ, so that α(W, p_i) is a function of the variances Σ_i,kk. For vectors
    y_k that sum to 0, (Σ_i)_kk ≥ y_kk²/D_ik with D_ik = y_kᵀ M_i y_k = Σ_y (y_k·w_y)²/(p_i·w_y), by
    Cauchy–Schwarz (Σ_i is the inverse of M_i on that space). Let the y_k of p_i be those of p_1 with i
    and 1 swapped; with n = (K−1, −1, …, −1) and P the projection to the vectors that are 0 at 1 and sum
    to 0, they are

        y_1 = z n,    y_k = u P e_k − w n for k > 1.

    With C_k = 1/p_k for "f-divergence" and 1 else, Γ(v) = Σ_i Σ_k C_k (y_k·v)²/(p_i·v) is sublinear and
    does not change when inputs are permuted. So Σ_i Σ_k C_k D_ik = Σ_y Γ(w_y) ≤ K B with B the largest
    Γ(v)/|v|₁ of the columns v that are E on m inputs and 1 on the others, m = 0, …, K. Therefore the
    mean over i of

        Σ_k C_k (Σ_i)_kk is at least (Σ_k C_k y_kk)²/B,
        Σ_k √(Σ_i)_kk    is at least (Σ_k y_kk^{2/3})^{3/2}/√B

    (Cauchy–Schwarz and Hölder over k, then convexity of 1/x and 1/√x in i), and the supremum of α is at
    least the mean of α, or of √α, over p_1, …, p_K. ∎

    The best numbers come from the best mixture of subset selections at p_1: there all steps are
    equalities, so no smaller supremum over p_1, …, p_K can be reached. "tv" tries several h', the other
    losses h.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        p0: the least entry of p.
    """
    k, p0 = validate.whole_number("k", k, 2), floor(p0, k)
    epsilon = validate.epsilon(epsilon)
    validate.choice("loss", loss, LOSSES)
    rests = [p0] if loss != "tv" else [p0, *(p0 + (1 / k - p0) * np.array([0.02, 0.1, 0.3, 0.6]))]
    return max(
        (_at_rest(k, epsilon, loss, float(rest)) for rest in rests), key=lambda found: found.bound
    )


def _at_rest(k: int, epsilon: float, loss: str, rest: float) -> SymmetricBound:
    peak = 1 - (k - 1) * rest
    flat, round_ = gains(k, epsilon, rest)
    first, other = (1 / peak, 1 / rest) if loss == "f-divergence" else (1.0, 1.0)

    def variances(i: int, j: int, share: float) -> tuple[float, float]:
        """Compute x and y of Σ = x P + y n nᵀ for a mixture of subset selections of two sizes."""
        turn = share * flat[i] + (1 - share) * flat[j]
        return (k - 2) / turn if turn > 0 else 0.0, 1 / (share * round_[i] + (1 - share) * round_[j])

    def cost(i: int, j: int, share: float) -> float:
        x, y = variances(i, j, share)
        own, others = (k - 1) ** 2 * y, x * (k - 2) / (k - 1) + y
        if loss == "tv":
            return math.sqrt(own) + (k - 1) * math.sqrt(others)
        return first * own + other * (k - 1) * others

    best = (math.inf, 1, 1, 1.0)
    near = [m for m in range(1, k) if flat[m] > 0 or k == 2]
    singles = sorted(near, key=lambda m: cost(m, m, 1.0))[:6]
    for i, j in combinations_with_replacement(singles, 2):
        found = minimize_scalar(lambda t, i=i, j=j: cost(i, j, t), bounds=(0, 1), method="bounded")
        for share in (1.0, float(found.x)):
            best = min(best, (cost(i, j, share), i, j, share))
    _, i, j, share = best
    x, y = variances(i, j, share)
    own, others = (k - 1) ** 2 * y, x * (k - 2) / (k - 1) + y
    scale = (own**-0.25, others**-0.25) if loss == "tv" else (1.0, 1.0)
    rows = (scale[0] * (k - 1) * y, scale[1] * x, scale[1] * y)
    sizes = (i,) if share == 1.0 or i == j else tuple(sorted((i, j)))
    return SymmetricBound(proven(k, epsilon, loss, rest, rows), rest, rows, sizes)


def proven(k: int, epsilon: float, loss: str, rest: float, rows: tuple[float, float, float]) -> float:
    """Compute the bound that z, u and w prove at such a distribution, see :func:`symmetric_bound`.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        rest: the entry l of the distribution at all inputs but one.
        rows: z, u and w.
    """
    z, u, w = rows
    peak = 1 - (k - 1) * rest
    flat, round_ = gains(k, epsilon, rest)
    first, other = (1 / peak, 1 / rest) if loss == "f-divergence" else (1.0, 1.0)
    most = (other * u * u * flat + (first * z * z + other * (k - 1) * w * w) * round_).max()
    own, others = (k - 1) * z, u * (k - 2) / (k - 1) + w
    if loss == "tv":
        clear = math.sqrt(peak * (1 - peak)) + (k - 1) * math.sqrt(rest * (1 - rest))
        return float((own ** (2 / 3) + (k - 1) * others ** (2 / 3)) ** 3 / most / clear**2)
    cost = (first * own + other * (k - 1) * others) ** 2 / most
    clear = k - 1 if loss == "f-divergence" else (k - 1) * rest * (2 - k * rest)
    return float(cost / clear)


def gains(k: int, epsilon: float, rest: float) -> tuple[Array, Array]:
    """Compute Σ_i vᵀP_iv/(p_i·v)/|v|₁ and Σ_i (n_i·v)²/(p_i·v)/|v|₁.

    The column v has m = 0..K entries E.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        rest: the entry l of the distribution at all inputs but one.
    """
    m = np.arange(k + 1)
    excess, peak = math.expm1(epsilon), 1 - (k - 1) * rest
    inside = 1 + excess * (peak + rest * (m - 1))  # p_i·v if i is one of the m
    outside = 1 + excess * rest * m
    size = k + excess * m
    turn = m * (m - 1) * (k - m) / inside + (k - m) * m * (k - 1 - m) / outside
    swing = m * (k - m) ** 2 / inside + (k - m) * m**2 / outside
    return excess**2 * turn / (k - 1) / size, excess**2 * swing / size


def floor(p0: float, k: int) -> float:
    """Check a least probability: it must leave a distribution on k inputs."""
    p0 = validate.positive_number("p0", p0)
    if p0 > 1 / k:
        raise InvalidInputError(f"p0 must be at most 1/{k} for {k} inputs, not {p0:g}")
    return p0
