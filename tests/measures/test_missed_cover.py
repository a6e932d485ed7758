"""Coverage by symmetric choices: the bounds against every choice of sets."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt.measures.misspecified_support import cover_bounds, reach_matrix, subset_ratios


def coverage(reach, own, choice):
    """From the definition: Σ_S of the best P(S given B), plus what each secret adds itself."""
    ratios = subset_ratios(len(reach) - 1)
    k = len(reach) - 1
    total = sum(own[len(B)] for B in choice)
    for i in range(k + 1):
        every = len(list(combinations(range(k), i)))
        for S in combinations(range(k), i):
            around = [B for B in choice if set(S) <= set(B)]
            chances = [reach[len(B), i] / (ratios[len(B), i] * every) for B in around]
            total += max(chances, default=0.0)
    return total


@given(
    secrets=st.integers(1, 3),
    k=st.integers(0, 3),
    seed=st.integers(0, 1000),
    extra=st.booleans(),
)
@settings(max_examples=40)
def test_the_bounds_enclose_the_best_choice(secrets, k, seed, extra):
    rng = np.random.default_rng(seed)
    ways = np.log(rng.uniform(0.1, 2, k + 1))
    weights = [[np.exp(ways[i]) for i in range(b + 1)] for b in range(k + 1)]
    binomials = [[len(list(combinations(range(b), i))) for i in range(b + 1)] for b in range(k + 1)]
    among = np.log([np.dot(w, c) for w, c in zip(weights, binomials, strict=True)])
    reach = reach_matrix(ways, among)
    np.testing.assert_allclose(reach.sum(axis=1), 1)
    own = rng.uniform(0, 0.5, k + 1) if extra else np.zeros(k + 1)
    sets = [B for size in range(k + 1) for B in combinations(range(k), size)]
    best = max(coverage(reach, own, choice) for choice in product(sets, repeat=secrets))
    low, high = cover_bounds(reach, secrets, own=own)
    assert low - 1e-9 <= best <= high + 1e-6
    assert high <= best * np.e / (np.e - 1) + 1e-6  # the LP of a coverage is never further away
    assert cover_bounds(reach, secrets, own=own, free=0)[0] == 0


def test_disjoint_sets_are_tried():
    """Two secrets and two categories that always show: sets {0} and {1} cover 2, at random 1.5."""
    low, high = cover_bounds(np.eye(3), 2)
    assert low == pytest.approx(2)
    assert high == pytest.approx(2)
