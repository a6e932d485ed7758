"""The reporting protocols of the catalogue: privacy theorems, samplers, utilities."""

import known
import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.mechanisms import (
    grr_conditional_reporting,
    independent_reporting,
    randomized_response,
    ue_conditional_reporting,
)
from ldpopt.models.uncertainty_sets import Chi2Set

TABLE = np.array(known.TABLE)


def test_independent_reporting_is_a_product():
    first, second = randomized_response(3, 1.0), randomized_response(2, 0.5)
    both = independent_reporting(first, second)
    assert both.matrix[3, 2] == pytest.approx(first.matrix[1, 1] * second.matrix[1, 0])
    assert both.epsilon() == pytest.approx(1.5)


def test_conditional_reporting_by_definition():
    protocol = grr_conditional_reporting(TABLE, 1.0, [2.0, 3.0, 4.0])
    block, first = randomized_response(3, 3.0).matrix, randomized_response(3, 1.0).matrix
    column = protocol.outputs.index((1, 2))
    drawn = TABLE[1] / TABLE[1].sum() @ block[:, 2]
    expected = [first[0, 1] * drawn] * 3 + list(first[1, 1] * block[:, 2]) + [first[2, 1] * drawn] * 3
    assert protocol.matrix[:, column] == pytest.approx(expected)


def test_theorems_17_and_19():
    F = Chi2Set(TABLE, 1000, 0.05)
    levels = [float(np.log1p(2 * np.expm1(0.4) / ball.l1_bound())) for ball in F.conditionals]
    assert rldp_level(grr_conditional_reporting(TABLE, 0.6, levels), F).level <= 1.0
    kappa = 0.7
    lam = kappa / (kappa + (1 - kappa) * np.exp(0.6))
    protocol = ue_conditional_reporting(TABLE, kappa, lam, levels).mechanism()
    assert rldp_level(protocol, F).level <= 1.0


def test_the_sampler_draws_from_the_matrix():
    protocol = ue_conditional_reporting(TABLE, 0.8, 0.3, [1.0, 2.0, 3.0])
    dense, rng = protocol.mechanism(), np.random.default_rng(0)
    reports = protocol.sample(np.full(200_000, 4), rng)
    codes = np.ravel_multi_index(tuple((reports + 1).T), (4, 4, 4))
    frequencies = np.bincount(codes, minlength=64) / len(codes)
    assert np.abs(frequencies - dense.matrix[4]).max() < 0.004


def test_many_secrets_need_no_matrix():
    p_hat = np.full((40, 5), 1 / 200)
    protocol = ue_conditional_reporting(p_hat, 0.5, 0.1, [1.0] * 40)
    assert protocol.outputs == 6**40
    assert protocol.sample([0, 199], np.random.default_rng(0)).shape == (2, 40)
    with pytest.raises(InvalidInputError, match="use its sampler"):
        protocol.mechanism()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: grr_conditional_reporting(TABLE, 1.0, [1.0]),
            "there must be 3 blocks, one per secret, not 1",
        ),
        (lambda: ue_conditional_reporting(TABLE, 0.2, 0.5, [1.0] * 3), "lambda <= kappa"),
        (
            lambda: grr_conditional_reporting(TABLE, 1.0, [randomized_response(2, 1.0)] * 3),
            r"blocks\[0\] must have 3 inputs, not 2",
        ),
        (lambda: grr_conditional_reporting([[1.0], [0.0]], 1.0, [1.0, 1.0]), "a positive entry"),
    ],
)
def test_bad_input(build, words):
    with pytest.raises(InvalidInputError, match=words):
        build()
