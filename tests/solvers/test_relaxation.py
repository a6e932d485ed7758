"""The relaxation of sets: its dual proves bounds, and its rounding keeps what it promises to keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.core.form import Status
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.models.cones import SecretCone, staircase_cone
from ldpopt.models.pricing import InformationPricer, State, by_size
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems import SecretStaircase, Staircase
from ldpopt.solvers._columns.relaxation import Part, random_sets, relax, sampled


def nearly_uniform(k, spread):
    prior = 1 + spread * np.random.default_rng(k).standard_normal(k)
    return prior / prior.sum()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("secrets", [(0, 1, 2, 3, 4, 5), (0, 0, 0, 1, 1, 2), (0, 0, 0, 0, 1, 1)])
def test_the_dual_of_the_relaxation_bounds_every_corner(secrets, epsilon):
    prior = np.random.default_rng(1).dirichlet(np.ones(6))
    cone = SecretCone(secrets, epsilon)
    relaxed = relax(prior, [Part(box) for box in cone.boxes], Limits())
    rays = cone.rays()
    excess = MutualInformation(prior)(rays) - relaxed.dual @ rays
    assert excess.max() <= 1e-8 * rays.max()


def test_sizes_make_the_bound_of_equal_inputs_exact():
    """With equal inputs the optimum is subset selection of the best whole size."""
    k, E = 20, np.e
    relaxed = relax(np.full(k, 1 / k), [Part(staircase_cone(k, 1.0).boxes[0])], Limits())
    parts = [part for share in relaxed.shares for part in share.sized()]
    sized = relax(np.full(k, 1 / k), parts, Limits())
    p = np.arange(k) / k
    q = 1 + (E - 1) * p
    best = float(((E * p - q * np.log(q)) / q).max())
    assert sized.dual.sum() == pytest.approx(best, abs=1e-9)
    assert relaxed.dual.sum() > best + 1e-5


def test_relaxing_stops_with_the_time():
    parts = [Part(box) for box in staircase_cone(6, 1.0).boxes]
    with pytest.raises(OutOfTime):
        relax(np.full(6, 1 / 6), parts, Limits(deadline=0.0))


@settings(max_examples=25)
@given(st.integers(1, 30), st.booleans(), st.integers(0, 10**6))
def test_random_sets_keep_mean_number_and_weight(n, sized, seed):
    rng = np.random.default_rng(seed)
    weights = 1 + 0.1 * rng.random(n)
    size = rng.integers(0, n + 1)
    high = rng.permutation(np.arange(n) < size) if sized else rng.random(n)
    if sized:  # smooth, with the same sum
        high = np.clip(0.5 * high + 0.5 * size / n, 0.0, 1.0)
    drawn = np.hstack([random_sets(high, weights, sized, 64, rng) for _ in range(40)])
    assert np.abs(drawn.mean(axis=1) - high).max() <= 6 * 0.5 / np.sqrt(drawn.shape[1])
    if sized:
        assert (drawn.sum(axis=0) == size).all()
        assert np.abs(weights @ drawn - weights @ high).max() <= 0.1 + 1e-9
    else:
        assert np.abs(weights @ drawn - weights @ high).max() <= weights.max() + 1e-9


def test_samples_are_corners():
    cone = SecretCone((0, 0, 0, 1, 1, 2, 2), 1.0)
    prior = np.random.default_rng(0).dirichlet(np.ones(7))
    relaxed = relax(prior, [Part(box) for box in cone.boxes], Limits())
    rays = {tuple(ray) for ray in cone.rays().T}
    found = np.hstack(list(sampled(relaxed.shares, prior, 50, np.random.default_rng(0))))
    assert {tuple(column) for column in found.T} <= rays
    assert found.shape[1] >= 50


@settings(max_examples=30)
@given(st.integers(1, 9), st.floats(0, 1), st.integers(0, 10**6))
def test_bounds_by_size_are_above_every_set(n, spread, seed):
    rng = np.random.default_rng(seed)
    gain, weight = rng.standard_normal(n), 0.1 + spread * rng.random(n)
    start = State(float(rng.standard_normal()), 1.0)
    sets, upper, _ = by_size(start, gain, weight, 0.0, 100)
    every = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    q = start.q + every @ weight
    best = float((start.A + every @ gain - q * np.log(q)).max())
    assert upper >= best - 1e-12
    assert sets.shape == (n + 1, n)
    if spread == 0:
        assert upper == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("spread", [1e-5, 1e-3, 0.04])
@pytest.mark.parametrize("k", [31, 40])
def test_nearly_uniform_values_are_optimal(k, spread):
    """31 days, 40 postcodes: the fractional relaxation alone leaves a gap of 1e-3."""
    found = solve(Staircase(1.0, prior=nearly_uniform(k, spread)), gap=1e-6)
    assert found.status is Status.OPTIMAL
    assert verify(found)


def test_sizes_are_told_apart_only_where_inputs_are_alike():
    box = staircase_cone(31, 1.0).boxes[0]
    assert InformationPricer(MutualInformation(nearly_uniform(31, 0.01))).alike(box)
    rng = np.random.default_rng(0)
    assert not InformationPricer(MutualInformation(rng.dirichlet(np.full(31, 0.5)))).alike(box)
    small = staircase_cone(5, 1.0).boxes[0]
    assert not InformationPricer(MutualInformation(np.full(5, 0.2))).alike(small)


def test_a_table_of_eight_by_eight():
    prior = np.random.default_rng(7).dirichlet(np.full(64, 0.5)).reshape(8, 8)
    found = solve(SecretStaircase(1.0, prior), gap=1e-4)
    assert found.gap <= 1e-4
    assert verify(found)
