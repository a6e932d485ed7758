"""Exported samplers of encodings: they draw the stated probabilities exactly, in every language."""

import csv
import itertools
import json
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from laws import law
from programs import (
    FED_IN_A_BROWSER,
    in_python,
    node,
    node_fed,
    node_reports,
    python_fed,
    python_reports,
)

from ldpopt.mechanisms import stated, stated_hashing, stated_subset, stated_unary
from ldpopt.mechanisms.randomizer import seeded_words
from ldpopt.mechanisms.stated import encoding
from ldpopt.release.designing import design, load_mechanism
from ldpopt.release.estimating import estimate
from ldpopt.release.exporting import Sampler, export
from ldpopt.release.public_design import Promise, published
from ldpopt.release.released_reports import written_sets
from ldpopt.release.releasing import privatize
from ldpopt.tables.domain import Attribute, Column, Domain

METHODS = ("unary", "subset", "hashing", "hadamard")
SURE = "0.999999"
"""A correct sampler fails the audit once in a million runs."""
WARY = "0.9"
"""For samplers that are not correct: Hadamard response without noise has p near 1e-10, at times 1e-5."""
RNG = np.random.default_rng(5)
PEOPLE = {
    "illness": RNG.choice(["a", "b", "c", "d"], 4000, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
    "age": RNG.integers(0, 90, 4000).tolist(),
}
ROWS = [dict(zip(PEOPLE, row, strict=True)) for row in zip(*PEOPLE.values(), strict=True)]


@pytest.fixture(scope="module", params=METHODS)
def folder(request, tmp_path_factory, ldpopt):
    """A table, its mechanism, and the samplers that the command writes from the public file."""
    directory = tmp_path_factory.mktemp(request.param)
    with (directory / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(PEOPLE), *zip(*PEOPLE.values(), strict=True)])
    (directory / "rows.json").write_text(json.dumps(ROWS))
    bins = {"age": [18, 40.5]}
    made = design(PEOPLE, "illness", "age", epsilon=2.0, method=request.param, bins=bins)
    made.save(directory / "m.json")
    made.public.save(directory / "p.json")
    for target, name in (("js", "sampler.js"), ("python", "sampler.py")):
        answer = ldpopt("export", "p.json", "--target", target, "-o", name, cwd=directory)
        assert answer.code == 0, answer.err
        assert f"wrote {name} for 12 inputs of illness, age; its reports are" in answer.out
        assert export(made, target) == (directory / name).read_text()
    return directory


# ---------------------------------------------------------------- reports of the programs


def test_reports_are_estimated_and_audited(folder, ldpopt, tmp_path):
    """The audit passes both programs, and fails those that never or always tell the own input."""
    silent, open_, made = tmp_path / "0.py", tmp_path / "1.py", load_mechanism(folder / "p.json")
    for tampered, own in ((silent, 1), (open_, 2**52)):
        text = (folder / "sampler.py").read_text()
        tampered.write_text(re.sub(r'"own": \d+', f'"own": {own}', text))
    answers = [
        *node_reports(folder / "rows.json", folder / "sampler.js"),
        *python_reports(folder / "rows.json", folder / "sampler.py", silent, open_),
    ]
    released = tmp_path / "released.csv"
    for code, (column, tested, found) in zip((0, 0, 1, 1), answers, strict=True):
        assert "self-test: " in tested if code else tested == len(Sampler(made).vectors)
        released.write_text("\n".join([column, *found]))
        words = ["--data", folder / "people.csv", "--released", released, "--samples", 1000]
        confidence = WARY if code else SURE
        answer = ldpopt("audit", folder / "p.json", *words, "--confidence", confidence)
        assert answer.code == code, answer.out
        assert ldpopt("estimate", released, "--mechanism", folder / "m.json").code == 0
        if column is not None and not code:
            assert _near(estimate(released, made))
    assert "the reports of the released table are not those of the mechanism" in answer.out


def _near(found):
    """Whether the share of the first illness is estimated within 0.25: six standard deviations."""
    first = found.group("secret")[0]
    return abs(first.estimate - PEOPLE["illness"].count(first.label) / len(ROWS)) < 0.25


def test_the_same_words_give_the_same_reports_as_privatize(folder, browser, tmp_path):
    """Node, a browser and Python write what ``privatize`` writes, to the letter."""
    made, rows = load_mechanism(folder / "p.json"), ROWS[:200]
    table = {name: cells[: len(rows)] for name, cells in PEOPLE.items()}
    privatize(table, made, tmp_path / "released.csv", seed=7)
    _, *written = (tmp_path / "released.csv").read_text().replace('"', "").split()
    each = made.randomizer.words
    streams = (seeded_words(7)(each * len(rows)) >> np.uint64(12)).reshape(-1, each).tolist()
    cases = list(zip(rows, streams, strict=True))
    script = (folder / "sampler.js").read_text()
    assert python_fed((folder / "sampler.py").read_text(), cases) == written
    assert node_fed(folder / "sampler.js", cases, tmp_path / "cases.json") == written
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><title>t</title><script>{script}</script>")
    browser.get(page.as_uri())
    assert browser.execute_script("return ldpoptSampler.selfTest()") == len(Sampler(made).vectors)
    assert browser.execute_script(FED_IN_A_BROWSER, json.dumps(cases)) == written


def test_what_is_not_known_is_refused(folder):
    bad = [
        ({"illness": "x", "age": 3}, "must be one of"),
        ({"illness": "a", "age": "3"}, "must be a finite number"),
        ({"illness": "a"}, "the columns must be"),
    ]
    report = in_python((folder / "sampler.py").read_text())["report"]
    for values, said in bad:
        with pytest.raises(ValueError, match=said):
            report(values)
    path, given = json.dumps(str(folder / "sampler.js")), json.dumps([values for values, _ in bad])
    attempt = "try { s.report(values); } catch (error) { console.log(error.message); }"
    lines = node("-e", f"const s = require({path}); for (const values of {given}) {attempt}").stdout
    for line, (_, said) in zip(lines.splitlines(), bad, strict=True):
        assert said in line


def test_the_vectors_pin_down_every_number(folder):
    """A program with another number fails its self-test."""
    made = load_mechanism(folder / "p.json")
    names = in_python((folder / "sampler.py").read_text())
    assert names["self_test"]() == len(Sampler(made).vectors)
    for name, number in Sampler(made).randomizer.numbers.items():
        for wrong in (number - 1, number + 1):
            names["SAMPLER"][name] = wrong
            with pytest.raises((ValueError, IndexError, ZeroDivisionError)):
                names["self_test"]()
        names["SAMPLER"][name] = number
    assert names["self_test"]()


def test_sql_says_what_is_possible(folder, ldpopt):
    answer = ldpopt("export", "p.json", "--target", "sql", "-o", "s.sql", cwd=folder)
    assert answer.code == 2
    assert "export it as js or python: the target sql draws from rows of a matrix" in answer.err
    assert not (folder / "s.sql").exists()


# ---------------------------------------------------------------- all streams of small numbers

SMALL = [
    ({"kind": "unary", "inputs": 3, "own": 0.75, "other": 0.25}, 2),
    ({"kind": "subset", "inputs": 4, "own": 0.75, "size": 2}, 2),
    ({"kind": "subset", "inputs": 3, "own": 0.5, "size": 1}, 2),
    ({"kind": "subset", "inputs": 3, "own": 0.75, "size": 2}, 2),
    ({"kind": "hashing", "inputs": 3, "own": 0.75, "buckets": 3}, 2),
    ({"kind": "hashing", "inputs": 2, "own": 0.625, "buckets": 7}, 3),
    ({"kind": "hashing", "inputs": 4, "own": 0.75, "buckets": 2}, 2),
]
"""Encodings whose probabilities are multiples of 2^−2 or 2^−3."""


def small(program, plain, bits):
    """The program with random numbers of a few bits instead of 52."""
    found = re.sub(r"SPAN = 2 ?\*\* ?52", f"SPAN = {2**bits}", program)
    for name in ("own", "other"):
        if name in plain:
            wide, narrow = (int(plain[name] * 2**size) for size in (52, bits))
            assert f'"{name}": {wide},' in found
            found = found.replace(f'"{name}": {wide},', f'"{name}": {narrow},')
    return found


def small_design(plain):
    """A design by the encoding, of a column with the values "0", "1", …."""
    k, of = plain["inputs"], encoding(plain)
    values = Attribute((Column("s", tuple(map(str, range(k)))),), tuple((x,) for x in range(k)))
    level = of.level * (1 + 1e-12)
    return published(of, Domain(values, None), Promise(plain["kind"], level, "all", 0.05))


def drawn_again(plain, stream, span):
    """A stream with a number that is refused, twice, and one that must give the same report."""
    if plain["kind"] == "subset":
        keys = list(range(plain["inputs"]))
        return [*stream, *stream[1:], *keys], [stream[0], *keys]
    g, last = plain["buckets"], len(stream) - 1
    longer, same = list(stream), list(stream)
    for places, most in ((range(last - 1), g), ([last], g - 1)):
        refused = [i for i in places if stream[i] >= span - span % most]
        longer += [*(stream[i] for i in refused), *(i % 2 for i in refused)]
        for i in refused:
            same[i] = i % 2
    return longer, same


@pytest.mark.parametrize(("plain", "bits"), SMALL, ids=lambda part: str(part)[9:])
def test_every_stream_of_numbers_gives_the_stated_probabilities(plain, bits, tmp_path, monkeypatch):
    """Exact, by listing all streams of small numbers.

    Of the streams in which no number is refused, every report has its probability. A refused number is
    as if it had not been there. So it has its probability among all streams. In the same way, the
    probabilities are those of the sampler of ``privatize``.
    """
    made, span = small_design(plain), 2**bits
    streams = list(itertools.product(range(span), repeat=made.randomizer.words))
    program = small(export(made, "python"), plain, bits)
    (tmp_path / "sampler.js").write_text(small(export(made, "js"), plain, bits))
    for module in (stated, stated_unary, stated_subset, stated_hashing):
        monkeypatch.setattr(module, "BITS", bits)
    cases, all_found = [], []
    for x in range(plain["inputs"]):
        row = {"s": str(x)}
        every = [(row, stream) for stream in streams]
        found = python_fed(program, every)
        _has_the_law(plain, x, streams, found, span)
        ended = [stream for stream, report in zip(streams, found, strict=True) if report is not None]
        assert _sampled(plain, [x] * len(ended), ended, bits) == [y for y in found if y is not None]
        again = [
            [(row, given) for given in drawn_again(plain, stream, span)]
            for stream, report in zip(streams, found, strict=True)
            if report is None
        ]
        longer = [case for case, _ in again]
        same = python_fed(program, longer)
        assert same == python_fed(program, [case for _, case in again])
        for (_, stream), report in [*zip(longer, same, strict=True)][::40]:
            assert _sampled(plain, [x], [stream], bits) == [report]
        cases += every + longer
        all_found += found + same
    assert node_fed(tmp_path / "sampler.js", cases, tmp_path / "cases.json") == all_found


def _sampled(plain, inputs, streams, bits):
    """What the sampler of ``privatize`` draws from the streams, one after the other."""
    numbers = itertools.chain.from_iterable(streams)

    def words(count):
        return np.array([next(numbers) << 64 - bits for _ in range(count)], dtype=np.uint64)

    found = encoding(plain).sample(np.array(inputs), words)
    return written_sets(found).to_pylist() if found.ndim > 1 else [str(report) for report in found]


def _has_the_law(plain, x, streams, reports, span):
    """Compare with the law, where no number was refused; the number that decides never is."""
    place = {"unary": x, "subset": 0, "hashing": len(streams[0]) - 2}[plain["kind"]]
    chances = Counter()
    for told, share in ((True, Fraction(plain["own"])), (False, 1 - Fraction(plain["own"]))):
        ended = [
            report
            for stream, report in zip(streams, reports, strict=True)
            if report is not None and (stream[place] < plain["own"] * span) == told
        ]
        for report, count in Counter(ended).items():
            chances[report] += share * Fraction(count, len(ended))
    assert chances == {report: chance for report, _, chance in law(plain, x)}
