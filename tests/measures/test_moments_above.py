"""Second moments bounded in floats: never below the truth, close to it, nothing where floats fail."""

from fractions import Fraction

import numpy as np
import pytest

from ldpopt.checker.kernel.proofs import second_moments
from ldpopt.measures.moments_above import moments_above


@pytest.mark.parametrize("seed", range(8))
def test_moments_in_floats_are_just_above_the_exact_ones(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    share = [0.9, 0.1, 1e-2, 1e-3][seed % 4]  # how much the rows differ: M is ill-conditioned
    rows = (1 - share) / (k + 3) + share * rng.dirichlet(np.ones(k + 3), size=k)
    rows = np.round(rows * 2.0**40) / 2.0**40
    rows[:, 0] += 1 - rows.sum(axis=1)  # exact: all are multiples of 2^−40
    p = [Fraction(int(x)) for x in rng.integers(1, 1000, size=k)]
    found, enclosed = moments_above(rows, p), second_moments.inverse_information(rows.tolist(), p)
    for i, above in enumerate(found):
        true = enclosed.fraction(i, i)
        assert true - enclosed.radius <= above <= true * (1 + Fraction(1, 10**4))


def test_what_cannot_be_inverted_has_no_bound():
    ones = [Fraction(1)] * 2
    assert moments_above(np.array([[0.5, 0.5], [0.5, 0.5]]), ones) is None
    assert moments_above(np.array([[1.0], [1.0]]), ones) is None
    assert moments_above(np.array([[0.5, 0.5], [0.5 - 2.0**-40, 0.5 + 2.0**-40]]), ones) is None
    assert moments_above(np.eye(2), ones) == pytest.approx([1, 1])
