"""The best unbiased report of a number: known values, another conic program, brute force, forgeries."""

import itertools
import json
import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from second_checker import opinion

from ldpopt import problem, solve, verify
from ldpopt.checker.kernel.proofs.unbiased_reports import grid, least_variance, moments, worst_variance
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.engine.result import Result
from ldpopt.measures.numeric_report_variance import published_moments


def asked(epsilon, points, **prior):
    return solve(problem("numeric-mean", epsilon=epsilon, points=points, **prior))


def prior_of(k, seed, spread=1.0):
    shares = np.random.default_rng(seed).dirichlet(np.full(k, spread)) + 1e-6
    return (shares / shares.sum()).tolist()


@pytest.mark.parametrize(("points", "known"), [(3, 3.9327), (5, 3.9800), (9, 3.9878)])
def test_known_bounds(points, known):
    assert asked(1.0, points).bound == pytest.approx(known, abs=5e-5)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_bracket_on_nine_points_is_below_published_mechanisms_and_verified_twice(epsilon):
    result = asked(epsilon, 9)
    root, ratio = math.exp(epsilon / 2), math.exp(epsilon)
    duchi = ((ratio + 1) / (ratio - 1)) ** 2
    piecewise = 4 * root / (3 * (root - 1) ** 2)
    hybrid = (root + 3) / (3 * root * (root - 1)) + duchi / root if epsilon > 0.61 else duchi
    assert result.bound < result.value < min(duchi, piecewise, hybrid)
    assert result.value - result.bound <= 1.01 / 8**2  # h²/4
    assert verify(result)
    assert opinion(json.dumps(result.to_json())) == "verified"


def test_two_points_are_the_mechanism_of_duchi():
    result = asked(1.0, 2)
    assert result.value == pytest.approx(((math.e + 1) / (math.e - 1)) ** 2)
    assert result.bound == pytest.approx(((math.e + 1) / (math.e - 1)) ** 2 - 1)


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 4), (1.0, 5), (2.0, 6), (4.0, 5)])
def test_bound_is_the_optimum_of_the_program_over_all_columns(epsilon, k):
    columns = np.array(list(itertools.product((1, math.exp(epsilon)), repeat=k))).T
    x, n = np.linspace(-1, 1, k), 2**k
    theta, b, least = cp.Variable(n, nonneg=True), cp.Variable(n), cp.Variable()
    squares = cp.hstack([cp.quad_over_lin(b[j], theta[j]) for j in range(n)])
    limits = [columns @ theta == 1, columns @ b == x, columns @ squares <= least + x**2]
    cp.Problem(cp.Minimize(least), limits).solve(solver=cp.CLARABEL)
    assert asked(epsilon, k).bound == pytest.approx(float(least.value), rel=1e-5)


@pytest.mark.parametrize(("epsilon", "points"), [(1e-6, 3), (1e-3, 12), (30.0, 9), (30.0, 2)])
def test_extreme_levels(epsilon, points):
    result = asked(epsilon, points)
    assert verify(result)
    assert result.value <= 1.01 / math.tanh(epsilon / 2) ** 2
    assert result.bound > -1e-6


@pytest.mark.parametrize(
    ("epsilon", "k", "spread"), [(0.5, 4, 1), (1.0, 5, 0.1), (2.0, 6, 1), (4.0, 6, 0.1)]
)
def test_intervals_reach_the_optimum_over_all_columns_under_a_prior(epsilon, k, spread):
    columns = np.array(list(itertools.product((1, math.exp(epsilon)), repeat=k))).T
    x, n, prior = np.linspace(-1, 1, k), 2**k, np.array(prior_of(k, k, spread))
    theta, b, squares = cp.Variable(n), cp.Variable(n), cp.Variable(n)
    cone = cp.SOC(theta + squares, cp.vstack([2 * b, theta - squares]), axis=0)
    least = (prior @ columns) @ squares - prior @ x**2
    model = cp.Problem(cp.Minimize(least), [columns @ theta == 1, columns @ b == x, cone])
    model.solve(solver=cp.CLARABEL)
    found = asked(epsilon, k, prior=prior.tolist())
    assert found.value == pytest.approx(model.value, rel=1e-5)
    assert found.bound == pytest.approx(found.value, rel=1e-7)
    assert verify(found)
    assert opinion(json.dumps(found.to_json())) == "verified"


@pytest.mark.parametrize(
    ("epsilon", "points"),
    [(0.5, 41), (1.0, 41), (2.0, 41), (4.0, 41), pytest.param(1.0, 101, marks=pytest.mark.slow)],
)
def test_the_bracket_on_many_points_is_that_of_the_interval(epsilon, points):
    found = asked(epsilon, points)
    assert found.value - found.bound <= 1.01 / (points - 1) ** 2
    prior = prior_of(points, 1, 0.3)
    found = asked(epsilon, points, prior=prior)
    assert found.value - found.bound <= 1e-7 * found.value
    x = np.linspace(-1, 1, points)
    assert min(prior @ (m - x**2) for m in published_moments(epsilon, x).values()) > found.value


def test_value_is_the_mean_variance_of_the_rounded_report():
    prior = prior_of(5, 3)
    found = asked(2.0, 5, prior=prior)
    reports, mean = np.array(found.mechanism.outputs), 0.0
    for x, p, row in zip(found.mechanism.inputs, prior, found.mechanism.matrix, strict=True):
        assert row @ reports == pytest.approx(x, abs=1e-12)
        mean += p * (row @ reports**2 - x**2)
    assert found.value == pytest.approx(mean, rel=1e-9)


def test_value_is_the_largest_variance_of_the_rounded_report():
    mechanism = asked(2.0, 5).mechanism
    reports = np.array(mechanism.outputs)
    means, squares = moments(mechanism.matrix.tolist(), mechanism.outputs)
    exact = worst_variance(means, squares)
    largest = 0.0
    for x in np.linspace(-1, 1, 4001):
        i = min(int((x + 1) * 2), 3)
        share = (x - mechanism.inputs[i]) / 0.5
        row = (1 - share) * mechanism.matrix[i] + share * mechanism.matrix[i + 1]
        assert row @ reports == pytest.approx(x, abs=1e-12)
        largest = max(largest, row @ reports**2 - x**2)
    assert largest == pytest.approx(float(exact), rel=1e-6)
    assert largest <= float(exact) + 1e-12


def test_the_few_columns_of_lemma_3_decide_as_all_columns_do():
    rng = np.random.default_rng(1)
    for _ in range(300):
        k = int(rng.integers(2, 6))
        x, E = grid(k), Fraction(float(rng.uniform(1.1, 9.0)))
        weights = [Fraction(int(w)) for w in rng.integers(1, 9, k)]
        weights = [w / sum(weights) for w in weights]
        beta = rng.normal(size=k) * 2
        listed = [np.array(v) for v in itertools.product((1.0, float(E)), repeat=k)]
        needed = max((beta @ v) ** 2 / (4 * (np.array(weights, float) @ v) * v.sum()) for v in listed)
        for factor in (1 - 1e-9, 1 + 1e-9):
            found = least_variance(x, E, [factor * needed] * k, beta.tolist(), weights)
            assert (found is not None) == (factor > 1)


def forged(change, **prior):
    document = json.loads(json.dumps(asked(1.0, 3, **prior).to_json()))
    change(document)
    return document


def lower_value(document):
    document["value"] -= 1e-9


def raise_bound(document):
    document["bound"] += 1e-6


def scale_reports(document):
    document["mechanism"]["outputs"] = [0.999 * r for r in document["mechanism"]["outputs"]]


def widen_reports(document):
    """Unbiased after rounding to the means, but the inputs are not where their names say."""
    document["mechanism"]["outputs"] = [2 * r for r in document["mechanism"]["outputs"]]
    document["value"] *= 5


def lower_alpha(document):
    document["certificate"]["proof"]["alpha"][0] -= 1e-6


def swap_inputs(document):
    document["mechanism"]["inputs"].reverse()


def unnamed_reports(document):
    del document["mechanism"]["outputs"]


def zero_weight(document):
    weights = document["certificate"]["proof"]["weights"]
    weights[0], weights[1] = 0.0, weights[0] + weights[1]


def short_proof(document):
    document["certificate"]["proof"]["alpha"].pop()


@pytest.mark.parametrize("change", [lower_value, raise_bound, scale_reports, widen_reports, lower_alpha])
def test_both_checkers_refute(change):
    document = forged(change)
    document["gap"] = abs(document["bound"] - document["value"]) / document["value"]
    assert not verify(Result.from_json(document))
    assert opinion(json.dumps(document)) == "refuted"


@pytest.mark.parametrize("change", [swap_inputs, unnamed_reports, zero_weight, short_proof])
def test_neither_checker_reads(change, tmp_path):
    document = forged(change)
    (tmp_path / "forged.json").write_text(json.dumps(document))
    with pytest.raises(UnreadableFileError):
        verify(tmp_path / "forged.json")
    assert opinion(json.dumps(document)) == "unreadable"


PRIOR = [0.2, 0.5, 0.3]


def other_prior(document):
    """A prior under which the same mechanism and proof claim too much."""
    document["params"]["prior"] = [0.5, 0.2, 0.3]


def states_weights(document):
    document["certificate"]["proof"]["weights"] = PRIOR


def doubtful_prior(document):
    document["params"]["prior"] = [0.0, 0.7, 0.3]


def short_prior(document):
    document["params"]["prior"] = [0.5, 0.5]


@pytest.mark.parametrize("change", [lower_value, raise_bound, scale_reports, lower_alpha, other_prior])
def test_both_checkers_refute_under_a_prior(change):
    document = forged(change, prior=PRIOR)
    document["gap"] = abs(document["bound"] - document["value"]) / document["value"]
    assert not verify(Result.from_json(document))
    assert opinion(json.dumps(document)) == "refuted"


@pytest.mark.parametrize("change", [states_weights, doubtful_prior, short_prior, short_proof])
def test_neither_checker_reads_under_a_prior(change, tmp_path):
    document = forged(change, prior=PRIOR)
    (tmp_path / "forged.json").write_text(json.dumps(document))
    with pytest.raises(UnreadableFileError):
        verify(tmp_path / "forged.json")
    assert opinion(json.dumps(document)) == "unreadable"


@pytest.mark.parametrize("points", [1, 102, 3.5, "3", True])
def test_points_that_are_no_grid_are_refused(points):
    with pytest.raises(InvalidInputError, match="points must be a whole number from 2 to 101"):
        problem("numeric-mean", epsilon=1.0, points=points)


def test_a_mean_of_reports_estimates_the_mean_of_the_data():
    mechanism, rng = asked(1.0, 9).mechanism, np.random.default_rng(0)
    data = rng.choice(9, p=rng.dirichlet(np.ones(9)), size=200_000)
    reports = np.array(mechanism.outputs)[mechanism.sample(data, rng)]
    error = reports.std() / math.sqrt(len(reports))
    assert abs(reports.mean() - np.array(mechanism.inputs)[data].mean()) <= 4 * error
