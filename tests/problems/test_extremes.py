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

ALMOST = 9.999999929999994e-10
CANCELLING = [
    ("staircase", {"epsilon": 18.0, "prior": [1 - 2.5e-7, 2.5e-7]}),
    ("staircase", {"epsilon": 29.9, "prior": [1 - 7e-8, 1e-8, 3e-9, 5.7e-8]}),
    (
        "secret-staircase",
        {
            "epsilon": 1e-3,
            "hypotheses": [
                [[0.9999999929999994, ALMOST, ALMOST, ALMOST], [ALMOST] * 4],
                [
                    [
                        5.766182409174334e-09,
                        0.004385831892230826,
                        0.9580640149759231,
                        8.740236154170194e-07,
                    ],
                    [
                        1.23601097585925e-06,
                        0.03670770779230129,
                        0.0008397595387631321,
                        5.700000080249163e-07,
                    ],
                ],
            ],
            "utility": "kl",
        },
    ),
]
"""Utilities that are small differences of large numbers: floats tell them to a part in 10^8."""

WIDE = [
    ("frequency-encoding", {"epsilon": epsilon, "encoding": encoding, "inputs": 65_536})
    for encoding in ("unary", "subset", "hashing")
    for epsilon in LEVELS
]
"""Encodings of as many inputs as are allowed."""


RARE = [1 - 2e-12, 1e-12, 1e-12]
GUESSING = {"guessing": {"prior": RARE}}
PROGRAMS = [
    ("program", {"privacy": [{name: {"epsilon": epsilon, **more}}], "maximise": GUESSING})
    for epsilon in LEVELS
    for name, more in (("pml", {"prior": RARE}), ("given", {"shape": [3, 1]}))
]


NUMBERS = [
    ("numeric-mean", {"epsilon": epsilon, "points": points})
    for epsilon, points in ((1e-6, 3), (0.01, 9), (12.0, 5))
]


def cases():
    """Parameters by kind: levels of 1e-6 and 20, probabilities of 1e-12, 1e-3 to 1e12 samples."""
    for epsilon in LEVELS:
        yield "staircase", {"epsilon": epsilon, "prior": RARE}
        yield "staircase", {"epsilon": epsilon, "hypotheses": PAIR, "utility": "kl"}
        yield "secret-staircase", {"epsilon": epsilon, "prior": RARE_TABLE}
        for kind in ("circulant-fidelity", "square-fidelity", "broad-fidelity"):
            yield kind, {"epsilon": epsilon, "inputs": 7}
        for loss in ("mse", "f-divergence", "tv"):
            yield "fidelity", {"epsilon": epsilon, "prior": RARE, "loss": loss}
            yield "minimax-fidelity", {"epsilon": epsilon, "inputs": 5, "p0": 1e-12, "loss": loss}
        yield "robust-fidelity", {"epsilon": epsilon, "prior": [[x] for x in RARE]}
        margins = {"epsilon": epsilon, "queries": [[1, 1, 0, 0], [1, 0, 1, 0]]}
        yield "robust-fidelity", {**margins, "prior": RARE_TABLE}
        for n in (1e-3, 1e12):
            yield "robust-fidelity", {**margins, "p_hat": RARE_TABLE, "n": n}
        yield "asymptotic-utility", {"epsilon": epsilon, "dirichlet": [0.5, 0.5, 0.5]}
        both = {"epsilon": epsilon, "dirichlet": [1.0, 1.0], "min_average_privacy": 0.01}
        yield "privacy-utility-frontier", both
        nearly_known = {"dirichlet": [0.1, 1e4], "min_average_privacy": 1 - 1e-6}
        yield "privacy-utility-frontier", {"epsilon": max(epsilon, 1e-3), **nearly_known}
        for table, n in ((RARE_TABLE, 1e-3), (TABLE, 1e12), (RARE_TABLE, 1e12)):
            set_ = {"epsilon": epsilon, "p_hat": table, "n": n}
            yield "polyopt", set_
            if table is RARE_TABLE:
                yield "robust-optimum", set_
            for kind in REPORTING[:2]:
                for calibrate in (False, True):
                    yield kind, {**set_, "calibrate": calibrate}
    yield "polyopt", {"epsilon": 1e-4, "p_hat": RARE_TABLE, "n": 1e12}  # its rays are lost in rounding
    rough = {"p_hat": [[0.3, 0.2], [0.1, 0.4]]}
    yield "polyopt", {"epsilon": 1e-4, "n": 1e9, **rough}  # dual numbers of 1000 that cancel
    for calibrate in (False, True):
        set_ = {"p_hat": RARE_TABLE, "calibrate": calibrate}
        yield "ue-conditional", {"epsilon": 1e-6, "n": 1e12, **set_}
        yield "ue-conditional", {"epsilon": 12.0, "n": 1e-3, **set_}
    yield "ue-conditional", {"epsilon": 1e-6, "p_hat": TABLE, "n": 1e12, "calibrate": True}
    yield "ue-conditional", {"epsilon": 1e-5, "n": 1e11, "calibrate": True, **rough}
    tables = [[[0.7, 0.2], [0.1 - 1e-12, 1e-12]], [[0.25, 0.25], [0.25, 0.25]]]
    yield "secret-staircase", {"epsilon": 1e-6, "hypotheses": tables, "utility": "bayes"}
    yield from CANCELLING
    yield from WIDE
    yield "leakage-design", {"tau": 2, "d": 2, "leakage": 0.0, "epsilon": 1e-6}
    yield "leakage-design", {"tau": 2, "d": 3, "leakage": 20.0}
    yield "leakage-design", {"tau": 3, "d": 3, "leakage": 1e-12}
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
    yield from PROGRAMS
    yield from NUMBERS
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


def test_columns_that_a_method_of_highs_takes_for_one_are_solved_by_another():
    """At such a level columns differ by a part in a million, and the primal simplex method gives up."""
    table = [
        [0.030156156758319026, 7.975224602843594e-06, 1.7956827351445567e-07, 0.06619875794855211],
        [0.3200530578434189, 0.00022389579815605917, 0.10432219885949548, 0.47903777799918207],
    ]
    other = [
        [6.768205236419307e-07, 0.22104628636706936, 1.1709543394784253e-05, 5.549243492869715e-09],
        [1.3764442563527839e-08, 0.21608048963878465, 1.0054505702683343e-06, 0.5628598128659713],
    ]
    asked = {"hypotheses": [table, other], "utility": "renyi", "order": 9.0}
    test_genuine_results_verify("secret-staircase", {"epsilon": 2.454902300977987e-06, **asked})
