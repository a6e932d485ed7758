"""A problem of another package is shown and audited from what it says about itself."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import numpy as np
import pytest

from ldpopt.audit.auditing import audit
from ldpopt.audit.measures import measures
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import INFORMATION, Example, Measure, Problem, Subject
from ldpopt.engine.solving import solve
from ldpopt.models.cones import SecretCone
from ldpopt.models.utilities import Divergence, MutualInformation
from ldpopt.problems import PROBLEMS
from ldpopt.problems.column_problem import ColumnProblem
from ldpopt.report.loading import read
from ldpopt.report.page import page, parts

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]])


@dataclass(frozen=True, eq=False)
class Category(ColumnProblem):
    """Release a value and hide its category."""

    kind: ClassVar[str] = "category"
    categories: Any
    prior: Any
    epsilon: float

    @property
    def cone(self) -> SecretCone:
        return SecretCone(tuple(self.categories), self.epsilon)

    @property
    def sublinear(self) -> MutualInformation:
        return MutualInformation(np.array(self.prior))

    def statement(self) -> dict[str, Any]:
        secret = {"secrets": list(self.categories), "epsilon": self.epsilon}
        utility = {"utility": "mutual-information", "distributions": [list(self.prior)]}
        return {"form": "column-program", **secret, **utility}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return []


class Coin(Problem):
    """Release a coin, whatever that is good for."""

    kind = "coin"

    def forms(self) -> Iterable[Form]:
        return []

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        return COIN

    def value(self, answer: Mechanism) -> float:
        return 1.0

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return []


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another package had registered the kind by its entry point."""
    entry = EntryPoint("category", f"{__name__}:Category", "ldpopt.problems")
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or Module)
    monkeypatch.setitem(PROBLEMS._sources, "category", entry)


class Module:
    """This file as a module, under whatever name the tests import it."""

    Category = Category


def test_what_a_problem_says_by_default() -> None:
    problem = Coin()
    assert (problem.sense, problem.measure, problem.level) == ("maximise", Measure("objective"), None)
    of = problem.subject(COIN)
    assert of.secret_names == ("0", "1")
    assert of.epsilon is None


def test_a_level_is_promised_by_a_statement_and_not_by_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Coin()
    problem.epsilon = 2.0  # type: ignore[attr-defined]
    assert problem.subject(COIN).promises == {}
    stated = {"form": "private-mechanism", "secrets": [0, 1], "epsilon": 3.0}
    monkeypatch.setattr(Coin, "statement", lambda self: stated)
    assert problem.subject(COIN).promises == {"ldp": 3.0}


def test_a_utility_says_what_it_measures() -> None:
    assert Category("aab", [0.2, 0.3, 0.5], 1.0).measure == INFORMATION
    divergence = Divergence(np.array([0.2, 0.8]), np.array([0.5, 0.5]), "chi-squared")
    assert divergence.measure == Measure("χ² divergence")


@pytest.mark.usefixtures("registered")
def test_a_problem_of_another_package_is_audited_by_what_it_promises() -> None:
    """Values of one category may be told apart: the audit must not ask for LDP."""
    found = audit(solve(Category("aab", [0.2, 0.3, 0.5], 1.0)), samples=2000, confidence=1 - 1e-9)
    assert found.passed, found.verdict
    assert found.epsilon == 1.0
    assert found["indistinguishability"].holds
    assert found["ldp"].promised is None
    assert found["ldp"].value > 1.0
    everything = audit(solve(Category("abc", [0.2, 0.3, 0.5], 1.0)), samples=2000, confidence=1 - 1e-9)
    assert everything["ldp"].holds


@pytest.mark.usefixtures("registered")
def test_a_problem_of_another_package_is_shown_like_any_other(tmp_path) -> None:
    solve(Category("aab", [0.2, 0.3, 0.5], 1.0)).save(tmp_path / "result.json")
    (part,) = parts([read(tmp_path / "result.json")], seconds=5)
    value, share = part.answer[:2]
    assert value.text.endswith(" nats")
    assert value.note == "information released, I(X; Y); more is better"
    assert share.note.startswith("of H(X) = 1.02965 nats")
    assert part.curve is not None
    assert part.sound
    assert "Release a value and hide its category." in page([part])


def test_an_unknown_promise_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="not about 'secrecy'"):
        measures(Subject.of_values(COIN, None, {"secrecy": 1.0}), None)


def test_a_subject_fits_its_mechanism() -> None:
    with pytest.raises(
        InvalidInputError, match="the mechanism must have 3 inputs, as the question has, not 2"
    ):
        Subject.of_groups(COIN, "aab", None, {})
