"""A second release of one mechanism: what is said before, what is recorded after."""

import json
from dataclasses import asdict, replace

import joblib
import pytest

from ldpopt.core.errors import LdpoptError
from ldpopt.measures.levels import rldp_level
from ldpopt.release.designing import design, load_design
from ldpopt.release.repetition import (
    Release,
    check_budget,
    ledger_of,
    record,
    releases,
    repetition,
    reports_together,
    warning,
)
from ldpopt.release.words import method as method_words

ONCE = Release("2026-01-02", "released.csv", "0" * 64)
SMALL = {"s": ["a"] * 60 + ["b"] * 40, "u": ["x"] * 45 + ["y"] * 15 + ["x"] * 10 + ["y"] * 30}


@pytest.fixture(scope="module")
def made():
    return design(SMALL, "s", "u", epsilon=1.0, method="cr")


def test_words_state_the_exact_level_of_two_reports(made):
    two = rldp_level(made.mechanism.product(made.mechanism), made.question.uncertainty).level
    assert f"two have the exact level {two:.4g} (reports" in repetition(made)
    assert warning(made, []) == ""
    said = warning(made, [ONCE])
    assert "used once before (last on 2026-01-02)" in said
    assert (
        f"2 reports about a person have together the exact level {two:.4g} for all distributions that "
        "a χ² test at 0.05 does not reject [not checked], where 1 is" in said
    )


def test_levels_against_all_distributions_add_up():
    srr = design(SMALL, "s", "u", epsilon=1.0, method="srr", robust="all")
    assert "two reports about one person have the exact level 2, whatever the distri" in repetition(srr)
    alone = design(SMALL, "s", epsilon=0.5)
    said = "have the exact level 1, whatever the distribution of the data; r reports have r times"
    assert said in repetition(alone)
    own = design(SMALL, "s", "u", epsilon=1.0, method="srr")  # below 1 over its χ² set
    assert own.level.level < 0.95
    assert "two reports about one person have the exact level 2, whatever the distri" in repetition(own)


def test_the_ledger_holds_dates_and_hashes_and_no_data(made, tmp_path):
    path = tmp_path / "mech.json"
    assert releases(path, made) == []
    record(path, made, "one.csv", "a" * 64)
    record(path, made.public, tmp_path / "two.csv", "b" * 64)
    assert [(r.file, r.sha256[0]) for r in releases(path, made)] == [("one.csv", "a"), ("two.csv", "b")]
    assert releases(tmp_path / "mech.public.json", made.public) == releases(path, made)
    content = json.loads(ledger_of(path).read_text())
    assert list(content) == [made.fingerprint]
    other = design(SMALL, "s", "u", epsilon=1.0, method="ir")
    assert releases(path, other) == []
    for wrong in (3, ["2026-01-02"], [{"date": "2026-01-02"}], [dict.fromkeys(asdict(ONCE), 3)]):
        ledger_of(path).write_text(json.dumps({made.fingerprint: wrong}))
        with pytest.raises(LdpoptError, match="is not a record of releases"):
            releases(path, made)


def test_a_budget_counts_all_releases(made):
    one, two = (reports_together(made, r).found.level for r in (1, 2))
    check_budget(made, [], one)
    check_budget(made, [ONCE], two)
    with pytest.raises(
        LdpoptError, match=r"the 1 reports? about one person would have together the exact"
    ):
        check_budget(made, [], one * 0.99)
    with pytest.raises(LdpoptError, match=r"above the budget 0\.00123456789; releases before: 0"):
        check_budget(made, [], 0.00123456789)  # not rounded: it may lie next to the level
    with pytest.raises(LdpoptError, match=r"above the budget .*; releases before: 1\n  2026-01-02 rel"):
        check_budget(made, [ONCE], two * 0.99)
    with pytest.raises(LdpoptError, match="max-level must be a finite number from 0, not nan"):
        check_budget(made, [], float("nan"))
    srr = design(SMALL, "s", "u", epsilon=0.5, method="srr", robust="all")
    check_budget(srr.public, [ONCE, ONCE], 1.5)
    with pytest.raises(LdpoptError, match="the exact level 2, whatever the distribution of the data"):
        check_budget(srr.public, [ONCE] * 3, 1.9)


HOW = {"polyopt": "then mixed with a constant release", "staircase": "at a share of the level"}


@pytest.mark.parametrize("method", HOW)
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
    assert method_words(made).endswith(f"{HOW[method]}, for 2 reports")
    assert warning(made, [ONCE]) == ""
    assert "used 2 times before" in warning(made, [ONCE] * 2)


def test_a_promise_for_more_reports_than_hold_is_refuted():
    made = design(SMALL, "s", "u", epsilon=1.0, method="cr")
    claimed = replace(made, question=replace(made.question, reports=2, together=1.0))
    assert [claim.what for claim in claimed.verification.claims if not claim.holds] == ["together"]
    srr = design(SMALL, "s", "u", epsilon=1.0, method="srr")
    claimed = replace(srr, question=replace(srr.question, reports=2, together=1.999))
    assert [claim.what for claim in claimed.verification.claims if not claim.holds] == ["together"]


def recorded(folder, name, most):
    """Record a release, as others do at the same time; returns how many there are, or the refusal."""
    made = load_design(folder / "mech.json")
    try:
        return len(record(folder / "mech.json", made, name, "a" * 64, most))
    except LdpoptError as error:
        return str(error)


def test_releases_at_once_lose_no_entry_and_keep_the_budget(tmp_path):
    srr = design(SMALL, "s", "u", epsilon=0.5, method="srr", robust="all")
    srr.save(tmp_path / "mech.json")
    names = [f"{i}.csv" for i in range(8)]
    tasks = [joblib.delayed(recorded)(tmp_path, name, 2.5) for name in names]
    said = joblib.Parallel(n_jobs=4, backend="threading")(tasks)
    refused = [word for word in said if isinstance(word, str)]
    assert sorted(word for word in said if isinstance(word, int)) == [1, 2, 3, 4, 5]
    assert len(refused) == 3
    assert all("above the budget 2.5; releases before: 5" in word for word in refused)
    assert len(releases(tmp_path / "mech.json", srr)) == 5
    assert {path.name for path in tmp_path.iterdir()} == {"mech.json", "mech.json.releases.json"}


def test_the_lock_of_a_process_that_was_killed_is_free(made, tmp_path):
    (tmp_path / ".mech.json.releases.json.lock").touch()
    record(tmp_path / "mech.json", made, "one.csv", "a" * 64)
    assert [path.name for path in tmp_path.iterdir()] == ["mech.json.releases.json"]
