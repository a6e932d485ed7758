"""Forged programs: hypotheses with zeros, multipliers of nothing, names of pairs, levels near 0."""

import copy
import json

import pytest
from forgeries.contradicting import genuine, judged
from forgeries.small import THREE, composed
from second_checker import opinion

from ldpopt import Program, objective, privacy, solve, verify
from ldpopt.checker import frame

FREE = {"pairs": {"levels": [[None, 1, None], [None] * 3, [None] * 3]}}
"""A notion under which the last input may be told."""
ZERO = [[0.5, 0.3, 0.2], [0.5, 0.5, 0.0]]
"""Hypotheses of which a report can have a probability under the first alone."""


def written(params, matrix, value, bound=None, proof=None, inputs=None):
    """A file that somebody wrote by hand."""
    return {
        "format": 1,
        "problem": "program",
        "params": params,
        "status": "feasible" if bound is None else "gap",
        "value": value,
        "bound": bound,
        "mechanism": {"matrix": matrix, "inputs": inputs},
        "certificate": {"proof": proof, "gap": 1e-9},
    }


@pytest.mark.parametrize(
    ("notion", "prices"),
    [
        (FREE, []),
        ({"maximal-leakage": {"leakage": 0.5}}, [1.0]),
        ({"cone": {"rows": [[2, -1, 0]]}}, []),
        ({"sensitive": {"epsilon": 1, "inputs": [0]}}, []),
        ({"ldp": {"epsilon": 1, "delta": 0.1}}, [0.0] * 6),
        ({"scenarios": {"epsilon": 1, "distributions": [[[0.5], [0.5], [0]]]}}, []),
    ],
    ids=lambda part: next(iter(part)) if isinstance(part, dict) else "",
)
@pytest.mark.parametrize("goal", ["kl", "chi-squared", "renyi"])
def test_an_infinite_optimum_has_no_bound(notion, prices, goal):
    """A report may come from the first hypothesis alone, and is then worth infinitely much."""
    order = {"order": 2.0} if goal == "renyi" else {}
    params = composed({goal: {"hypotheses": ZERO, **order}}, notion)
    proof = {"dual": [9.0, 9.0, 9.0], "prices": prices}
    document = written(params, [[1.0]] * 3, 0.0, 50.0, proof)
    assert judged(document) != "verified"
    assert opinion(json.dumps(document)) == "refuted"


@pytest.mark.parametrize("goal", ["hellinger", "renyi"])
def test_zeros_of_a_hypothesis_are_worth_something(goal):
    """A bound that leaves out the reports of the first hypothesis alone is never verified."""
    order = {"order": 0.5} if goal == "renyi" else {}
    params = composed({goal: {"hypotheses": ZERO, **order}}, FREE)
    for third in (0.0, 0.19):
        document = written(params, [[1.0]] * 3, 0.0, 10.0, {"dual": [4.0, 4.0, third]})
        assert judged(document) != "verified"
        assert opinion(json.dumps(document)) == "refuted"


IDENTITY = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    "notion",
    [
        {"secret": {"epsilon": 1, "secrets": ["a"] * 4}},
        {"pairs": {"levels": [[None] * 4] * 4}},
        {"pairs": {"levels": [[1 if x == z else None for z in range(4)] for x in range(4)]}},
        {"given": {"epsilon": 1, "shape": [1, 4]}},
        {"scenarios": {"epsilon": 1, "distributions": [[[0.5, 0.5], [0, 0]]]}},
        {"cone": {"rows": [[1, 0, 0, 0]], "words": "0.1-LDP"}},
        {"cone": {"rows": [[0, 0, 0, 0], [1, 1, 0, 2]]}},
        {"statistic-leakage": {"leakage": 0.1, "secrets": ["a"] * 4}},
    ],
    ids=lambda notion: next(iter(notion)),
)
def test_a_notion_that_asks_for_nothing_is_no_promise(notion):
    """The identity would keep it, and the file, its page and its audit would read like a promise."""
    goal = {"guessing": {"prior": [0.25] * 4}}
    for statement in (composed(goal, notion), composed(goal, {"ldp": {"epsilon": 30}}, notion)):
        document = written(statement, IDENTITY, 0.5)
        assert opinion(json.dumps(document)) == "unreadable"
        assert judged(document) == "unreadable"


def test_pairs_without_a_level_are_not_promised_one():
    document = written(
        composed({"guessing": {"prior": THREE}}, FREE), [[0.25, 0.75]] * 2 + [[1, 0]], 0.4
    )
    assert judged(document) == "verified"
    (claim,) = [claim for claim in frame.check(document) if claim.what == "privacy"]
    assert "for 1 of 6 pairs, those with a level, differ" in claim.statement


def test_the_words_of_a_file_carry_their_mark():
    lie = {"cone": {"rows": [[1e9, -1, 0], [0, 1e9, -1]], "words": "0.1-LDP, nobody learns anything"}}
    document = written(composed({"guessing": {"prior": THREE}}, lie), [[1.0]] * 3, 0.4)
    (claim,) = [claim for claim in frame.check(document) if claim.what == "privacy"]
    assert claim.statement.endswith(
        "in the file's words '0.1-LDP, nobody learns anything' [not checked]"
    )


def changed(document, part, **entry):
    """The file with one more multiplier."""
    found = copy.deepcopy(document)
    for name, value in entry.items():
        found["certificate"]["proof"][part][name].append(value)
    return found


def test_multipliers_of_nothing_prove_nothing():
    """One of a piece or a cone that is not there counts for nothing, and does no harm."""
    document = next(d for d in genuine("program") if "bayes" in d["params"].get("maximise", {}))
    rows = document["certificate"]["proof"]["rows"]
    for name, other in (("piece", 2), ("cone", 2)):
        assert rows["times"]
        moved = copy.deepcopy(document)
        moved["certificate"]["proof"]["rows"][name] = [other] * len(rows[name])
        assert judged(moved) == opinion(json.dumps(moved)) == "refuted"
        more = {"piece": 0, "cone": 0, "row": 0, "times": 9.0, name: other}
        assert judged(changed(document, "rows", **more)) == "verified"
    for bad in ({"row": 6}, {"row": -1}, {"times": -1.0}, {"piece": 0.0}, {"cone": True}):
        more = {"piece": 0, "cone": 0, "row": 0, "times": 0.0} | bad
        assert judged(changed(document, "rows", **more)) == "unreadable"


def test_multipliers_that_occur_twice_add_up():
    document = next(d for d in genuine("program") if "bayes" in d["params"].get("maximise", {}))
    rows = document["certificate"]["proof"]["rows"]
    halves = {name: values * 2 for name, values in rows.items()}
    halves["times"] = [value / 2 for value in halves["times"]]
    document["certificate"]["proof"]["rows"] = halves
    assert judged(document) == opinion(json.dumps(document)) == "verified"


@pytest.mark.parametrize(
    "notion",
    [
        {"given": {"epsilon": 1, "shape": [2, 2]}},
        {"scenarios": {"epsilon": 1, "distributions": [[[0.25, 0.25], [0.25, 0.25]]]}},
    ],
)
def test_pairs_are_named_in_the_order_of_the_rows(notion):
    """The row after (0, 0) is that of (0, 1): who calls it (1, 0) says that s is hidden where u is."""
    matrix = [[0.875, 0.125], [0.125, 0.875]] * 2
    params = composed({"guessing": {"prior": [0.25] * 4}}, notion)
    document = written(params, matrix, 0.4, inputs=[[0, 0], [1, 0], [0, 1], [1, 1]])
    assert opinion(json.dumps(document)) == "unreadable"
    assert judged(document) == "unreadable"


@pytest.mark.parametrize(
    "notion",
    [
        {"maximal-leakage": {"leakage": 1e-100}},
        {"pairs": {"levels": [[0, 1e-100, 1], [1, 0, 1], [1, 1, 0]]}},
    ],
)
def test_a_report_that_tells_nothing_has_every_level(notion):
    document = written(composed({"guessing": {"prior": THREE}}, notion), [[1.0]] * 3, 0.4)
    assert opinion(json.dumps(document)) == "verified"
    assert judged(document) != "refuted"


CUTS = [
    [{"pair": [0, 0], "ratio": 2.0}],
    [{"pair": [0, 3], "ratio": 2.0}],
    [{"pair": [0, -1], "ratio": 2.0}],
    [{"pair": [0], "ratio": 2.0}],
    [{"pair": [0, 1], "ratio": 0.0}],
    [{"pair": [0, 1], "ratio": -1.0}],
    [{"pair": [0, 1], "ratio": 1e10}],
    [{"pair": [0, 1], "ratio": True}],
    [{"pair": [0, True], "ratio": 2.0}],
    [{"pair": [0, 1], "ratio": 2.0, "more": 1}],
    [{"witness": [[1.0]], "secrets": [0, 1]}],
    {},
    "none",
]


@pytest.mark.parametrize("cuts", CUTS, ids=json.dumps)
def test_cuts_that_are_none(cuts):
    params = composed({"guessing": {"prior": THREE}}, {"renyi": {"epsilon": 1, "order": 2}})
    for proof in ({"dual": [1.0] * 3, "cuts": [cuts]}, {"dual": [1.0] * 3, "cuts": cuts}):
        document = written(params, [[1.0]] * 3, 0.4, 3.0, proof)
        assert judged(document) == opinion(json.dumps(document)) == "unreadable"


def test_cuts_belong_to_the_notion_in_their_place():
    privacy = ({"renyi": {"epsilon": 1, "order": 2}}, {"ldp": {"epsilon": 1}})
    cut = [{"pair": [0, 1], "ratio": 2.0}]
    for parts, cuts, verdict in (
        (privacy, [cut, None], "verified"),
        (privacy, [None, None], "verified"),
        (privacy, [cut], "unreadable"),
        (privacy, [None, cut], "unreadable"),
        (privacy[::-1], [cut, None], "unreadable"),
        (privacy[1:], [[]], "unreadable"),
    ):
        params = composed({"guessing": {"prior": THREE}}, *parts)
        proof = {"dual": [0.5, 0.3, 0.2], "rows": {"piece": [], "cone": [], "row": [], "times": []}}
        if len(cuts) == 2 and cuts[0]:
            proof["prices"] = [0.0]
        document = written(params, [[1.0]] * 3, 0.4, 1.0, proof | {"cuts": cuts})
        assert judged(document) == opinion(json.dumps(document)) == verdict


def test_an_infinite_divergence_is_not_private():
    """A report that one input never gives; and one that is beyond the level by a rounding."""
    params = composed({"guessing": {"prior": [0.5, 0.5]}}, {"renyi": {"epsilon": 1, "order": 2}})
    document = written(params, [[0.5, 0.5], [0.0, 1.0]], 0.5)
    assert judged(document) == opinion(json.dumps(document)) == "refuted"
    high = 0.5 + 0.25  # p²/(1 − p) + (1 − p)²/p = 2.33… = e^0.847…
    for epsilon, verdict in ((0.848, "verified"), (0.847, "refuted")):
        params["privacy"][0]["renyi"]["epsilon"] = epsilon
        document = written(params, [[high, 1 - high], [1 - high, high]], 0.7)
        assert judged(document) == opinion(json.dumps(document)) == verdict


def test_a_score_has_mean_zero():
    goal = {"fisher": {"prior": [0.5, 0.5, 0.0], "score": [1.0, 1.0, 1e10]}}
    document = written(composed(goal, {"ldp": {"epsilon": 1}}), [[1.0]] * 3, 1.0)
    assert judged(document) == "unreadable"


def test_the_power_divergence_is_not_called_renyi_alone():
    result = solve(Program(privacy.LDP(1), objective.Renyi([THREE, THREE[::-1]], 3)))
    (claim,) = [c for c in verify(result).claims if c.what == "value"]
    assert "power divergence" in str(claim)


@pytest.mark.parametrize(
    "notion", [[privacy.Sensitive(1, [0]), privacy.Sensitive(0.5, [1])], privacy.MaximalLeakage(0.5)]
)
def test_solvers_take_cones_of_one_point_and_infinite_worths(notion):
    """Two notions may share only w = 0 in one of their cones; a divergence may be infinite."""
    goal = objective.KL([THREE, THREE[::-1]] if isinstance(notion, list) else ZERO)
    assert solve(Program(notion, goal)).status.value in ("optimal", "unbounded")


def test_an_infinite_worth_that_no_mechanism_reaches():
    """The last entry is the largest of every column, so it is as large as the others: they sum to 1."""
    question = Program(privacy.Cone([[-1, 0, 1], [0, -1, 1]]), objective.KL(ZERO))
    result = solve(question)
    assert (result.status.value, result.value, result.bound) == ("feasible", 0.0, None)
    assert verify(result)
