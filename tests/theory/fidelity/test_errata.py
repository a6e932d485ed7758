"""Misprints in the proofs of Pastore and Gastpar 2021: the print fails, the corrected form holds."""

import numpy as np
import pytest

from ldpopt.mechanisms.balanced_designs import step_mechanism
from ldpopt.mechanisms.compositions import compositions
from ldpopt.theory.fidelity.losses import multinomial
from ldpopt.theory.fidelity.measures import moments, phi


def test_64c_the_fourth_moment_has_one_nu_4():
    n, p, W = 5, np.array([0.5, 0.3, 0.2]), step_mechanism(3, 1.0).matrix
    counts = compositions(n, 3).astype(float)
    centred = counts @ np.linalg.inv(W) - n * p
    truth = multinomial(counts, p @ W) @ centred**4
    v1, v2, v3, v4 = (moments(W, p, order) for order in (1, 2, 3, 4))
    rest = (3 * n - 6) * v1**4 + 3 * (n - 1) * v2**2 + (12 - 6 * n) * v1**2 * v2 - 4 * v1 * v3
    assert n * (rest + v4) == pytest.approx(truth)
    assert (n * (rest + 3 * v4) > 1.1 * truth).all()


def test_89_has_k_minus_one_squared():
    """Equality for the step mechanism; the print exceeds φ of a mechanism, so it bounds nothing."""
    for k in (3, 7):
        W = step_mechanism(k, 1.0).matrix
        spread = k * (W[0] ** 2).sum() - 1
        assert phi(W) == pytest.approx(1 + (k - 1) ** 2 / spread)
        assert phi(W) < 1 + k**2 / spread
