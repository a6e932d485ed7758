"""Forged statements: what a file of another package's kind says it asks is decided as it stands."""

import json
import random
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import pytest
from forgeries.contradicting import genuine, judged
from forgeries.mutating import mutant
from forgeries.small import THREE
from second_checker import opinion

from ldpopt import ComposedProblem, Program, objective, privacy, solve
from ldpopt.checker import frame
from ldpopt.checker.kernel.reading import UnreadableError, parse
from ldpopt.engine.verifying import verify_document

LADDER = privacy.Cone(
    [[2, -1, 0], [-1, 2, 0], [0, 2, -1], [0, -1, 2]], words="neighbours differ by a factor of two"
)
GOALS = {
    "guessing": objective.Guessing(THREE),
    "mutual-information": objective.MutualInformation(THREE),
    "loss": objective.Loss(THREE, [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
    "queries": objective.Queries([[1, 0, 0], [0, 1, 0]], THREE),
    "log-det": objective.LogDet(THREE),
}


@cache
def solved(goal):
    return json.dumps(solve(Program(LADDER, GOALS[goal])).to_json())


def carried(goal="guessing"):
    """The file of a kind that no checker knows, as its package would write it."""
    document = json.loads(solved(goal))
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
    sign = -1 if goal in ("loss", "queries") else 1
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


@pytest.mark.parametrize("kind", frame.KINDS)
def test_no_built_in_kind_may_carry_a_statement(kind):
    document = genuine(kind, 1)[0]
    for statement in (carried()["statement"], private_alone()["statement"], {}):
        forged = document | {"statement": statement}
        assert said(forged) == ("unreadable", "unreadable")


def test_a_statement_occurs_once():
    document = carried()
    text = json.dumps(document)
    weaker = json.dumps({"form": "program", "privacy": [{"ldp": {"epsilon": 30.0}}], "inputs": 3})
    doubled = text[:-1] + f', "statement": {weaker}}}'
    inner = text.replace('"form": "program"', '"form": "program", "form": "program"')
    for forged in (doubled, inner):
        assert forged != text
        with pytest.raises(UnreadableError, match="twice"):
            parse(forged.encode())
        assert opinion(forged) == "unreadable"


@pytest.mark.parametrize("statement", [None, [], "program", 1, {}, {"form": "program"}], ids=repr)
def test_a_statement_is_an_object_with_its_parts(statement):
    assert said(carried() | {"statement": statement}) == ("unreadable", "unreadable")


@pytest.mark.parametrize("form", [None, 1, ["program"], "programs", "Program", "program ", "staircase"])
def test_an_unknown_form_is_unreadable(form):
    document = carried()
    document["statement"]["form"] = form
    assert said(document) == ("unreadable", "unreadable")


@pytest.mark.parametrize("number", [1e16, -1e300, 10**400, float("inf"), float("nan"), True, "2", None])
def test_numbers_that_no_statement_may_have(number):
    document = carried()
    document["statement"]["privacy"][0]["cone"]["rows"][0][0] = number
    assert said(document) == ("unreadable", "unreadable")


@pytest.mark.parametrize("inputs", [0, 1, 2, 4, 401, 10**30, 3.5, "3", True, None, [3]])
def test_inputs_that_are_not_those_of_the_matrix(inputs):
    document = private_alone()
    document["statement"]["inputs"] = inputs
    assert said(document) == ("unreadable", "unreadable")


def test_inputs_stand_instead_of_an_objective():
    document = carried()
    document["statement"]["inputs"] = 3
    assert said(document) == ("unreadable", "unreadable")
    document = private_alone()
    document["statement"]["at_most"] = [{"costs": [[1.0] * 3] * 3, "most": 9.0}]
    assert said(document) == ("unreadable", "unreadable")
    kind = document | {"problem": "program", "params": {"privacy": [LADDER.to_json()], "inputs": 3}}
    del kind["statement"]
    assert said(kind) == ("unreadable", "unreadable")


@pytest.mark.parametrize("other", ["mutual-information", "loss", "queries", "log-det"])
def test_another_objective_needs_its_own_value_and_proof(other):
    """Value and proof of one objective under the name of another."""
    document, stranger = carried(), carried(other)
    document["statement"] = stranger["statement"]
    assert not {"verified", "undecided", None} & {*said(document)}


def test_a_statement_that_is_not_what_the_kind_asks():
    """The package refutes it; without the package, the checker says what it could not know."""

    @dataclass(frozen=True, eq=False)
    class Ladder(ComposedProblem):
        kind: ClassVar[str] = "ladder"
        factor: float
        privacy = LADDER
        objective = GOALS["guessing"]

        @classmethod
        def examples(cls):
            return []

    problem = Ladder(2.0)
    assert verify_document(carried(), problem).verdict is True
    looser = carried("mutual-information")
    for forged in (looser, private_alone(), carried("loss")):
        assert verify_document(forged, problem).verdict is False
        assert any("'ladder' asks" in sentence for sentence in frame.unchecked(forged))


def test_a_value_without_a_stated_objective_is_not_certified():
    document = private_alone() | {"value": 1e9, "bound": 1e9, "gap": 0.0}
    document["certificate"]["proof"] = {"dual": [1e9], "no such key": 1}
    assert {claim.what for claim in frame.check(document)} == {"stochastic", "privacy"}
    uncertified = [sentence for sentence in frame.unchecked(document) if "not certified" in sentence]
    assert [sentence.partition(" = ")[0] for sentence in uncertified] == ["value", "bound", "status"]
    assert opinion(json.dumps(document)) == "verified"


def test_no_mutant_is_verified_by_one_checker_and_refuted_by_the_other():
    draw, found = random.Random(20), Counter()
    for n in range(300):
        document = carried(list(GOALS)[n % 5]) if n % 4 else private_alone()
        asked = document.pop("statement")
        forged = mutant(document | {"params": asked}, draw)  # it changes what stands in params
        if "params" in forged:
            forged |= {"params": {"factor": 2.0}, "statement": forged["params"]}
        found[said(forged)] += 1
    assert not {("verified", "refuted"), ("refuted", "verified")} & {*found}
    assert min(found["verified", "verified"], found["refuted", "refuted"]) > 10
