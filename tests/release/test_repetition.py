"""A second release of one mechanism: what is said before, what is recorded after."""

import json
from dataclasses import replace

import pytest

from ldpopt.core.errors import LdpoptError
from ldpopt.release.designing import design, load_design
from ldpopt.release.repetition import record, record_of, releases, repetition, warning
from ldpopt.theory.robust.level import rldp_level

SMALL = {"s": ["a"] * 60 + ["b"] * 40, "u": ["x"] * 45 + ["y"] * 15 + ["x"] * 10 + ["y"] * 30}


@pytest.fixture(scope="module")
def made():
    return design(SMALL, "s", "u", epsilon=1.0, method="cr")


def test_words_state_the_exact_level_of_two_reports(made):
    two = rldp_level(made.mechanism.product(made.mechanism), made.question.uncertainty).level
    assert f"two have the exact level {two:.4g} (reports" in repetition(made)
    assert warning(made, []) == ""
    said = warning(made, ["2026-01-02"])
    assert "used once before (last on 2026-01-02)" in said
    assert f"2 reports about a person have together the exact level {two:.4g}, where 1 is" in said


def test_levels_against_all_distributions_add_up():
    srr = design(SMALL, "s", "u", epsilon=1.0, method="srr", robust="all")
    assert "two reports about one person have the exact level 2;" in repetition(srr)
    alone = design(SMALL, "s", epsilon=0.5)
    assert "have the exact level 1; r reports at most r times the level of one" in repetition(alone)


def test_the_record_holds_dates_and_no_data(made, tmp_path):
    path = tmp_path / "mech.json"
    assert releases(path, made) == []
    record(path, made)
    record(path, made)
    assert len(releases(path, made)) == 2
    content = json.loads(record_of(path).read_text())
    assert list(content) == [made.fingerprint]
    other = design(SMALL, "s", "u", epsilon=1.0, method="ir")
    assert releases(path, other) == []
    record_of(path).write_text(json.dumps({made.fingerprint: 3}))
    with pytest.raises(LdpoptError, match="is not a record of releases"):
        releases(path, made)


@pytest.mark.parametrize("method", ["polyopt", "staircase"])
def test_a_design_for_two_reports_is_private_for_two(method, tmp_path):
    made = design(SMALL, "s", "u", epsilon=1.0, method=method, reports=2)
    F = made.question.uncertainty
    assert rldp_level(made.mechanism.product(made.mechanism), F).level <= 1 + 1e-12
    assert made.information > 0
    assert made.verification, str(made.verification)
    assert "together" in [claim.what for claim in made.verification.claims]
    made.save(tmp_path / "two.json")
    again = load_design(tmp_path / "two.json")
    assert (again.question.reports, again.question.promised) == (2, 1.0)
    assert warning(made, ["2026-01-02"]) == ""
    assert "used 2 times before" in warning(made, ["2026-01-02"] * 2)


def test_a_promise_for_more_reports_than_hold_is_refuted():
    made = design(SMALL, "s", "u", epsilon=1.0, method="cr")
    claimed = replace(made, question=replace(made.question, reports=2, together=1.0))
    assert [claim.what for claim in claimed.verification.claims if not claim.holds] == ["together"]
    srr = design(SMALL, "s", "u", epsilon=1.0, method="srr")
    claimed = replace(srr, question=replace(srr.question, reports=2, together=1.999))
    assert [claim.what for claim in claimed.verification.claims if not claim.holds] == ["together"]
