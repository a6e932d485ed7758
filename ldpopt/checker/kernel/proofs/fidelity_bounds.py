"""Lower bounds on φ and α that no ε-LDP mechanism beats, in rational numbers.

E is a rational number just above e^ε: an ε-LDP mechanism is log E-LDP too, so what holds for all
mechanisms of level log E holds for it. Every column w of such a mechanism is a sum of multiples of
vectors v ∈ {1, E}^K (w = Σ over thresholds of a vector that is E above and 1 below, scaled). A function
Γ with Γ(tv) = tΓ(v) and Γ(v + v') ≤ Γ(v) + Γ(v') is called sublinear; if Γ(v) ≤ β·v for all v ∈ {1,
E}^K, then Σ_y Γ(w_y) ≤ Σ_y β·w_y = Σ β as every row of W sums to 1. The function (c·v)²/(p·v) is
sublinear for p ≥ 0 (Cauchy–Schwarz).

Notation. M = W diag(pW)⁻¹ Wᵀ, Σ = M⁻¹ − p pᵀ: as M p = 1, Σ 1 = 0, and Σ is the inverse of M on the
vectors that sum to 0. So Σ_kk ≥ (y_k)²/(yᵀMy) for every vector y that sums to 0 (Cauchy–Schwarz), and
yᵀMy = Σ_y (y·w_y)²/(p·w_y). α is Σ_k Σ_kk/p_k over K − 1, Σ_k Σ_kk over 1 − p·p, or (Σ_k √Σ_kk)² over
(Σ_k √(p_k − p_k²))², by loss.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from ..budget import tick
from ..fixed_point import cube_root_below, root_above, root_below
from .quadratic_forms import QuadraticForm, centred, count_vectors
from .second_moments import added

ONE = Fraction(1)


# ---------------------------------------------------------------- from the parameters alone


def balanced_phi(k: int, m: int, E: Fraction) -> Fraction:
    """Compute φ of a balanced design of block size m: all eigenvalues of W D⁻¹ Wᵀ but one are equal.

    Args:
        k: the number K of inputs.
        m: the block size, from 1 to K − 1.
        E: a rational just above e^ε.
    """
    return 1 + ((k - 1) * (m * E + k - m) / (E - 1)) ** 2 / (m * (k - m))


def phi_bound(k: int, E: Fraction) -> Fraction:
    """Compute φ* = min over m = 1..K−1 of :func:`balanced_phi`, which no mechanism's φ is below.

    Lemma. W D⁻¹ Wᵀ, D the column sums, has the eigenvalue 1 (eigenvector 1), and its trace Σ_y
    |w_y|²/c_y is at most K times the largest |v|²/|v|₁² over v ∈ {1, E}^K, as |v|²/|v|₁ is sublinear.
    The mean of the other K − 1 eigenvalues is at least their harmonic mean. ∎ With x = m/K, m ↦
    balanced_phi is (x(E−1) + 1)²/(x(1−x)) but for constants; its derivative has the sign of (E+1)x − 1,
    so the best whole m is next to K/(E+1).
    """
    near = k / (E + 1)
    below = near.numerator // near.denominator
    return min(balanced_phi(k, min(max(m, 1), k - 1), E) for m in (below, below + 1))


def weighted_phi_bound(k: int, E: Fraction, c: Fraction) -> Fraction:
    """Bound Σ_j Σ_y (a_j·w_y) (W⁻¹_yj)² of square W from below; a_jj = 1, a_jx = c for x ≠ j.

    Lemma. Let s = 1 + (K−1) c, ω_jy = a_j·w_y, b the column j of W⁻¹. W b = e_j gives Σ_y ω_jy b_y =
    a_jj = 1, and Σ_y ω_jy = s, so b' = b − 1/s has Σ_y ω_jy b_y² = 1/s + Σ_y ω_jy b'_y². With n_j = K
    e_j − 1, n_j·W b' = K − 1, so Σ_y ω_jy b'_y² ≥ (K−1)²/D_j with D_j = Σ_y (n_j·w_y)²/(a_j·w_y). Γ(v)
    = Σ_j (n_j·v)²/(a_j·v) is sublinear and does not change when inputs are permuted: Σ_j D_j ≤ K B, B
    the largest Γ(v)/|v|₁ over v with m entries E. So Σ_j 1/D_j ≥ K²/(K B), and the sum is at least K/s
    + K (K−1)²/B. ∎

    Args:
        k: the number K of inputs.
        E: a rational just above e^ε.
        c: the weight of the other inputs, > 0.
    """
    share, excess = 1 + (k - 1) * c, E - 1
    most = Fraction(0)
    for m in range(1, k):
        inside = share + excess * (1 + c * (m - 1))
        outside = share + excess * c * m
        swing = m * (k - m) * ((k - m) / inside + m / outside) / (k + excess * m)
        most = max(most, swing)
    return k / share + k * (k - 1) ** 2 / (excess * excess * most)


def alpha_bound(p: Sequence[Fraction], E: Fraction, loss: str) -> Fraction:
    """Bound α at p from below: Pastore and Gastpar 2021, (46), with φ* for Lemma 11.

    Lemma. M ≤ W D⁻¹ Wᵀ/min p in the order of matrices, so (M⁻¹)_kk ≥ min p · ψ_k with Σ ψ_k = φ(W) ≥
    φ*, and (M⁻¹)_kk ≥ p_k as no mechanism tells more than the input. This gives the first two losses.
    For "tv" the least Σ_k √(p_k − p_k² + e_k), e ≥ 0, Σ e ≥ min p · φ* − 1, is a concave function's and
    has one e_k > 0, where p_k − p_k² is largest. For "f-divergence" no p is below 4E(K−1)/(E−1)²
    either: the harmonic mean of the eigenvalues of diag(p)^½ M diag(p)^½ but the first, 1, is at most
    their mean, and a column that is E on S adds at most max_s s(1−s)(E−1)²/(1+s(E−1))² = (E−1)²/4E to
    their sum. ∎

    Args:
        p: the distribution to be learnt, all entries positive.
        E: a rational just above e^ε.
        loss: "f-divergence", "mse" or "tv".
    """
    k, least = len(p), phi_bound(len(p), E)
    low, high, square = min(p), max(p), added(x * x for x in p)
    if loss == "f-divergence":
        return max(ONE, 4 * E * (k - 1) / (E - 1) ** 2, (low / high * least - 1) / (k - 1))
    if loss == "mse":
        return (max(ONE, low * least) - square) / (1 - square)
    spread = [x - x * x for x in p]
    excess = max(least * low - 1, Fraction(0))
    best = max(spread)
    below = added(map(root_below, spread)) - root_above(best) + root_below(best + excess)
    above = added(map(root_above, spread))
    return max(ONE, (below / above) ** 2) if below > 0 else ONE


def minimax_bound(k: int, E: Fraction, loss: str, p0: Fraction) -> Fraction:
    """Bound from below the sup of α over {p ≥ p0} of every mechanism with K outputs.

    For "tv" the number of outputs does not matter.

    Lemma. For a square W the second moments pΦ(W) are linear in p, so the mean over the K vertices (one
    entry h = 1 − (K−1) p0, the others p0) of Σ_j (pΦ)_j/p_j is the sum of :func:`weighted_phi_bound`
    with c = (h/p0 + p0/h + K − 2)/K, and that of Σ_j (pΦ)_j is φ(W)/K. The supremum is at least the
    mean. For "tv", at the uniform distribution: √α = Σ_k √Σ_kk/√(K−1) is convex in M
    (:func:`symmetric_bound`, whose case it is with rest 1/K), so averaging W over all permutations of
    inputs leaves √α no larger and makes it √((φ − 1)/(K − 1)). ∎

    Args:
        k: the number K of inputs.
        E: a rational just above e^ε.
        loss: "f-divergence", "mse" or "tv".
        p0: the least entry of p.
    """
    if loss == "tv":
        return (phi_bound(k, E) - 1) / (k - 1)
    if loss == "mse":
        return 1 + (phi_bound(k, E) / k - 1) / (p0 * (k - 1) * (2 - k * p0))
    high = 1 - (k - 1) * p0
    return (weighted_phi_bound(k, E, (high / p0 + p0 / high + k - 2) / k) - 1) / (k - 1)


# ---------------------------------------------------------------- from the numbers of a proof


def symmetric_bound(k: int, E: Fraction, rest: Fraction, rows: Sequence[Fraction]) -> Fraction:
    """Bound from below the largest α of "tv" at p_1, …, p_K; p_i is ``rest`` but at i.

    Lemma. Let z, u, w ≥ 0, n = (K−1, −1, …, −1), P the projection to the vectors that are 0 at input 1
    and sum to 0, y_1 = z n and y_k = u P e_k − w n for k > 1: these sum to 0, with y_11 = (K−1) z, y_kk
    = u (K−2)/(K−1) + w, and Σ_k (y_k·v)² = u² vᵀPv + (z² + (K−1) w²)(n·v)². For p_i take the same
    vectors with i and 1 swapped. Let D_ik be Σ_y (y_k·w_y)²/(p_i·w_y), D_i = Σ_k D_ik. By Hölder, Σ_k
    √Σ_kk ≥ Σ_k y_kk D_ik^−½ ≥ (Σ_k y_kk^⅔)^{3/2} D_i^−½ at p_i. Γ(v) = Σ_i Σ_k (y_k·v)²/(p_i·v) is
    sublinear and does not change when inputs are permuted, so the mean of the D_i is at most the
    largest Γ(v)/|v|₁ =: B over v with m entries E, m = 0..K (0 for m = 0 and K). As x^−½ is convex and
    decreasing, the mean over i of Σ_k √Σ_kk at p_i is at least (Σ_k y_kk^⅔)^{3/2} B^−½: so is the
    largest. ∎

    Args:
        k: the number K of inputs.
        E: a rational just above e^ε.
        rest: the entry of p_i at all inputs but i.
        rows: z, u and w.
    """
    z, u, w = rows
    peak, excess = 1 - (k - 1) * rest, E - 1
    most = Fraction(0)
    for m in range(1, k):
        inside = 1 + excess * (peak + rest * (m - 1))
        outside = 1 + excess * rest * m
        turn = (m * (m - 1) * (k - m) / inside + (k - m) * m * (k - 1 - m) / outside) / (k - 1)
        swing = m * (k - m) ** 2 / inside + (k - m) * m**2 / outside
        most = max(most, (u * u * turn + (z * z + (k - 1) * w * w) * swing) / (k + excess * m))
    own, others = (k - 1) * z, u * (k - 2) / (k - 1) + w
    total = cube_root_below(own * own) + (k - 1) * cube_root_below(others * others)
    clear = root_above(peak - peak * peak) + (k - 1) * root_above(rest - rest * rest)
    if most == 0:
        return Fraction(0)
    return total**3 / (excess * excess * most) / clear**2


def design_bound(
    p: Sequence[Fraction], E: Fraction, loss: str, Y: Sequence[Sequence[float]], beta: Sequence[float]
) -> Fraction | None:
    """Bound α at p of every mechanism from below, by y_k and β; None if β fails at some v ∈ {1, E}^K.

    Lemma. Let y_k be row k of Y less its mean: it sums to 0. C_k = 1/p_k for "f-divergence" and 1 else.
    If Σ_k C_k (y_k·v)² ≤ (β·v)(p·v) for all v ∈ {1, E}^K, then Σ_k C_k D_k ≤ Σ β =: B for D_k =
    y_kᵀMy_k. So Σ_k C_k Σ_kk ≥ Σ_k C_k y_kk²/D_k ≥ (Σ_k C_k y_kk)²/B (Cauchy–Schwarz), and (Σ_k √Σ_kk)²
    ≥ (Σ_k |y_kk|^⅔)³/B (Hölder). ∎

    Args:
        p: the distribution to be learnt, all entries positive.
        E: a rational just above e^ε.
        loss: "f-divergence", "mse" or "tv".
        Y: a row per input; their means are taken off.
        beta: β, an entry per input.
    """
    k = len(p)
    count_vectors(2**k)
    rows, paid = centred(Y), list(map(Fraction, beta))
    weights = [1 / x if loss == "f-divergence" else ONE for x in p]
    total = added(paid)
    form = QuadraticForm(p, rows, paid, weights if loss == "f-divergence" else None)
    if total <= 0 or not form.on_corners(range(k), E):
        return None
    own = [rows[i][i] for i in range(k)]
    if loss == "tv":
        return added(cube_root_below(y * y) for y in own) ** 3 / total / _clear(p, loss)
    return added(c * y for c, y in zip(weights, own, strict=True)) ** 2 / total / _clear(p, loss)


def _clear(p: Sequence[Fraction], loss: str) -> Fraction:
    """Compute what α divides by, the error without privacy, rounded up."""
    if loss == "tv":
        return added(root_above(x - x * x) for x in p) ** 2
    return Fraction(len(p) - 1) if loss == "f-divergence" else 1 - added(x * x for x in p)


def affine_bound(
    p: Sequence[Fraction],
    E: Fraction,
    loss: str,
    squares: Sequence[Fraction],
    share: Fraction,
    beta: Sequence[Fraction],
) -> Fraction | None:
    """Bound α at p of every mechanism from below, by five numbers; None if they prove nothing.

    Lemma. Let A_i = κ + κ'p_i ≥ 0, r_i = (1 − t)/K + t p_i with 0 ≤ t ≤ 1, and β_i = λ + λ'p_i. The
    vectors y_i = √(A_i/C_i) (e_i − r) of :func:`design_bound` sum to 0, and y_i·v = √(A_i/C_i) (v_i −
    r·v). For v = 1 + (E − 1) s, s ∈ {0, 1}^K with m entries 1 and p·s = x, let ρ = r·s = (1 − t) m/K + t
    x. Then v_i − r·v = (E − 1)(s_i − ρ), and all that β has to dominate depends on m and x alone:

        Σ_i C_i (y_i·v)² = (E − 1)² [(κ m + κ'x)(1 − 2ρ) + ρ² (Kκ + κ')],
        (β·v)(p·v) = (Kλ + λ' + (E − 1)(λ m + λ'x)) (1 + (E − 1) x).

    x lies between the sums of the m smallest and of the m largest p_i; for each m the second less the
    first is a polynomial of degree 2 in x, and it is enough that it is ≥ 0 between the two. The bound is
    that of :func:`design_bound`, with y_ii = √(A_i/C_i) (1 − r_i) ≥ 0. ∎

    Args:
        p: the distribution to be learnt, all entries positive.
        E: a rational just above e^ε.
        loss: "f-divergence", "mse" or "tv".
        squares: κ and κ'.
        share: t.
        beta: λ and λ'.
    """
    k, e, (a, b), (low, high) = len(p), E - 1, squares, beta
    A = [a + b * x for x in p]
    total, whole = k * low + high, k * a + b
    if min(A) < 0 or total <= 0:
        return None
    ordered = sorted(p)
    least = [Fraction(0), *itertools.accumulate(ordered)]
    most = [Fraction(0), *itertools.accumulate(reversed(ordered))]
    for m in range(k + 1):
        tick()
        first = Fraction(m, k) * (1 - share)
        paid = total + e * low * m
        constant = paid - e * e * (a * m * (1 - 2 * first) + first * first * whole)
        slope = e * (paid + high) - e * e * (
            b * (1 - 2 * first) - 2 * a * m * share + 2 * first * share * whole
        )
        curve = e * e * (high + 2 * b * share - share * share * whole)
        if not _is_positive(constant, slope, curve, least[m], most[m]):
            return None
    left = [1 - (1 - share) / k - share * x for x in p]
    if loss == "tv":
        own = added(cube_root_below(y * s * s) for y, s in zip(A, left, strict=True)) ** 3
    else:
        weights = [1 / x if loss == "f-divergence" else ONE for x in p]
        roots = [root_below(c * y) for c, y in zip(weights, A, strict=True)]
        own = added(y * s for y, s in zip(roots, left, strict=True)) ** 2
    return own / total / _clear(p, loss)


def _is_positive(
    constant: Fraction, slope: Fraction, curve: Fraction, low: Fraction, high: Fraction
) -> bool:
    """Return whether constant + slope x + curve x² ≥ 0 between two ends: there, and at its bottom."""
    if any(constant + x * (slope + curve * x) < 0 for x in (low, high)):
        return False
    inside = 2 * curve * low < -slope < 2 * curve * high
    return not inside or 4 * constant * curve >= slope * slope
