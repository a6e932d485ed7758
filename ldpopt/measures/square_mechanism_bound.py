"""A lower bound on φ for mechanisms with as many outputs as inputs."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from ldpopt.core.exact import UndecidedError, balanced_phi, exp_above, phi_bound, square_phi_reaches


@cache
def square_phi_bound(k: int, epsilon: float) -> Fraction:
    """Bound φ of every ε-LDP mechanism with K outputs from below: φ*, or a larger number where proven.

    φ* asks for columns of the best block size m any two of which have m(m−1)/(K−1) inputs in common.
    Where that is not a whole number, :mod:`ldpopt.checker.kernel.proofs.square_phi_bound` proves more,
    up to 10 %; the most that it proves is sought by halving.

    >>> [float(round(square_phi_bound(k, 0.3) / phi_bound(k, exp_above(0.3)), 3)) for k in (4, 7, 8)]
    [1.087, 1.0, 1.023]
    """
    E = exp_above(epsilon)
    least = phi_bound(k, E)
    best = [m for m in range(1, k) if balanced_phi(k, m, E) == least]
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
        return square_phi_reaches(k, E, target, 3_000)
    except UndecidedError:
        return False
