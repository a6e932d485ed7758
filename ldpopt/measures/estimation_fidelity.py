"""How well a distribution can be learnt through a private channel: Φ, φ, α and the loss at n reports.

Pastore and Gastpar 2021, corrected: each function names the equation and what was put right.
W is a mechanism or a row-stochastic matrix [x][y]; E = e^ε and K is the number of inputs.

>>> W = [[0.5, 0.3, 0.2], [0.25, 0.45, 0.3], [0.2, 0.2, 0.6]]
>>> round(phi(W), 6), round(alpha(W, [0.5, 0.3, 0.2], "mse"), 6)
(34.734694, 18.83081)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core import exact, validate
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import channel
from ldpopt.measures.losses import Divergence, divergence_of

LOSSES = ("f-divergence", "mse", "tv")
"""The losses that have an asymptotic factor α; every smooth f-divergence has the same one."""


def phi_matrix(W: Any) -> Array:
    """Compute Φ(W) = W (W⁻¹ ∘ W⁻¹), entrywise squares (Pastore and Gastpar 2021, (14)).

    For a broad mechanism W⁻¹ is the right inverse of least variance at the uniform distribution.
    """
    matrix = channel.matrix_of(W)
    return matrix @ channel.right_inverse(matrix, matrix.mean(axis=0)) ** 2


def phi(W: Any) -> float:
    """Compute φ(W) = Σ Φ(W) = tr((W D⁻¹ Wᵀ)⁻¹), D the column sums; also for broad W.

    Pastore and Gastpar 2021, (15).

    >>> phi([[1, 0], [0, 1]])
    2.0
    """
    matrix = channel.matrix_of(W)
    return float(np.trace(channel.inverse_information(matrix, matrix.sum(axis=0))))


def second_moments(W: Any, p: Any) -> Array:
    """Compute ν₂ = diag((W diag(pW)⁻¹ Wᵀ)⁻¹), for square W the pΦ(W) of Pastore and Gastpar 2021, (13).

    n·Var of an efficient estimate of p_k is ν₂ₖ − p_k².
    """
    matrix = channel.matrix_of(W)
    prior = channel.full_support("p", p, len(matrix))
    return np.diag(channel.inverse_information(matrix, prior @ matrix)).copy()


def moments(W: Any, p: Any, order: int) -> Array:
    """Compute ν_ρ = pW (W⁻¹ ∘ … ∘ W⁻¹) with ρ factors (Pastore and Gastpar 2021, (13)), for square W.

    ν₁ = p.

    Args:
        W: a square mechanism.
        p: the distribution of the inputs, all entries positive.
        order: ρ, at least 1.
    """
    matrix = channel.square_matrix(W)
    prior = channel.full_support("p", p, len(matrix))
    power = validate.whole_number("order", order, 1)
    return prior @ matrix @ channel.right_inverse(matrix, prior @ matrix) ** power


def step_moments(epsilon: float, p: Any, order: int) -> Array:
    """Compute ν₁, ν₂ or ν₃ of the step mechanism in closed form.

    Pastore and Gastpar 2021, Section 5.

    Args:
        epsilon: the level ε, in nats.
        p: the distribution of the inputs, all entries positive.
        order: 1, 2 or 3.
    """
    prior = validate.distribution("p", p)
    k, E = len(prior), math.exp(validate.epsilon(epsilon))
    prior = channel.full_support("p", prior, k)
    if order == 1:
        return prior
    if order == 2:
        return ((E - 1) * (E + k - 3) * prior + E + k - 2) / (E - 1) ** 2
    if order != 3:
        raise InvalidInputError(f"the closed forms are of order 1, 2 and 3, not {order!r}")
    slope = (E - 1) * ((E + k - 2) ** 3 + 1)
    start = (E + k - 1) * (E + k - 2) * (E + k - 3)
    return (slope * prior + start) / ((E - 1) ** 3 * (E + k - 1))


def alpha(W: Any, p: Any, loss: str) -> float:
    """Compute the factor by which privacy asks for more reports, as n → ∞.

    Pastore and Gastpar 2021, (20a)–(20c).

    Args:
        W: the mechanism.
        p: the distribution to be learnt, all entries positive.
        loss: "f-divergence" (Kullback–Leibler, Hellinger, χ², triangular: all the same), "mse" or "tv".
    """
    prior = channel.full_support("p", p, len(channel.matrix_of(W)))
    return alpha_of(second_moments(W, prior), prior, loss)


def alpha_of(moments: Array, p: Array, loss: str) -> float:
    """Compute α as a function of the second moments ν₂ and of p.

    Args:
        moments: ν₂, an entry per input.
        p: the distribution to be learnt.
        loss: "f-divergence", "mse" or "tv".
    """
    validate.choice("loss", loss, LOSSES)
    if loss == "f-divergence":
        return float(((moments / p).sum() - 1) / (len(p) - 1))
    if loss == "mse":
        return float((moments.sum() - p @ p) / (1 - p @ p))
    deviations = np.sqrt(np.maximum(moments - p**2, 0.0))
    return float((deviations.sum() / np.sqrt(p - p**2).sum()) ** 2)


# ---------------------------------------------------------------- expansions


class Coefficients(NamedTuple):
    """The A, B and C of the expansion of an f-divergence loss."""

    A: float
    B: float
    C: float


def expansion_coefficients(W: Any, p: Any) -> Coefficients:
    """Compute A, B, C for square W.

    Pastore and Gastpar 2021, (17a)–(17c); corrected in (17b): ν₂/ν₁ for ν₂/ν₃.
    """
    matrix = channel.square_matrix(W)
    prior = channel.full_support("p", p, len(matrix))
    nu2, nu3 = (moments(matrix, prior, order) for order in (2, 3))
    ratio = nu2 / prior
    return Coefficients(
        A=float(ratio.sum() - 1),
        B=float((nu3 / prior**2 - 3 * ratio).sum() + 2),
        C=float((nu2**2 / prior**3 - 2 * ratio).sum() + 1),
    )


def expansion(W: Any, p: Any, n: float, loss: str | Divergence) -> float:
    """Compute the expected loss at n reports by its expansion.

    Pastore and Gastpar 2021, (16), (18), (19), no remainder. The loss is named as in
    :func:`expected_loss`, or a :class:`ldpopt.measures.losses.Divergence` of your own.

    Args:
        W: the mechanism; square for an f-divergence.
        p: the distribution to be learnt, all entries positive.
        n: the number of reports.
        loss: a name as in :func:`ldpopt.measures.losses.expected_loss`, or a divergence of your
            own.
    """
    f = divergence_of(loss)
    n = validate.positive_number("n", n)
    if f is not None:
        A, B, C = expansion_coefficients(W, p)
        return A * f.second / (2 * n) + (B * f.third / 6 + C * f.fourth / 8) / n**2
    prior = channel.full_support("p", p, len(channel.matrix_of(W)))
    variances = second_moments(W, prior) - prior**2
    if loss == "mse":
        return float(variances.sum() / n)
    return float(math.sqrt(2 / (math.pi * n)) * np.sqrt(np.maximum(variances, 0)).sum())


# ---------------------------------------------------------------- bounds


def block_size(k: int, epsilon: float) -> int:
    """Compute the m* that attains :func:`phi_bound`.

    The step mechanism is optimal exactly where it is 1.

    >>> block_size(7, 0.5), block_size(7, 1.5)
    (3, 1)
    """
    k, E = validate.whole_number("k", k, 2), exact.exp_above(validate.epsilon(epsilon))
    near = int(k / (E + 1))  # φ of a balanced design falls in m up to K/(E + 1), and rises from there
    sizes = [m for m in (near, near + 1) if 1 <= m < k]
    return min(sizes, key=lambda m: exact.balanced_phi(k, m, E))


def few_subsets(k: int, epsilon: float) -> bool:
    """Return whether the best subset selection has few enough reports to be written as a matrix.

    >>> few_subsets(12, 1.0), few_subsets(13, 1.0)  # 220 and 715
    (True, False)
    """
    return math.comb(k, block_size(k, epsilon)) <= 300


def optimal_range(k: int, m: int) -> tuple[float, float] | None:
    """Find the ε at which block size m is the best one, so that its balanced designs attain the bound.

    (K−m)(K−m−1)/(m(m+1)) ≤ E² ≤ (K−m+1)(K−m)/((m−1)m); None if there are none.

    >>> optimal_range(7, 1)[1], tuple(round(end, 3) for end in optimal_range(7, 3))
    (inf, (0.0, 0.602))
    """
    k = validate.whole_number("k", k, 2)
    least = (k - m) * (k - m - 1) / (m * (m + 1))
    most = math.inf if m == 1 else (k - m + 1) * (k - m) / ((m - 1) * m)
    if most <= 1:
        return None
    low = 0.5 * math.log(least) if least > 1 else 0.0
    return low, math.inf if m == 1 else 0.5 * math.log(most)


def phi_bound(k: int, epsilon: float) -> float:
    """Compute the φ*(ε, K) ≤ φ(W) of every ε-LDP mechanism W on K inputs, square or broad.

    φ* = min over m = 1..K−1 of 1 + (K−1)² (mE + K − m)² / (m(K−m)(E−1)²), proven in
    :mod:`ldpopt.checker.kernel.proofs.fidelity_bounds`. It takes the place of Pastore and Gastpar 2021,
    Lemma 11, which is false for large K and far too low for small ε. Balanced designs of block size m*
    attain it.

    >>> round(phi_bound(7, 0.5), 9)
    571.530243355
    """
    k, epsilon = validate.whole_number("k", k, 2), validate.epsilon(epsilon)
    return float(exact.phi_bound(k, exact.exp_above(epsilon)))


def balanced_phi(k: int, epsilon: float, m: int) -> float:
    """Compute φ of any balanced design with block size m.

    Subset selection, 2-designs and difference sets define balanced designs.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        m: the block size, from 1 to K − 1.

    >>> round(balanced_phi(7, 0.5, 1), 9)
    835.089480843
    """
    k, epsilon = validate.whole_number("k", k, 2), validate.epsilon(epsilon)
    if not (isinstance(m, (int, np.integer)) and 1 <= m < k):
        raise InvalidInputError(f"the block size must be a whole number from 1 to {k - 1}, not {m!r}")
    return float(exact.balanced_phi(k, int(m), exact.exp_above(epsilon)))


def printed_phi_bound(k: int, epsilon: float) -> float:
    """Evaluate Lemma 11, (44), of Pastore and Gastpar 2021 as printed, which is NOT a bound.

    It is kept to show where it fails.
    """
    k, E = validate.whole_number("k", k, 2), math.exp(validate.epsilon(epsilon))
    return k / (1 - E**-4) * (E + k - 1) ** 2 / (E**2 + k - 1)


def alpha_bound(p: Any, epsilon: float, loss: str) -> float:
    """Bound α at p of every ε-LDP mechanism from below.

    Pastore and Gastpar 2021, (46), with φ* in place of Lemma 11. For f-divergences the bound of
    :func:`best_case_alpha`, which holds at every p, is taken too.

    Args:
        p: the distribution to be learnt, all entries positive.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
    """
    prior = validate.distribution("p", p)
    prior = channel.full_support("p", prior, validate.whole_number("k", len(prior), 2))
    validate.choice("loss", loss, LOSSES)
    source = [Fraction(x) for x in prior.tolist()]
    return float(exact.alpha_bound(source, exact.exp_above(validate.epsilon(epsilon)), loss))


class BestCase(NamedTuple):
    """The least α of all distributions: a value that is attained, and a bound below all."""

    value: float
    bound: float


def best_case_alpha(k: int, epsilon: float) -> BestCase:
    """Compute the best case inf_p min_W α(W, p) over the ε-LDP mechanisms, for f-divergences.

    Pastore and Gastpar 2021, 3.3.3, which states it and leaves it open. The value is (φ* − 1)/(K − 1),
    at the uniform distribution, for all three losses. The bound is max(1, (K − 1)/sinh²(ε/2)), at every
    p: by the harmonic mean, (K − 1)α ≥ (K − 1)²/(tr J − 1) for J = D^½ W diag(pW)⁻¹ Wᵀ D^½, D = diag(p),
    which has the eigenvalue 1; a staircase column that is E on S adds s(1−s)(E−1)²/(1+s(E−1))² to the
    trace by its probability, s = p(S), and that is at most (E−1)²/4E, where s = 1/(E+1). So the two are
    equal if K/(E+1) is a whole number.

    >>> [round(end, 9) for end in best_case_alpha(6, math.log(2))]
    [40.0, 40.0]
    """
    k, epsilon = validate.whole_number("k", k, 2), validate.epsilon(epsilon)
    bound = max(1.0, (k - 1) / math.sinh(epsilon / 2) ** 2)
    return BestCase((phi_bound(k, epsilon) - 1) / (k - 1), bound)


@cache
def square_phi_bound(k: int, epsilon: float) -> Fraction:
    """Bound φ of every ε-LDP mechanism with K outputs from below: φ*, or a larger number where proven.

    φ* asks for columns of the best block size m any two of which have m(m−1)/(K−1) inputs in common.
    Where that is not a whole number, :mod:`ldpopt.checker.kernel.proofs.square_phi_bound` proves more,
    up to 10 %; the most that it proves is sought by halving.

    >>> [round(float(square_phi_bound(k, 0.3)) / phi_bound(k, 0.3), 3) for k in (4, 7, 8)]
    [1.087, 1.0, 1.023]
    """
    E = exact.exp_above(epsilon)
    least = exact.phi_bound(k, E)
    best = [m for m in range(1, k) if exact.balanced_phi(k, m, E) == least]
    # with more, common inputs of some two block sizes are near the best number: nothing is gained
    if k > 64 or any(m * (m - 1) % (k - 1) == 0 for m in best):
        return least
    low, high = Fraction(0), Fraction(1, 4)
    for _ in range(11):
        middle = (low + high) / 2
        low, high = (middle, high) if _reaches(k, E, least * (1 + middle)) else (low, middle)
    return least * (1 + low)


def _reaches(k: int, E: Fraction, target: Fraction) -> bool:
    try:
        # a target that needs more is given up: the checker takes 25 ms for this many. Three times as
        # many prove at most a quarter of a percent of φ* more, for K from 4 to 20.
        return exact.square_phi_reaches(k, E, target, 3_000)
    except exact.UndecidedError:
        return False
