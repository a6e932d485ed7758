"""``fidelity`` with more inputs than columns can be listed for: values, the bound of five numbers."""

import copy
import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from forgeries.contradicting import judged
from mpmath import iv
from second_checker import opinion
from second_checker.fidelity import affine_floor
from second_checker.intervals import bottom, interval, top

from ldpopt import problem, solve, verify
from ldpopt.checker.kernel.arithmetic import exp_above
from ldpopt.checker.kernel.proofs.fidelity_bounds import affine_bound
from ldpopt.measures import estimation_fidelity
from ldpopt.solvers._affine_prices import affine_proof


def drawn(k: int, concentration: float = 2.0) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(k, concentration))


@pytest.fixture(scope="module")
def seventeen() -> Any:
    return solve(problem("fidelity", prior=drawn(17), epsilon=0.5, loss="mse"))


def test_seventeen_inputs(seventeen: Any) -> None:
    """Random cyclic blocks have 259.9, and 255 is proven; before, 760.8 and 18.5."""
    assert 255.08 <= seventeen.bound <= seventeen.value <= 258.8
    assert seventeen.value == pytest.approx(
        estimation_fidelity.alpha(seventeen.mechanism, drawn(17), "mse"), rel=1e-9
    )
    assert verify(seventeen)
    assert set(seventeen.certificate.proof) == {"squares", "share", "beta"}


@pytest.mark.parametrize(
    ("k", "epsilon", "loss", "within"),
    [
        (17, 2.0, "mse", 0.05),
        (17, 1e-4, "tv", 0.01),
        (18, 8.0, "f-divergence", 0.02),
        (24, 0.3, "mse", 0.02),
    ],
)
def test_gaps(k: int, epsilon: float, loss: str, within: float) -> None:
    result = solve(problem("fidelity", prior=drawn(k), epsilon=epsilon, loss=loss), gap=within)
    assert result.solver == "design-climb"
    assert result.bound <= result.value <= result.bound * (1 + within)
    assert verify(result)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "epsilon"), [(100, 1.0), (200, 0.5)])
def test_up_to_two_hundred_inputs(k: int, epsilon: float) -> None:
    result = solve(problem("fidelity", prior=drawn(k), epsilon=epsilon, loss="mse"))
    assert result.value <= result.bound * 1.06
    assert verify(result)


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_the_bound_against_proven_optima(loss: str) -> None:
    """It lies below what is optimal over all listed columns, for mean squared error by a few percent."""
    for k, epsilon in ((5, 0.5), (6, 2.0)):
        best = solve(problem("fidelity", prior=drawn(k), epsilon=epsilon, loss=loss))
        bound, proof = affine_proof(drawn(k), loss, epsilon)
        assert proof is not None
        assert 0.7 * best.value < bound <= best.value
        assert loss == "f-divergence" or bound > 0.95 * best.value


def exact(p: np.ndarray) -> list[Fraction]:
    entries = [Fraction(x) for x in p.tolist()]
    return [x / sum(entries) for x in entries]


def test_the_lemma_against_all_vectors() -> None:
    """What depends on the size and the mass of a set is the sum over its inputs, set by set."""
    k, loss = 6, "mse"
    p, E = exact(drawn(k)), exp_above(1.0)
    bound, proof = affine_proof(drawn(k), loss, 1.0)
    assert proof is not None
    (a, b), (low, high) = ([Fraction(x) for x in proof[name]] for name in ("squares", "beta"))
    t = Fraction(proof["share"])
    r = [(1 - t) / k + t * x for x in p]
    assert sum(r) == 1
    for v in itertools.product((Fraction(1), E), repeat=k):
        mean = sum(x * y for x, y in zip(r, v, strict=True))
        left = sum((a + b * x) * (y - mean) ** 2 for x, y in zip(p, v, strict=True))
        paid = sum((low + high * x) * y for x, y in zip(p, v, strict=True))
        assert left <= paid * sum(x * y for x, y in zip(p, v, strict=True))
    own = sum(float(a + b * x) ** 0.5 * float(1 - y) for x, y in zip(p, r, strict=True))
    total = float(k * low + high)
    assert bound == pytest.approx(own**2 / total / float(1 - sum(x * x for x in p)), rel=1e-12)


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
@pytest.mark.parametrize(("k", "epsilon"), [(5, 1.0), (17, 0.5)])
def test_both_checkers_decide_the_five_numbers(loss: str, k: int, epsilon: float) -> None:
    """They prove the same, and a price that is a little lower proves nothing."""
    p = exact(drawn(k))
    _, proof = affine_proof(drawn(k), loss, epsilon)
    assert proof is not None
    for factor, holds in ((1.0, True), (1 - 1e-9, False)):
        proof["beta"][0] *= factor
        pairs = [[Fraction(x) for x in proof[name]] for name in ("squares", "beta")]
        first = affine_bound(p, exp_above(epsilon), loss, pairs[0], Fraction(proof["share"]), pairs[1])
        second = affine_floor(p, iv.exp(interval(Fraction(epsilon))), loss, proof)
        if holds:
            assert float(bottom(second)) <= float(top(second))
            assert float(first) == pytest.approx(float(bottom(second)), rel=1e-14)
        else:
            assert first is None
            assert second is False


def test_forgeries(seventeen: Any) -> None:
    document = json.loads(json.dumps(seventeen.to_json()))
    assert judged(document) == "verified"
    for change in (
        {"beta": [0.0, 1.0]},
        {"beta": [-1.0, 1.0]},
        {"beta": [1e308, -1e308]},
        {"squares": [1.0, -1e9]},
        {"squares": [1e300, 1e300]},
        {"share": 1.0},
    ):
        forged = copy.deepcopy(document)
        forged["certificate"]["proof"].update(change)
        assert judged(forged) == opinion(json.dumps(forged)) == "refuted", change
    for change in (
        {"share": 1.5},
        {"beta": [1.0] * 17},
        {"squares": [1.0]},
        {"Y": [[0.0] * 17] * 17},
        {"Share": 0.5},
    ):
        forged = copy.deepcopy(document)
        forged["certificate"]["proof"].update(change)
        assert judged(forged) == opinion(json.dumps(forged)) == "unreadable", change
