"""The public value as it is, as a solver."""

import math

import numpy as np
import pytest

from ldpopt import Status, solve, verify
from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.verifying import verify_document
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.problems import PolyOpt, Staircase
from ldpopt.release import comparing
from ldpopt.release.comparing import best, compare
from ldpopt.release.designing import design, load_design
from ldpopt.release.methods import METHODS, applicable
from ldpopt.release.question import Question
from ldpopt.solvers import PublicColumn

COUNTS = [[420, 380, 400], [510, 470, 520]]
"""Nearly independent: the values as they are tell little of the secret."""
SHARES = np.sum(COUNTS, axis=0) / np.sum(COUNTS)
INFORMED = {"robust": "chi2", "goal": "information"}
ENTROPY = float(-(SHARES * np.log(SHARES)).sum())


def table():
    cells = [(s, u) for s in range(2) for u in range(3) for _ in range(COUNTS[s][u])]
    return {"s": [f"s{s}" for s, _ in cells], "u": [f"u{u}" for _, u in cells]}


def test_it_is_the_public_value_exactly():
    result = solve(PolyOpt(1.0, counts=COUNTS, calibrate=True), "public-column")
    assert result.mechanism.matrix.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 2
    assert (result.status, result.bound) == (Status.FEASIBLE, None)
    assert result.value == pytest.approx(ENTROPY, abs=1e-12)
    assert verify(result)


def test_where_it_is_not_private_it_is_mixed():
    problem = PolyOpt(0.1, counts=COUNTS, calibrate=True)
    result = solve(problem, "public-column")
    assert rldp_level(result.mechanism, problem.uncertainty).level == pytest.approx(0.1, rel=1e-6)
    assert 0 < result.value < ENTROPY
    assert verify(result)


def test_within_the_cone_it_is_mixed_further():
    problem = PolyOpt(0.2, counts=COUNTS)
    result = solve(problem, "public-column")
    assert problem.cone.level(result.mechanism.matrix) == pytest.approx(0.2, abs=1e-4)
    assert (result.status, result.bound) == (Status.FEASIBLE, None)
    assert 0 < result.value < ENTROPY
    assert verify(result)


def test_a_claim_of_a_lower_level_is_refuted():
    result = solve(PolyOpt(1.0, counts=COUNTS, calibrate=True), "public-column")
    for change in (
        lambda d: d["params"].update(epsilon=0.1),
        lambda d: d.update(value=ENTROPY + 1e-9),
        lambda d: d["mechanism"]["matrix"][0].reverse(),
    ):
        document = result.to_json()
        change(document)
        assert verify_document(document).verdict is False


def test_auto_and_compare_find_it(tmp_path, monkeypatch):
    made = design(table(), "s", "u", epsilon=1.0, width=2, **INFORMED)
    assert made.method == "public"
    assert made.information == pytest.approx(ENTROPY)
    assert made.level.level <= 1
    monkeypatch.setattr(comparing, "applicable", lambda _: dict.fromkeys(["polyopt", "srr", "public"]))
    found = compare(design(table(), "s", "u", epsilon=1.0, method="srr", width=2, robust="chi2"))
    assert best(found, "information").method == "public"
    assert found["public"].identity == made.identity
    made.save(tmp_path / "m.json")
    assert verify(tmp_path / "m.json")
    assert load_design(tmp_path / "m.json").identity == made.identity


def test_many_reports_of_it_are_one():
    made = design(table(), "s", "u", epsilon=1.0, reports=2, method="public", robust="chi2")
    assert made.information == pytest.approx(ENTROPY)
    assert made.verification


def test_below_its_level_it_is_blurred(tmp_path):
    """Below the level of the public values a little noise is enough: PolyOpt's cone releases less."""
    epsilon = 0.9 * Question(COUNTS, 1.0, "chi2").public_level
    made = design(table(), "s", "u", epsilon=epsilon, width=2, **INFORMED)
    assert made.method == "blurred"
    assert 0.8 * ENTROPY < made.information < ENTROPY
    assert epsilon * (1 - 1e-6) < made.level.level <= epsilon
    asked = {"epsilon": epsilon, "width": 2, "robust": "chi2"}
    assert made.information > design(table(), "s", "u", **asked, method="polyopt").information
    assert made.verification
    made.save(tmp_path / "m.json")
    assert load_design(tmp_path / "m.json").identity == made.identity
    assert "public is better" in applicable(Question(COUNTS, 1.0, "chi2"))["blurred"]
    open_cells = design(
        {"s": ["a"] * 3 + ["b"] * 4, "u": ["x"] * 3 + ["y"] * 4},
        "s",
        "u",
        epsilon=1.0,
        robust="known",
        method="blurred",
    )  # the value tells the secret
    assert open_cells.level.level <= 1
    assert open_cells.verification


def test_refusals():
    wide = Question([[5] * 31] * 20, 0.1, "chi2")
    assert METHODS["blurred"].refusal(wide) == "takes at most 600 cells, not 620"
    assert "have the level" in applicable(Question(COUNTS, 0.1, "chi2"))["public"]
    assert "confidence set" in applicable(Question(COUNTS, 9.0, robust="all"))["public"]
    assert (
        applicable(Question([[3], [4]], 1.0))["public"]
        == "there is no public column of two or more values"
    )
    assert math.isinf(Question([[3, 0], [0, 4]], 1.0, robust="known").public_level)
    with pytest.raises(InvalidInputError, match="'public' does not apply: the public values"):
        design(table(), "s", "u", epsilon=0.1, method="public", robust="chi2")
    (form,) = Staircase(1.0, prior=[0.5, 0.5]).forms()
    assert "needs the cone of a confidence set" in PublicColumn().accepts(form)
