"""Genuine results of every kind verify at extreme but legal parameters."""

import math

import pytest
from known import TABLE

from ldpopt import solve, verify
from ldpopt.problems import PROBLEMS

RARE = [1 - 3e-12, 1e-12, 2e-12]
PAIR = [[0.5, 0.5 - 1e-12, 1e-12], [1e-12, 0.5, 0.5 - 1e-12]]
RARE_TABLE = [[0.5, 1e-12], [1e-12, 0.5 - 2e-12]]
LEVELS = (1e-6, 20.0)
REPORTING = ("independent-reporting", "grr-conditional", "ue-conditional")


def cases():
    """Parameters by kind: levels of 1e-6 and 20, probabilities of 1e-12, 1e-3 to 1e12 samples."""
    for epsilon in LEVELS:
        yield "staircase", {"epsilon": epsilon, "prior": RARE}
        yield "staircase", {"epsilon": epsilon, "hypotheses": PAIR, "utility": "kl"}
        yield "secret-staircase", {"epsilon": epsilon, "prior": RARE_TABLE}
        for kind in ("circulant-fidelity", "square-fidelity", "broad-fidelity"):
            yield kind, {"epsilon": epsilon, "k": 7}
        for loss in ("mse", "f-divergence", "tv"):
            yield "fidelity", {"epsilon": epsilon, "p": RARE, "loss": loss}
            yield "minimax-fidelity", {"epsilon": epsilon, "k": 5, "p0": 1e-12, "loss": loss}
        yield "robust-fidelity", {"epsilon": epsilon, "prior": [[x] for x in RARE]}
        margins = {"epsilon": epsilon, "queries": [[1, 1, 0, 0], [1, 0, 1, 0]]}
        yield "robust-fidelity", {**margins, "prior": RARE_TABLE}
        for n in (1e-3, 1e12):
            yield "robust-fidelity", {**margins, "p_hat": RARE_TABLE, "n": n}
        yield "asymptotic-utility", {"epsilon": epsilon, "alpha": [0.5, 0.5, 0.5]}
        both = {"epsilon": epsilon, "alpha": [1.0, 1.0], "min_average_privacy": 0.01}
        yield "privacy-utility-frontier", both
        for table, n in ((RARE_TABLE, 1e-3), (TABLE, 1e12), (RARE_TABLE, 1e12)):
            set_ = {"epsilon": epsilon, "p_hat": table, "n": n}
            yield "polyopt", set_
            if table is RARE_TABLE:
                yield "robust-optimum", set_
            for kind in REPORTING[:2]:
                for calibrate in (False, True):
                    yield kind, {**set_, "calibrate": calibrate}
    for calibrate in (False, True):
        set_ = {"p_hat": RARE_TABLE, "calibrate": calibrate}
        yield "ue-conditional", {"epsilon": 1e-6, "n": 1e12, **set_}
        yield "ue-conditional", {"epsilon": 12.0, "n": 1e-3, **set_}
    yield "ue-conditional", {"epsilon": 1e-6, "p_hat": TABLE, "n": 1e12, "calibrate": True}
    rough = {"p_hat": [[0.3, 0.2], [0.1, 0.4]], "n": 1e11, "calibrate": True}
    yield "ue-conditional", {"epsilon": 1e-5, **rough}
    tables = [[[0.7, 0.2], [0.1 - 1e-12, 1e-12]], [[0.25, 0.25], [0.25, 0.25]]]
    yield "secret-staircase", {"epsilon": 1e-6, "hypotheses": tables, "utility": "bayes"}
    yield "leakage-design", {"tau": 2, "d": 2, "budget": 0.0, "epsilon": 1e-6}
    yield "leakage-design", {"tau": 2, "d": 3, "budget": 20.0}
    yield "leakage-design", {"tau": 3, "d": 3, "budget": 1e-12}
    rows = [[1 - 1e-12, 1e-12], [0.5, 0.5], [1e-12, 1 - 1e-12]]
    yield "statistic-leakage", {"matrix": rows, "secrets": [0, 0, 1]}
    for set_ in (
        {"kind": "known", "p": RARE_TABLE},
        {"kind": "total-variation", "p_hat": RARE_TABLE, "radius": 1e-9},
        {"kind": "likelihood", "p_hat": RARE_TABLE, "radius": 1e-9},
        {"kind": "credible", "counts": [[10**6, 0], [0, 10**6]], "alpha": 1e-9},
    ):
        yield "robust-level", {"matrix": [*rows, [0.5, 0.5]], "uncertainty": set_}
        if set_["kind"] == "known":
            for epsilon in LEVELS:
                yield "set-optimum", {"epsilon": epsilon, "uncertainty": set_}
    marginals = [[0.5, 0.5], [1e-12, 1 - 1e-12]]
    yield "composition-bound", {"marginals": marginals, "threshold": 1e-12}
    yield "feature-release", {"threshold": 1e-12, "budget": 1e-12, "marginals": marginals}


CASES = list(cases())


def test_every_kind_is_here():
    assert {kind for kind, _ in CASES} == set(PROBLEMS)


@pytest.mark.parametrize(
    ("kind", "params"), CASES, ids=[f"{i}-{kind}" for i, (kind, _) in enumerate(CASES)]
)
def test_genuine_results_verify(kind, params):
    result = solve(PROBLEMS[kind].from_params(**params), time_limit=600)
    assert math.isfinite(result.value)
    found = verify(result, budget=600)  # that much only on a machine busy with other work
    assert found.verdict is True, found


@pytest.mark.slow
@pytest.mark.parametrize("calibrate", [False, True])
def test_unary_encoding_at_the_highest_level_verifies(calibrate):
    """The checker takes some ten seconds."""
    set_ = {"p_hat": RARE_TABLE, "n": 1e-3, "calibrate": calibrate}
    test_genuine_results_verify("ue-conditional", {"epsilon": 20.0, **set_})


def test_polyopt_at_the_highest_level_ends():
    """Rounding of the linear program is not worked off by more rounds of the same proof."""
    result = solve(PROBLEMS["polyopt"](20.0, TABLE, 1000))
    assert result.stats["iterations"] < 200
    assert result.value == pytest.approx(1.993418, abs=1e-6)
    assert verify(result)
