"""Files about exposure that claim what is false. Each says why it is; neither checker verifies one."""

import json
from functools import cache

import pytest
from forgeries.contradicting import judged
from second_checker import opinion

from ldpopt import problem, solve

MARGINALS = [[0.6, 0.3, 0.1], [0.9, 0.1]]
TABLE = [[0, 0, 0]] * 4 + [[1, 0, 1]] + [[1, 1, 2]] * 4
QUESTIONS = {
    "rule": ("composition-bound", {"marginals": MARGINALS, "threshold": 0.05, "method": "theorem-3"}),
    "worst": ("composition-bound", {"marginals": MARGINALS, "threshold": 0.05, "method": "worst-joint"}),
    "best": ("composition-bound", {"marginals": MARGINALS, "threshold": 0.01}),
    "release": (
        "feature-release",
        {"threshold": 0.125, "budget": 0.0, "table": TABLE, "weights": [2.0, 1.0, 5.0]},
    ),
}


@cache
def _solved(name):
    kind, params = QUESTIONS[name]
    return json.dumps(solve(problem(kind, **params)).to_json())


def restate(document, **numbers):
    """Claim other numbers, with the gap and the status that fit."""
    document.update(numbers)
    value, bound = document["value"], document["bound"]
    document["gap"] = abs(bound - value) / max(abs(value), abs(bound), 1e-4)
    document["status"] = "optimal" if document["gap"] <= 1e-9 else "gap"


def _leaves(document):
    """The leaves of the proof tree, wherever the method has it."""
    found = (
        document["certificate"]["proof"]
        if document["answer"].get("rule") is None
        else document["answer"]
    )
    return [node for node in found["tree"] if "dual" in node]


def _opposite_prices(document):
    for leaf in _leaves(document):
        leaf["dual"][0] += 1e17
        leaf["dual"][-1] -= 1e17
    restate(
        document,
        **dict.fromkeys(("value", "bound") if "rule" in document["answer"] else ("bound",), 0.0),
    )


def _absorbing_price(document):
    for leaf in _leaves(document):
        leaf["dual"][:] = [-1e17] * len(leaf["dual"])
    restate(document, bound=0.0, value=0.0)


def _negative_prize(document):
    for leaf in _leaves(document):
        leaf["cuts"] = [[0, -1e9]]


def _huge_prize(document):
    for leaf in _leaves(document):
        leaf["cuts"] = [[0, 1e300]]
    restate(document, bound=0.0, value=0.0)


def _joint(document):
    return (
        document["answer"]
        if "cells" in document["answer"]
        else document["certificate"]["proof"]["joint"]
    )


def _joint_off_by_a_little(document):
    joint = _joint(document)
    joint["masses"] = [mass + "0" * 12 for mass in joint["masses"]]
    joint["denominator"] += "0" * 12
    joint["masses"][0] = str(int(joint["masses"][0]) + 1)


def _cell_twice(document):
    joint = _joint(document)
    joint["cells"][1] = joint["cells"][0]


def _no_denominator(document):
    _joint(document)["denominator"] = "0"


def _digits_of_another_script(document):
    _joint(document)["denominator"] = "１００"


def _value_too_low(document):
    restate(document, value=document["value"] - 1e-9, bound=document["bound"] - 1e-9)


def _bound_too_high(document):
    restate(document, value=document["value"] + 1e-9, bound=document["value"] + 1e-9)


def _thresholds_beyond_one(document):
    document["answer"]["thresholds"] = [10.0, 10.0]


def _a_heavier_set(document):
    document["answer"] = {"features": [0, 1], "exposure": 0.0}
    restate(document, value=3.0, bound=3.0)


def _a_conflict_that_is_safe(document):
    document["certificate"]["proof"]["conflicts"].append([1])
    document["answer"] = {"features": []}
    restate(document, value=0.0, bound=0.0)


def _nothing_conflicts(document):
    document["certificate"]["proof"]["conflicts"] = [[]]
    document["answer"] = {"features": []}
    restate(document, value=0.0, bound=0.0)


def _a_feature_twice(document):
    document["answer"]["features"] = [0, 0]
    restate(document, value=4.0, bound=4.0)


def _negative_weight(document):
    document["params"]["weights"][2] = -5.0


FORGERIES = [
    (
        "worst",
        _opposite_prices,
        "prices ±L cancel in one cell only; a joint with 0.15 in rare cells exists",
    ),
    (
        "best",
        _opposite_prices,
        "prices ±L cancel in one cell only; a joint with 0.02 in rare cells exists",
    ),
    (
        "worst",
        _absorbing_price,
        "−L absorbs the 1 of 1 − Λ in floats: no exposure is left where 0.15 is",
    ),
    ("worst", _negative_prize, "a prize below 0 turns the cut around"),
    ("worst", _huge_prize, "a prize pays 1 for the cut and takes at least that at the big cells"),
    ("worst", _joint_off_by_a_little, "it misses a marginal by 1e-14, and exposure is discontinuous"),
    ("best", _joint_off_by_a_little, "it misses a marginal by 1e-14, and exposure is discontinuous"),
    ("worst", _cell_twice, "two masses of one cell count as two rare ones"),
    ("worst", _no_denominator, "nothing is a fraction of 0"),
    ("worst", _digits_of_another_script, "numbers are written with the digits 0 to 9"),
    ("rule", _value_too_low, "the thresholds of the answer prove less than that"),
    ("rule", _bound_too_high, "the thresholds of the answer prove better"),
    ("rule", _thresholds_beyond_one, "a threshold above 1 divides t by more than the proof allows"),
    ("best", _value_too_low, "the joint of the proof has more in rare cells"),
    ("best", _bound_too_high, "the joint has less"),
    ("release", _a_heavier_set, "one user alone has the values of features 0 and 1"),
    ("release", _a_conflict_that_is_safe, "feature 1 alone exposes nobody"),
    ("release", _nothing_conflicts, "to release nothing exposes nobody: it is no conflict"),
    ("release", _a_feature_twice, "a feature counts once"),
    ("release", _negative_weight, "a weight below 0 would make smaller sets heavier"),
]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_genuine_files_are_verified(name):
    assert judged(json.loads(_solved(name))) == "verified"
    assert opinion(_solved(name)) == "verified"


@pytest.mark.parametrize(
    ("name", "change", "why"),
    FORGERIES,
    ids=[f"{name}{change.__name__}" for name, change, _ in FORGERIES],
)
def test_it_is_not_verified(name, change, why):
    document = json.loads(_solved(name))
    change(document)
    assert json.dumps(document) != _solved(name), "the forgery changes nothing"
    assert judged(document) in ("refuted", "unreadable"), why
    assert opinion(json.dumps(document)) in ("refuted", "unreadable"), why
