"""Asking for pairs and triples only where safe."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.solving import solve
from ldpopt.measures.exposure_curve import exposure
from ldpopt.problems import FeatureRelease
from ldpopt.protocol.ideal_hierarchy import ask_hierarchically, proven_exposure
from ldpopt.tables.datasets import adult_features


@given(seed=st.integers(0, 10_000), t=st.floats(0.005, 0.1), budget=st.floats(0, 0.5))
@settings(max_examples=25)
def test_every_question_and_the_release_are_safe(seed, t, budget):
    rng = np.random.default_rng(seed)
    joint = rng.multinomial(200, rng.dirichlet(np.full(36, 0.6))).reshape(2, 3, 3, 2) / 200

    def ask(subset):
        return joint.sum(axis=tuple(i for i in range(4) if i not in subset)).ravel()

    found = ask_hierarchically(ask, [1, 2, 3, 4], t, budget)
    for subset in found.known:
        if len(subset) > 1:
            assert exposure(ask(subset), t) <= budget + 1e-9
    if found.released:
        assert exposure(ask(found.released), t) <= found.exposure + 1e-9 <= budget + 2e-9
    marginals = [ask((j,)) for j in range(4)]
    alone = solve(FeatureRelease(t, budget, marginals=marginals, weights=[1, 2, 3, 4])).value
    assert sum(j + 1 for j in found.released) >= alone


def test_adult_releases_more_than_marginals_alone():
    data = adult_features()
    names = data.joint_names

    def ask(subset):
        return data.joint_distribution([names[j] for j in subset])

    found = ask_hierarchically(ask, [1] * 4, 1e-3, 0.05)
    marginals = [ask((j,)) for j in range(4)]
    alone = solve(FeatureRelease(1e-3, 0.05, marginals=marginals)).value
    assert len(found.released) >= alone
    assert exposure(ask(found.released), 1e-3) <= 0.05


def test_blocks_are_better_than_single_features():
    known = {(j,): np.full(4, 0.25) for j in range(3)}
    apart = proven_exposure(known, (0, 1, 2), 0.01)
    known[0, 1] = np.full(4, 0.25)
    assert proven_exposure(known, (0, 1, 2), 0.01) < apart


def test_bad_input():
    with pytest.raises(InvalidInputError, match="at least one feature"):
        ask_hierarchically(lambda s: [1.0], [], 0.1, 0.1)
    with pytest.raises(InvalidInputError, match=r"sums to 0\.5"):
        ask_hierarchically(lambda s: [0.5], [1], 0.1, 0.1)
