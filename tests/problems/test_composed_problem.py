"""A kind of one's own that composes: solved, verified, benchmarked, audited and reported as it is."""

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from shared.programs import plain_python

from ldpopt import Status, checker, solve, testing
from ldpopt.core import registry
from ldpopt.core.errors import InvalidInputError
from ldpopt.problems import PROBLEMS

CHECKER = Path(checker.__file__).parent
PRIOR = [0.4, 0.3, 0.3]
PACKAGE = '''
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpopt import ComposedProblem, Example, objective, privacy


@dataclass(frozen=True, eq=False)
class Below(ComposedProblem):
    """Guess an input, where no input is more likely behind a report than all others together."""

    kind: ClassVar[str] = "below"
    share: float
    prior: Any
    informed: bool = False

    @property
    def privacy(self):
        rows = np.ones((len(self.prior),) * 2) * self.share - np.eye(len(self.prior))
        cone = privacy.Cone(rows, words="no input has more than its share")
        return [cone, privacy.LDP(3)] if self.informed else cone

    @property
    def objective(self):
        goal = objective.MutualInformation if self.informed else objective.Guessing
        return goal(self.prior)

    @classmethod
    def examples(cls):
        # a column (1, 1)/2 ± (1, -1)/6 has the shares 2/3 and 1/3
        yield Example(cls(2 / 3, [0.5, 0.5]), 2 / 3)

    @classmethod
    def random(cls, size, rng):
        yield f"k={size}", cls(1.5 / size, rng.dirichlet(np.ones(size)))
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with the kind, in the directory where the user works."""
    (tmp_path / "below_plugin.py").write_text(PACKAGE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("below_plugin", None)


@pytest.fixture
def below(package, monkeypatch):
    """The class, as an installed package registers it."""
    entry = EntryPoint("below", "below_plugin:Below", "ldpopt.problems")
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == entry.group else [])
    monkeypatch.delitem(PROBLEMS.__dict__, "_sources", raising=False)
    yield PROBLEMS["below"]
    PROBLEMS.__dict__.pop("_sources", None)


def optimum(share):
    """The linear program of the definition: W[x, y] with the guess y, by another library's words."""
    k = len(PRIOR)
    gain = -(np.diag(PRIOR)).ravel()
    above = [
        np.kron(np.eye(k)[x] - share, np.eye(k)[y]) for x in range(k) for y in range(k)
    ]  # W[x, y] ≤ share Σ_z W[z, y]
    rows = np.kron(np.eye(k), np.ones(k))
    return -linprog(gain, A_ub=above, b_ub=np.zeros(k * k), A_eq=rows, b_eq=np.ones(k)).fun


def test_it_is_solved_to_its_optimum_and_takes_the_conformance_suite(below):
    for share in (0.4, 0.5, 0.9):
        result = solve(below(share, PRIOR))
        assert result.status is Status.OPTIMAL
        assert result.value == pytest.approx(optimum(share), abs=1e-9)
    cases = testing.cases(problems=[below])
    assert {"mechanism-highs", "mechanism-rays"} <= {case.solver.name for case in cases}
    for case in cases:
        testing.check(case)


@pytest.mark.parametrize("informed", [False, True])
def test_every_command_takes_it(package, ldpopt, informed):
    params = {"share": 0.5, "prior": PRIOR, "informed": informed}
    Path("question.json").write_text(json.dumps({"problem": "below", "params": params}))
    named = ["--problem", "below_plugin.py:Below"]

    def said(*words, code=0):
        answer = ldpopt(*words)
        assert answer.code == code, answer.err
        return answer.out + answer.err

    assert "verifies every claim" in said("solve", "question.json", *named, "--out", "best.json")
    bare = plain_python(CHECKER, "best.json")
    assert bare.returncode == 0, bare.stdout + bare.stderr
    assert "no input has more than its share" in bare.stdout
    assert "no such mechanism has more than" in bare.stdout
    assert "that the statement is what 'below' asks" in bare.stdout
    assert "is what 'below' asks with the file's parameters" in said("verify", "best.json", *named)
    assert "PASSED" in said("audit", "best.json", *named, "--confidence", "0.999999")
    assert "every claim verified" in said("report", "best.json", *named, "-o", "page.html")
    assert "no input has more than its share" in Path("page.html").read_text(encoding="utf-8")
    assert "k=3" in said("bench", "below_plugin.py:Below", "--sizes", "3")

    document = json.loads(Path("best.json").read_text())
    document["statement"]["privacy"][0]["cone"]["rows"][0][0] -= 0.25
    Path("forged.json").write_text(json.dumps(document))
    assert plain_python(CHECKER, "forged.json").returncode == 1
    said("verify", "forged.json", *named, code=1)


def test_what_the_parts_refuse_is_refused(below):
    with pytest.raises(InvalidInputError, match=r"below: .*prior"):
        below(0.5, [0.5, 0.6])
