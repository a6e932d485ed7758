import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.measures import estimators
from ldpopt.mechanisms import binary_mechanism
from ldpopt.mechanisms.balanced_designs import DifferenceSet, step_mechanism, subset_selection, two_level


def test_known_water_filling() -> None:
    found = estimators.maximum_likelihood(step_mechanism(5, 1.5), [7, 5, 4, 3, 1])
    expected = [0.504471171111, 0.278274574568, 0.165176276297, 0.052077978025, 0]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[4] == 0


def test_squared_error_of_given_users_by_brute_force() -> None:
    W = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    users = [0, 0, 1, 2]
    error = 0.0
    for reports in product(range(3), repeat=len(users)):
        found = estimators.invert(W, np.bincount(reports, minlength=3))
        chance = math.prod(W[x, y] for x, y in zip(users, reports, strict=True))
        error += chance * float(((found - [0.5, 0.25, 0.25]) ** 2).sum())
    assert estimators.squared_error(W, [0.5, 0.25, 0.25], 4) == pytest.approx(error, rel=1e-12)
    with pytest.raises(InvalidInputError, match="frequencies must have 3 entries, one per input, not 2"):
        estimators.squared_error(W, [0.5, 0.5], 4)


def channels() -> list[Array]:
    rng = np.random.default_rng(0)
    fano = DifferenceSet("Fano", (7,), ((1,), (2,), (4,)))
    noisy = 0.4 * rng.dirichlet(np.ones(4), size=4) + 0.6 * step_mechanism(4, 1.0).matrix
    return [
        step_mechanism(6, 0.7).matrix,
        two_level(fano.blocks(), 1.0),
        subset_selection(5, 1.0, 2).matrix,
        noisy,
    ]


@pytest.mark.parametrize("W", channels(), ids=["step", "circulant", "subsets", "general"])
def test_optimality_conditions(W: Array) -> None:
    """ML: W(t/pW) ≤ 1 with equality on the support; MMSE: the gradient is least on the support."""
    rng = np.random.default_rng(1)
    counts = rng.multinomial(40, rng.dirichlet(np.ones(len(W))) @ W, size=200)
    t = counts / 40
    p = estimators.maximum_likelihood(W, counts)
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert ((t / (p @ W)) @ W.T).max() < 1 + 1e-9
    p = estimators.mmse(W, counts)
    gradient = (p @ W - t) @ W.T
    assert (gradient >= (p * gradient).sum(axis=1, keepdims=True) - 1e-10).all()


@pytest.mark.parametrize("W", channels(), ids=["step", "circulant", "subsets", "general"])
def test_against_a_general_solver(W: Array) -> None:
    rng = np.random.default_rng(2)
    k = len(W)
    t = rng.multinomial(15, np.full(k, 1 / k) @ W) / 15
    objectives = {
        "ml": lambda p: -float(t @ np.log(p @ W)),
        "mmse": lambda p: float(((t - p @ W) ** 2).sum()),
    }
    for name, objective in objectives.items():
        found = minimize(
            objective,
            np.full(k, 1 / k),
            bounds=[(0, 1)] * k,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        p = estimators.estimate(W, t, name)
        assert objective(p) <= found.fun + 1e-9
        np.testing.assert_allclose(p, found.x, atol=1e-3)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_projector(seed: int) -> None:
    """Where the inverted counts are a distribution, every estimator returns it.

    Pastore and Gastpar 2021, (10).
    """
    rng = np.random.default_rng(seed)
    W = 0.3 * rng.dirichlet(np.ones(4), size=4) + 0.7 * np.eye(4)
    p = rng.dirichlet(np.ones(4))
    for name in ("inversion", "projection", "ml", "mmse"):
        np.testing.assert_allclose(estimators.estimate(W, p @ W, name), p, atol=1e-8)


def test_step_forms_are_swapped_in_the_paper() -> None:
    """ML is max(0, η t − 1), MMSE max(0, (E + K − 1) t + η): the other way round than printed."""
    E, k, counts = math.exp(1.5), 5, np.array([7, 5, 4, 3, 1])
    t = counts / 20
    ml = estimators.maximum_likelihood(step_mechanism(k, 1.5), counts)
    support = ml > 0
    levels = ((E - 1) * ml[support] + 1) / t[support]
    np.testing.assert_allclose(levels, levels[0])
    mmse = estimators.mmse(step_mechanism(k, 1.5), counts)
    shifts = (E - 1) * mmse[mmse > 0] - (E + k - 1) * t[mmse > 0]
    np.testing.assert_allclose(shifts, shifts[0])


def test_expectation_maximisation_climbs_to_the_maximum() -> None:
    W, counts = channels()[3], np.array([3, 9, 4, 4])
    likelihoods = [
        counts @ np.log(estimators.iterative_bayesian_update(W, counts, iterations=n) @ W)
        for n in (1, 5, 50, 5000)
    ]
    assert likelihoods == sorted(likelihoods)
    best = counts @ np.log(estimators.maximum_likelihood(W, counts) @ W)
    assert likelihoods[-1] == pytest.approx(best, abs=1e-5)


def test_vectorised_equals_one_by_one() -> None:
    W = channels()[3]
    counts = np.random.default_rng(5).multinomial(30, np.full(4, 0.25) @ W, size=20)
    for name in estimators.ESTIMATORS:
        together = estimators.estimate(W, counts, name)
        alone = np.array([estimators.estimate(W, row, name) for row in counts])
        # expectation maximisation stops when the slowest row of the call has settled
        np.testing.assert_allclose(together, alone, atol=1e-7 if name == "bayes" else 1e-12)


def test_a_thousand_count_vectors_in_one_call() -> None:
    rng = np.random.default_rng(6)
    W = 0.3 * rng.dirichlet(np.ones(20), size=20) + 0.7 * step_mechanism(20, 1.0).matrix
    counts = rng.multinomial(5000, np.full(20, 0.05), size=1000)
    p = estimators.maximum_likelihood(W, counts)
    assert ((counts / 5000 / (p @ W)) @ W.T).max() < 1 + 1e-9


def test_a_million_reports_over_a_thousand_values() -> None:
    rng = np.random.default_rng(7)
    W = step_mechanism(1000, 3.0)
    truth = rng.dirichlet(np.ones(1000))
    reports = W.sample(rng.choice(1000, size=10**6, p=truth), rng)
    counts = np.bincount(reports, minlength=1000)
    for name in ("ml", "mmse", "inversion"):
        p = estimators.estimate(W, counts, name)
        assert np.abs(p - truth).sum() < (2.5 if name == "inversion" else 1.0)


def test_channels_with_zeros_and_few_outputs() -> None:
    np.testing.assert_array_equal(estimators.maximum_likelihood(np.eye(3), [3, 0, 7]), [0.3, 0, 0.7])
    never = [[0.6, 0.4, 0, 0], [0.1, 0.5, 0.4, 0], [0, 0.2, 0.8, 0]]
    np.testing.assert_allclose(estimators.maximum_likelihood(never, [3, 0, 7, 0]), [0.3, 0, 0.7])
    few = binary_mechanism([True, False, False], 1.0)
    for estimator in (estimators.maximum_likelihood, estimators.mmse):
        p = estimator(few, [4, 6])  # not unique, but every answer has the right output law
        np.testing.assert_allclose(p @ few.matrix, [0.4, 0.6])
    with pytest.raises(InvalidInputError, match="2 outputs for 3 inputs"):
        estimators.invert(few, [4, 6])


def test_covariance_is_that_of_the_inverted_counts() -> None:
    W, p, n = channels()[3], np.array([0.4, 0.3, 0.2, 0.1]), 50
    counts = np.random.default_rng(8).multinomial(n, p @ W, size=40_000)
    sampled = np.cov(estimators.invert(W, counts).T)
    expected = estimators.covariance(W, p, n)
    np.testing.assert_allclose(sampled, expected, atol=0.05 * expected.max())


def test_confidence_covers() -> None:
    W, p, n = channels()[2], np.array([0.3, 0.25, 0.2, 0.15, 0.1]), 2000
    draws = np.random.default_rng(9).multinomial(n, p @ W, size=400)
    simultaneous = single = 0
    for counts in draws:
        low, high = estimators.confidence_intervals(W, counts, level=0.9)
        simultaneous += bool(((low <= p) & (p <= high)).all())
        low, high = estimators.confidence_intervals(W, counts, level=0.9, simultaneous=False)
        single += int(low[0] <= p[0] <= high[0])
    assert simultaneous / 400 > 0.86
    assert 0.84 < single / 400 < 0.96


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ([1, 2], "must have 4 entries, one per output, not 2"),
        ([0, 0, 0, 0], "all zero"),
        ([1, -2, 3, 4], "counts must be at least 0, not -2"),
        ([1, math.nan, 3, 4], "must be a finite number"),
        ("abcd", "must be a list of numbers"),
    ],
)
def test_bad_counts(counts: object, complaint: str) -> None:
    for name in estimators.ESTIMATORS:
        with pytest.raises(InvalidInputError, match=complaint):
            estimators.estimate(channels()[3], counts, name)


def test_bad_names_and_levels() -> None:
    W = channels()[3]
    with pytest.raises(InvalidInputError, match="estimator must be one of"):
        estimators.estimate(W, [1, 1, 1, 1], "guess")
    with pytest.raises(InvalidInputError, match="level must lie between 0 and 1, not 95"):
        estimators.confidence_intervals(W, [1, 1, 1, 1], level=95)
    with pytest.raises(InvalidInputError, match="one vector here, not 2"):
        estimators.confidence_intervals(W, [[1, 1, 1, 1], [1, 1, 1, 1]])
