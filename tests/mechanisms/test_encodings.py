"""Set-valued mechanisms: their matrices, samplers and estimators agree."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest

from ldpopt.core.mechanism import Mechanism
from ldpopt.mechanisms import HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding

SMALL = [
    UnaryEncoding(3, 0.75, 0.3),
    UnaryEncoding.rappor(4, 1.2),
    UnaryEncoding.oue(4, 0.8),
    UnaryEncoding.blh(3, 2.0),
    LocalHashing(4, 3, 1.1),
    SubsetSelection(5, 2, 0.9),
    SubsetSelection(4, 1, 2.0),
]


def test_unary_encoding_matrix_is_10_8():
    a, kappa, lam = 3, 0.75, 0.3
    dense = UnaryEncoding(a, kappa, lam).dense()
    for y, label in enumerate(dense.outputs):
        for x in range(a):
            expected = math.prod(
                (kappa if z == x else lam) if z in label else 1 - (kappa if z == x else lam)
                for z in range(a)
            )
            assert dense.matrix[x, y] == pytest.approx(expected, abs=1e-15)


def test_local_hashing_matrix_sums_over_all_functions():
    k, g, E = 3, 2, math.e
    dense = LocalHashing(k, g, 1.0).dense()
    expected = {label: np.zeros(k) for label in dense.outputs}
    for function in product(range(g), repeat=k):
        for y in range(g):
            label = tuple(x for x in range(k) if function[x] == y)
            for x in range(k):
                expected[label][x] += (E if function[x] == y else 1) / (E + g - 1) / g**k
    for y, label in enumerate(dense.outputs):
        assert dense.matrix[:, y] == pytest.approx(expected[label])


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_dense_matrix_agrees_with_level_and_support_probabilities(mechanism):
    dense = mechanism.dense()
    assert dense.epsilon() == pytest.approx(mechanism.epsilon())
    supports = np.array([[x in label for label in dense.outputs] for x in range(mechanism.k)])
    chance = dense.matrix @ supports.T
    assert np.diag(chance) == pytest.approx(mechanism.own)
    assert chance[~np.eye(mechanism.k, dtype=bool)] == pytest.approx(mechanism.other)


@pytest.mark.parametrize("mechanism", [*SMALL, HadamardResponse(5, 1.0)], ids=repr)
def test_estimate_is_unbiased_with_the_stated_variance(mechanism):
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.ones(mechanism.k))
    n = 40_000
    x = rng.choice(mechanism.k, n, p=p)
    estimate = mechanism.estimate(mechanism.sample(x, rng))
    deviation = (estimate - p) / np.sqrt(mechanism.variance(p, n))
    assert np.abs(deviation).max() < 4.5
    parts = [mechanism.estimate(mechanism.sample(part, rng)) for part in x.reshape(400, 100)]
    assert np.var(parts, axis=0) == pytest.approx(mechanism.variance(p, 100), rel=0.35)


def test_sampler_follows_the_matrix():
    mechanism = SubsetSelection(4, 2, 1.3)
    dense = mechanism.dense()
    reports = mechanism.sample(np.zeros(60_000, dtype=int), np.random.default_rng(1))
    share = [np.mean((reports == label).all(axis=1)) for label in dense.outputs]
    assert share == pytest.approx(dense.matrix[0], abs=0.01)


def test_large_k_needs_no_matrix():
    rng = np.random.default_rng(0)
    k = 500
    for mechanism in (UnaryEncoding.oue(k, 1.0), LocalHashing(k, 3, 1.0), SubsetSelection(k, 134, 1.0)):
        assert mechanism.estimate(mechanism.sample(np.arange(500), rng)).shape == (500,)
        with pytest.raises(ValueError, match="2\\^500 columns"):
            mechanism.dense()


def test_best_subset_size_is_near_k_over_e_epsilon_plus_one():
    assert SubsetSelection.best(100, 1.0).m == pytest.approx(100 / (math.e + 1), abs=1)


def test_hadamard_response_is_private_and_pickles():
    response = HadamardResponse(6, 1.5)
    assert response.epsilon() == pytest.approx(1.5)
    assert pickle.loads(pickle.dumps(response)) == response
    assert isinstance(response, Mechanism)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UnaryEncoding(3, 0.2, 0.3), "kappa must be at least lam"),
        (lambda: UnaryEncoding(3, 0.2, 0.0), "lam must lie between 0 and 1"),
        (lambda: UnaryEncoding(3, 1.2, 0.1), "kappa must be a probability, not 1.2"),
        (lambda: UnaryEncoding(1, 0.5, 0.1), "k must be a whole number >= 2, not 1"),
        (lambda: LocalHashing(3, 1, 1.0), "g must be"),
        (lambda: SubsetSelection(3, 3, 1.0), "m must be less than k = 3"),
        (lambda: HadamardResponse(3, -1.0), "epsilon"),
        (lambda: SubsetSelection(3, 1, 1.0).sample([3], np.random.default_rng(0)), "from 0 to 2, not 3"),
        (lambda: SubsetSelection(3, 1, 1.0).variance([0.5, 0.5], 3), "3 entries, one per input, not 2"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
