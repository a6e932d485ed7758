"""Calibration: columns at the level ε against the exact audit, and the search for the best cone."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.chi2_cone import ExactCone
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems._robust.calibration import NEAR, STEPS, Tried, levels, tightened


def drawn(seed, constant=0.0):
    """Draw a table of two secrets with three values each, and a mechanism with a share of a constant."""
    rng = np.random.default_rng(seed)
    F = Chi2Set(rng.dirichlet(np.ones(6)).reshape(2, 3), 500, 0.05)
    return F, (1 - constant) * rng.dirichlet(np.ones(4), size=6) + constant / 4


@given(st.integers(0, 10**6), st.floats(0.1, 3.0))
@settings(max_examples=15, deadline=None)
def test_the_excess_is_the_largest_over_sampled_members(seed, epsilon):
    """No sampled member exceeds it, and its sign is that of level − ε."""
    F, W = drawn(seed)
    found, rng = ExactCone(F, epsilon).excess(W)[0].max(axis=1), np.random.default_rng(seed)
    for _ in range(50):
        P = F.sample(rng)
        given_s = np.einsum("su,suy->sy", P / P.sum(axis=1, keepdims=True), W.reshape(2, 3, -1))
        assert (given_s.max(axis=0) - np.exp(epsilon) * given_s.min(axis=0) <= found + 1e-9).all()
    for y in range(W.shape[1]):
        level = rldp_level(W[:, [y]], F).level
        if abs(level - epsilon) > 1e-6:
            assert (found[y] > 0) == (level > epsilon)


@given(st.integers(0, 10**6), st.floats(0.2, 2.0))
@settings(max_examples=15, deadline=None)
def test_every_column_gets_the_level_and_information_rises_where_it_was_lower(seed, epsilon):
    F, W = drawn(seed, constant=0.2)
    before = rldp_level(W, F).level
    after = tightened(W, F, epsilon)
    assert after.sum(axis=1) == pytest.approx(np.ones(len(after)))
    assert after.min() >= 0
    assert rldp_level(after, F).level <= epsilon
    for y in range(after.shape[1]):
        column = after[:, [y]]
        assert column.min() < 1e-12 or rldp_level(column, F).level == pytest.approx(epsilon, abs=1e-6)
    if before <= epsilon:
        utility = MutualInformation(F.p_hat.ravel())
        assert utility(after).sum() >= utility(W).sum() - 1e-12


def test_a_mechanism_of_infinite_level_is_mended():
    F = Chi2Set([[0.3, 0.2], [0.15, 0.35]], 1000, 0.05)
    W = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert rldp_level(tightened(W, F, 1.0), F).level == pytest.approx(1.0, abs=1e-6)


def test_the_search_ends_where_the_exact_level_passes():
    """Worth rises to a kink where the exact level is ε; the search ends within a few steps of it."""

    def given_by(level):
        exact = 0.6 + 0.5 * (level - 1) + 0.1 * (level - 1) ** 2
        return Tried(0.5 + min(exact, 1.0) - 3 * max(exact - 1.0, 0), exact)

    search = levels(1.0, 3.0, 1.0, Tried(0.5, 0.6))
    asked = [next(search)]
    with contextlib.suppress(StopIteration):
        while True:
            asked.append(search.send(given_by(asked[-1])))
    assert len(asked) <= STEPS
    assert min(abs(given_by(level).exact - 1) for level in asked) <= NEAR
