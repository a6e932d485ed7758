"""Pastore and Gastpar 2021, Lemmas 1 and 12, Theorem 5 and ν₂, ν₃, against enumeration."""

import math

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.measures import estimation_fidelity, finite_reports, losses
from ldpopt.measures.estimators import invert, maximum_likelihood, mmse
from ldpopt.mechanisms.balanced_designs import step_mechanism
from ldpopt.mechanisms.listings import compositions

W = np.array([[0.6, 0.25, 0.15], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
P = np.array([0.4, 0.35, 0.25])
FLIP = [[0.75, 0.25], [0.25, 0.75]]


def enumerated(n: int) -> tuple[Array, Array]:
    counts = compositions(n, 3).astype(np.float64)
    return counts, losses.multinomial(counts, P @ W)


def test_the_exponent_is_the_distance_to_the_boundary() -> None:
    """(55): the least D(rW ‖ pW) over the faces of the simplex, by a fine grid."""
    share = np.linspace(0, 1, 20001)[:, None]
    q = P @ W
    nearest = math.inf
    for missing in range(3):
        i, j = (k for k in range(3) if k != missing)
        law = share * W[i] + (1 - share) * W[j]
        nearest = min(nearest, float((law * np.log(law / q)).sum(axis=1).min()))
    assert finite_reports.exit_exponent(W, P) == pytest.approx(nearest, abs=1e-8)


@pytest.mark.parametrize("n", [1, 3, 10, 30, 60])
def test_the_inverted_counts_leave_the_simplex_as_rarely_as_stated(n: int) -> None:
    counts, weights = enumerated(n)
    leaves = float(weights[(invert(W, counts) < -1e-12).any(axis=1)].sum())
    assert leaves <= finite_reports.exit_bound(W, P, n) * (1 + 1e-12)
    assert finite_reports.exit_bound(W, P, n) <= 3 * math.exp(-n * finite_reports.exit_exponent(W, P))


def test_lemma_1_as_printed_is_false() -> None:
    """One report: the inverted counts are never a distribution, yet e^{−D} = 0.877."""
    assert (invert(FLIP, np.eye(2)).min(axis=1) < 0).all()
    assert math.exp(-finite_reports.exit_exponent(FLIP, [0.5, 0.5])) == pytest.approx(0.877, abs=0.001)
    assert finite_reports.exit_bound(FLIP, [0.5, 0.5], 1) == 1


def test_the_exponent_is_the_rate() -> None:
    """−log P/n comes near D, from above, as n grows."""
    rates = []
    for n in (50, 200):
        counts, weights = enumerated(n)
        leaves = float(weights[(invert(W, counts) < -1e-12).any(axis=1)].sum())
        rates.append(-math.log(leaves) / n)
    exponent = finite_reports.exit_exponent(W, P)
    assert exponent - math.log(3) / 200 < rates[1] < rates[0]
    assert rates[1] < 1.5 * exponent


def test_a_mechanism_without_noise_never_leaves() -> None:
    assert finite_reports.exit_exponent(np.eye(3), P) == math.inf
    assert finite_reports.exit_bound(np.eye(3), P, 5) == 0


@pytest.mark.parametrize("estimator", [maximum_likelihood, mmse])
@pytest.mark.parametrize("n", [2, 20, 80])
def test_lemma_12(estimator, n: int) -> None:  # type: ignore[no-untyped-def]
    """The moments of the estimate and of the inverted counts differ by at most the stated bound."""
    counts, weights = enumerated(n)
    plain, projected = invert(W, counts), estimator(W, counts)
    for order in (1, 2, 3, 4):
        moments = [weights @ (n * (estimate - P)) ** order for estimate in (plain, projected)]
        assert (np.abs(moments[1] - moments[0]) <= finite_reports.moment_gap_bound(W, P, n, order)).all()
    assert (finite_reports.moment_gap_bound(W, P, 2000, 2) < 1e-20).all()


@pytest.mark.parametrize("loss", ["kl", "mse", "tv"])
def test_theorem_5(loss: str) -> None:
    """A second channel loses at n = 40 and 100; at n = 1 it may gain, so n must be large."""
    rng = np.random.default_rng(0)
    small = []
    for _ in range(6):
        V = 0.7 * np.eye(3) + 0.3 * rng.dirichlet(np.ones(3), size=3)
        small.append(finite_reports.degradation(W, V, P, 1, loss, "ml"))
        assert finite_reports.degradation(W, V, P, 40, loss, "ml") > 0
        assert finite_reports.degradation(W, V, P, 100, loss, "mmse") > 0
    assert min(small) < 0
    turned = np.eye(3)[[1, 2, 0]]
    assert finite_reports.degradation(W, turned, P, 30, loss, "ml") == pytest.approx(0, abs=1e-9)


def test_the_moment_generating_function_of_79() -> None:
    """E e^{λZ} of a standardised entry of p̌ tends to e^{+λ²/2}; printed is e^{−λ²/2}."""
    n, rate = 300, 0.7
    counts, weights = enumerated(n)
    entry = invert(W, counts)[:, 0]
    deviation = math.sqrt((estimation_fidelity.second_moments(W, P)[0] - P[0] ** 2) / n)
    found = float(weights @ np.exp(rate * (entry - P[0]) / deviation))
    assert found == pytest.approx(math.exp(rate**2 / 2), rel=0.01)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_closed_forms_of_the_step_mechanism(order: int, epsilon: float) -> None:
    """ν₁, ν₂ and ν₃ of Section 5 against their definition (13)."""
    p = np.array([0.5, 0.25, 0.125, 0.125])
    closed = estimation_fidelity.step_moments(epsilon, p, order)
    np.testing.assert_allclose(
        closed, estimation_fidelity.moments(step_mechanism(4, epsilon), p, order), rtol=1e-10
    )


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="order 1, 2 and 3, not 4"):
        estimation_fidelity.step_moments(1.0, P, 4)
    with pytest.raises(InvalidInputError, match="square mechanism"):
        finite_reports.exit_exponent([[0.5, 0.25, 0.25], [0.2, 0.4, 0.4]], [0.5, 0.5])
    with pytest.raises(InvalidInputError, match="n must be a whole number"):
        finite_reports.exit_bound(W, P, 0)
