"""Public mechanism files: nothing of the counts is in them, and every later command works with them."""

import json
import math
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from ldpopt.checker.kernel.claims import OPEN
from ldpopt.core.errors import LdpoptError, UnreadableFileError
from ldpopt.core.mechanism import Mechanism
from ldpopt.engine.verifying import verify, verify_document
from ldpopt.mechanisms import ENCODINGS
from ldpopt.release.designing import design, load_design, load_mechanism
from ldpopt.release.matrix_randomizer import Matrix
from ldpopt.release.method_summaries import CHOSEN, FIXED
from ldpopt.release.methods import METHODS
from ldpopt.release.public_design import load_public, public_path, published
from ldpopt.release.recoverable_counts import APPROXIMATELY, LABELS, NOT_AT_ALL, WORDS

COUNTS = {("a", "x"): 4507, ("a", "y"): 1511, ("b", "x"): 1013, ("b", "y"): 3019}
"""Counts that occur in a file only if they were written there."""


def numbers(value):
    """Every number in plain data."""
    if isinstance(value, dict):
        return [n for part in value.values() for n in numbers(part)]
    if isinstance(value, list):
        return [n for part in value for n in numbers(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ldpopt):
    """A table and its design for the distributions near it, private and public."""
    directory = tmp_path_factory.mktemp("public")
    rows = [f"{s},{u}" for (s, u), count in COUNTS.items() for _ in range(count)]
    np.random.default_rng(0).shuffle(rows)
    (directory / "t.csv").write_text("s,u\n" + "\n".join(rows) + "\n")
    words = [
        "t.csv",
        "--secret",
        "s",
        "--public",
        "u",
        "--epsilon",
        1,
        "--method",
        "ir",
        "--robust",
        "chi2",
        "-o",
        "m.json",
    ]
    answer = ldpopt("design", *words, cwd=directory)
    assert answer.code == 0, answer.err
    assert "publish      m.public.json: it proves only the level" in answer.out
    return directory


@pytest.fixture(scope="module")
def private(folder):
    return load_design(folder / "m.json")


def derived(counts):
    """What is computed from the counts: all sums, frequencies, conditional frequencies, as floats."""
    n = counts.sum()
    parts = [counts, counts.sum(axis=0), counts.sum(axis=1), [n]]
    found = {float(x) for part in parts for x in np.ravel(part)}
    found |= {float(x) for part in parts for x in np.ravel(part) / n}
    cells = np.ravel(counts)
    found |= {float(sum(some)) for size in range(1, 5) for some in combinations(cells, size)}
    found |= {float(x) for x in np.ravel(counts / counts.sum(axis=1, keepdims=True))}
    found |= {float(x) for x in np.ravel(counts / counts.sum(axis=0, keepdims=True))}
    return found - {1.0}  # n/n


def spelt(count):
    """A pattern for a whole number in a text: with or without separators, on its own."""
    digits = f"{count:,}".replace(",", "[,. _']?")
    return rf"(?<![\d.]){digits}(?!\d)"


def test_the_public_file_holds_no_count_and_nothing_derived(folder, private):
    text = (folder / "m.public.json").read_text()
    secret = json.loads((folder / "m.json").read_text())
    counts = private.question.counts
    hidden = derived(counts)
    assert set(COUNTS.values()) <= hidden
    assert not hidden & set(map(float, numbers(json.loads(text))))
    assert hidden & set(map(float, numbers(secret)))  # the search finds them where they are
    for count in (
        int(number) for number in hidden if number >= 1
    ):  # also as text, in the words of a label
        assert not re.search(spelt(count), text), count
        assert re.search(spelt(count), f"n = {count}, or {count:,}: a hundred")
    digest = secret["design"]["digest"]
    assert digest not in text
    assert digest[:12] not in text
    for name in ("params", "value", "bound", "certificate", "stats", "counts", "proof"):
        assert f'"{name}"' not in text


def test_of_two_words_on_the_counts_the_worse_one_is_said(private):
    """A file may warn more than its method and matrix do, and no page takes that back; nor less."""
    public = design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr").public
    for stated, said in (("exactly", "exactly"), ("approximately", "approximately"), (None, "no count")):
        assert said in replace(public, recoverable=stated).recovery
    assert "exactly" in replace(private.public, recoverable="not at all").recovery


def test_the_public_file_is_a_function_of_mechanism_labels_and_promise(private):
    """Other counts, the same mechanism: the same file, to the letter; and the same fingerprint."""
    other = replace(private, question=replace(private.question, counts=private.question.counts + 17))
    assert other.public.to_json() == private.public.to_json()
    assert other.fingerprint == private.fingerprint
    assert other.to_json()["design"]["digest"] != private.to_json()["design"]["digest"]


DECIDED_BY_COUNTS = {"blurred", "calibrated", "cr", "ir", "optimum", "polyopt"}
DECIDED_BY_COUNTS |= {"public", "queries", "split", "ue"}
"""Methods whose promise is about the confidence set: the public file alone does not decide it."""


@pytest.mark.parametrize(
    ("name", "reports"),
    [
        *((name, 1) for name in sorted(METHODS) if not METHODS[name].of_numbers),
        *((name, 2) for name in (*FIXED, *CHOSEN, *ENCODINGS)),
    ],
)
def test_which_mechanisms_do_not_depend_on_the_counts(name, reports):
    """Two tables with the same labels: the same public file, or the design says what it was made for."""
    files = []
    for times in ((4000, 5000, 6000, 5500, 4500, 5000), (9000, 5000, 600, 9500, 4500, 500)):
        cells = [(s, u) for s in "ab" for u in "xyz"]
        rows = [cell for cell, count in zip(cells, times, strict=True) for _ in range(count)]
        table = dict(zip("su", map(list, zip(*rows, strict=True)), strict=True))
        epsilon = 0.05 if name == "blurred" else 1.0
        robust = "given" if name == "composed" else "chi2"
        asked = {"epsilon": epsilon, "method": name, "robust": robust, "reports": reports}
        made = design(table, "s", "u", **asked, time_limit=20)
        files.append(made.public)
    same = files[0].to_json() == files[1].to_json()
    assert same == (files[0].recoverable == NOT_AT_ALL)
    assert (name in CHOSEN) == (files[0].recoverable == files[1].recoverable == APPROXIMATELY)
    assert files[0].recovery == f"{WORDS[files[0].recoverable]}. {LABELS}"
    decided = OPEN if name in DECIDED_BY_COUNTS else True
    assert verify_document(files[0].to_json()).verdict is decided


def test_design_says_what_the_public_file_proves_and_tells(tmp_path, ldpopt):
    words = ("design", "adult:sex-race", "--explain", "--secret", "sex", "--public", "race")
    words += ("--epsilon", "1", "--for", "information")
    fixed = ldpopt(*words, "--method", "srr", "-o", "srr.json", cwd=tmp_path).out
    assert "no count can be computed back from it [not checked]" in fixed
    assert "Where no method was named, the counts chose this one" in fixed
    assert "Its labels name what occurs in the table" in fixed
    fitted = ldpopt(*words, "--method", "cr", "--robust", "chi2", "-o", "cr.json", cwd=tmp_path)
    assert "it proves no level, as none up to 30 holds for all distributions" in fitted.out
    for said in (fitted.out, fitted.err):  # the warning comes before the file, and again at the end
        assert "the counts of the table can be computed back from the mechanism exactly" in said
    assert fitted.err.startswith("warning: cr.public.json: take it that")
    assert "back from the mechanism of --method srr, with 0.33 times the information" in fitted.err


def test_labels_are_what_occurs_and_top_names_the_most_frequent():
    """What docs/release.md says that the public file tells about the table."""
    table = {"s": ["a", "b"] * 4, "u": list("xxxxyyzz"), "v": list("ppppqqqq")}
    public = design(table, "s", ["u", "v"], epsilon=1.0, method="srr", top={"u": 1}).public
    assert public.domain.public.labels == ("x, p", "(other), q")
    assert public.recoverable == NOT_AT_ALL


def test_every_later_command_works_with_it(folder, ldpopt):
    public = ["--mechanism", "m.public.json"]
    assert ldpopt("verify", "m.public.json", cwd=folder).code == 4
    answer = ldpopt("privatize", "t.csv", *public, "-o", "r.csv", "--seed", 5, cwd=folder)
    assert answer.code == 4, answer.err
    assert "holds, but the promise is not decided: no report is more than e^1.0 times" in answer.err
    assert "no level, as --seed makes the noise repeatable; see m.json.releases.json" in answer.out
    answer = ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "q.csv", "--seed", 5, cwd=folder)
    assert "this mechanism was used once before" in answer.err  # one ledger for both files
    assert (folder / "q.csv").read_bytes() == (folder / "r.csv").read_bytes()
    shown = [ldpopt("estimate", "r.csv", "-m", m, cwd=folder) for m in ("m.json", "m.public.json")]
    assert [answer.code for answer in shown] == [0, 4]
    assert shown[0].out == shown[1].out
    assert "holds, but the promise is not decided" in shown[1].err
    sure = ["--samples", 1000, "--confidence", "0.999999"]
    given = ["--data", "t.csv", "--released", "r.csv"]
    answer = ldpopt("audit", "m.public.json", *given, *sure, cwd=folder)
    assert answer.code == 4, answer.out
    assert "NOT DECIDED: the promise ε = 1 for all distributions that a χ² test" in answer.out
    assert "robust LDP level  " not in answer.out
    answer = ldpopt("export", "m.public.json", "--target", "python", "-o", "s.py", cwd=folder)
    assert answer.code == 4
    ldpopt("export", "m.json", "--target", "python", "-o", "t.py", cwd=folder)
    marked = (folder / "s.py").read_text()
    assert marked.replace(" [not decided by this file]", "") == (folder / "t.py").read_text()
    answer = ldpopt("report", "m.public.json", "-o", "page.html", cwd=folder)
    assert (answer.code, answer.err) == (4, "")


def test_a_budget_refuses_the_next_release(folder, ldpopt, tmp_path):
    for name in ("m.json", "m.public.json", "t.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    most = load_public(tmp_path / "m.public.json").level * 2
    release = ["privatize", "t.csv", "-m", "m.public.json", "--max-level", most, "-o"]
    assert ldpopt(*release, "1.csv", cwd=tmp_path).code == 4
    assert ldpopt(*release, "2.csv", cwd=tmp_path).code == 4
    ledger = (tmp_path / "m.json.releases.json").read_text()
    answer = ldpopt(*release, "3.csv", cwd=tmp_path)
    assert answer.code == 2
    assert "the 3 reports about one person would have together the exact level" in answer.err
    assert not (tmp_path / "3.csv").exists()
    assert (tmp_path / "m.json.releases.json").read_text() == ledger


def test_the_page_shows_the_hash_of_what_was_released(folder, ldpopt, tmp_path):
    import hashlib

    for name in ("m.json", "t.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    page = ["report", "m.json", "-o", "page.html", "--curve-seconds", 0, "--force"]
    ldpopt(*page, cwd=tmp_path)
    assert "none is in the ledger" in (tmp_path / "page.html").read_text()
    assert ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", cwd=tmp_path).code == 0
    ldpopt(*page, cwd=tmp_path)
    digest = hashlib.sha256((tmp_path / "r.csv").read_bytes()).hexdigest()
    assert f"SHA-256 {digest}" in (tmp_path / "page.html").read_text()


# ---------------------------------------------------------------- what it claims


def test_what_the_file_proves(folder, private):
    claims = verify(folder / "m.public.json").claims
    assert [claim.what for claim in claims] == ["stochastic", "inputs", "privacy", "promise", "digest"]
    level = load_public(folder / "m.public.json").level
    W = private.mechanism.matrix.reshape(2, 2, -1)
    exact = max(
        math.log((W[s].max(axis=0) / W[1 - s].min(axis=0))[y]) for s in (0, 1) for y in range(W.shape[2])
    )
    assert exact <= level <= exact * (1 + 1e-8)
    [open_] = [claim for claim in claims if not claim.holds]
    assert open_.statement == (
        "no report is more than e^1.0 times as likely for one secret as for another, for the "
        "distributions of 'chi2', alpha = 0.05"
    )
    assert open_.open
    assert not verify(folder / "m.public.json")


def test_a_promise_for_all_distributions_is_proven():
    table = {"s": ["a"] * 60 + ["b"] * 40, "u": ["x"] * 45 + ["y"] * 15 + ["x"] * 10 + ["y"] * 30}
    for public in ("u", ()):
        made = design(table, "s", public, epsilon=0.7, robust="all").public
        assert made.level == 0.7
        assert made.universal
        assert made.verification
        assert "epsilon" not in " ".join(made.verification.unchecked)
    two = design(table, "s", "u", epsilon=0.7, method="srr", robust="all", reports=2).public
    assert "together" in [claim.what for claim in two.verification.claims]
    assert two.verification


def test_a_mechanism_without_a_level_claims_none(private):
    rows = Mechanism([[1, 0], [0.5, 0.5], [0, 1], [0.5, 0.5]])
    made = published(Matrix(rows), private.domain, replace(private.promise, robust="known"))
    assert made.level is None
    claims = made.verification.claims
    assert [claim.what for claim in claims] == ["stochastic", "inputs", "promise", "digest"]
    assert [claim.what for claim in claims if claim.open] == ["promise"]


def test_a_promise_for_all_distributions_does_not_hide_behind_counts(private):
    """Its mechanism has a level above 1 for all distributions, or none, whoever writes the digest."""
    alone = replace(private.promise, robust="all")
    several = replace(alone, epsilon=3.0, reports=2, together=3.0)
    revealing = Mechanism([[1, 0], [0.5, 0.5], [0, 1], [0.5, 0.5]])
    for mechanism, promise, what in (
        (private.mechanism, alone, "promise"),
        (revealing, alone, "promise"),
        (private.mechanism, several, "together"),
    ):
        found = published(Matrix(mechanism), private.domain, promise).verification
        assert [claim.what for claim in found.claims if claim.holds is False] == [what]
        assert found.verdict is False


def test_a_level_of_several_reports_near_a_table_is_left_open(private):
    """Two reports may keep 1.5 near the table although twice the level for all distributions is more."""
    two = replace(private.promise, epsilon=0.9, reports=2, together=1.5)
    found = published(Matrix(private.mechanism), private.domain, two).verification
    assert found.verdict is OPEN
    assert "together" in [claim.what for claim in found.claims if claim.open]
    wide = replace(two, epsilon=20.0)
    assert not published(Matrix(private.mechanism), private.domain, wide).universal
    far = replace(two, epsilon=20.0, together=29.0)
    found = published(Matrix(private.mechanism), private.domain, far).verification
    assert "together" in [claim.what for claim in found.claims]
    assert found


# ---------------------------------------------------------------- tampering


def forgeries(document):
    section = document["public"]
    yield "digest", document | {"public": section | {"epsilon": 0.5}}
    yield "digest", document | {"public": section | {"level": section["level"] * 1.1}}
    yield "privacy", document | {"public": section | {"level": section["level"] * (1 - 1e-6)}}
    matrix = [list(row) for row in document["mechanism"]["matrix"]]
    yield (
        "stochastic",
        document | {"mechanism": {"matrix": [[matrix[0][0] / 2, *matrix[0][1:]], *matrix[1:]]}},
    )
    yield "inputs", document | {"mechanism": {"matrix": [*matrix, matrix[0]]}}
    domain = json.loads(json.dumps(section["domain"]))
    domain["secret"]["columns"][0]["values"].reverse()
    yield "digest", document | {"public": section | {"domain": domain}}


def test_tampering_is_refuted(folder, tmp_path, ldpopt):
    document = json.loads((folder / "m.public.json").read_text())
    path = tmp_path / "m.public.json"
    for what, forged in forgeries(document):
        path.write_text(json.dumps(forged))
        refuted = [claim.what for claim in verify(path).claims if claim.holds is False]
        assert what in refuted
        assert "digest" in refuted
        with pytest.raises(LdpoptError):
            load_mechanism(path)
        answer = ldpopt("audit", path, "--samples", 100)
        assert answer.code == 1
        assert "FAILED: the certificate is refuted" in answer.out


def damages(document):
    section = document["public"]
    yield document | {"counts": [[1]]}
    yield document | {"public": section | {"counts": [[1]]}}
    yield document | {"public": {k: v for k, v in section.items() if k != "robust"}}
    yield document | {"public": section | {"level": math.pi * 10}}
    yield document | {"public": section | {"level": "1"}}
    yield document | {"public": 3}
    yield document | {"mechanism": None}
    yield document | {"format": 2}


def test_malformed_files_are_unreadable(folder, tmp_path):
    document = json.loads((folder / "m.public.json").read_text())
    path = tmp_path / "m.public.json"
    for damaged in damages(document):
        path.write_text(json.dumps(damaged))
        with pytest.raises(UnreadableFileError):
            verify(path)
        with pytest.raises(UnreadableFileError):
            load_mechanism(path)


def test_names():
    assert public_path("a/b.c.json").name == "b.c.public.json"
    assert public_path("mech").name == "mech.public"
