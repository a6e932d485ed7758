"""Two lemmas of Lopuhaä-Zwakenberg and Goseling 2021 on random instances."""

import math

import numpy as np
import pytest

from ldpopt.problems._robust.response_shares import of_distance


@pytest.mark.parametrize("seed", range(5))
def test_lemma_3_a_private_block_leaks_by_the_distance_of_the_laws(seed):
    """P(y)/P'(y) ≤ 1 + (e^δ − 1)/2 · ‖P − P'‖₁, reached by a response that tells P and P' apart."""
    rng = np.random.default_rng(seed)
    delta = float(rng.uniform(0.1, 3))
    column = rng.uniform(1, math.exp(delta), 5)
    for _ in range(50):
        p, q = rng.dirichlet(np.full(5, 0.3), 2)
        apart = float(np.abs(p - q).sum())
        assert p @ column / (q @ column) <= 1 + math.expm1(delta) / 2 * apart + 1e-12
    best = np.where(np.arange(5) == 0, math.exp(delta), 1.0)
    p, q = np.eye(5)[0], np.eye(5)[1]
    assert p @ best / (q @ best) == pytest.approx(1 + math.expm1(delta) / 2 * 2)


def test_theorem_15_a_limit_by_the_distance_is_lemma_3_solved_for_the_level():
    """With e^ε = 1 + d (e^δ − 1)/2, e^δ is (2 e^ε + d − 2)/d."""
    d, k, E = 0.7, 4, math.e
    top_slope, top, low_slope, low = of_distance(k, np.array([d]))[0]
    assert (top_slope, top, low_slope, low) == (2, d - 2, 2, k * d - 2)
    delta = math.log((top_slope * E + top) / d)  # the level that Lemma 3 allows
    assert 1 + d * math.expm1(delta) / 2 == pytest.approx(E)


@pytest.mark.parametrize("B", [1.0, 1.5, 10.0])
def test_lemma_21_is_nonincreasing(B):
    x = np.linspace(0, 1, 2001)
    g = (B * (1 - 2 * x) + np.sqrt(B * (B + 4 * x * (1 - x)))) / (B + 1)
    assert (np.diff(g) <= 1e-15).all()


def test_lemma_21_needs_b_of_at_least_one():
    x = np.linspace(0, 1, 2001)
    g = (0.5 * (1 - 2 * x) + np.sqrt(0.5 * (0.5 + 4 * x * (1 - x)))) / 1.5
    assert np.diff(g).max() > 1e-5
