"""``ldpopt report`` as a user runs it: pages, refuted results, files that are none."""

import dataclasses
import json
import math
import re
import shutil

import pytest
from web import sound

from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError
from ldpopt.engine.solving import solve
from ldpopt.engine.verifying import Verification
from ldpopt.problems import IndependentReporting, RobustLevel, Staircase
from ldpopt.release.designing import design, load_design
from ldpopt.report import page as report
from ldpopt.report.loading import read


def test_command(files, tmp_path, ldpopt):
    out, census = tmp_path / "page.html", tmp_path / "files" / "census.json"
    census.parent.mkdir()
    shutil.copy(files["census"], census)
    words = ("report", census, files["plain"], "-o", out, "--curve-seconds", 0)
    code, _, complaint = ldpopt(*words)
    assert code == 0
    assert complaint.endswith("internal, it holds statistics of the table; its name does not say so\n")
    load_design(census).public.save(census.with_suffix(".public.json"))
    code, said, complaint = ldpopt(*words, "--force")
    assert code == 0
    assert complaint.endswith(
        f"The page to hand out: ldpopt report {census.with_suffix('.public.json')}\n"
    )
    assert said == f"wrote {out}: 2 results, every claim verified\n"
    assert "No curve was computed, as asked" in sound(out.read_text(encoding="utf-8")).text
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "files"}


@pytest.mark.parametrize("name", ["census", "plain"])
def test_a_tampered_result_is_refuted_on_the_page(name, files, tmp_path, ldpopt):
    document = json.loads(files[name].read_text())
    tampered, out = tmp_path / "t.json", tmp_path / "page.html"
    tampered.write_text(json.dumps(document | {"value": document["value"] + 1e-6}))
    code, said, _ = ldpopt("report", files[name], tampered, "-o", out, "--curve-seconds", 0.1)
    assert code == 1
    assert said == f"wrote {out}: 2 results, REFUTED: {tampered}\n"
    page = sound(out.read_text(encoding="utf-8"))
    assert page.text.count("✗ REFUTED") >= 3  # in the comparison, as the verdict, at the claim
    assert page.text.count("✓ Verified") == 1
    assert page.text.count("No curve was computed: the result is refuted.") == 1


@pytest.mark.parametrize("name", ["census", "plain"])
def test_a_broken_mechanism_is_refuted_and_not_shown(name, files, tmp_path, ldpopt):
    document = json.loads(files[name].read_text())
    document["mechanism"]["matrix"][0][0] += 0.01
    (tmp_path / "t.json").write_text(json.dumps(document))
    code, _, _ = ldpopt("report", tmp_path / "t.json", "-o", tmp_path / "page.html")
    assert code == 1
    page = sound((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "REFUTED every row of the mechanism sums to exactly 1" in page.text
    assert "The answer of the file cannot be shown" in page.text
    assert "Probability of each report" not in page.text


def test_a_mechanism_that_breaks_its_promise_is_not_sound(files):
    loaded = read(files["census"])
    made = loaded.content
    worse = dataclasses.replace(made, question=dataclasses.replace(made.question, epsilon=0.5))
    part = report.described(loaded._replace(content=worse), "r1", 0)
    assert not part.audit.passed
    assert not part.sound
    assert "REFUTED" in sound(report.page([part])).text


def test_what_the_checker_leaves_open_is_undecided_not_refuted(files, tmp_path, ldpopt, monkeypatch):
    loaded = read(files["plain"])
    first, *others = loaded.verification.claims
    open_claim = Verification((first._replace(holds=None), *others))
    monkeypatch.setattr(report, "read", lambda path, seconds: loaded._replace(verification=open_claim))
    out = tmp_path / "page.html"
    code, said, _ = ldpopt("report", files["plain"], "-o", out, "--curve-seconds", 1)
    assert (code, said) == (3, f"wrote {out}: 1 result, undecided: {files['plain']}\n")
    page = sound(out.read_text(encoding="utf-8"))
    assert "? Undecided: the checker did not decide every claim" in page.text
    assert f"? undecided {first.statement}" in page.text
    assert "No curve was computed: the result is undecided." in page.text
    assert "REFUTED" not in page.text


SPOILT = {
    "garbage": lambda document: "garbage",
    "empty": lambda document: "",
    "half": lambda document: json.dumps(document)[:300],
    "list": lambda document: "[1]",
    "other": lambda document: '{"a": 1}',
    "kind": lambda document: json.dumps(document | {"problem": "no-such-kind"}),
    "params": lambda document: json.dumps(document | {"params": {"epsilon": -1}}),
    "seconds": lambda document: json.dumps(document | {"seconds": "long"}),
    "status": lambda document: json.dumps(document | {"status": "good"}),
    "solver": lambda document: json.dumps(document | {"solver": ["a"]}),
    "environment": lambda document: json.dumps(document | {"environment": []}),
    "certificate": lambda document: json.dumps(document | {"certificate": "good"}),
    "stripped": lambda document: json.dumps(document | {"mechanism": None}),
    "proof": lambda document: json.dumps(
        document | {"certificate": document["certificate"] | {"proof": -1}}
    ),
    "design": lambda document: json.dumps(document | {"design": 5}),
    "labels": lambda document: json.dumps(document).replace('"Female"', "7"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_no_result_is_one_sentence(name, files, tmp_path, ldpopt):
    bad = tmp_path / "bad.json"
    bad.write_text(SPOILT[name](json.loads(files["census"].read_text())))
    code, said, complaint = ldpopt("report", files["plain"], bad, "-o", tmp_path / "page.html")
    assert (code, said) == (2, "")
    assert complaint.startswith("ldpopt: ")
    assert str(bad) in complaint
    assert complaint.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.json", "-o", "page.html"], "absent.json"),
        (["{plain}", "-o", "no/such/place.html"], "there is no directory no/such"),
        (["{plain}", "-o", "."], "it is a directory"),
        (["{plain}", "-o", "{plain}"], "it would replace"),
    ],
)
def test_bad_places(words, message, files, tmp_path, monkeypatch, ldpopt):
    monkeypatch.chdir(tmp_path)
    before = files["plain"].read_bytes()
    code, said, complaint = ldpopt("report", *(word.format(**files) for word in words))
    assert (code, said) == (2, "")
    assert message in complaint
    assert complaint.count("\n") == 1
    assert files["plain"].read_bytes() == before
    assert not list(tmp_path.iterdir())


def test_a_page_shares_its_time_limit(files, tmp_path, clock, monkeypatch):
    """The checker has half of it, file after file; then come audits and, in what they leave, curves."""
    given = []

    def taking(path, seconds):
        given.append(seconds)
        clock.move(seconds)
        return read(path, 60.0)

    def audited(content, limits):
        given.append(limits.remaining())
        clock.move(0.0 if math.isinf(given[-1]) else given[-1])

    def curve(loaded, name, seconds, progress):
        given.append(seconds)
        clock.move(seconds)
        return None, ""

    monkeypatch.setattr(report, "read", taking)
    monkeypatch.setattr(report, "audited", audited)
    monkeypatch.setattr(report, "trade_off_curve", curve)
    monkeypatch.setattr(report, "page", lambda parts: "")
    paths, steps = [files["census"], files["plain"]], []
    report.report(paths, tmp_path / "page.html", time_limit=20.0, step=steps.append)
    # 20 s: 5 and 7.5 for the checker; 90 % of the other 7.5 for two parts, 3.375 for the first
    first = [3.375 * 0.5, 3.375 * 0.5 * 0.8]
    rest = 6.75 - sum(first)
    assert given == pytest.approx([5.0, 7.5, *first, rest * 0.5, rest * 0.5 * 0.8])
    checks, parts = ([f"{word} of {path}" for path in paths] for word in ("check", "audit and curve"))
    assert steps == [*checks, *parts]
    given.clear()
    report.report(paths, tmp_path / "page.html")
    assert given == [60.0, 60.0, math.inf, 30.0, math.inf, 30.0]


@pytest.mark.parametrize("name", ["census", "plain", "public"])
def test_a_file_that_takes_longer_to_decide_has_its_page(name, files, tmp_path, ldpopt, monkeypatch):
    """Not even the question is read in time: the page says so, and names nothing as proven."""

    def slow(document, plain=None):
        raise UndecidedError("not decided within 5 seconds")

    file = files["census"] if name == "public" else files[name]
    if name == "public":
        load_design(file).public.save(file := tmp_path / "m.public.json")
    monkeypatch.setattr(frame, "check", slow)
    out = tmp_path / "page.html"
    code, said, _ = ldpopt("report", file, "-o", out, "--time-limit", 100, "--curve-seconds", 0)
    assert (code, said) == (
        3,
        f"wrote {out}: 1 result, undecided: {file}\n",
    )
    page = sound(out.read_text(encoding="utf-8"))
    assert "not decided within 5 seconds" in page.text
    assert "✓ Verified" not in page.text
    assert "This file proves" not in page.text


COUNTS = [[30, 10], [12, 28]]
SHARES = [[0.375, 0.125], [0.15, 0.35]]
MATRIX = [[0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.3, 0.7]]


@pytest.mark.parametrize(
    ("question", "internal"),
    [
        (Staircase(epsilon=1, prior=[0.4, 0.3, 0.2, 0.1]), False),
        (IndependentReporting.from_params(epsilon=1.0, counts=COUNTS), True),
        (IndependentReporting(1.0, SHARES, 80), True),
        (RobustLevel(MATRIX, {"kind": "chi-squared", "p_hat": SHARES, "n": 80}), True),
        (RobustLevel(MATRIX, {"kind": "known", "p": SHARES}), False),
    ],
    ids=["prior", "counts", "p_hat", "nested", "known"],
)
def test_a_result_whose_parameters_state_a_table_is_internal(question, internal, tmp_path, ldpopt):
    solve(question).save(tmp_path / "r.json")
    code, _, complaint = ldpopt("report", "r.json", "--curve-seconds", 0, cwd=tmp_path)
    assert (code, complaint) == (0, "")
    page = tmp_path / ("r.internal.html" if internal else "r.html")
    assert ("Internal, holds statistics of the table" in page.read_text(encoding="utf-8")) == internal


def test_what_no_claim_decides_is_marked(files, tmp_path, ldpopt):
    """Solver, seconds and environment are free text, on a page that says "Verified"."""
    false = "X: proven optimal among all mechanisms"
    for name in ("census", "plain"):
        document = json.loads(files[name].read_text())
        document |= {"solver": false, "seconds": 1e300, "environment": {"Z": false}}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    words = ("report", "census.json", "plain.json", "-o", "page.html", "--curve-seconds", 0)
    assert ldpopt(*words, cwd=tmp_path).code == 0
    text = " ".join(sound((tmp_path / "page.html").read_text(encoding="utf-8")).text.split())
    assert text.count(false) == 6  # two facts of each file; of the result also a row and a command
    marked = (f"{false} [not checked] 1e+300 s; not checked", f"Z {false} not checked")
    assert sum(text.count(words) for words in marked) == 4
    assert f"{false} [not checked] 1 " in text
    assert "srr [not checked]" in text
    assert text.count("solver, seconds and environment: by what the answer was found") == 2


def test_the_record_for_a_registry_says_what_was_deployed_and_nothing_of_the_counts(tmp_path, ldpopt):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr", robust="chi2")
    made.save(tmp_path / "m.json")
    made.public.save(tmp_path / "m.public.json")
    records = []
    for name, code in (("m.json", 0), ("m.public.json", 0)):
        command = ("report", name, "--registry", "-o", "page.html", "--curve-seconds", "0", "--force")
        done = ldpopt(*command, cwd=tmp_path)
        assert (done.code, "wrote page.registry.json" in done.out) == (code, True), done.err
        records += json.loads((tmp_path / "page.registry.json").read_text())
    assert records[0] == records[1]
    assert records[0]["parameters"]["epsilon"] == 1.0
    assert records[0]["parameters"]["secret columns"] == ["sex"]
    assert records[0]["verified"] == "verified"
    numbers = set(re.findall(r"\d+", json.dumps(records[0]).replace(made.fingerprint, "")))
    assert not {str(count) for count in made.question.counts.ravel()} & numbers


def test_a_record_is_of_a_design(files, tmp_path, ldpopt):
    done = ldpopt("report", files["plain"], "--registry", "-o", tmp_path / "p.html")
    assert done.code == 2
    assert "a record is written of a file of ldpopt design whose claims hold" in done.err
