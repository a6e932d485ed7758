"""Whatever draws takes a generator, or the seed of one."""

import numpy as np
import pytest

from ldpopt import mechanisms
from ldpopt.measures.posterior import posterior
from ldpopt.models.priors import Dirichlet

FLIP = mechanisms.randomized_response(2, 1.0)
DRAWS = [
    lambda rng: FLIP.sample([0, 1] * 20, rng),
    lambda rng: mechanisms.UnaryEncoding(9, 0.5, 0.2).sample([0, 8], rng),
    lambda rng: mechanisms.LocalHashing(9, 3, 1.0).sample([0, 8], rng),
    lambda rng: mechanisms.SubsetSelection(9, 3, 1.0).sample([0, 8], rng),
    lambda rng: mechanisms.HistogramRandomizedResponse(99, 9, 0.1).release([99] + [0] * 8, rng),
    lambda rng: Dirichlet([1, 2]).sample(3, rng),
    lambda rng: posterior(FLIP, Dirichlet([1, 1]), [3, 4]).draws(2, rng),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_seed_is_a_whole_number(draw):
    assert np.array_equal(draw(7), draw(np.random.default_rng(7)))
    assert not np.array_equal(draw(7), draw(8))
