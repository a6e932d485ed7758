"""Misprints in the proofs of Pastore and Gastpar 2021: the print fails, the corrected form holds."""

import math

import numpy as np
import pytest

from ldpopt.measures.estimation_fidelity import alpha, moments, phi, phi_matrix
from ldpopt.measures.losses import loss_of, multinomial
from ldpopt.mechanisms.balanced_designs import step_mechanism
from ldpopt.mechanisms.listings import compositions


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


def test_22_and_52_take_the_column_sums_of_phi():
    W = 0.7 * np.random.default_rng(0).dirichlet(np.ones(4), 4) + 0.075
    sums = (phi_matrix(W).sum(axis=axis) for axis in (0, 1))
    columns, rows = ((np.sqrt(4 * part - 1).sum() / (4 * math.sqrt(3))) ** 2 for part in sums)
    truth = alpha(W, np.full(4, 0.25), "tv")
    assert columns == pytest.approx(truth)
    assert rows > truth + 1


def test_alpha_of_the_step_mechanism_has_the_sum_of_the_inverse_probabilities():
    E, p = math.e, np.array([0.5, 0.3, 0.2])
    corrected, printed = (
        (((E - 1) * E * 3 + (E + 1) * last) / (E - 1) ** 2 - 1) / 2 for last in ((1 / p).sum(), 1)
    )
    truth = alpha(step_mechanism(3, 1.0), p, "f-divergence")
    assert corrected == pytest.approx(truth)
    assert printed < truth / 2


def test_the_f_divergence_has_its_arguments_exchanged():
    """With f(x) = x log x, Σ q f(p/q) is KL(p‖q), finite where p̂ has zeros; Σ p f(q/p) is not."""
    estimate, p = np.array([0.6, 0.4, 0.0]), np.array([0.5, 0.3, 0.2])
    truth = 0.6 * math.log(0.6 / 0.5) + 0.4 * math.log(0.4 / 0.3)
    assert loss_of(estimate[None], p, "kl")[0] == pytest.approx(truth)
    with np.errstate(divide="ignore"):
        printed = (p * np.log(p / estimate)).sum()
    assert printed == math.inf
