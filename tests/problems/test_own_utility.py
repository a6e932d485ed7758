"""A utility of one's own: rows, privacy and level are verified, value and bound are not certified."""

import json
import re
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

import ldpopt
from ldpopt import testing
from ldpopt.audit.auditing import audit
from ldpopt.checker import frame
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.core.errors import LdpoptError, NoSolverError, UnreadableFileError
from ldpopt.core.problem import Example
from ldpopt.engine.verifying import verify_document
from ldpopt.models.cones import SecretCone
from ldpopt.models.pricing import Priced
from ldpopt.models.utilities import TwoHypotheses
from ldpopt.problems import PROBLEMS
from ldpopt.problems.column_problem import ColumnProblem
from ldpopt.report.page import report

PAIR = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]


@dataclass(frozen=True, eq=False)
class Jeffreys(TwoHypotheses):
    p0: Any
    p1: Any

    def terms(self, q0, q1):
        return (q0 - q1) * np.log(q0 / q1)

    def slopes(self, r):
        return np.log(r) + 1 - 1 / r, 1 - r - np.log(r)


class Own(ColumnProblem):
    """The cone of three secrets, with a utility that the checker does not know."""

    @property
    def cone(self):
        return SecretCone(tuple(range(3)), self.epsilon)


@dataclass(frozen=True, eq=False)
class JeffreysTest(Own):
    kind: ClassVar[str] = "jeffreys-test"
    epsilon: float

    @property
    def sublinear(self):
        return Jeffreys(*np.array(PAIR))

    @classmethod
    def examples(cls):
        yield Example(cls(1.0), 0.078945118563)


class Listed:
    """Prices by listing all corners."""

    many_optima = False

    def __init__(self, utility):
        self.utility = utility
        self.reference = self.order = np.full(3, 1 / 3)
        self.traits = np.arange(3.0)[:, None]

    def price(self, box, dual, slack, width):
        corners = np.array(list(product(*zip(box.low, box.high, strict=True)))).T
        worth = self.utility(corners) - dual @ corners
        best = worth.argmax()
        return Priced(corners[:, [best]], float(worth[best]) + 1e-13, corners.shape[1])


@dataclass(frozen=True, eq=False)
class Spread:
    """The range of a column, with a pricing of its own."""

    def __call__(self, columns):
        return np.ptp(columns, axis=0)

    def pricer(self):
        return Listed(self)


@dataclass(frozen=True, eq=False)
class SpreadTest(Own):
    kind: ClassVar[str] = "spread-test"
    epsilon: float
    priced: bool = True

    @property
    def sublinear(self):
        return Spread() if self.priced else Spread().__call__

    @classmethod
    def examples(cls):
        # GRR has the columns (e, 1, 1)/(e + 2), each of range (e − 1)/(e + 2)
        yield Example(cls(1.0), 3 * (np.e - 1) / (np.e + 2))


class Unspoken(SpreadTest):
    kind = "unspoken"

    def statement(self):
        return None


@pytest.fixture(params=[JeffreysTest, SpreadTest, Unspoken], ids=lambda cls: cls.kind)
def known(request, monkeypatch):
    """A problem class of a file of one's own, registered for the test."""
    cls = request.param
    monkeypatch.setattr(PROBLEMS, "_given", {**PROBLEMS._given, cls.kind: cls}, raising=True)
    return cls


def test_the_conformance_suite_takes_it(known):
    cases = testing.cases(problems=[known])
    assert {"enumerate", "column-generation", "cdd"} <= {case.solver.name for case in cases}
    assert ("tangents" in {case.solver.name for case in cases}) == (known is JeffreysTest)
    for case in cases:
        testing.check(case)


def test_privacy_is_verified_and_the_utility_is_not_certified():
    result = ldpopt.solve(JeffreysTest(1.0))
    found = ldpopt.verify(result)
    assert found
    assert [claim.what for claim in found.claims] == ["stochastic", "privacy", "member", "audit"]
    assert [said.partition(" = ")[0] for said in found.unchecked] == ["value", "bound", "status"]
    assert found.proven == ""
    assert not found.certifies_utility
    assert found.marked_utility("1") == "1 [not certified]"
    with pytest.raises(UnreadableFileError, match="does not know the problem kind 'unspoken'"):
        ldpopt.verify(ldpopt.solve(Unspoken(1.0)))


def test_the_utilities_of_the_checker_are_certified_as_ever():
    for kind in ("staircase", "polyopt", "robust-optimum"):
        example = next(iter(PROBLEMS[kind].examples()))
        found = ldpopt.verify(ldpopt.solve(example.problem))
        assert found
        assert found.certifies_utility
        assert found.marked_utility("1") == "1"


@pytest.mark.parametrize(("x", "y", "by"), [(0, 0, 2.0**-40), (1, 1, -(2.0**-30))])
def test_a_tampered_mechanism_is_refuted(x, y, by):
    problem = JeffreysTest(1.0)
    document = ldpopt.solve(problem).to_json()
    document["mechanism"]["matrix"][x][y] += by
    assert verify_document(document, problem).verdict is False


def test_a_row_that_breaks_the_promise_is_refuted():
    problem = JeffreysTest(1.0)
    document = ldpopt.solve(problem).to_json()
    row = document["mechanism"]["matrix"][0]
    row[0], row[1] = row[0] - 0.125, row[1] + 0.125
    claims = {claim.what: claim.holds for claim in verify_document(document, problem).claims}
    assert claims["stochastic"] is True
    assert claims["privacy"] is False
    assert claims["audit"] is False


def test_the_page_and_the_audit_say_what_is_certified(monkeypatch, tmp_path):
    monkeypatch.setattr(PROBLEMS, "_given", {**PROBLEMS._given, "jeffreys-test": JeffreysTest})
    path = tmp_path / "own.json"
    ldpopt.solve(JeffreysTest(1.0)).save(path)
    found = audit(path, confidence=1 - 1e-9)
    assert found.passed
    assert {claim.what for claim in found.claims} == {"stochastic", "privacy", "member", "audit"}
    page = tmp_path / "page.html"
    report([path], page)
    html = page.read_text(encoding="utf-8")
    assert "optimal [not certified]" in html
    assert re.search(r"<dt>Gap</dt><dd>\S+ \[not certified\]", html)
    assert "the solver&#39;s word" in html
    assert "not certified, the checker does not know the utility" in html


def test_pricing_of_ones_own_and_without():
    priced, listed = (ldpopt.solve(SpreadTest(1.0), name) for name in ("column-generation", "enumerate"))
    assert priced.value == pytest.approx(listed.value, rel=1e-9)
    assert priced.status is ldpopt.Status.OPTIMAL
    with pytest.raises(NoSolverError, match="no method `pricer`"):
        ldpopt.solve(SpreadTest(1.0, priced=False), "column-generation")


@pytest.mark.parametrize(
    "params", [[1, 2], "ab", 5, None, {"cls": 1}, {"self": 1}, {"epsilon": [[]]}, {"epsilon": {}}, {}]
)
def test_hostile_parameters_of_a_kind_of_ones_own_are_unreadable(params, monkeypatch, tmp_path):
    monkeypatch.setattr(PROBLEMS, "_given", {**PROBLEMS._given, "spread": SpreadTest}, raising=True)
    document = ldpopt.solve(SpreadTest(1.0)).to_json() | {"problem": "spread", "params": params}
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(LdpoptError):
        ldpopt.verify(tmp_path / "a.json")


def test_a_statement_of_privacy_names_two_secrets():
    plain = {"form": "private-mechanism", "secrets": ["a", "a"], "epsilon": 1.0}
    with pytest.raises(UnreadableError, match="at least two different labels"):
        frame.question(plain)
    with pytest.raises(UnreadableError, match="utility"):
        frame.question(plain | {"utility": "kl"})


def test_a_cone_that_the_checker_does_not_know_has_no_statement():
    class Elsewhere(JeffreysTest):
        kind = "elsewhere"

        @property
        def cone(self):
            return object()

    assert Elsewhere(1.0).statement() is None


class Ladder(JeffreysTest):
    """Neighbours on a ladder differ by a factor of two: a cone of one's own, with words."""

    kind = "ladder"

    def statement(self):
        rows = [[2, -1, 0], [-1, 2, 0], [0, 2, -1], [0, -1, 2]]
        cone = {"cone": {"rows": rows, "words": "neighbours differ by a factor of two"}}
        return {"form": "program", "privacy": [cone], "inputs": 3}


def test_the_bare_checker_decides_what_the_file_carries():
    document = ldpopt.solve(Ladder(0.5)).to_json()
    claims = frame.check(document)
    assert [claim.what for claim in claims] == ["stochastic", "privacy"]
    assert all(claim.holds for claim in claims)
    assert "neighbours differ by a factor of two" in claims[1].statement
    assert "not certified" in frame.unchecked(document)[0]
    assert "'ladder' asks" in frame.unchecked(document)[-1]
    document["mechanism"]["matrix"] = [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    assert [claim.holds for claim in frame.check(document)] == [True, False]


def test_a_file_whose_statement_is_not_the_packages_is_refuted():
    problem = JeffreysTest(1.0)
    document = ldpopt.solve(problem).to_json()
    document["statement"]["epsilon"] = 2.0
    assert verify_document(document, problem).verdict is False
    built_in = ldpopt.solve(ldpopt.problem("staircase", epsilon=1.0, prior=[0.5, 0.5])).to_json()
    with pytest.raises(UnreadableError, match="statement must be left out"):
        frame.check(built_in | {"statement": document["statement"]})
