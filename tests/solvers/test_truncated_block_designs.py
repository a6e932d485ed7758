"""Rows of symmetric designs, as a solver."""

import numpy as np
import pytest

from ldpopt import Status, solve, verify
from ldpopt.measures.estimation_fidelity import phi
from ldpopt.mechanisms.balanced_designs import subset_selection
from ldpopt.problems import BroadFidelity, SquareFidelity
from ldpopt.release.designing import design
from ldpopt.solvers import RestrictedDesigns


@pytest.mark.parametrize(("k", "epsilon"), [(20, 1.0), (14, 0.5), (30, 3.0)])
def test_it_comes_within_a_tenth_of_subset_selection(k, epsilon):
    result = solve(BroadFidelity(epsilon, k), "restricted-designs")
    assert result.status is Status.GAP
    assert result.bound < result.value <= 1.1 * result.bound
    assert result.value == pytest.approx(phi(result.mechanism))
    assert result.mechanism.shape[1] <= 4 * k
    assert verify(result)


def test_few_outputs_are_subset_selection():
    result = solve(BroadFidelity(1.0, 6), "restricted-designs")
    assert result.status is Status.OPTIMAL
    assert result.mechanism.matrix == pytest.approx(subset_selection(6, 1.0, 2).matrix, abs=1e-12)


def test_large_levels_are_randomised_response():
    (form,) = BroadFidelity(9.0, 40).forms()
    assert RestrictedDesigns().run(form, None).point.shape == (40, 40)


def test_learning_from_more_inputs_than_subsets_can_be_listed():
    rng = np.random.default_rng(0)
    made = design({"s": rng.integers(24, size=2000)}, "s", epsilon=1.0, method="learn")
    assert made.mechanism.epsilon() <= 1
    other = design({"s": rng.integers(24, size=2000)}, "s", epsilon=1.0, method="grr")
    assert made.sample_factor < 0.5 * other.sample_factor
    assert made.verification


def test_refusals():
    (form,) = SquareFidelity(1.0, 7).forms()
    assert "any number of outputs" in RestrictedDesigns().accepts(form)
    (form,) = BroadFidelity(1.0, 300).forms()
    assert "more than 200 inputs" in RestrictedDesigns().accepts(form)
