"""The default estimate and its interval: known values, and coverage over tables of many shapes."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from ldpopt.measures.estimators import confidence_intervals
from ldpopt.measures.frequency_intervals import score_intervals
from ldpopt.mechanisms import randomized_response

SHAPES = [(2, 2), (2, 5), (3, 4), (5, 1), (10, 1), (4, 12), (31, 1), (10, 9), (12, 36), (6, 72)]


def subsets(k, epsilon, rng):
    """Three times as many reports as inputs, each of some inputs: the turns of random subsets."""
    E = np.exp(epsilon)
    chosen = np.zeros((3, k))
    for row in chosen:
        row[rng.choice(k, max(1, round(k / (E + 1))), replace=False)] = 1
    columns = np.array([np.roll(row, i) for row in chosen for i in range(k)])
    W = 1 + (E - 1) * columns.T
    return W / W.sum(axis=1, keepdims=True)


def frequencies_of(shape):
    a1, a2 = shape
    cells = np.eye(a1 * a2)
    if a2 == 1:
        return cells
    return np.vstack([np.repeat(np.eye(a1), a2, axis=1), np.tile(np.eye(a2), a1), cells])


def coverage(shape, runs, seed=0):
    """The share of intervals that hold: two mechanisms and levels, 100 and 5000 reports, half sparse."""
    rng, k = np.random.default_rng(seed), shape[0] * shape[1]
    C, held = frequencies_of(shape), []
    for epsilon in (1.0, 3.0):
        for W in (randomized_response(k, epsilon).matrix, subsets(k, epsilon, rng)):
            for run in range(runs):
                P = rng.dirichlet(np.full(k, 0.1 if run % 2 else 1.0))
                counts = rng.multinomial(5000 if run % 4 < 2 else 100, P @ W)
                found = score_intervals(W, counts, C, 0.95)
                known = found.determined
                inside = (found.low <= C @ P + 1e-9) & (C @ P <= found.high + 1e-9)
                held.append(inside[known])
    return float(np.concatenate(held).mean())


@pytest.mark.parametrize("seen", [0, 3, 10])
def test_data_as_they_are_have_wilsons_interval(seen):
    """With the continuity correction."""
    found = score_intervals(np.eye(2), np.array([seen, 10 - seen]), np.eye(2), 0.95)
    known = binomtest(seen, 10).proportion_ci(0.95, method="wilsoncc")
    assert (found.low[0], found.high[0]) == pytest.approx((known.low, known.high))
    assert found.value[0] == pytest.approx(seen / 10)


def test_randomised_response_by_hand():
    """(share − 1/4)/(1/2), with the variance 1/4 · 4 − v² + v² + … of one report at v, ± 2/2n."""
    W = np.array([[0.75, 0.25], [0.25, 0.75]])
    found = score_intervals(W, np.array([600, 400]), np.eye(2), 0.95)
    assert found.value == pytest.approx([0.7, 0.3])
    for end, nearest in ((found.low[0], 0.699), (found.high[0], 0.701)):
        law = 0.25 + end / 2
        assert (nearest - end) ** 2 == pytest.approx(1.959964**2 * 4 * law * (1 - law) / 1000, rel=1e-5)


def test_the_estimate_is_unbiased_and_efficient():
    rng = np.random.default_rng(0)
    W, P = subsets(12, 2.0, rng), rng.dirichlet(np.ones(12))
    found = [score_intervals(W, c, np.eye(12), 0.95).value for c in rng.multinomial(50_000, P @ W, 200)]
    J = (W / (P @ W)) @ W.T
    deviation = np.sqrt(np.diag(np.linalg.inv(J)) - P**2) / np.sqrt(50_000)
    uncut = P > 4 * deviation
    assert uncut.sum() > 3
    assert np.abs(np.mean(found, axis=0) - P)[uncut].max() < 5 * deviation.max() / np.sqrt(200)
    assert np.std(found, axis=0)[uncut] == pytest.approx(deviation[uncut], rel=0.25)


@pytest.mark.parametrize("shape", [(2, 5), (10, 1), (4, 12)])
def test_coverage(shape):
    assert 0.93 <= coverage(shape, 60) <= 0.98


@pytest.mark.slow
def test_coverage_over_ten_shapes():
    """What the tutorial states: every shape at least 93 % of the intervals at a nominal 95 %."""
    found = {shape: coverage(shape, 20 if shape[0] * shape[1] > 100 else 200) for shape in SHAPES}
    print({f"{a} × {b}": round(share, 3) for (a, b), share in found.items()})
    assert min(found.values()) >= 0.93


def exact_coverage(k, epsilon, rare, n, level, simultaneous):
    """The probability that the interval of a rare value covers it: a sum over its binomial report.

    The other reports are as expected.
    """
    W = randomized_response(k, epsilon).matrix
    p = np.append(np.full(k - 1, rare), 1 - (k - 1) * rare)
    q, covered = p @ W, 0.0
    for seen, chance in enumerate(binom.pmf(np.arange(n + 1), n, q[0])):
        if chance < 1e-9:
            continue
        rest = np.floor((n - seen) * q[1:] / q[1:].sum())
        counts = np.concatenate([[seen], rest[:-1], [n - seen - rest[:-1].sum()]])
        low, high = confidence_intervals(W, counts, level=level, simultaneous=simultaneous)
        covered += chance * (low[0] <= rare <= high[0])
    return covered


@pytest.mark.parametrize("rare", [0.001, 0.002, 0.005, 0.02])
@pytest.mark.parametrize("epsilon", [3.0, 6.0, 8.0])
def test_rare_values_are_covered_exactly(epsilon, rare):
    """Intervals with the variance at the estimate cover 23 to 94 % here, at a nominal 95 %."""
    assert exact_coverage(5, epsilon, rare, 200, 0.95, False) > 0.95
    assert exact_coverage(5, epsilon, rare, 200, 0.95, True) > 0.99


@pytest.mark.slow
def test_rare_values_are_covered_over_a_grid():
    """Without the continuity correction there are dips to 85 %, where a value is expected 0.2 times."""
    grid = [
        (e, p, n) for e in (2, 4, 6, 8, 10) for p in np.geomspace(5e-4, 0.05, 9) for n in (200, 1000)
    ]
    single = [exact_coverage(5, e, p, n, 0.95, False) for e, p, n in grid]
    print(min(single), np.mean(single))
    assert np.mean(single) > 0.96
    assert min(single) > 0.94
    assert min(exact_coverage(5, e, p, n, 0.95, True) for e, p, n in grid) > 0.99


def test_an_estimate_below_zero_has_an_interval_that_is_no_point():
    W = randomized_response(3, 1.0).matrix
    found = score_intervals(W, np.array([540, 500, 160]), np.eye(3), 0.5)
    assert found.value[2] < -0.1
    assert found.low[2] == 0
    assert found.high[2] > 0.005
