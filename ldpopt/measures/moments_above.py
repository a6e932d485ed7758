"""Bound second moments from above in floats: proven like the checker's, with fewer digits, in no time.

Let M = W diag(pW)⁻¹ Wᵀ with m̂ its entries in floats, R any matrix, and F = M R − I. Where ‖F‖ < 1 in
the Frobenius norm, M is invertible and (:mod:`ldpopt.checker.kernel.proofs.second_moments`, Lemma
(residual))

    M⁻¹ − R = −R F + R F² (I + F)⁻¹,  so  |(M⁻¹ − R)_ii| ≤ Σ_j |R_ij| |F_ji| + ‖R‖ ‖F‖²/(1 − ‖F‖).

A sum of n products of floats, in any order, is off by at most γ_n = n u/(1 − n u) times the sum of their
absolute values, u = 2^−53 (Higham 2002, Section 3.1). The terms of M are not negative, so every m̂ is
within γ_s of the truth, relatively, with s the outputs and twice the inputs and some: with A = |m̂| |R|,

    |F| ≤ |fl(m̂ R) − I| + 4 s u A,    entry by entry, as γ_k + 2 γ_s ≤ 4 s u for s u < 1/8.

All bounds are raised by a thousandth, which is more than their own rounding, and by 1e-300, which is
more than what underflow loses: entries of W are multiples of 2^−52.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ldpopt.core.validate import Array

UNIT, SOME = 2.0**-53, 16
"""The unit roundoff, and the roundings of an entry beside those of its sums."""
RAISED, UNDERFLOW = 1.001, 1e-300
"""What bounds are multiplied by for their own rounding, and what is added for underflow."""


def moments_above(W: Array, p: Sequence[Fraction]) -> list[Fraction] | None:
    """Compute numbers above the diagonal of M⁻¹; None where floats do not show that M has an inverse.

    Args:
        W: the mechanism, whose rows sum to 1.
        p: a positive weight per input.

    >>> half = moments_above(np.array([[0.75, 0.25], [0.25, 0.75]]), [Fraction(1), Fraction(1)])
    >>> [round(float(x), 9) for x in half]
    [2.5, 2.5]
    """
    used = W[:, W.any(axis=0)]
    k, outputs = used.shape
    if outputs < k:
        return None
    q = np.array([float(x) for x in p]) @ used
    M = (used / q) @ used.T
    try:
        R = np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return None
    size, error = np.abs(R), 4 * (outputs + 2 * k + SOME) * UNIT
    F = RAISED * (np.abs(M @ R - np.eye(k)) + error * (np.abs(M) @ size)) + UNDERFLOW
    norm = RAISED * float(np.linalg.norm(F))
    if not norm < 0.5:
        return None
    rest = float(np.linalg.norm(size)) * norm**2 / (1 - norm)
    above = np.diag(R) + RAISED * ((size * F.T).sum(axis=1) + rest)
    return [Fraction(x) for x in np.nextafter(above, np.inf).tolist()]
