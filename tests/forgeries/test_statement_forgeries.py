"""Forged statements: what a file of another package's kind says it asks is decided as it stands."""

import json

import pytest
from forgeries.contradicting import judged
from forgeries.small import THREE
from second_checker import opinion

from ldpopt import Program, objective, privacy, solve

LADDER = privacy.Cone(
    [[2, -1, 0], [-1, 2, 0], [0, 2, -1], [0, -1, 2]], words="neighbours differ by a factor of two"
)
GOALS = {
    "guessing": objective.Guessing(THREE),
    "mutual-information": objective.MutualInformation(THREE),
    "loss": objective.Loss(THREE, [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
}


def carried(goal="guessing"):
    """The file of a kind that no checker knows, as its package would write it."""
    document = json.loads(json.dumps(solve(Program(LADDER, GOALS[goal])).to_json()))
    statement = {"form": "program", **document["params"]}
    return document | {"problem": "ladder", "params": {"factor": 2.0}, "statement": statement}


def private_alone():
    """The same with a statement that leaves out the objective."""
    document = carried()
    statement = {"form": "program", "privacy": document["statement"]["privacy"], "inputs": 3}
    return document | {"statement": statement}


def said(document):
    return judged(document), opinion(json.dumps(document))


@pytest.mark.parametrize("goal", GOALS)
def test_both_checkers_decide_the_statement_of_a_file(goal):
    document = carried(goal)
    assert said(document) == ("verified", "verified")
    sign = -1 if goal == "loss" else 1
    more = {"value": document["value"] + sign * 1e-6, "status": "gap"}
    more["bound"] = document["bound"] + sign * 1e-5
    document.pop("gap")
    assert said(document | more) == ("refuted", "refuted")
    less = {"value": document["value"] - sign * 1e-3, "bound": document["bound"] - sign * 1e-4}
    assert said(document | less | {"status": "gap"}) == ("refuted", "refuted")


def test_without_an_objective_both_decide_rows_and_privacy():
    document = private_alone()
    assert said(document) == ("verified", "verified")
    matrix = document["mechanism"]["matrix"]
    matrix[0], matrix[2] = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    assert said(document) == ("refuted", "refuted")
