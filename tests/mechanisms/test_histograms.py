"""Histogram mechanisms: closed forms against full enumeration, samplers, and sizes of real data."""

import math

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures import leakage
from ldpopt.mechanisms import HistogramMaxL, HistogramQuantization, HistogramRandomizedResponse
from ldpopt.mechanisms.histograms import distances, histograms, log_count, random_histogram

SIZES = [(tau, d) for d in (2, 3, 4) for tau in range(1, 7 if d < 4 else 5)]


def measured_distortion(mechanism) -> float:
    """Lemma 1, from the matrix."""
    space = histograms(mechanism.tau, mechanism.d)
    return float((mechanism.mechanism().matrix * distances(space, space)).sum(axis=1).max())


def measured_sml(mechanism) -> float:
    secrets = histograms(mechanism.tau, mechanism.d)[:, 0].tolist()
    low, high = leakage.statistic_maximal_leakage(mechanism.mechanism().matrix, secrets)
    assert low == high
    return low


def test_known_values() -> None:
    response = HistogramRandomizedResponse(4, 3, 2.5)
    assert math.exp(response.sml()) == pytest.approx(2.708392482013, abs=1e-12)
    assert response.distortion() == pytest.approx(0.381934586331, abs=1e-12)
    cases = [HistogramQuantization(6, 3, interval) for interval in range(1, 8)]
    assert [round(math.exp(case.sml())) for case in cases] == [7, 4, 3, 2, 2, 2, 1]
    expected = [1 / 2, 7 / 12, 7 / 12, 2 / 3, 2 / 3, 3 / 4, 3 / 4]
    assert [case.distortion() for case in cases] == pytest.approx(expected)


def test_printed_distortion_of_quantisation_is_wrong() -> None:
    tau, d, interval = 6, 3, 1
    printed = 1 / 2 + (d * (interval // 2) - tau) / (2 * tau * (d - 1))
    assert printed == pytest.approx(1 / 4)
    assert measured_distortion(HistogramQuantization(tau, d, interval)) == pytest.approx(1 / 2)


@pytest.mark.parametrize(("tau", "d"), SIZES)
def test_quantisation_by_enumeration(tau: int, d: int) -> None:
    for interval in range(1, tau + 2):
        mechanism = HistogramQuantization(tau, d, interval)
        assert mechanism.distortion() == pytest.approx(measured_distortion(mechanism), abs=1e-12)
        assert mechanism.sml() == pytest.approx(measured_sml(mechanism), abs=1e-9)


@pytest.mark.parametrize(("tau", "d"), SIZES)
def test_response_by_enumeration(tau: int, d: int) -> None:
    mechanism = HistogramRandomizedResponse(tau, d, 1.7)
    assert mechanism.distortion() == pytest.approx(measured_distortion(mechanism), abs=1e-12)
    assert mechanism.sml() == pytest.approx(measured_sml(mechanism), abs=1e-9)
    secrets = histograms(tau, d)[:, 0].tolist()
    level = leakage.indistinguishability(mechanism.mechanism().matrix, secrets)
    assert level == pytest.approx(1.7)


def test_maxl_by_enumeration() -> None:
    mechanism = HistogramMaxL(5, 3, 2)
    low, high = mechanism.distortion_bounds()
    assert mechanism.distortion() == pytest.approx(measured_distortion(mechanism))
    assert low <= mechanism.distortion() <= high
    assert mechanism.sml() == pytest.approx(measured_sml(mechanism))


def test_maxl_with_all_histograms_does_not_release_the_original() -> None:
    """Wang et al. 2024, VI-A: with the largest cost, its rule stops once no member lowers that."""
    apart = distances(histograms(4, 3), histograms(4, 3))
    cost, chosen = np.full(len(apart), np.inf), 0
    while (after := np.minimum(cost[:, None], apart)).max(axis=0).min() < cost.max():
        cost, chosen = after[:, after.max(axis=0).argmin()], chosen + 1
    assert cost.max() > 0
    assert chosen < len(apart) / 2


def test_comparison_theorem_fails_for_small_intervals() -> None:
    """Wang et al. 2024, Theorem 4: the limit is (d−1)²(I−1)/(d(d−2)I), at least 1 iff I ≥ (d−1)²."""
    tau, d = 10**7, 4
    for interval, response_wins in ((2, True), (8, True), (9, False), (20, False)):
        quantisation = HistogramQuantization(tau, d, interval)
        response = HistogramRandomizedResponse.for_leakage(tau, d, quantisation.sml())
        ratio = response.distortion() / quantisation.distortion()
        limit = (d - 1) ** 2 * (interval - 1) / (d * (d - 2) * interval)
        assert ratio == pytest.approx(limit, abs=1e-5)
        assert (limit < 1) == response_wins


def test_census_size() -> None:
    tau, d = 48_842, 22_381
    response = HistogramRandomizedResponse(tau, d, 4.0)
    assert response.sml() == pytest.approx(0, abs=1e-12)
    assert response.distortion() == pytest.approx((d - 1) / d)
    threshold = log_count(tau, d)
    assert HistogramRandomizedResponse(tau, d, threshold + 20).distortion() < 1e-8
    assert HistogramRandomizedResponse(tau, d, threshold + 60).sml() == pytest.approx(math.log(tau + 1))
    quantisation = HistogramQuantization(tau, d, 10_000)
    assert quantisation.sml() == math.log(5)
    data = random_histogram(tau, d, np.random.default_rng(1))
    for mechanism in (response, quantisation, HistogramMaxL(tau, d, 10_000)):
        released = mechanism.release(data, np.random.default_rng(0))
        assert released.sum() == tau
        assert released.min() >= 0
        assert len(released) == d


@pytest.mark.parametrize(
    "mechanism", [HistogramRandomizedResponse(3, 3, 1.5), HistogramQuantization(3, 3, 2)]
)
def test_samplers_follow_the_matrix(mechanism) -> None:
    rng = np.random.default_rng(7)
    matrix = mechanism.mechanism()
    data = (0, 1, 2)
    expected = matrix.matrix[matrix.inputs.index(data)]
    draws = 6_000
    index = {label: i for i, label in enumerate(matrix.outputs)}
    seen = np.zeros(len(index))
    for _ in range(draws):
        seen[index[tuple(mechanism.release(data, rng).tolist())]] += 1
    assert (seen[expected == 0] == 0).all()
    error = np.abs(seen / draws - expected)
    assert (error <= 5 * np.sqrt(expected * (1 - expected) / draws)).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: HistogramQuantization(6, 3, 0), "interval must be a whole number >= 1, not 0"),
        (lambda: HistogramQuantization(6, 3, 8), "at most tau \\+ 1 = 7, not 8"),
        (lambda: HistogramQuantization(0, 3, 1), "tau must be a whole number >= 1, not 0"),
        (lambda: HistogramQuantization(6, 1, 1), "d must be a whole number >= 2, not 1"),
        (lambda: HistogramRandomizedResponse(6, 3, -1), "epsilon must be a finite number > 0"),
        (lambda: HistogramQuantization(48842, 22381, 5).mechanism(), "too many to list"),
        (lambda: HistogramRandomizedResponse.for_leakage(4, 3, 2.0), "below log"),
        (
            lambda: HistogramQuantization(2, 2, 1).release([1, 2], np.random.default_rng(0)),
            "sum to 2",
        ),
    ],
)
def test_bad_input(build, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        build()
