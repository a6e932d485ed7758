"""What a data-protection officer signs: true for each kind of promise, and before all details."""

import json
import math
import re

import numpy as np
import pytest
from public_files import public_file
from web import sound

from ldpopt.core.number_text import percent
from ldpopt.engine.verifying import Verification
from ldpopt.mechanisms.stated import encoding
from ldpopt.release.designing import design
from ldpopt.release.promises import holds_for
from ldpopt.release.release_ledger import record
from ldpopt.report import page as report
from ldpopt.report.heatmap import probability
from ldpopt.report.loading import read, read_public
from ldpopt.report.signing import hidden, signing
from ldpopt.report.wording import number


def signed(made, tmp_path):
    made.save(tmp_path / "m.json")
    found = signing(read(tmp_path / "m.json"))
    assert found is not None
    return found


def learns(found, words):
    """What is said in short of an observer; what is bad is in red, and nothing is in green."""
    (guard,) = (guard for guard in found.guards if words in guard.observer)
    assert guard.bad or guard.learns not in ("more than promised", "not protected")
    return guard.learns


@pytest.mark.parametrize(
    ("method", "robust", "known", "wanted"),
    [("cr", "chi2", False, False), ("srr", "all", True, False), ("grr", "all", True, True)],
)
def test_who_can_learn_what(method, robust, known, wanted, tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method=method, robust=robust)
    found = signed(made, tmp_path)
    decided = {True: "not checked", False: "more than promised"}
    assert learns(found, "sees one report") == "odds × 2.72 at most"
    sure = {True: "odds × 2.72 at most", False: "more than promised"}
    assert learns(found, "also knows the race") == sure[known]
    assert (made.level_given_public <= 1 + 1e-9) == known
    assert learns(found, "wants to know the race") == decided[wanted]
    assert (made.mechanism.epsilon() <= 1 + 1e-9) == wanted
    assert learns(found, "two reports about one person") == "more than promised"
    unlike = [guard for guard in found.guards if "unlike those of the table" in guard.observer]
    assert len(unlike) == (robust == "chi2")
    assert ("asks nothing of the distribution" in found.hidden) == (robust == "all")
    assert ("race is hidden, too" in found.hidden) == (method == "grr")
    assert bool(found.beware) == (not known)


TEN_QUESTIONS = {
    "Which data leave the table, and what is hidden?": "Random reports on sex and race that hide sex",
    "How much can one report tell about a person at most?": "shifts the odds between two values by that",
    "Who has proven that, and how can I check it?": "To check it ldpopt verify m.json",
    "What does somebody learn who knows other things about the person?": "who also knows the race",
    "Who is not protected from whom?": "✗ not protected From somebody who holds the table",
    "What if a person takes part twice?": "From somebody who sees two reports about one person",
    "Are rare groups in danger?": "Nobody’s report gives their group away",
    "Where is the noise added, and who sees the raw data?": "who sees the rows as they are",
    "What are the numbers still good for?": "from the data as they are within ±0.52 points",
    "What was released so far, and may I hand out this page?": "Releases none is in the ledger",
}
"""What a data-protection officer asks, and the words of the page that answer."""


def test_a_data_protection_officers_ten_questions(tmp_path, monkeypatch):
    """The page answers before anything is unfolded."""
    monkeypatch.chdir(tmp_path)
    design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr").save("m.json")
    text = report.page(report.parts([read("m.json")], 0))
    page = sound(re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL))
    assert [question for question, words in TEN_QUESTIONS.items() if words not in page.text] == []
    assert "Internal, holds statistics of the table" in page.text


def test_public_values_as_they_are(tmp_path):
    """Twice the same report tells no more than once; nothing about it is random."""
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="public", robust="chi2")
    assert learns(signed(made, tmp_path), "two reports about one person") == "not checked"
    page = sound(report.page(report.parts([read(tmp_path / "m.json")], 0)))
    assert "Reports that tell race as it is and hide sex, ε = 1" in page.text
    assert "within the promise" in page.text
    assert "without noise; sex is not used" in page.text
    assert "random report" not in page.text


@pytest.mark.parametrize(("method", "all_of_them"), [("grr", True), ("srr", True), ("cr", False)])
def test_a_promise_that_is_kept_for_every_distribution_says_so(method, all_of_them):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method=method, robust="chi2")
    said = "whatever the distribution of the data, also against whoever knows race"
    assert (holds_for(made) == said) == all_of_them


def test_inputs_without_noise_are_named_rarest_first(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="cr", robust="chi2")
    fixed = made.mechanism.matrix.max(axis=1) >= 1 - 1e-6
    found = signed(made, tmp_path)
    assert len(found.rare) == fixed.sum()
    nobody = signed(design("adult:sex-race", "sex", "race", epsilon=1.0, method="grr"), tmp_path)
    assert nobody.rare == []
    table = {"s": ["a"] * 50 + ["b"] * 50, "u": ["x"] * 45 + ["y"] * 5 + ["x"] * 45 + ["y"] * 5}
    made = design(table, "s", "u", epsilon=2.0, method="public", robust="chi2")
    rare = signed(made, tmp_path).rare
    assert rare[0].startswith("a, y (5 rows): the report")
    assert rare[0].endswith("which 10.00% of all rows give")
    assert [int(re.search(r"\((\d+) rows", line)[1]) for line in rare] == [5, 5, 45, 45]


def test_accuracy_in_plain_words(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="grr")
    sex, race = made.accuracy()
    points = 100 * 1.959964 * math.sqrt(sex.variances.max() / 32561)
    assert signed(made, tmp_path).accuracy[0] == (
        f"sex: from 32,561 reports, the share of each value is known to within ±{points:.2g} points "
        "(95 of 100 times), from the data as they are within ±0.52 points [not checked]"
    )
    assert np.isfinite(race.variances).all()
    table = {"s": ["a", "b"] * 5, "u": ["x", "x", "y", "y", "x"] * 2}
    few = signed(design(table, "s", "u", epsilon=0.1, method="grr"), tmp_path).accuracy
    said = "10 reports leave the share of some values open; their estimates are ranges"
    assert few[0] == f"s: {said} [not checked]"


def test_the_page_begins_with_what_is_signed(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="cr", robust="chi2")
    made.save(tmp_path / "m.json")
    for day in range(2):
        record(tmp_path / "m.json", made, f"{day}.csv", str(day) * 64)
    loaded = read(tmp_path / "m.json")
    page = sound(report.page(report.parts([loaded], 0)))
    order = [
        "Random reports on sex and race that hide sex, ε = 1",
        "Verified: every claim",
        "Beware",
        "the ledger holds 2 releases, and the promise covers 1",
        "Who can learn what from a report",
        "Rare groups",
        "What can be learnt",
        "Date of this page",
        "32,561 rows of adult:sex-race",
        loaded.digest,
        "0" * 64,
        "1" * 64,
        "Signature",
        "The question",
        "The certificate",
    ]
    text = page.text.replace("The ledger holds", "the ledger holds")
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_a_refuted_design_is_not_for_signing(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="cr", robust="chi2")
    made.save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text().replace('"epsilon": 1.0', '"epsilon": 0.5')
    (tmp_path / "m.json").write_text(text)
    (part,) = report.parts([read(tmp_path / "m.json")], 0)
    assert not part.sound
    assert part.signing is None
    assert "Signature" not in report.page([part])


@pytest.mark.parametrize(("method", "universal"), [("srr", True), ("cr", False)])
def test_a_page_on_the_public_file_says_what_it_proves(method, universal, tmp_path, ldpopt):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method=method, robust="chi2")
    path = tmp_path / "m.public.json"
    made.public.save(path)
    record(path, made, "january.csv", "0" * 64, population="17 people of Basel")
    record(path, made, "february.csv", "1" * 64)
    said = ldpopt("report", path, "-o", "page.html", cwd=tmp_path)
    assert said.code == (0 if universal else 4), said.err
    page = sound((tmp_path / "page.html").read_text())
    assert "Random reports on sex and race that hide sex, ε = 1" in page.text
    assert ("This file proves it" in page.text) == universal
    assert ("nobody can check it here" in page.text) == (not universal)
    for word in (made.fingerprint, "in m.public.json, SHA-256", "its counts are not in this file"):
        assert word in page.text
    for private in ("ledger", "january", "february", "0" * 64, "1" * 64, "Basel", tmp_path.name):
        assert private not in (tmp_path / "page.html").read_text()
    numbers = set(
        re.findall(r"[\d.,]*\d", re.sub(r"\b[0-9a-f]{8,}\b", "", page.text))
    )  # no digits of hashes
    assert not {str(n) for n in made.question.counts.ravel()} & numbers
    assert not {f"{n:,}" for n in made.question.counts.ravel()} & numbers
    loaded = read_public(path)
    found = report.described_public(loaded, "r1").signing
    assert (learns(found, "sees one report") == "not checked") == (not universal)
    assert (learns(found, "also knows the race") == "odds × 2.72 at most") == universal
    first, *others = loaded.verification.claims
    refuted = loaded._replace(verification=Verification((first._replace(holds=False), *others)))
    page = sound(report.page([report.described_public(refuted, "r1")]))
    assert "REFUTED" in page.text
    assert "not proven" in page.text
    assert "file proves" not in page.text


def test_a_factor_at_most_is_rounded_up(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.1, method="srr", robust="all")
    assert math.exp(1.1) > 3.004
    assert "no report is more than 3.01 times" in hidden(made)


ENCODINGS = [
    ({"kind": "subset", "inputs": 4, "own": 1 - 2.0**-21, "size": 1}, "the own input alone"),
    ({"kind": "subset", "inputs": 4, "own": 1 - 2.0**-19, "size": 1}, None),
    ({"kind": "subset", "inputs": 4, "own": 1 - 2.0**-21, "size": 2}, None),
    ({"kind": "unary", "inputs": 3, "own": 1 - 2.0**-21, "other": 2.0**-22}, "the own input alone"),
    ({"kind": "unary", "inputs": 4, "own": 1 - 2.0**-21, "other": 2.0**-22}, None),
    ({"kind": "unary", "inputs": 4, "own": 2.0**-21, "other": 2.0**-24}, "no input"),
    ({"kind": "unary", "inputs": 4, "own": 1 - 2.0**-24, "other": 1 - 2.0**-22}, "every input"),
    ({"kind": "hashing", "inputs": 4, "own": 1 - 2.0**-21, "buckets": 2}, None),
]


@pytest.mark.parametrize(("plain", "supported"), ENCODINGS)
def test_encodings_without_noise_are_named(plain, supported, tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(public_file(plain, (plain["inputs"], 0), epsilon=30.0)))
    (part,) = report.parts([read_public(tmp_path / "m.json")], 0)
    page = sound(report.page([part]))
    assert ("Nobody" in page.text) == (supported is None)
    said = (
        []
        if supported is None
        else [f"each of the {plain['inputs']} inputs: the report that supports {supported}"]
    )
    assert part.signing.rare == said
    shown = {fact.name: fact.text for fact in part.plain_answer}
    assert all(float(shown[name]) < 1 for name in ("own", "other") if name in shown)


@pytest.mark.parametrize(
    "plain",
    [
        {"kind": "unary", "inputs": 3, "own": 0.625, "other": 0.125},
        {"kind": "unary", "inputs": 3, "own": 0.25, "other": 0.125},
        {"kind": "unary", "inputs": 3, "own": 0.875, "other": 0.625},
        {"kind": "subset", "inputs": 5, "own": 0.75, "size": 2},
        {"kind": "subset", "inputs": 3, "own": 0.75, "size": 2},
        {"kind": "hashing", "inputs": 4, "own": 0.75, "buckets": 3},
    ],
)
def test_the_likeliest_report_of_an_encoding(plain):
    """Against the reports that the exact sampler draws."""
    made, rng = encoding(plain), np.random.default_rng(3)
    n = 100_000
    drawn = made.sample(np.ones(n, dtype=np.int64), lambda size: rng.integers(0, 2**64, size, np.uint64))
    rows = drawn.reshape(n, -1)
    largest = np.unique(rows, axis=0, return_counts=True)[1].max()
    assert abs(largest / n - float(made.likeliest()[0])) < 6 * math.sqrt(0.25 / n)


def test_the_genuine_design_without_noise(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=17.0, method="subset")
    assert signed(made, tmp_path).rare == [
        "each of the 10 inputs: the report that supports the own input alone"
    ]


def test_a_probability_below_one_is_never_written_as_one():
    for exponent in range(1, 53):
        p = 1 - 2.0**-exponent
        assert float(number(p)) < 1
        assert probability(p) != "1.000"
        assert percent(p, 2) != "100.00%"
    assert (number(1.0), probability(1.0), percent(1.0, 2)) == ("1", "1.000", "100.00%")


def test_some_sensitive_values_beside_a_public_column(tmp_path):
    """Reports that reveal a value that is not sensitive reveal the public value with it."""
    rows = [("hiv", "a", 3), ("flu", "a", 30), ("flu", "b", 40), ("cold", "b", 27)]
    pairs = [pair for *pair, count in rows for _ in range(count)]
    table = dict(zip(("illness", "ward"), map(list, zip(*pairs, strict=True)), strict=True))
    made = design(table, "illness", "ward", epsilon=1.0, sensitive={"illness": ["hiv"]})
    found = signed(made, tmp_path)
    assert learns(found, "wants to find that the illness is hiv") == "odds × 2.72 at most"
    assert learns(found, "the illness where it is not sensitive") == "not protected"
    assert learns(found, "wants to know the ward") == "not protected"
    W = made.mechanism.matrix
    alone = np.count_nonzero(W, axis=0) == 1
    hiv = W.reshape(3, 2, -1)[list(made.domain.secret.labels).index("hiv")]
    assert alone.any()
    assert hiv[:, alone].max() == 0
