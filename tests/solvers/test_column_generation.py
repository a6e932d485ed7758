"""Column generation: exact pricing, proven bounds, scale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.core.limits import Limits
from ldpopt.models.cones import SecretCone
from ldpopt.models.pricing import pricer
from ldpopt.models.utilities import Divergence, MutualInformation
from ldpopt.problems import SecretStaircase, Staircase
from ldpopt.solvers._columns.rotations import RotatedLP, rotations


@settings(max_examples=60)
@given(
    st.integers(2, 8),
    st.sampled_from(["mutual-information", "kl", "total-variation", "chi-squared", "hellinger"]),
    st.floats(0.05, 4),
    st.integers(0, 10**6),
    st.sampled_from([1.0, 0.1]),
)
def test_pricing_is_exact(k, name, epsilon, seed, concentration):
    """The best corner found and the bound agree with a list of all corners."""
    rng = np.random.default_rng(seed)
    p0, p1 = rng.dirichlet(np.full(k, concentration), size=2)
    p0, p1 = (np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum() for p in (p0, p1))
    utility = MutualInformation(p0) if name == "mutual-information" else Divergence(p0, p1, name)
    secrets = tuple(x // 2 for x in range(k)) if k > 2 else (0, 1)
    cone = SecretCone(secrets, epsilon)
    dual = rng.normal(size=k) * 0.2 * p0
    for box in cone.boxes:
        found = pricer(utility).price(box, dual, 0.0, 10**6)
        chosen = (np.arange(2 ** len(box.free)) >> np.arange(len(box.free))[:, None]) & 1
        corners = np.repeat(box.low[:, None], chosen.shape[1], axis=1)
        corners[box.free] = np.where(chosen, box.high[box.free, None], box.low[box.free, None])
        best = float((utility(corners) - dual @ corners).max())
        scale = 1e-10 * max(1.0, float(corners.max()) ** 2)
        assert best <= found.upper <= max(best, 0) + scale
        if best > 0:
            reached = float((utility(found.rays) - dual @ found.rays).max())
            assert reached == pytest.approx(best, abs=scale)


def test_pricing_with_a_narrow_search_still_bounds():
    rng = np.random.default_rng(5)
    utility = MutualInformation(rng.dirichlet(np.full(14, 0.5)))
    cone = SecretCone(tuple(range(14)), 1.0)
    dual = 0.1 * utility.prior * rng.uniform(0.5, 1.5, 14)
    narrow = pricer(utility).price(cone.boxes[0], dual, 0.0, 2)
    rays = cone.rays()
    assert narrow.upper >= float((utility(rays) - dual @ rays).max())


def test_rotated_columns_are_a_mechanism_of_the_value_of_their_program():
    """The groups are of unequal inputs: the value is that of the mechanism all the same."""
    rng = np.random.default_rng(2)
    prior, E = rng.dirichlet(np.ones(11)), np.e
    utility = MutualInformation(prior)
    by = rotations(prior, turns=3, single=2)
    program = RotatedLP(by, 1.0)
    rays = np.hstack([1 + (E - 1) * np.eye(11), rng.choice([1.0, E], size=(11, 40))])
    program.add(rays, np.mean([utility(rays[turn]) for turn in by.turns], axis=0))
    found = program.solve(Limits())
    matrix = found.point.matrix
    assert matrix.sum(axis=1) == pytest.approx(np.ones(11))
    assert float(utility(matrix).sum()) == pytest.approx(found.value)
    assert found.dual.sum() == pytest.approx(found.value)


def test_three_hundred_inputs_share_rows():
    prior = np.random.default_rng(0).dirichlet(np.full(300, 0.5))
    result = solve(Staircase(1.0, prior=prior), gap=1e-6)
    assert result.gap <= 1e-6
    assert verify(result)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_sixty_four_inputs_to_a_millionth(epsilon):
    prior = np.random.default_rng(1).dirichlet(np.full(64, 0.5))
    result = solve(Staircase(epsilon, prior=prior), gap=1e-6)
    assert result.solver == "column-generation"
    assert result.gap <= 1e-6
    assert verify(result)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_hundred_inputs_to_a_millionth(epsilon, seed):
    prior = np.random.default_rng(seed).dirichlet(np.full(200, 0.5))
    result = solve(Staircase(epsilon, prior=prior), gap=1e-6)
    assert result.gap <= 1e-6
    assert verify(result)


@pytest.mark.parametrize("k", [16, 48])
def test_uniform_priors_and_ties(k):
    """Interchangeable inputs: the optimum is a subset-selection mixture in closed form."""
    sizes = np.arange(k + 1)
    q = 1 + (np.e - 1) * sizes / k
    closed = float(((np.e * sizes / k - q * np.log(q)) / q).max())
    result = solve(Staircase(1.0, prior=np.full(k, 1 / k)), "column-generation", gap=1e-7)
    assert result.value <= closed <= result.bound
    assert result.gap <= 1e-7
    assert verify(result)


def test_zeros_in_the_prior():
    prior = np.array([0.5, 0.3, 0.2, 0.0, 0.0, 0.0])
    listed = solve(Staircase(1.0, prior=prior), "enumerate")
    generated = solve(Staircase(1.0, prior=prior), "column-generation")
    assert generated.value == pytest.approx(listed.value, abs=1e-10)
    assert verify(generated)


def test_a_joint_prior_of_thirty_six_inputs():
    prior = np.random.default_rng(2).dirichlet(np.ones(36)).reshape(6, 6)
    result = solve(SecretStaircase(1.0, prior), gap=1e-4)
    assert result.gap <= 1e-4
    assert verify(result)


@pytest.mark.parametrize("utility", ["kl", "total-variation", "chi-squared"])
def test_divergences_of_forty_inputs(utility):
    pair = np.random.default_rng(4).dirichlet(np.ones(40), size=2)
    result = solve(Staircase(1.0, hypotheses=pair, utility=utility), gap=1e-8)
    assert result.gap <= 1e-8
    assert verify(result)
