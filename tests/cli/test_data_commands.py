"""design, privatize and estimate as a user runs them."""

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.number_text import at_least
from ldpopt.engine import verifying
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.release import comparing, designing
from ldpopt.release.methods import METHODS

TABLE = pd.DataFrame(
    {
        "sex": ["f", "m"] * 200,
        "job": ["a", "a", "b", "b", "c", "b", "c", "c"] * 50,
        "age": [20 + i % 210 for i in range(400)],
    }
)
DESIGN = ("--secret", "sex", "--public", "job", "--epsilon", "1")


@pytest.fixture(scope="module")
def work(tmp_path_factory, ldpopt):
    """A directory with a table, its mechanism and a released file."""
    folder = tmp_path_factory.mktemp("work")
    TABLE.to_csv(folder / "table.csv", index=False)
    TABLE.to_parquet(folder / "table.parquet")
    designed = ldpopt("design", "table.csv", *DESIGN, "-o", "mech.json", cwd=folder)
    assert designed.code == 0, designed.err
    released = ldpopt("privatize", "table.csv", "--mechanism", "mech.json", "-o", "out.csv", cwd=folder)
    assert released.code == 0, released.err
    return folder


def test_design_says_what_it_did(work, ldpopt):
    said = ldpopt("design", "table.parquet", *DESIGN, "--explain", "-o", "again.json", cwd=work)
    assert said.code == 0
    for words in (
        "table.parquet, 400 rows",
        "sex (2 values)",
        "no report is more than 2.72 times as likely for one value of sex as for another",
        "whatever the distribution of the data, also against whoever knows job",
        "the independent checker verifies every claim",
        "again.json, with the counts of the table",
        "ldpopt privatize table.parquet --mechanism again.json",
    ):
        assert words in said.out
    fingerprints = [
        json.loads((work / name).read_text())["design"] for name in ("mech.json", "again.json")
    ]
    for section in fingerprints:  # the digest is salted
        assert section.pop("salt") not in (None, section.pop("digest"))
    assert fingerprints[0] == fingerprints[1]
    assert ldpopt("verify", "again.json", cwd=work).code == 0


def test_compare(work, ldpopt, monkeypatch):
    said = ldpopt("design", "table.csv", *DESIGN, "--compare", "--json", "-o", "c.json", cwd=work)
    answer = json.loads(said.out)
    methods = answer["methods"]
    assert methods["ir"]["reason"].startswith("is made for a confidence set")
    errors = [float(row["squared error"]) for row in methods.values() if "squared error" in row]
    assert answer["squared error"] == pytest.approx(min(errors))
    assert methods["unary"]["nats"] is None  # not computed
    assert all(row["verified"] for row in methods.values() if "nats" in row)

    def alike(made, **_):
        return {name: replace(made, method=name) for name in METHODS}

    monkeypatch.setattr(comparing, "compare", alike)
    table = ldpopt("design", "table.csv", *DESIGN, "--compare", "-o", "c.json", "--force", cwd=work).out
    for name in METHODS:
        assert f"│ {name}" in table

    def stopped(made, **_):
        """Leave a worse design by the method that Ctrl-C ended."""
        result = replace(made.result, value=0.0, stats={"interrupted": 1.0})
        return {"srr": made, "calibrated": replace(made, method="calibrated", result=result)}

    monkeypatch.setattr(comparing, "compare", stopped)
    words = ("design", "table.csv", *DESIGN, "--compare", "--method", "srr", "-o", "c.json", "--force")
    said = ldpopt(*words, cwd=work)
    assert (said.code, said.err.splitlines()[-1]) == (130, "ldpopt: interrupted")
    assert "wrote c.json by srr [not checked]" in said.out


@pytest.mark.parametrize("goal", ["information", "estimates"])
def test_a_comparison_says_what_was_decided(goal, work, monkeypatch, ldpopt):
    """The nats of learn are only computed; proven ones are rounded down; encodings have other levels."""
    made = {
        name: designing.design(
            work / "table.csv", "sex", "job", epsilon=1.0, robust="chi2", method=name, goal=goal
        )
        for name in ("cr", "learn", "subset")
    }
    monkeypatch.setattr(comparing, "compare", lambda *_, **__: made)
    words = ("design", "table.csv", *DESIGN, "--for", goal, "--compare", "-o", "d.json", "--force")
    said = ldpopt(*words, cwd=work).out
    lines = " ".join(said.split())
    decided = {"information": "status, proven bound and nats", "estimates": "status and nats"}[goal]
    assert f"decided {decided} (for learn, not nats)" in lines
    assert "subset: the level of the secret is the LDP level, which bounds it" in lines
    (row,) = (line for line in said.splitlines() if re.match(r"│ cr\b", line))
    cells = [cell.strip() for cell in row.split("│")]
    assert at_least(made["cr"].information) in cells


def test_what_the_checker_does_not_decide_in_time_is_undecided(work, ldpopt, monkeypatch):
    def undecided(path, *, budget):
        return verifying.verify_within(verifying.read_document(path), 1e-9)

    monkeypatch.setattr(verifying, "verify", undecided)
    monkeypatch.setattr(comparing, "compare", lambda made, **_: {"srr": made})
    words = ("design", "table.csv", *DESIGN, "--method", "srr", "--compare", "-o", "u.json", "--force")
    said = ldpopt(*words, cwd=work)
    assert said.code == 3
    assert "the checker ran out of time, so give it more: ldpopt verify u.json --budget 600" in said.out
    (row,) = (line for line in said.out.splitlines() if line.startswith("│ srr *"))
    assert row.endswith("│ undecided │")
    assert json.loads(ldpopt(*words, "--json", cwd=work).out)["verified"] is None


def test_bins_and_known(work, ldpopt):
    options = ("--secret", "sex", "--public", "age", "--epsilon", "1", "--known")
    said = ldpopt(
        "design", "table.csv", *options, "--explain", "--bins", "age=3", "-o", "b.json", cwd=work
    )
    assert "age (3 values)" in said.out
    assert "if the data have the distribution of the table" in said.out
    others = ("--bins", "age=30,60", "--method", "srr", "-o", "b.json", "--force")
    assert ldpopt("design", "table.csv", *options, *others, cwd=work).code == 0
    column = json.loads((work / "b.json").read_text())["design"]["domain"]["public"]["columns"][0]
    assert column["values"] == ["< 30", "[30, 60)", "≥ 60"]


def test_release_and_estimate(work, ldpopt):
    lines = (work / "out.csv").read_text().splitlines()
    assert lines[0].startswith('"ldpopt-')
    assert len(lines) == 401
    said = ldpopt("estimate", "out.csv", "--mechanism", "mech.json", "--plot", "plot.svg", cwd=work)
    assert said.code == 0, said.err
    assert "Frequencies of job (public)" in said.out
    assert "From 400 reports" in said.out
    assert "(joint)" not in said.out
    assert (work / "plot.svg").read_text().startswith("<?xml")
    words = ("estimate", "out.csv", "-m", "mech.json", "--all", "--json")
    answer = json.loads(ldpopt(*words, cwd=work).out)
    secret = [row for row in answer["frequencies"] if row["group"] == "secret"]
    assert [row["label"] for row in secret] == ["f", "m"]
    assert math.fsum(row["ml"] for row in secret) == pytest.approx(1)


def test_estimates_outside_of_0_to_1_are_told(work, ldpopt):
    """The estimate is printed as it is; a sentence says why, exactly where one is not from 0 to 1."""
    lines = (work / "out.csv").read_text().splitlines()
    told = []
    for name, reports in {"alike": [lines[1]] * 60, "many": lines[1:]}.items():
        (work / f"{name}.csv").write_text("\n".join([lines[0], *reports]) + "\n")
        ask = ("estimate", f"{name}.csv", "--mechanism", "mech.json")
        said = ldpopt(*ask, cwd=work)
        assert said.code == 0, said.err
        told.append("Estimates have no bias, so that of a rare value may lie below 0" in said.out)
        rows = json.loads(ldpopt(*ask, "--json", cwd=work).out)["frequencies"]
        shown = [row for row in rows if row["group"] != "joint"]
        assert told[-1] == any(row.get("clipped") is not None for row in shown)
    assert told == [True, False]


def test_a_second_release_is_warned_about_with_the_exact_level(work, ldpopt):
    weaker = ("--robust", "chi2", "--for", "information", "--explain")
    designed = ldpopt("design", "table.csv", *DESIGN, *weaker, "-o", "twice.json", cwd=work)
    first = ldpopt("privatize", "table.csv", "-m", "twice.json", "-o", "t1.csv", cwd=work)
    assert first.err == ""
    second = ldpopt("privatize", "table.csv", "-m", "twice.json", "-o", "t2.csv", cwd=work)
    assert second.code == 0
    made = designing.load_design(work / "twice.json")
    product = made.mechanism.product(made.mechanism)
    level = rldp_level(product, made.question.uncertainty).level
    words = "∞" if level == math.inf else f"{level:.4g}"
    assert "this mechanism was used once before" in second.err
    assert f"the 2 reports about a person have together the exact level {words}" in second.err
    assert f"two have the exact level {words}" in designed.out
    page = ldpopt("report", "twice.json", "--curve-seconds", "0", "-o", "twice.html", cwd=work)
    assert page.code == 0, page.err
    assert f"two have the exact level {words}" in (work / "twice.html").read_text()


def test_a_seed_is_warned_about(work, ldpopt):
    first = ldpopt("privatize", "table.csv", "-m", "mech.json", "-o", "s1.csv", "--seed", "1", cwd=work)
    assert "Never release this file" in first.err
    assert "no level, as --seed makes the noise repeatable" in first.out
    assert "promise holds" not in first.out
    ldpopt("privatize", "table.csv", "-m", "mech.json", "-o", "s2.csv", "--seed", "1", cwd=work)
    assert (work / "s1.csv").read_text() == (work / "s2.csv").read_text()
    third = ldpopt("privatize", "table.csv", "-m", "mech.json", "-o", "s3.csv", cwd=work)
    assert "Never release this file" not in third.err
    assert (work / "s3.csv").read_text() != (work / "s1.csv").read_text()


BAD_TABLES = {
    "empty.csv": "",
    "header.csv": "sex,job\n",
    "nan.csv": "sex,job\nf,a\nm,\n",
    "mixed.csv": "sex,job\nf,1\nm,x\n",
    "other.csv": "colour,size\nred,1\n",
    "unknown.csv": "sex,job\nf,a\nm,pilot\n",
    "ragged.csv": "sex,job\nf,a\nm\n",
}


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            ("design", "table.csv", "--secret", "sec", "--epsilon", "1"),
            "unknown column of table.csv 'sec'",
        ),
        (("design", "empty.csv", *DESIGN), "cannot read empty.csv: Empty CSV file"),
        (("design", "header.csv", *DESIGN), "header.csv has no rows"),
        (("design", "nan.csv", *DESIGN), "row 2 of column 'job' is empty: fill it"),
        (("design", "mixed.csv", *DESIGN), "'job' mixes numbers and words ('1' and 'x'); clean it"),
        (("design", "ragged.csv", *DESIGN), "Expected 2 columns, got 1"),
        (("design", "none.csv", *DESIGN), "there is no file none.csv"),
        (
            ("design", "table.csv", "--secret", "age", "--epsilon", "1"),
            "bin it (--bins age=5), count",
        ),
        (
            ("design", "table.csv", *DESIGN, "--bins", "job=2", "--bins", "job=3"),
            "--bins may name the column 'job' once, not twice",
        ),
        (("design", "table.csv", "--secret", "a\nb", "--epsilon", "1"), r"name 'a\nb' in double quotes"),
        (("design", "table.csv", *DESIGN, "--bins", "job"), "--bins must look like COLUMN=5"),
        (("design", "table.csv", *DESIGN, "--known", "--robust", "all"), "exclude each other"),
        (
            ("privatize", "other.csv", "-m", "mech.json"),
            "no column 'sex': the mechanism is made for sex, job",
        ),
        (("privatize", "unknown.csv", "-m", "mech.json"), "row 2 of column 'job' holds 'pilot', which"),
        (("privatize", "nan.csv", "-m", "mech.json"), "row 2 of column 'job' is empty"),
        (("privatize", "table.csv", "-m", "table.csv"), "cannot read 'table.csv'"),
        (("privatize", "table.csv", "-m", "result.json"), "was not written by ldpopt design"),
        (("estimate", "other-out.csv", "-m", "mech.json"), "was released by another mechanism"),
        (("estimate", "table.csv", "-m", "mech.json"), "has no column of reports"),
        (("estimate", "out.csv", "-m", "mech.json", "--level", "1"), "level must lie between 0 and 1"),
        (
            ("estimate", "out.csv", "-m", "mech.json", "--plot", "x.doc"),
            "must end in .png, .svg or .pdf",
        ),
    ],
)
def test_one_sentence_and_exit_code_2(work, command, sentence, ldpopt):
    for name, text in BAD_TABLES.items():
        (work / name).write_text(text)
    (work / "other-out.csv").write_text('"ldpopt-0123456789ab"\n1\n')
    document = json.loads((work / "mech.json").read_text())
    del document["design"]
    (work / "result.json").write_text(json.dumps(document))
    (work / "mech.json.releases.json").unlink(missing_ok=True)  # no warning of a second release
    before = set(work.iterdir())
    out = () if command[0] == "estimate" else ("-o", "new.json" if command[0] == "design" else "new.csv")
    said = ldpopt(*command, *out, cwd=work)
    assert said.code == 2
    assert sentence in said.err
    assert said.err.startswith("ldpopt: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert set(work.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        ("design", "table.csv", *DESIGN, "-o", "table.csv"),
        ("privatize", "table.csv", "-m", "mech.json", "-o", "./table.csv"),
        ("privatize", "table.csv", "-m", "mech.json", "-o", "mech.json"),
        ("estimate", "out.csv", "-m", "mech.json", "--plot", "out.csv"),
        ("design", "table.csv", *DESIGN, "-o", "pipe"),
    ],
)
def test_nothing_is_written_over_an_input_or_a_device(work, command, ldpopt):
    if not (work / "pipe").exists():
        os.mkfifo(work / "pipe")
    kept = {name: (work / name).read_bytes() for name in ("table.csv", "mech.json", "out.csv")}
    said = ldpopt(*command, cwd=work)
    assert said.code == 2
    assert said.err.startswith(f"ldpopt: cannot write {Path(command[-1])}: it ")
    assert all((work / name).read_bytes() == content for name, content in kept.items())
    assert (work / "pipe").is_fifo()


def test_a_name_with_a_comma(work, ldpopt):
    TABLE.rename(columns={"job": "job, last"}).to_csv(work / "comma.csv", index=False)
    options = ("--secret", "sex", "--public", '"job, last"', "--epsilon", "1", "--method", "srr")
    said = ldpopt("design", "comma.csv", *options, "--explain", "-o", "comma.json", cwd=work)
    assert 'public       "job, last" (3 values)' in said.out


@pytest.mark.parametrize(
    "command",
    [("privatize", "table.csv", "-o", "seed.csv"), ("estimate", "out.csv")],
    ids=lambda c: c[0],
)
def test_a_seed_is_not_negative(work, command, ldpopt):
    said = ldpopt(*command, "-m", "mech.json", "--seed", "-1", cwd=work)
    assert said.code == 2
    assert "invalid value for '--seed'" in said.err
    assert not (work / "seed.csv").exists()


def test_a_level_is_shown_with_all_its_digits(work, ldpopt):
    said = ldpopt("estimate", "out.csv", "-m", "mech.json", "--level", "0.99999", cwd=work)
    assert "99.999 % interval" in said.out
    assert "with a probability of about 99.999 %." in said.out


def test_an_interrupted_comparison_is_written_and_exits_with_130(work, ldpopt, monkeypatch):
    monkeypatch.setattr(comparing, "compare", lambda made, **_: {"polyopt": made, "grr": "interrupted"})
    said = ldpopt("design", "table.csv", *DESIGN, "--compare", "-o", "i.json", cwd=work)
    assert said.code == 130
    assert "grr: interrupted" in said.out
    assert (work / "i.json").exists()


@pytest.mark.parametrize(("words", "given"), [(["20"], 17.0), (["4"], 2.0), (["20", "--compare"], 10.0)])
def test_a_design_keeps_time_for_its_check(words, given, work, clock, monkeypatch, tmp_path, ldpopt):
    seen = []

    def refusing(*_, time_limit, **__):
        seen.append(time_limit)
        raise InvalidInputError("seen enough")

    monkeypatch.setattr(designing, "design", refusing)
    asked = [work / "table.csv", *DESIGN, "-o", tmp_path / "m.json"]
    assert ldpopt("design", *asked, "--time-limit", *words).code == 2
    assert seen == [given]


@pytest.mark.parametrize("limit", ["-1", "0", "nan", "inf"])
def test_a_design_refuses_a_time_limit_without_time(limit, work, tmp_path, ldpopt):
    asked = [work / "table.csv", *DESIGN, "-o", tmp_path / "m.json"]
    answer = ldpopt("design", *asked, f"--time-limit={limit}")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "time_limit must be a finite number > 0" in answer.err
