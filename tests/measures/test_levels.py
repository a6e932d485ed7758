"""The exact audit: witnesses, brute force, nested sets, post-processing."""

import math
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import Mechanism
from ldpopt.checker.kernel.proofs import confidence_set
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.mechanisms import secret_randomized_response
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set, Single
from ldpopt.problems.table_problem import RobustPrivacy


def random_case(seed):
    rng = np.random.default_rng(seed)
    a1, a2, b = (int(x) for x in rng.integers(2, 5, size=3))
    p_hat = rng.dirichlet(np.ones(a1 * a2)).reshape(a1, a2)
    F = Chi2Set(p_hat, float(10 ** rng.uniform(1, 4)), 0.05)
    return Mechanism(rng.dirichlet(np.ones(b), size=a1 * a2)), F, rng


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_the_witness_attains_the_level_and_nobody_exceeds_it(seed):
    mechanism, F, rng = random_case(seed)
    found = rldp_level(mechanism, F)
    assert F.contains(found.witness)
    given_s = np.einsum(
        "su,su->s",
        found.witness / found.witness.sum(axis=1, keepdims=True),
        mechanism.matrix.reshape(*F.shape, -1)[:, :, found.y],
    )
    assert np.log(given_s[found.s] / given_s[found.other]) == pytest.approx(found.level, abs=1e-8)
    for _ in range(25):
        assert rldp_level(mechanism, Single(F.sample(rng))).level <= found.level + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_batches_find_what_single_searches_find(monkeypatch, seed):
    mechanism, F, _ = random_case(seed)
    alone = rldp_level(mechanism, F)
    monkeypatch.setattr("ldpopt.measures.rldp_level.ALONE", 0)
    batched = rldp_level(mechanism, F)
    assert batched.level == pytest.approx(alone.level, abs=1e-12)
    assert (batched.y, batched.s, batched.other) == (alone.y, alone.s, alone.other)


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_larger_sets_have_larger_levels(seed):
    mechanism, F, _ = random_case(seed)
    known = rldp_level(mechanism, Single(F.p_hat)).level
    found = rldp_level(mechanism, F)
    everything = rldp_level(mechanism, AllDistributions(*F.shape)).level
    smaller = rldp_level(mechanism, Chi2Set(F.p_hat, 10 * F.n, F.alpha)).level
    assert known <= smaller + 1e-9
    assert smaller <= found.level + 1e-9
    assert found.level <= found.product_level + 1e-9
    assert found.product_level <= everything + 1e-9


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_post_processing_never_raises_a_level(seed):
    mechanism, F, rng = random_case(seed)
    b = mechanism.shape[1]
    after = mechanism.then(Mechanism(rng.dirichlet(np.ones(3), size=b)))
    assert rldp_level(after, F).level <= rldp_level(mechanism, F).level + 1e-9


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_the_checker_decides_the_same(seed):
    """Its proof by saddle points accepts just above the audited level and refuses just below."""
    mechanism, F, _ = random_case(seed)
    level = rldp_level(mechanism, F).level
    matrix = mechanism.matrix
    if 1e-3 < level < 25:
        assert RobustPrivacy.against(F, level * (1 + 1e-6)).admits(matrix)
        assert not RobustPrivacy.against(F, level * (1 - 1e-6)).admits(matrix)


def test_the_checkers_quantile():
    from fractions import Fraction

    from scipy.stats import chi2

    for degrees, alpha in [(1, 0.05), (2, 0.5), (8, 0.05), (15, 1e-4), (251, 0.05)]:
        found = float(confidence_set.chi_squared_quantile(degrees, Fraction(alpha)).high)
        assert found == pytest.approx(chi2.isf(alpha, degrees), rel=1e-13)


def test_secret_randomised_response():
    mechanism = secret_randomized_response(3, 3, 1.0)
    assert rldp_level(mechanism, AllDistributions(3, 3)).level == pytest.approx(1.0)


def test_bad_input():
    with pytest.raises(
        InvalidInputError, match=r"6 inputs, one per cell of the uncertainty set \(3 × 2\), not 4"
    ):
        rldp_level(Mechanism(np.eye(4)), AllDistributions(3, 2))
    with pytest.raises(InvalidInputError, match="one secret"):
        rldp_level(Mechanism(np.eye(2)), AllDistributions(1, 2))
    assert rldp_level(Mechanism(np.eye(4)), AllDistributions(2, 2)).level == np.inf


@pytest.mark.parametrize("seed", range(40))
def test_the_worst_pair_of_secrets_is_that_of_all_pairs(seed):
    """With zeros and ties: the last of several places, as everywhere."""
    rng = np.random.default_rng(seed)
    a1, a2, b = (int(x) for x in rng.integers(2, 5, size=3))
    matrix = rng.integers(0, 3, (a1 * a2, b)) + np.eye(a1 * a2, b)
    matrix = (matrix + (matrix.sum(axis=1, keepdims=True) == 0)) / 4  # rows need no sum of 1 here
    columns = matrix.reshape(a1, a2, b)
    high, low = columns.max(axis=1), columns.min(axis=1)
    places = [(y, s, z) for y in range(b) for s, z in permutations(range(a1), 2) if high[s, y] > 0]
    levels = [math.log(high[s, y] / low[z, y]) if low[z, y] else math.inf for y, s, z in places]
    found = rldp_level(matrix, AllDistributions(a1, a2))
    assert found.level == pytest.approx(max(levels), rel=1e-15)
    ties = [place for place, level in zip(places, levels, strict=True) if level >= found.level - 1e-12]
    assert (found.y, found.s, found.other) == ties[-1]


def test_many_secrets_take_no_memory_for_their_pairs():
    """All pairs of 400 secrets, for each of 200 outputs, would be 256 MB; the matrix has 1.3 MB."""
    matrix = np.full((800, 200), 0.5 / 200)
    matrix[np.arange(800), np.arange(800) % 200] += 0.5
    tracemalloc.start()
    assert rldp_level(matrix, AllDistributions(400, 2)).level == pytest.approx(math.log(201))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10 * matrix.nbytes
