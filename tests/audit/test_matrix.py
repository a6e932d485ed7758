"""The audit of a mechanism that comes without a design, a question and a certificate."""

import math

import numpy as np
import pytest

from ldpopt import Mechanism, audit
from ldpopt.core.errors import InvalidInputError

MATRIX = [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize("given", [MATRIX, np.array(MATRIX), Mechanism(MATRIX)])
def test_a_matrix_is_measured_and_attacked(given):
    found = audit(given, samples=2000, seed=2)
    assert found["ldp"].value == pytest.approx(math.log(3), rel=1e-12)
    assert not found.claims
    assert found.passed is not True
    assert found.passed is not False
    assert "NO PROMISE WAS CHECKED: there is no certificate" in found.verdict
    assert found.empirical[0].bound.epsilon <= math.log(3)
    first, level, *_, rest = str(found).splitlines()
    assert (first, level) == (found.verdict, "  LDP level ≈ 1.099 nats")
    assert rest == f"  {len(found.measures) - 5} more in .measures"


def test_a_sampler_of_another_mechanism_is_caught():
    rng = np.random.default_rng(0)
    honest = Mechanism([[1.0, 0.0], [0.0, 1.0]])
    found = audit(MATRIX, samples=2000, seed=1, sampler=lambda x: honest.sample(x, rng))
    assert found.passed is False
    assert "the given sampler" in found.verdict


def test_what_is_no_mechanism_or_has_no_columns_is_refused():
    with pytest.raises(InvalidInputError, match="row"):
        audit([[0.5, 0.4], [0.5, 0.5]])
    with pytest.raises(InvalidInputError, match="data need a design"):
        audit(MATRIX, data="table.csv")
