"""Results that the tests of the page share."""

import numpy as np
import pytest
from known import NASTY

from ldpopt.engine.solving import solve
from ldpopt.problems import Staircase
from ldpopt.release.designing import design
from ldpopt.report import page as report
from ldpopt.report import tradeoff
from ldpopt.report.loading import read


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A design of the census, one of a table with nasty names, and a plain result."""
    directory = tmp_path_factory.mktemp("results")
    census = design("adult:sex-race", "sex", "race", epsilon=1.0, robust="all", method="srr")
    census.save(directory / "census.json")
    rng = np.random.default_rng(5)
    table = {NASTY: rng.choice(["no", NASTY], 200), "$u$ x": rng.choice(["<i>", "'", "ü"], 200)}
    design(table, NASTY, "$u$ x", epsilon=0.5, method="cr", robust="chi2").save(
        directory / "nasty table.json"
    )
    solve(Staircase(epsilon=1, prior=[0.4, 0.3, 0.2, 0.1])).save(directory / "plain.json")
    return {path.stem: path for path in directory.iterdir()}


@pytest.fixture
def patient(monkeypatch):
    """However slow the machine, every point of a curve is solved to its gap."""
    monkeypatch.setattr(tradeoff, "SECONDS", 3600.0)


@pytest.fixture(scope="session")
def written():
    """The page on some result files; without seconds, without trade-off curves."""
    return lambda *paths, seconds=0.0: report.page(report.parts([read(path) for path in paths], seconds))
