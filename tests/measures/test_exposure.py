"""Exposure: known values, brute force, and the theorems as corrected."""

import math
from itertools import product

import numpy as np
import pytest
from future_exposure import statistical_exposure_ceiling
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import rel_entr

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.forms.searches import ThresholdSearch
from ldpopt.measures import exposure as ex
from ldpopt.measures import exposure_of_future_users as statistical
from ldpopt.measures.exposure_from_marginals import rule_bound
from ldpopt.models.utilities import entropy
from ldpopt.tables.datasets import adult_features

TABLE = [(1, 0)] * 4 + [(0, 0)] + [(0, 1)] * 4

distributions = st.lists(st.integers(1, 20), min_size=1, max_size=6).map(
    lambda counts: np.array(counts) / sum(counts)
)


def test_the_table_of_the_paper():
    assert ex.exposure_of_table(TABLE, None, 1 / 9) == 0
    assert ex.exposure_of_table(TABLE, None, 1 / 8) == 1 / 9
    assert ex.exposure_of_table(TABLE, None, 1 / 2) == 1
    assert ex.anonymity_level(TABLE) == 1
    assert ex.anonymity_level(TABLE, [0]) == 4
    np.testing.assert_array_equal(ex.exposure_of_table(TABLE, None, [1 / 9, 1 / 8]), [0, 1 / 9])


def test_strict_and_not():
    p = [0.5, 0.25, 0.25]
    assert ex.exposure(p, 0.25) == 0
    assert ex.exposure_at_most(p, 0.25) == 0.5
    assert ex.exposure_curve_of_table([(v,) for v in "aabc"]).thresholds.tolist() == [0.25, 0.5]


def test_adult():
    data = adult_features()
    joint = data.joint_distribution(data.joint_names)
    assert round(ex.exposure(joint, 1e-3) * 32561) == 671
    assert round(ex.exposure(joint, 1e-2) * 32561) == 4933


@given(p=distributions, t=st.floats(0, 1))
@settings(max_examples=50)
def test_exposure_is_its_definition(p, t):
    assert ex.exposure(p, t) == pytest.approx(sum(x for x in p if x < t), abs=1e-12)
    assert ex.exposure_at_most(p, t) == pytest.approx(sum(x for x in p if x <= t), abs=1e-12)


@pytest.mark.parametrize(
    ("p", "n", "k", "value"),
    [
        ([0.5, 0.3, 0.2], 8, 3, 0.24541852),
        ([0.4, 0.3, 0.2, 0.1], 128, 32, 0.294503206373),
        ([1, 0], 5, 5, 0.0),
        ([1, 0], 5, 6, 1.0),
        ([0.5, 0.5], 7, 0, 0.0),
        ([0.5, 0.5], 7, 1, 0.0),
        ([0.5, 0.5], 7, 8, 1.0),
        ([0.5, 0.5], 1, 2, 1.0),
    ],
)
def test_statistical_exposure(p, n, k, value):
    assert statistical.statistical_exposure(p, n, k) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("k", range(7))
def test_statistical_exposure_by_brute_force(k):
    p, n = [0.5, 0.3, 0.2], 5
    expected = 0.0
    for users in product(range(3), repeat=n):
        probability = math.prod(p[v] for v in users)
        expected += probability * sum(users.count(v) < k for v in users) / n
    assert statistical.statistical_exposure(p, n, k) == pytest.approx(expected, abs=1e-12)
    printed = np.dot(p, stats.binom.cdf(k, n, p))  # App. G; true is F(k−2; n−1, p)
    assert printed > expected + 0.05 or k > n - 1


def test_theorem_8_as_printed_is_false():
    """n = k = 100: the printed bound, with any constant linear in the support, is far too small."""
    p, q, n, k = [1, 0], [0.9999, 0.0001], 100, 100
    error = abs(statistical.statistical_exposure(p, n, k) - statistical.statistical_exposure(q, n, k))
    support = 2
    printed = support * (math.sqrt(math.e * (n + 1)) / (2 * math.sqrt(support - 1)) + 1) * 1e-4
    assert printed < error <= statistical.statistical_exposure_error(p, q, n, k)


@given(p=distributions, n=st.integers(1, 40), k=st.integers(0, 42), seed=st.integers(0, 99))
@settings(max_examples=80)
def test_theorem_8_corrected(p, n, k, seed):
    q = np.random.default_rng(seed).dirichlet(np.ones(len(p)))
    error = abs(statistical.statistical_exposure(p, n, k) - statistical.statistical_exposure(q, n, k))
    assert error <= statistical.statistical_exposure_error(p, q, n, k) + 1e-12


@given(
    p=distributions,
    n=st.integers(1, 40),
    k=st.integers(0, 42),
    reach=st.floats(0, 0.3),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_the_ceiling_is_the_largest_over_the_box(p, n, k, reach, seed):
    """By a grid over every box; it holds for members of it and refines the corrected Theorem 8."""
    found, gamma = statistical_exposure_ceiling(p, n, k, reach), math.sqrt(reach / 2)
    steps = np.linspace(np.maximum(p - gamma, 0), np.minimum(p + gamma, 1), 2001)
    inside = rel_entr(p, steps) + rel_entr(1 - p, 1 - steps) <= reach
    grid = (inside * steps * stats.binom.cdf(k - 2, n - 1, steps)).max(axis=0).sum()
    assert min(1, grid) - 1e-12 <= found <= min(1, grid) + 1e-3
    slopes = [
        max(1, (k - 1) * stats.binom.pmf(k - 1, n - 1, np.linspace(s[0], s[-1], 2001)).max())
        for s in steps.T
    ]
    linear = statistical.statistical_exposure(p, n, k) + (gamma * sum(slopes) if 1 < k else 0)
    assert found <= linear + 1e-3
    q = np.random.default_rng(seed).dirichlet(np.ones(len(p)))
    mixed = (p + (q - p) * 2.0**-halvings for halvings in range(60))
    near = (r for r in mixed if (rel_entr(p, r) + rel_entr(1 - p, 1 - r)).max() <= reach)
    q = next(near, p)
    assert statistical.statistical_exposure(q, n, k) <= found + 1e-9


def test_the_ceiling_counts_values_that_were_not_seen():
    whole = statistical_exposure_ceiling([0.6, 0.4, 0, 0, 0], 50, 5, 0.1)
    assert statistical_exposure_ceiling([0.6, 0.4], 50, 5, 0.1, support=5) == pytest.approx(whole)


@given(p=distributions, n=st.integers(2, 60), k=st.integers(2, 60), miss=st.floats(0.001, 0.5))
@settings(max_examples=60)
def test_a_threshold_for_future_users(p, n, k, miss):
    k = min(k, n)
    t = statistical.threshold_for_users(n, k, miss)
    assert stats.binom.cdf(k - 2, n - 1, t) == pytest.approx(miss, abs=1e-9)
    assert statistical.statistical_exposure(p, n, k) <= ex.exposure(p, t) + miss + 1e-9


@pytest.mark.parametrize("c", [0.9, 0.5, 0.1])
def test_theorem_4_the_slack_is_tight(c):
    """No exposure at all in the margins, c (1 − 1/m) in the joint; Theorem 3 proves c."""
    m = 256  # a power of 2: 1/m is a float
    joint = ex.slack_example(c, m)
    for margin in (joint.sum(axis=0), joint.sum(axis=1)):
        np.testing.assert_allclose(margin, 1 / m, rtol=1e-12)
        assert ex.exposure(margin, (1 - 1e-12) / m) == 0
    assert ex.exposure(joint.ravel(), c / m**2) == pytest.approx(c * (1 - 1 / m), rel=1e-9)
    uniform = (np.full(m, 1 / m),) * 2
    search = ThresholdSearch(uniform, c / m**2, "theorem-3")
    assert rule_bound(search, [1 / m, 1 / m]) == pytest.approx(c)


def test_the_estimate_covers_the_truth():
    rng, p = np.random.default_rng(1), [0.4, 0.3, 0.2, 0.1]
    truth = statistical.statistical_exposure(p, 128, 32)
    covered = 0
    for seed in range(40):
        counts = rng.multinomial(2000, p)
        found = statistical.estimate_statistical_exposure(counts, 128, 32, resamples=200, seed=seed)
        assert found.low <= truth <= found.high
        assert found.low <= found.bootstrap[0] <= found.bootstrap[1] <= found.high
        covered += found.bootstrap[0] <= truth <= found.bootstrap[1]
    assert covered >= 32


@given(p=distributions, t=st.floats(0.01, 0.99), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_theorem_5(p, t, seed):
    p_hat = np.random.default_rng(seed).multinomial(500, p) / 500
    gamma = ex.deviation(500, len(p), 0.05)
    interval = ex.exposure_interval(p_hat, t, 500)
    if np.abs(p - p_hat).max() <= gamma:
        assert interval.low - 1e-12 <= ex.exposure(p, t) <= interval.high + 1e-12


def test_samples_needed_inverts_deviation():
    n = ex.samples_needed(0.01, 7, 0.1)
    assert ex.deviation(n, 7, 0.1) <= 0.01 < ex.deviation(n - 1, 7, 0.1)


@given(p=distributions, t=st.floats(0.001, 0.999))
@settings(max_examples=50)
def test_proposition_9(p, t):
    assert ex.entropy_from_curve(ex.exposure_curve(p)) == pytest.approx(entropy(p), abs=1e-12)
    assert ex.exposure(p, t) <= ex.exposure_at_most(p, t) <= ex.entropy_bound(entropy(p), t) + 1e-12


def test_proposition_13_needs_the_non_strict_exposure():
    t, copies = 2.0**-16, 2**15
    p, budget = ex.entropy_bound_example(t, copies), -copies * t * math.log(t)
    assert ex.exposure(p, t) == 0
    assert ex.exposure_at_most(p, t) == pytest.approx(budget / -math.log(t))
    assert entropy(p) <= budget + 1 / math.e


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: ex.exposure([0.5, 0.5], 1.5), "1.5"),
        (lambda: ex.exposure([0.5, 0.5], "high"), "high"),
        (lambda: ex.exposure([0.5, 0.6], 0.5), "sums to 1.1"),
        (lambda: statistical.statistical_exposure([1.0], 0, 1), "n must be a whole number >= 1, not 0"),
        (lambda: statistical.statistical_exposure([1.0], 3, 1.5), "k must be a whole number"),
        (
            lambda: statistical.statistical_exposure_error([1.0], [0.5, 0.5], 3, 1),
            "as p_hat has, not 1",
        ),
        (
            lambda: statistical.estimate_statistical_exposure([0, 0], 3, 1),
            r"one of them > 0, not \[0, 0\]",
        ),
        (lambda: ex.exposure_interval([0.5, 0.5], 0.1, 10, support=1), "support must be at least 2"),
        (
            lambda: statistical.threshold_for_users(5, 6, 0.1),
            "k must be at most 5, the number of users, not 6",
        ),
        (lambda: statistical.threshold_for_users(5, 3, 1), "miss"),
        (lambda: ex.slack_example(1.5, 3), "c must lie"),
        (lambda: ex.deviation(10, 2, 0), "delta"),
        (lambda: ex.entropy_bound(1.0, 1), "t must lie"),
        (lambda: ex.entropy_bound_example(0.5, 2), "more probable than t = 0.5, which 2 copies do not"),
    ],
)
def test_bad_input(call, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        call()
