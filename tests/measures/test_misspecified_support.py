"""Misspecified supports: our bounds and the printed ones against full enumeration."""

import math

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures import leakage, misspecified_support
from ldpopt.measures.misspecified_support import MisspecifiedSupport
from ldpopt.mechanisms.histograms import (
    HistogramQuantization,
    HistogramRandomizedResponse,
    distances,
    histograms,
    log_count,
)

CASES = [(3, 2, 1), (4, 2, 1), (3, 3, 1), (3, 2, 2), (4, 3, 2)]
RANDOM = math.log(math.e / (math.e - 1))


def full_matrix(case: MisspecifiedSupport, weigh) -> tuple[np.ndarray, np.ndarray]:
    """From the definition: release over the known categories and those the data fall into."""
    space = histograms(case.tau, case.known + case.missed)
    rows = []
    for data in space:
        missing = (data == 0) & (np.arange(len(data)) >= case.known)
        allowed = (space[:, missing] == 0).all(axis=1)
        weights = allowed * weigh(data, space)
        rows.append(weights / weights.sum())
    return np.array(rows), space


def leaked(case: MisspecifiedSupport, weigh) -> float:
    """From the definition, by the search over all selections."""
    matrix, space = full_matrix(case, weigh)
    truth, proven = leakage.statistic_maximal_leakage(matrix, space[:, 0].tolist())
    assert truth == proven
    return truth


def response(epsilon: float):
    return lambda data, space: np.where((space == data).all(axis=1), math.exp(epsilon), 1.0)


def quantisation(case: MisspecifiedSupport, interval: int):
    mechanism = HistogramQuantization(case.tau, case.known, interval)
    return lambda data, space: space[:, 0] == mechanism.released_value(int(data[0]))


@pytest.mark.parametrize("size", CASES)
@pytest.mark.parametrize("epsilon", [0.5, 2.5])
def test_response(size: tuple[int, int, int], epsilon: float) -> None:
    case = MisspecifiedSupport(*size)
    truth, found = leaked(case, response(epsilon)), case.response_bounds(epsilon)
    assert found.low - 1e-9 <= truth <= found.high + 1e-9
    assert found.high - found.low < RANDOM
    assert truth <= case.response_upper(epsilon) + 1e-9
    matrix, space = full_matrix(case, response(epsilon))
    distortion = (matrix * distances(space, space)).sum(axis=1).max()
    low, high = case.response_distortion(epsilon)
    assert low - 1e-12 <= distortion <= high + 1e-12


@pytest.mark.parametrize("size", CASES)
def test_quantisation(size: tuple[int, int, int]) -> None:
    case = MisspecifiedSupport(*size)
    for interval in range(1, case.tau + 2):
        weigh = quantisation(case, interval)
        truth, found = leaked(case, weigh), case.quantisation_bounds(interval)
        assert found.low - 1e-9 <= truth <= found.high + 1e-9
        assert found.high - found.low < RANDOM
        assert truth <= case.quantisation_upper(interval) + 1e-9
        matrix, space = full_matrix(case, weigh)
        distortion = (matrix * distances(space, space)).sum(axis=1).max()
        low, high = case.quantisation_distortion(interval)
        assert low - 1e-12 <= distortion <= high + 1e-12


def test_nothing_missed_is_the_plain_mechanism() -> None:
    case = MisspecifiedSupport(5, 3, 0)
    plain = HistogramRandomizedResponse(5, 3, 2.0)
    for end in case.response_bounds(2.0):
        assert end == pytest.approx(plain.sml())
    for end in case.quantisation_bounds(2):
        assert end == pytest.approx(HistogramQuantization(5, 3, 2).sml())


@pytest.mark.parametrize(("known", "missed"), [(2, 1), (2, 2), (3, 1), (3, 2)])
@pytest.mark.parametrize("infeasible", [0, 1])
def test_proposition_3(known: int, missed: int, infeasible: int) -> None:
    """Definition 1: the leakage grows by at most log 2 (QM) or log 3 (RR) for every missed category."""
    tau, feasible = 4, known - infeasible + missed
    case = MisspecifiedSupport(tau, known, missed)
    for interval in range(1, tau + 2):
        aware = HistogramQuantization(tau, feasible, interval).sml()
        assert leaked(case, quantisation(case, interval)) - aware <= missed * math.log(2)
    for share in (1.0, 0.2):
        epsilon = math.log1p(share * math.exp(log_count(tau, known)) / (tau + 1))
        aware = HistogramRandomizedResponse(tau, feasible, epsilon).sml()
        assert leaked(case, response(epsilon)) - aware <= missed * math.log(3)


def test_printed_lower_bound_of_quantisation_fails() -> None:
    """Wang et al. 2024, Proposition 5, third case: it claims more than the exact leakage 17/6."""
    tau, known, missed, interval = 3, 2, 2, 2
    s, zeta = tau + 1, missed // interval
    base = (known + zeta - 2) / (tau * interval / (2 * s) + known - 1)
    printed = s - (s - -(-s // interval)) * base**zeta
    case = MisspecifiedSupport(tau, known, missed)
    exact = math.exp(leaked(case, quantisation(case, interval)))
    assert exact == pytest.approx(17 / 6)
    assert printed > 2.857 > exact


def test_census_size() -> None:
    """One missed category: both bounds meet."""
    case = MisspecifiedSupport(48_842, 22_380, 1)
    found = case.quantisation_bounds(10_000)
    assert found.high - found.low < 1e-9
    assert math.log(5) < found.low < case.quantisation_upper(10_000)
    response = case.response_bounds(4.0)
    assert response.high - response.low < 1e-9
    assert 0 < response.low <= case.response_upper(4.0)


def test_bounds_of_neighbouring_bins_taken_together(monkeypatch) -> None:
    """Fewer groups than bins: wider bounds around the same leakage."""
    case = MisspecifiedSupport(40, 4, 2)
    apart = case.quantisation_bounds(2)
    monkeypatch.setattr(misspecified_support, "MOST_GROUPS", 3)
    together = case.quantisation_bounds(2)
    assert together.low < apart.low <= apart.high < together.high


def test_bounds_have_no_limit() -> None:
    """Wang et al. 2024, Figs. 7(d), (e) and 9: 20 and 100 missed categories, millions of records."""
    for missed in (5, 20, 100):
        case = MisspecifiedSupport(48_842, 27_641 - missed, missed)
        found = case.quantisation_bounds(10_000)
        assert 0 <= found.high - found.low < 0.21
        assert found.high < case.quantisation_upper(10_000)
    five = MisspecifiedSupport(48_842, 27_641 - 5, 5)
    assert five.quantisation_bounds(10_000).low == pytest.approx(five.quantisation_bounds(10_000).high)
    many = MisspecifiedSupport(5_000_000, 120, 20)
    response = many.response_bounds(log_count(5_000_000, 120))
    assert 0 <= response.high - response.low < 0.1
    assert response.high < many.response_upper(log_count(5_000_000, 120))


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="missed must be a whole number >= 0, not -1"):
        MisspecifiedSupport(3, 2, -1)
    with pytest.raises(InvalidInputError, match="d must be a whole number"):
        MisspecifiedSupport(3, 1, 1)
