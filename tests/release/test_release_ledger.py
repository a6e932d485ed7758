"""A second release of one mechanism: what is said before, what is recorded after."""

import json
import re
import shutil
from dataclasses import asdict, replace

import joblib
import pytest

from ldpopt.core.errors import LdpoptError
from ldpopt.core.files import file_digest
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.release.designing import design, load_design
from ldpopt.release.promises import method as method_words
from ldpopt.release.release_ledger import (
    Release,
    check_budget,
    ledgers,
    most_about_one,
    of_population,
    record,
    releases,
    repetition,
    reports_together,
    void,
    warning,
)

ONCE = Release("2026-01-02", "released.csv", "0" * 64)
SMALL = {"s": ["a"] * 60 + ["b"] * 40, "u": ["x"] * 45 + ["y"] * 15 + ["x"] * 10 + ["y"] * 30}


@pytest.fixture(scope="module")
def made():
    return design(SMALL, "s", "u", epsilon=1.0, method="cr", robust="chi2")


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
    own = design(SMALL, "s", "u", epsilon=1.0, method="srr", robust="chi2")  # below 1 over its χ² set
    assert own.level.level < 0.95
    assert "two reports about one person have the exact level 2, whatever the distri" in repetition(own)


def test_the_ledger_holds_dates_and_hashes_and_no_data(made, tmp_path):
    path = tmp_path / "mech.json"
    assert releases(path, made) == []
    record(path, made, "one.csv", "a" * 64)
    record(path, made.public, tmp_path / "two.csv", "b" * 64)
    assert [(r.file, r.sha256[0]) for r in releases(path, made)] == [("one.csv", "a"), ("two.csv", "b")]
    assert releases(tmp_path / "mech.public.json", made.public) == releases(path, made)
    for ledger in ledgers(path, made):
        assert list(json.loads(ledger.read_text())) == [made.identity]
    other = design(SMALL, "s", "u", epsilon=1.0, method="ir", robust="chi2")
    assert releases(path, other) == []


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    "wrong", [3, ["2026-01-02"], [{"date": "2026-01-02"}], [dict.fromkeys(asdict(ONCE), 3)]]
)
def test_a_ledger_that_is_none_is_named(place, wrong, made, tmp_path):
    path = tmp_path / "mech.json"
    record(path, made, "one.csv", "a" * 64)
    ledger = ledgers(path, made)[place]
    ledger.write_text(json.dumps({made.identity: wrong}))
    with pytest.raises(LdpoptError, match=f"{re.escape(str(ledger))} is not a record of releases"):
        releases(path, made)


@pytest.mark.parametrize("how", ["copy", "rename", "link", "hard link", "elsewhere"])
def test_the_ledger_follows_the_mechanism(how, made, tmp_path):
    path, other = tmp_path / "mech.json", tmp_path / "other.json"
    made.save(path)
    record(path, made, "one.csv", "a" * 64)
    if how == "elsewhere":
        (tmp_path / "there").mkdir()
        other = tmp_path / "there" / "mech.json"
    if how == "link":
        other.symlink_to(path)
    elif how == "hard link":
        other.hardlink_to(path)
    else:
        shutil.copy(path, other)
    if how == "rename":
        path.unlink()
    again = load_design(other)
    assert [release.file for release in releases(other, again)] == ["one.csv"]
    assert len(record(other, again, "two.csv", "b" * 64)) == 2
    assert len(releases(path, made)) == 2


def test_others_see_the_ledger_beside_the_file(made, tmp_path, monkeypatch):
    """Another user, or the same one in a new container, has none; each release counts once."""
    path = tmp_path / "mech.json"
    record(path, made, "one.csv", "a" * 64)
    monkeypatch.setenv("LDPOPT_LEDGERS", str(tmp_path / "another user"))
    assert len(record(path, made, "two.csv", "b" * 64)) == 2
    monkeypatch.delenv("LDPOPT_LEDGERS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert [release.file for release in releases(path, made)] == ["one.csv", "two.csv"]
    assert ledgers(path, made)[0].is_relative_to(tmp_path / "data")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ledgers(path, made)[0].is_relative_to(tmp_path / ".local" / "share")


def test_a_ledger_of_the_earlier_format_counts(made, tmp_path):
    """Two releases of one day, name and hash are two releases: runs had no names."""
    path = tmp_path / "mech.json"
    old = {"date": "2026-01-02", "file": "a.csv", "sha256": "0" * 64}
    ledgers(path, made)[1].write_text(json.dumps({made.fingerprint: [old, old], "another": [old]}))
    assert [release.date for release in releases(path, made)] == ["2026-01-02"] * 2
    assert len(record(path, made, "b.csv", "b" * 64)) == 3
    assert len(releases(path, made)) == 3
    assert len(releases(tmp_path / "renamed.json", made)) == 3
    assert json.loads(ledgers(path, made)[1].read_text())["another"] == [old]
    void(path, made, releases(path, made)[0].run)
    assert [release.file for release in releases(path, made)] == ["a.csv", "b.csv"]


def test_other_people_do_not_count(made, tmp_path):
    path = tmp_path / "mech.json"
    one = reports_together(made, 1).found.level
    assert len(record(path, made, "a.csv", "a" * 64, one, "ward A")) == 1
    assert len(record(path, made, "b.csv", "b" * 64, one, "ward B")) == 1
    assert len(record(path, made, "c.csv", "c" * 64, one)) == 1
    with pytest.raises(LdpoptError, match="releases before: 1"):
        record(path, made, "d.csv", "d" * 64, one, "ward A")
    record(path, made, "d.csv", "d" * 64, None, "ward A")
    found = releases(path, made)
    assert most_about_one(found) == 2
    assert most_about_one([]) == 0
    assert [release.file for release in of_population(found, "ward A")] == ["a.csv", "d.csv"]


def test_a_rehearsal_is_void_once_its_file_is_gone(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, released = tmp_path / "mech.json", tmp_path / "a.csv"
    released.write_text("reports")
    (first,) = record(path, made, released, file_digest(released))
    record(path, made, "b.csv", "b" * 64)
    with pytest.raises(LdpoptError, match=r"delete .*a\.csv first"):
        void(path, made, first.run)
    released.write_text("the real release, under the same name")
    assert void(path, made, first.run) == first
    assert [release.file for release in releases(path, made)] == ["b.csv"]
    for run in (first.run, "nothing"):
        with pytest.raises(LdpoptError, match="unknown run of this mechanism"):
            void(path, made, run)
    ledgers(path, made)[0].unlink()  # it is void in the other one, too
    assert len(releases(path, made)) == 1
    entries = json.loads(ledgers(path, made)[1].read_text())[made.identity]
    assert [bool(entry["void"]) for entry in entries] == [True, False]


@pytest.mark.parametrize("known", ["where it was written", "beside the mechanism", "here"])
def test_a_file_that_is_still_there_is_not_void_whatever_the_directory(
    known, made, tmp_path, monkeypatch
):
    for name in ("mechanism", "released", "elsewhere"):
        (tmp_path / name).mkdir()
    path = tmp_path / "mechanism" / "mech.json"
    folder = {
        "where it was written": "released",
        "beside the mechanism": "mechanism",
        "here": "elsewhere",
    }
    released = tmp_path / folder[known] / "a.csv"
    released.write_text("reports")
    written = tmp_path / "released" / "a.csv"  # it may have been moved since
    (first,) = record(path, made, written, file_digest(released))
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(LdpoptError, match=r"delete .*a\.csv first"):
        void(path, made, first.run)
    beside = ledgers(path, made)[1].read_text()
    assert str(tmp_path) not in beside
    released.unlink()
    assert void(path, made, first.run).run == first.run


def test_another_promise_about_the_same_mechanism_has_the_same_ledger(tmp_path):
    one, two = (design(SMALL, "s", "u", epsilon=1.0, method="srr", alpha=a) for a in (0.05, 0.1))
    assert one.fingerprint != two.fingerprint
    assert one.identity == two.identity == two.public.identity
    record(tmp_path / "one.json", one, "a.csv", "a" * 64, 1.0)
    with pytest.raises(LdpoptError, match="releases before: 1"):
        record(tmp_path / "two.json", two, "b.csv", "b" * 64, 1.0)
    renamed = {"t": SMALL["s"], "u": SMALL["u"]}
    assert design(renamed, "t", "u", epsilon=1.0, method="srr").identity != one.identity
    assert design(SMALL, "s", "u", epsilon=0.9, method="srr").identity != one.identity


def test_a_ledger_that_an_earlier_version_named_by_the_fingerprint_counts(made, tmp_path):
    path = tmp_path / "mech.json"
    former = ledgers(path, made)[0].with_name(f"{made.fingerprint}.releases.json")
    former.parent.mkdir(parents=True, exist_ok=True)
    former.write_text(json.dumps({made.fingerprint: [asdict(replace(ONCE, run="abc"))]}))
    assert [release.run for release in releases(path, made)] == ["abc"]
    assert len(record(path, made, "b.csv", "b" * 64)) == 2
    void(path, made, "abc")
    assert [release.file for release in releases(path, made)] == ["b.csv"]


def test_a_ledger_that_cannot_be_written_is_named(made, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LDPOPT_LEDGERS", str(tmp_path / "file" / "ledgers"))
    with pytest.raises(LdpoptError, match="name another directory in LDPOPT_LEDGERS"):
        record(tmp_path / "mech.json", made, "a.csv", "a" * 64)


def test_the_command_knows_people_and_rehearsals(made, tmp_path, ldpopt):
    made.save(tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("s,u\n" + "".join(map("{},{}\n".format, SMALL["s"], SMALL["u"])))

    def released(*words):
        return ldpopt("privatize", "t.csv", "-m", "m.json", "--force", *words, cwd=tmp_path)

    run = re.search(r"this release \(run (\w+)\)", released("-o", "a.csv").out)[1]
    (tmp_path / "m.json").rename(tmp_path / "n.json")
    shutil.copy(tmp_path / "n.json", tmp_path / "m.json")
    others = released("-o", "b.csv", "--population", "others")
    assert (others.code, "used once before" in others.err) == (0, False)
    assert "used once before" in released("-o", "c.csv").err
    refused = ldpopt("privatize", "--void", run, "-m", "m.json", cwd=tmp_path)
    assert (refused.code, "a.csv first" in refused.err) == (2, True)
    (tmp_path / "a.csv").unlink()
    done = ldpopt("privatize", "--void", run, "-m", "m.json", cwd=tmp_path)
    assert (done.code, f"the run {run}" in done.out) == (0, True)
    assert "used once before" in released("-o", "d.csv").err
    nothing = ldpopt("privatize", "-m", "m.json", cwd=tmp_path)
    assert (nothing.code, "give a TABLE" in nothing.err) == (2, True)


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


HOW = {
    "polyopt": "then mixed with a constant release as far as needed",
    "staircase": "at a share of the level",
}


@pytest.mark.parametrize("method", HOW)
def test_a_design_for_two_reports_is_private_for_two(method, tmp_path):
    made = design(SMALL, "s", "u", epsilon=1.0, method=method, robust="chi2", reports=2)
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
    made = design(SMALL, "s", "u", epsilon=1.0, method="cr", robust="chi2")
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
