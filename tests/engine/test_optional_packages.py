"""Packages that not everybody needs: each is named in one sentence, with what installs it."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ldpopt import problem, solve
from ldpopt.core.errors import INSTALLED_BY, MissingDependencyError
from ldpopt.core.workers import workers
from ldpopt.experiments import leakage_forest

QUESTION = problem("staircase", epsilon=1, prior=[0.5, 0.5])
LEAKAGE = problem("statistic-leakage", matrix=[[1, 0], [0, 1]], secrets=[0, 1])


def forest():
    return leakage_forest.forest_roc(np.zeros((2, 2)), np.zeros((2, 2)), [], 1, 0)


def scheduler():
    with workers(1, "tcp://localhost:1"):
        pass


def seal():
    import ldpopt.protocol.sealing  # noqa: F401


USES = {
    "cdd": lambda: solve(QUESTION, "cdd"),
    "cryptography.exceptions": seal,
    "distributed": scheduler,
    "ortools": lambda: solve(LEAKAGE, "flow-ortools"),
    "pandas": lambda: solve(QUESTION).to_frame(),
    "sklearn.ensemble": forest,
}


@pytest.mark.parametrize("module", USES)
def test_what_is_missing_is_named_with_what_installs_it(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "ldpopt.protocol.sealing", raising=False)
    package = module.split(".")[0]
    with pytest.raises(MissingDependencyError) as missing:
        USES[module]()
    said = f"needs the package {package!r}: pip install {INSTALLED_BY[package]}"
    assert str(missing.value).endswith(said)
    assert "\n" not in str(missing.value)


def test_the_extras_that_are_named_exist():
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {name[8:-2] for name in INSTALLED_BY.values() if name.startswith("'ldpopt[")}
    assert named <= project["optional-dependencies"].keys()
    assert {module.split(".")[0] for module in USES} == INSTALLED_BY.keys()
