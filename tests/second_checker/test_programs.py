"""The two checkers agree on composed questions: every notion, every objective, and proofs of others."""

import copy
import json
from functools import cache

import numpy as np
import pytest
from forgeries.contradicting import judged
from forgeries.small import LINE, THREE, TWO

from ldpopt import Program, objective, privacy, solve
from ldpopt.checker.kernel.proofs.stated_sets import UNCERTAINTY
from second_checker import opinion

LEVELS = [[0, 1, np.inf], [0.5, 0, 2], [1, 1, 0]]
NOTIONS = {
    "ldp": privacy.LDP(1),
    "delta": privacy.LDP(1, 0.05),
    "secret": privacy.Secret(1, [0, 0, 1]),
    "pairs": privacy.Pairs(LEVELS),
    "metric": privacy.Metric(0.5, LINE),
    "given": privacy.Given(1, (3, 1)),
    "pml": privacy.PML(0.5, THREE),
    "information-privacy": privacy.InformationPrivacy(0.5, THREE),
    "sensitive": privacy.Sensitive(1, [0, 1]),
    "scenarios": privacy.Scenarios(1, [[[0.5], [0.3], [0.2]], [[0.5], [0.5], [0]]]),
    "cone": privacy.Cone([[2, -1, 0], [0, 2, -1], [-1, 0, 3]]),
    "maximal-leakage": privacy.MaximalLeakage(0.5),
    "statistic-leakage": privacy.StatisticLeakage(0.5, [0, 0, 1]),
    "two": [privacy.LDP(2), privacy.MaximalLeakage(0.4)],
    "several cones": [privacy.Sensitive(1, [0]), privacy.MaximalLeakage(0.5)],
}
OBJECTIVES = {
    "mutual-information": objective.MutualInformation(THREE),
    "kl": objective.KL(TWO),
    "total-variation": objective.TotalVariation(TWO),
    "chi-squared": objective.ChiSquared(TWO),
    "hellinger": objective.Hellinger(TWO),
    "renyi": objective.Renyi(TWO, 3),
    "fisher": objective.Fisher([0.4, 0.4, 0.2], [1, -1, 0]),
    "guessing": objective.Guessing(THREE),
    "bayes": objective.Bayes(TWO, [0.6, 0.4]),
    "largest": objective.Largest([[1, 0, -1], [0, 2, 0.5]]),
    "loss": objective.Loss(THREE, [[0, 1], [1, 0], [0.5, 2]]),
    "queries": objective.Queries([[1, 0, 0], [1, 1, 0]], THREE),
    "log-det": objective.LogDet(THREE),
}


@cache
def text(notion, goal):
    return json.dumps(solve(Program(NOTIONS[notion], OBJECTIVES[goal])).to_json())


def said(document):
    return judged(document), opinion(json.dumps(document))


@pytest.mark.parametrize("notion", NOTIONS)
def test_compositions(notion):
    """Both verify the file; neither does with a better value, or a better bound and a dual to it."""
    for goal in OBJECTIVES:
        document = json.loads(text(notion, goal))
        assert said(document) == ("verified", "verified"), goal
        sign = -1 if goal in ("loss", "queries") else 1
        document.pop("gap")
        document["status"] = "gap"
        more = {name: document[name] + sign * 1e-6 for name in ("value", "bound")}
        assert said(document | more) == ("refuted", "refuted"), goal
        document["certificate"]["proof"]["dual"][0] -= 1e-6
        less = {"value": document["value"] - sign, "bound": document["bound"] - sign * 1e-6}
        assert said(document | less) == ("refuted", "refuted"), goal


@pytest.mark.parametrize("notion", ["ldp", "delta", "pml", "sensitive", "maximal-leakage", "two"])
def test_two_reports(notion):
    """Both verify the best of two reports; neither a third report, a better bound, or more than 2."""
    for goal in ("mutual-information", "kl", "guessing", "loss"):
        question = Program(NOTIONS[notion], OBJECTIVES[goal], max_outputs=2)
        document = json.loads(json.dumps(solve(question).to_json()))
        assert document["status"] == "optimal"
        assert said(document) == ("verified", "verified"), goal
        third = copy.deepcopy(document)
        third["mechanism"]["outputs"] = None
        for row in third["mechanism"]["matrix"]:
            row[:] = [row[0], row[1] / 2, row[1] / 2]
        assert said(third) == ("refuted", "refuted"), goal
        sign = -1 if goal == "loss" else 1
        document.pop("gap")
        lower = {"bound": document["bound"] - sign * 1e-6, "value": document["value"] - sign * 1e-6}
        assert said(document | lower | {"status": "gap"}) == ("refuted", "refuted"), goal
        document["params"]["max_outputs"] = 3
        assert said(document) == ("unreadable", "unreadable")


@pytest.mark.parametrize("name", ["renyi, information", "known"])
def test_two_reports_with_cuts(name):
    """The proof of two reports is its cuts: without them, or with a better bound, nothing is proven."""
    notion, goal = CUT[name]
    document = json.loads(json.dumps(solve(Program(notion, goal, max_outputs=2), gap=1e-6).to_json()))
    assert said(document) == ("verified", "verified")
    document.pop("gap")
    document["status"] = "gap"
    lower = {"bound": document["bound"] - 1e-3, "value": document["value"] - 1e-3}
    assert said(document | lower) == ("refuted", "refuted")
    document["certificate"]["proof"] = {}
    assert "verified" not in said(document)


SIX = [0.3, 0.25, 0.15, 0.12, 0.1, 0.08]
PLACES = np.abs(np.subtract.outer([0, 1, 2, 4, 5, 6], [0, 1, 2, 4, 5, 6]))
AROUND = 3 * np.eye(6) - np.roll(np.eye(6), 1, axis=0)
INFORMATION = objective.MutualInformation(SIX)
EIGHT = {
    "staircase": ([privacy.LDP(1)], INFORMATION),
    "metric": ([privacy.Metric(0.5, PLACES)], objective.Loss(SIX, PLACES)),
    "delta": ([privacy.LDP(1, delta=0.05)], objective.Guessing(SIX)),
    "two promises": ([privacy.LDP(2), privacy.MaximalLeakage(0.7)], INFORMATION),
    "pml": ([privacy.PML(0.5, SIX)], INFORMATION),
    "sensitive": ([privacy.Sensitive(1, [0, 1])], INFORMATION),
    "given": (
        [privacy.Given(1, (2, 3))],
        objective.Queries([[1, 0, 0, 1, 0, 0], [0, 1, 1, 0, 0, 1]], SIX),
    ),
    "cone": ([privacy.Cone(AROUND)], objective.Largest(np.eye(6))),
}


@pytest.mark.parametrize("name", EIGHT)
def test_six_inputs(name):
    """Both verify the optimum of each composition of the guide, at the size that the guide promises."""
    notions, goal = EIGHT[name]
    sides = [(PLACES, 9)] if name == "cone" else []
    result = solve(Program(notions, goal, at_most=sides))
    smooth = goal is INFORMATION or name == "given"
    assert result.gap <= (1e-6 if smooth else 1e-9)
    assert said(json.loads(json.dumps(result.to_json()))) == ("verified", "verified")


SQUARE = [[0.3, 0.2], [0.15, 0.35]]
FOUR = [0.3, 0.2, 0.15, 0.35]
SEARCHED = ("hellinger", "kullback-leibler", "likelihood", "wasserstein")
"""Balls for which the other checker's search for a member takes seconds."""
SETS = {
    "scenarios": (
        {"kind": "scenarios", "members": [SQUARE, [[0.2, 0.3], [0.3, 0.2]]]},
        objective.MutualInformation(FOUR),
    ),
    "credible": (
        {"kind": "credible", "counts": [[300, 200], [150, 350]]},
        objective.Guessing(FOUR),
    ),
    **{
        kind: ({"kind": kind, "p_hat": SQUARE, "radius": 0.001}, objective.Guessing(FOUR))
        for kind in SEARCHED
    },
}
CUT = {
    "renyi, guessing": (privacy.Renyi(0.5, 2.5), objective.Guessing(THREE)),
    "renyi, loss": (privacy.Renyi(1, 2), objective.Loss(THREE, [[0, 1], [1, 0], [0.5, 2]])),
    "renyi, information": (privacy.Renyi(0.5, 1.5), objective.MutualInformation([0.6, 0.4])),
    "renyi and ldp": ([privacy.LDP(1), privacy.Renyi(0.3, 4)], objective.Guessing(THREE)),
    "known": (
        privacy.Robust(1, {"kind": "known", "p": SQUARE}),
        objective.MutualInformation(FOUR),
    ),
    "total-variation": (
        privacy.Robust(1, {"kind": "total-variation", "p_hat": SQUARE, "radius": 0.02}),
        objective.Guessing(FOUR),
    ),
    "chi-squared": (
        privacy.Robust(1, {"kind": "chi-squared", "p_hat": SQUARE, "n": 1000}),
        objective.LogDet(FOUR),
    ),
    **{name: (privacy.Robust(1, given), goal) for name, (given, goal) in SETS.items()},
}
SLOW = (*SEARCHED, "renyi, information", "chi-squared")
"""Compositions with cuts that one of the checkers decides in seconds."""


def test_every_uncertainty_set_has_cuts():
    assert set(UNCERTAINTY.records) <= CUT.keys()


def test_selections_that_are_too_many_to_list():
    """A tree of prices shows what the mechanism leaks; selections of the file prove the bound."""
    places = np.arange(24)
    goal = objective.Loss(np.arange(2, 26) / 324, np.abs(np.subtract.outer(places, [3, 11, 19])))
    notion = privacy.StatisticLeakage(0.5, [x % 8 for x in places])
    document = json.loads(json.dumps(solve(Program(notion, goal)).to_json()))
    assert document["status"] == "optimal"
    assert said(document) == ("verified", "verified")
    for change in (
        lambda proof: proof["privacy"][0].update(prices=[9.0] * len(proof["privacy"][0]["prices"])),
        lambda proof: proof.pop("privacy"),
        lambda proof: proof.update(privacy=[{"outputs": [3], "prices": [1.0]}]),
        lambda proof: proof.update(privacy=[None, None]),
        lambda proof: proof["cuts"][0][0].reverse(),
        lambda proof: proof["cuts"][0].pop(),
    ):
        other = copy.deepcopy(document)
        change(other["certificate"]["proof"])
        first, second = said(other)
        assert first != "verified"
        assert second != "verified"
    listed = Program(privacy.StatisticLeakage(0.5, [0, 0, 1]), objective.Guessing(THREE))
    other = json.loads(json.dumps(solve(listed).to_json()))
    other["certificate"]["proof"]["privacy"] = document["certificate"]["proof"]["privacy"]
    assert said(other) == ("unreadable", "unreadable")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CUT]
)
def test_notions_with_cuts(name):
    """Both verify the file; neither without its cuts, with a better bound, or for a stricter notion."""
    notion, goal = CUT[name]
    document = json.loads(json.dumps(solve(Program(notion, goal), gap=1e-6).to_json()))
    assert said(document) == ("verified", "verified")
    sign = -1 if name.endswith("loss") else 1
    stricter = copy.deepcopy(document)
    (own,) = stricter["params"]["privacy"][-1].values()
    own["epsilon"] *= 1 - 1e-3
    assert said(stricter) == ("refuted", "refuted")
    document.pop("gap")
    document["status"] = "gap"
    lower = {"value": document["value"] - sign, "bound": document["bound"] - sign * 1e-6}
    lowered = copy.deepcopy(document)
    lowered["certificate"]["proof"]["dual"][0] -= 1e-6
    assert said(lowered | lower) == ("refuted", "refuted")
    cuts = document["certificate"]["proof"]["cuts"]
    assert cuts[-1]
    without = copy.deepcopy(document)
    del without["certificate"]["proof"]["cuts"]
    assert "verified" not in said(without)
    if "witness" in cuts[-1][0]:  # the members are replaced by distributions that are none
        for cut in cuts[-1]:
            table = np.array(cut["witness"]) ** 3
            cut["witness"] = (
                [[0.5]] if name in ("known", "scenarios") else (table / table.sum()).tolist()
            )
        assert "verified" not in said(document)


@pytest.mark.parametrize("goal", ["mutual-information", "guessing", "loss", "queries", "log-det"])
def test_proofs_of_other_questions(goal):
    """A bound with the proof of another notion is verified by both or none, and then is a true one."""
    verified = 0
    notions = ["ldp", "delta", "pairs", "pml", "sensitive", "maximal-leakage", "two"]
    for own in notions:
        for other in notions:
            document, proven = json.loads(text(own, goal)), json.loads(text(other, goal))
            best, bound = document["value"], proven["bound"]
            document["certificate"]["proof"] = copy.deepcopy(proven["certificate"]["proof"])
            document |= {"bound": bound, "status": "gap"}
            document.pop("gap")
            first, second = said(document)
            assert (first == "verified") == (second == "verified"), (own, other)
            if first == "verified":
                verified += 1
                assert bound <= best if goal in ("loss", "queries") else bound >= best
    assert verified >= len(notions)


def test_side_conditions():
    """On both sides; without the price of either, or with a limit that is tighter, nothing is proven."""
    question = Program(
        privacy.LDP(1),
        objective.Guessing(THREE),
        at_most=[(np.arange(9.0).reshape(3, 3), 10)],
        at_least=[(np.eye(3)[::-1], 1.1)],
    )
    document = json.loads(json.dumps(solve(question).to_json()))
    assert said(document) == ("verified", "verified")
    for name, key, step in (("at_most", "most", -1), ("at_least", "least", 1)):
        other = copy.deepcopy(document)
        other["params"][name][0][key] += step
        assert said(other) == ("refuted", "refuted")
    document["certificate"]["proof"]["costs"] = [0.0, 0.0]
    assert said(document) == ("refuted", "refuted")


def test_a_tangent_below_zero_is_paid_nothing():
    """Where all tangents of a power of a ratio are negative, the power is not."""
    notions = [privacy.Renyi(2, 9), privacy.InformationPrivacy(0.1, [0.75, 0.25])]
    result = solve(Program(notions, objective.Fisher([0.625, 0.375], [0, 0])), time_limit=20)
    document = json.loads(json.dumps(result.to_json()))
    proof = document["certificate"]["proof"]
    proof["prices"] = [0.0, 1e-300]
    document |= {"status": "gap", "bound": 2.0**-50, "gap": 2.0**-50 / 1e-4}
    proof["cuts"][0] = [{"pair": pair, "ratio": 7.0} for pair in ([0, 1], [1, 0])]
    assert judged(document, 30) == opinion(json.dumps(document)) == "verified"
