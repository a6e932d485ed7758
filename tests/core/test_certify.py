"""Repair: exact stochastic, exact private, and hardly any utility lost."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt.checker.kernel.proofs import private_rows
from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.mechanisms import randomized_response, secret_randomized_response
from ldpopt.models.cones import SecretCone, staircase_cone


@settings(max_examples=60)
@given(st.integers(2, 8), st.floats(0.001, 8), st.integers(0, 10**6))
def test_noisy_mechanisms_become_exactly_private(k, epsilon, seed):
    noise = 1 + 1e-13 * np.random.default_rng(seed).standard_normal((k, k))
    matrix = randomized_response(k, epsilon).matrix * noise
    repaired = certify.repair(matrix, staircase_cone(k, epsilon))
    assert private_rows.is_stochastic(repaired.tolist())
    assert private_rows.is_private(repaired.tolist(), range(k), epsilon)
    assert np.abs(repaired - matrix).max() <= 1e-10 / epsilon


def test_secret_cone():
    matrix = secret_randomized_response(3, 4, 1.0).matrix
    cone = SecretCone(tuple(np.repeat([0, 1, 2], 4).tolist()), 1.0)
    repaired = certify.repair(matrix, cone)
    assert private_rows.is_private(repaired.tolist(), cone.secrets, 1.0)
    assert not private_rows.is_private(repaired.tolist(), range(12), 1.0)
    assert cone.level(repaired) == pytest.approx(1.0, abs=1e-12)


def test_a_mechanism_far_from_private_is_not_passed_off():
    with pytest.raises(SolverError, match="too far from private"):
        certify.repair(np.eye(3), staircase_cone(3, 1.0))


def test_bounds_are_rounded_to_the_safe_side():
    dual = np.array([0.1, 0.2, 0.3])
    assert certify.dual_bound(dual) >= 0.6 > certify.dual_bound(dual) - 1e-15
    assert certify.value_below(Decimal("0.1")) < 0.1
