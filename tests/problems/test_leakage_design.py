"""Design under a leakage budget: known optima, nothing beats them, certificates, bad input."""

import copy
import math

import numpy as np
import pytest

from ldpopt import Status, load, solve, verify
from ldpopt.checker import frame, reading
from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms.histograms import HistogramQuantization, HistogramRandomizedResponse, histograms
from ldpopt.problems import LeakageDesign
from ldpopt.theory.leakage import measures as leakage


@pytest.mark.parametrize("index", range(4))
def test_examples(index: int, tmp_path) -> None:
    case, optimum, _ = list(LeakageDesign.examples())[index]
    result = solve(case)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(optimum, abs=1e-9)
    assert result.bound <= result.value
    assert verify(result)
    result.save(tmp_path / "design.json")
    assert load(tmp_path / "design.json").to_json() == result.to_json()
    assert frame.main(str(tmp_path / "design.json")) == 0


@pytest.mark.parametrize(("tau", "d", "interval"), [(3, 2, 2), (3, 3, 2), (2, 4, 2)])
def test_no_mechanism_of_the_paper_beats_the_optimum(tau: int, d: int, interval: int) -> None:
    quantisation = HistogramQuantization(tau, d, interval)
    budget = quantisation.sml()
    response = HistogramRandomizedResponse.for_leakage(tau, d, budget)
    result = solve(LeakageDesign(tau, d, budget))
    assert verify(result)
    assert result.bound <= min(quantisation.distortion(), response.distortion()) + 1e-9
    secrets = histograms(tau, d)[:, 0].tolist()
    leaked = leakage.statistic_maximal_leakage(result.mechanism.matrix, secrets)
    assert leaked.high <= budget + 1e-12


def test_own_secret() -> None:
    """Where all histograms share one secret, the data itself may be released."""
    result = solve(LeakageDesign(2, 3, 0.0, secrets=["same"] * 6))
    assert result.value == pytest.approx(0, abs=1e-12)
    assert verify(result)


def test_tampering_is_refuted() -> None:
    result = solve(LeakageDesign(2, 2, math.log(2)))
    honest = result.to_json()
    assert all(claim.holds for claim in frame.check(honest))

    def refuted(change) -> bool:
        document = copy.deepcopy(honest)
        change(document)
        return not all(claim.holds for claim in frame.check(document))

    assert refuted(lambda doc: doc.update(value=doc["value"] - 1e-9))
    assert refuted(lambda doc: doc.update(bound=doc["bound"] + 1e-9))
    assert refuted(lambda doc: doc["params"].update(budget=doc["params"]["budget"] - 1e-9))
    assert refuted(lambda doc: doc["mechanism"].update(matrix=np.eye(3).tolist()))
    assert refuted(lambda doc: doc["certificate"]["proof"].update(cuts=[]))
    assert refuted(lambda doc: doc["certificate"]["proof"].update(prior=[0.0, 0.0, 0.0]))
    assert refuted(lambda doc: doc["certificate"]["proof"]["cuts"][0].update(weight=9.0))
    for key, value in (("prior", [2.0, 0.0, 0.0]), ("cuts", [{"weight": -1.0}]), ("privacy", None)):
        broken = copy.deepcopy(honest)
        broken["certificate"]["proof"][key] = value
        with pytest.raises(reading.UnreadableError):
            frame.check(broken)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tau": 2, "d": 2, "budget": -1}, "budget must be a finite number > 0, not -1"),
        ({"tau": 2.5, "d": 2, "budget": 1}, "tau must be a whole number"),
        (
            {"tau": 2, "d": 2, "budget": 1, "secrets": [0]},
            "secrets must be 3 labels, for 3 histograms, not 1",
        ),
        ({"tau": 100, "d": 50, "budget": 1}, "too many to list"),
    ],
)
def test_bad_input(params, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        LeakageDesign(**params)
