"""Solvers that nobody registered, named by where they are."""

import re

import pytest

from ldpopt.core.errors import FailedError, InvalidInputError
from ldpopt.engine import plugins
from ldpopt.solvers import SOLVERS

BROKEN = "raise RuntimeError('broken')\n"
FINE = """
from dataclasses import dataclass
from ldpopt import ColumnProgram, Solver

@dataclass
class Own(Solver[ColumnProgram]):
    name = "own"
    def accepts(self, form):
        return "no"
    def run(self, form, limits):
        pass

class Nameless(Solver[ColumnProgram]):
    accepts = run = Own.run

class Half(Solver[ColumnProgram]):
    name = "half"
    def accepts(self, form):
        return "no"

number = 3
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "fine.py").write_text(FINE)
    return tmp_path


def test_a_plugin_is_a_module_or_a_file(files):
    assert [cls.name for cls in plugins.load_solvers(["fine.py:Own"])] == ["own"]
    assert plugins.load_solver(f"{files / 'fine.py'}:Own").name == "own"
    assert plugins.load_solver("fine.py:Nameless").name == "nameless"
    assert plugins.load_solver("ldpopt.solvers.row_selection_greedy:Greedy") is SOLVERS["greedy"]


@pytest.mark.parametrize(
    ("references", "message"),
    [
        (["fine.py"], "is MODULE:NAME or"),
        (["absent.py:Own"], "there is no file absent.py"),
        (["ldpopt.absent:Own"], "No module named 'ldpopt.absent'"),
        (["fine.py:Absent"], "fine.py has no 'Absent'"),
        (["fine.py:number"], "not a subclass of ldpopt.Solver"),
        (["fine.py:Half"], "does not define run"),
        (["ldpopt.solvers.row_selection_greedy:Greedy"], "'greedy', which is taken"),
        (["fine.py:Own", "fine.py:Own"], "'own', which is taken"),
    ],
)
def test_bad_plugins(files, references, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)) as caught:
        plugins.load_solvers(references)
    assert "\n" not in str(caught.value)


def test_a_plugin_that_raises_has_failed(files):
    with pytest.raises(FailedError, match="cannot be imported: RuntimeError: broken"):
        plugins.load_solvers(["broken.py:Own"])
