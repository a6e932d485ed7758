"""What holds at a finite number of reports: Pastore and Gastpar 2021, Lemmas 1 and 12 and Theorem 5."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ldpopt.core import validate
from ldpopt.core.validate import Array
from ldpopt.measures.channel import full_support, matrix_of, right_inverse, square_matrix
from ldpopt.measures.losses import Divergence, expected_loss


def exit_exponents(W: Any, p: Any) -> Array:
    """Compute for each k the D_k with P(p̌_k < 0) ≤ e^{−n D_k}, p̌ the inverted counts of n reports.

    p̌_k is the mean of W⁻¹_yk over the reports y, so D_k = max_{λ≥0} −log Σ_y q_y e^{−λ W⁻¹_yk} with q
    = pW by Chernoff's bound, and no larger exponent is right (Cramér); infinite if no entry W⁻¹_yk is
    negative.
    """
    matrix = square_matrix(W)
    prior = full_support("p", p, len(matrix))
    q = prior @ matrix
    return np.array([_exponent(q, column) for column in right_inverse(matrix, q).T])


def _exponent(q: Array, values: Array) -> float:
    used = values[q > 0]
    if used.min() >= 0:
        return math.inf
    weights = q[q > 0]

    def log_moment(rate: float) -> float:
        shifted = -rate * used
        top = shifted.max()
        return float(top + math.log(weights @ np.exp(shifted - top)))

    high = 1.0
    while log_moment(high) < log_moment(high / 2):
        high *= 2
    found = minimize_scalar(
        log_moment, bounds=(0, high), method="bounded", options={"xatol": 1e-12 * high}
    )
    return max(0.0, -float(found.fun))


def exit_exponent(W: Any, p: Any) -> float:
    """Compute the exponent D(∂P W ‖ pW) of Lemma 1: the least KL divergence from the boundary to pW.

    It is the least of :func:`exit_exponents`: what is nearest to pW outside of P W lies on its boundary.

    >>> round(exit_exponent([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5]), 9)
    0.130812036
    """
    return float(exit_exponents(W, p).min())


def exit_bound(W: Any, p: Any, n: int) -> float:
    """Bound the probability that the inverted counts of n reports are not a distribution.

    The bound is Σ_k e^{−n D_k} ≤ K e^{−nD}. Lemma 1 prints e^{−nD}, which is false: it applies a bound
    for convex sets to a complement. The entries of p̌ sum to 1, so p̌ is a distribution unless some
    entry is negative.

    Args:
        W: a square mechanism.
        p: the distribution of the inputs, all entries positive.
        n: the number of reports.
    """
    n = validate.whole_number("n", n, 1)
    return min(1.0, float(np.exp(-n * exit_exponents(W, p)).sum()))


def moment_gap_bound(W: Any, p: Any, n: int, order: int) -> Array:
    """Bound how far a moment E[n^ρ (p̂_k − p_k)^ρ] may be from that of p̌, for each k (Lemma 12).

    It is C_k n^ρ times :func:`exit_bound`, for every estimate that is p̌ where p̌ is a distribution,
    with C_k = Σ_{r=1..ρ} (ρ choose r) (√K |w̃_k|)^{ρ−r} (1 + |w̃_k|)^r of (76), w̃_k the column k of W⁻¹.

    Args:
        W: a square mechanism.
        p: the distribution of the inputs, all entries positive.
        n: the number of reports.
        order: ρ, at least 1.
    """
    matrix = square_matrix(W)
    order, n = validate.whole_number("order", order, 1), validate.whole_number("n", n, 1)
    prior = full_support("p", p, len(matrix))
    size = np.linalg.norm(right_inverse(matrix, prior @ matrix), axis=0)
    both, one = 1 + size + math.sqrt(len(matrix)) * size, math.sqrt(len(matrix)) * size
    return (both**order - one**order) * float(n) ** order * exit_bound(matrix, prior, n)


def degradation(W: Any, V: Any, p: Any, n: int, loss: str | Divergence, estimator: str) -> float:
    """Compute how much the expected loss of n reports grows in a second channel V (Theorem 5).

    It is positive for all large n unless V is a permutation; at small n it may be negative. W V and W
    are both learnt with the same estimator; the losses are those of
    :func:`ldpopt.measures.losses.expected_loss`.

    Args:
        W: the first channel.
        V: the second channel, which takes the outputs of the first.
        p: the distribution of the inputs, all entries positive.
        n: the number of reports.
        loss: a name, or a divergence of your own.
        estimator: a name of :data:`ldpopt.measures.estimators.ESTIMATORS`.
    """
    first, second = matrix_of(W), matrix_of(V)
    both, one = (float(expected_loss(m, p, n, loss, estimator)) for m in (first @ second, first))
    return both - one
