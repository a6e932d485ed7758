"""An attacker seeks the count of a secret in the public file, its page and the exported programs.

The attacker knows the labels, the method, this package and all counts but one. It tries every table for
every number that is printed, ratios of entries as fractions of counts, hashes of all tables that are
possible, and designs again with other counts. What it finds, the outputs must have said.
"""

import hashlib
import html
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ldpopt.checker.kernel.proofs.labelled_inputs import content_digest
from ldpopt.core.errors import LdpoptError
from ldpopt.release.designing import design, load_design, load_mechanism
from ldpopt.release.exporting import TARGETS, export
from ldpopt.release.methods import METHODS
from ldpopt.release.recoverable_counts import APPROXIMATELY, EDGES, EXACTLY, LABELS, NOT_AT_ALL, WORDS
from ldpopt.report.page import INTERNAL, page_name, report

RARE = {  # the method, and how many have the rare secret: in each ward, and of the others
    "cr": ([2, 1, 1], [131, 170, 99]),
    "srr": ([1, 0, 0], [211, 305, 120]),
    "polyopt": ([7, 5, 3], [700, 811, 640]),
    "staircase": ([9, 4, 2], [2011, 3055, 1202]),
    "grr": ([30, 21, 15], [9111, 9305, 9283]),
    "ir": ([11, 8, 5], [411, 390, 402]),
    "learn": ([3, 1, 0], [240, 260, 251]),
    "ldp": ([13, 9, 17], [5000, 4017, 5600]),
    "subset": ([5, 2, 2], [190, 201, 111]),
    "ue": ([6, 4, 7], [800, 1210, 990]),
}
"""Ten tables: n from 404 to 27,765."""


def table_of(counts):
    rows = [
        (s, f"w{u}")
        for s, row in zip(("yes", "no"), counts, strict=True)
        for u, n in enumerate(row)
        for _ in range(n)
    ]
    hiv, ward = zip(*rows, strict=True)
    return {"hiv": list(hiv), "ward": list(ward)}


def words_of(page):
    """The words of a page, without its style."""
    return html.unescape(
        re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))
    )


# ------------------------------------------------------------ the attacks


def statistics(counts, matrix=None):
    """What a careless page may print of a table: rows, shares, odds, entropies, guesses, the utility."""
    P = counts / counts.sum()
    laws = [P.ravel(), P.sum(axis=1)]
    found = [counts.sum(), *laws[1], *(laws[1] / laws[1][::-1])]
    for law in laws:
        used = law[law > 0]
        found += [-(used * np.log(used)).sum(), law.max()]
    if matrix is not None:
        joint = laws[0][:, None] * matrix
        used = joint > 0
        apart = np.outer(laws[0], joint.sum(axis=0))[used]
        utility = (joint[used] * np.log(joint[used] / apart)).sum()
        found += [utility, utility / found[-4], found[-4] - utility, joint.max(axis=0).sum()]
    return np.array([*found, *(100 * value for value in found)])  # percentages, too


NUMBER = re.compile(r"(?<![\w.,])([\d,]+)(\.\d+)?(e-?\d+)?(?![\w])")


def from_numbers(text, tables, matrix=None, same=""):
    """Every rare count whose table is the only one with a printed statistic, of four digits or more.

    Numbers that stand in the ``same`` output of another table, too, are not about this one.
    """
    known = [statistics(counts, matrix) for counts in tables]
    rarest, known = [int(counts[0].sum()) for counts in tables], np.array(known)
    found = set()
    for whole, digits, power in set(NUMBER.findall(text)) - set(NUMBER.findall(same)):
        number = f"{whole.replace(',', '')}{digits}"
        if len(number.replace(".", "").lstrip("0")) < (4 if digits else 3):
            continue
        unit = 10.0 ** (int(power[1:] or 0) - max(len(digits) - 1, 0))
        near = np.abs(known - float(number + power)) <= 0.5 * unit * (1 + 1e-9)
        for fits in near.T:
            found |= {rarest[fits.argmax()]} if fits.sum() == 1 else set()
    return found


def from_ratios(matrix, n):
    """Totals of whole numbers up to n in the ratios, to twelve digits, of entries of a row."""
    found = set()
    for row in matrix.tolist():
        entries = sorted({entry for entry in row if entry > 0})
        for own in entries:
            members = {own: Fraction(1)}
            for other in entries:
                near = Fraction(other / own).limit_denominator(n)
                if abs(float(near) - other / own) <= 1e-12 * other / own and near.numerator <= n:
                    members[other] = near
            if len(members) > 1:
                scale = math.lcm(*(ratio.denominator for ratio in members.values()))
                total = sum(int(members[entry] * scale) for entry in row if entry in members)
                found |= {total, n - total} if total < n else set()
    return found


def from_hashes(text, made, around):
    """Every k for which the hash of a table or of a design without a salt stands in the text."""
    seen = set(re.findall(r"(?<![0-9a-f])[0-9a-f]{12,64}(?![0-9a-f])", text))
    found = set()
    for counts in around:
        plain = {"domain": made.domain.to_json(), "counts": counts.tolist()}
        guess = replace(made, question=replace(made.question, counts=counts), salt=None)
        hashes = {
            hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest(),
            hashlib.sha256(json.dumps(counts.tolist()).encode()).hexdigest(),
            content_digest(counts.tolist()),
            guess.digest,
        }
        if any(known.startswith(part) for known in hashes for part in seen):
            found.add(rare(made, counts))
    return found


def from_designs(made, around):
    """Every k whose design, by the same method, has the same mechanism; empty if all have."""
    found = set()
    for counts in around:
        asked = replace(made.question, counts=counts)
        answer = METHODS[made.method].solve(asked, 1e-6, 5.0, None)
        if made.randomizer.dense is None:
            same = answer.answer == made.result.answer
        else:
            same = np.array_equal(answer.mechanism.matrix, made.mechanism.matrix)
        found |= {rare(made, counts)} if same else set()
    return found if len(found) < len(around) else set()


def possible(made):
    """All tables with up to 100 people of the rare secret in the first ward; the rare secret first."""
    row = list(made.domain.secret.labels).index("yes")
    for count in range(1, 101):
        counts = made.question.counts[[row, 1 - row]].copy()
        counts[0, 0] = count
        yield counts


def rare(made, counts):
    return int(counts[list(made.domain.secret.labels).index("yes")].sum())


def neighbours(made):
    """The table with one to three people more or fewer among the rarest secret, and as it is."""
    row = list(made.domain.secret.labels).index("yes")
    for more in range(-3, 4):
        counts = made.question.counts.copy()
        counts[row, 0] += more
        if counts[row, 0] >= 0 and counts[row].sum() > 0:
            yield counts


def in_programs(text):
    """The matrix that an exported program holds: cumulative sums of its rows, in units of 2^−52."""
    rows = [json.loads(f"[{row}]") for row in re.findall(r"^\[([\d, ]+)\]", text, re.MULTILINE)]
    rows = [row for row in rows if row[-1:] == [2**52]]
    return np.array([[high - low for low, high in pairwise([0, *row])] for row in rows], dtype=float)


# ------------------------------------------------------------ ten tables


def handed_out(made, folder):
    """All that is handed out of a design: the public file, its page and the programs."""
    made.save(folder / "m.json")  # it lies beside the public file, as the command design leaves it
    made.public.save(folder / "m.public.json")
    report(folder / "m.public.json", folder / "m.public.html", curve_seconds=0)
    page = words_of((folder / "m.public.html").read_text("utf-8"))
    # sampled, as many as there was time for
    lines = [line for line in page.splitlines() if not re.search(r"ttack on [\d,]+ reports", line)]
    outputs = {"file": (folder / "m.public.json").read_text(), "page": "\n".join(lines)}
    for target in TARGETS:
        try:
            outputs[target] = export(made.public, target)
        except LdpoptError:
            assert made.randomizer.dense is None  # no SQL for encodings
            assert target == "sql"
    return outputs


@pytest.mark.parametrize("method", RARE)
def test_no_count_of_the_secret_follows_or_the_output_says_so(method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the page names files as they are given
    few, many = RARE[method]
    made, other = (
        design(table_of(counts), "hiv", "ward", epsilon=1.0, method=method, robust="chi2")
        for counts in ([few, many], [many, [count + 2 for count in few]])
    )
    outputs, others = (handed_out(one, Path()) for one in (made, other))
    n, around = int(made.question.counts.sum()), list(neighbours(made))
    k, matrix = rare(made, made.question.counts), None
    recovered = set()
    if made.randomizer.dense is not None:
        matrix = made.public.mechanism.matrix
        recovered |= from_ratios(matrix, n)
        if made.domain.secret.labels[0] != "yes":
            matrix = np.roll(matrix, len(matrix) // 2, axis=0)
    for name, text in outputs.items():
        recovered |= from_numbers(text, list(possible(made)), matrix, others[name])
        recovered |= from_hashes(text, made, around)
    recovered |= from_designs(made, around)
    said = made.public.recoverable
    assert said == {"staircase": APPROXIMATELY, "ldp": APPROXIMATELY}.get(
        method, NOT_AT_ALL if method in ("srr", "grr", "learn", "subset") else EXACTLY
    )
    assert k not in recovered or said != NOT_AT_ALL
    assert k in recovered or said != EXACTLY  # what is called exact, the attacker does find
    assert outputs == others or said != NOT_AT_ALL  # the same to the letter: no attack can find more
    assert json.loads(outputs["file"])["public"]["recoverable"] == said
    for name in outputs.keys() - {"file"}:
        assert f"{WORDS[said]}. {LABELS}" in outputs[name], name
        assert EDGES not in outputs[name]


def test_public_values_that_were_allowed_tell_of_the_counts():
    """Whoever knows all counts but one learns a range for it: others would not have been allowed."""
    allowed, levels = set(), set()
    for k in (20, 80, 140, 200):
        table = table_of([[200, 210, 190], [k, 199, 207]])
        for reports in (1, 2):
            try:
                made = design(
                    table, "hiv", "ward", epsilon=1.0, method="public", robust="chi2", reports=reports
                )
            except LdpoptError:
                continue
            assert made.public.recoverable == (
                APPROXIMATELY if np.isin(made.mechanism.matrix, (0, 1)).all() else EXACTLY
            )
            allowed |= {k} if reports == 1 else set()
            levels.add(made.public.promise.epsilon)
    assert 0 < len(allowed) < 4
    assert len(levels) > 1


def test_edges_that_were_counted_are_quantiles_and_every_output_says_so(tmp_path, ldpopt):
    """Three bins of a secret: a third of the rows is in each, whatever the mechanism tells."""
    rows = [f"{17 * i % 1009},{'xyz'[i % 3]}\n" for i in range(900)]
    (tmp_path / "t.csv").write_text("income,town\n" + "".join(rows))
    words = ("design", "t.csv", "--secret", "income", "--public", "town", "--epsilon", "1", "--method")
    counted = ldpopt(*words, "srr", "--bins", "income=3", "-o", "c.json", cwd=tmp_path)
    assert counted.err == f"warning: c.public.json: {EDGES}\n"
    made = load_design(tmp_path / "c.json")
    assert made.public.recoverable == NOT_AT_ALL
    assert np.ptp(made.question.counts.sum(axis=1)) <= 2  # all that n tells with the labels
    outputs = handed_out(made, tmp_path)
    for name in outputs.keys() - {"file"}:
        assert EDGES in outputs[name], name
    assert ldpopt(*words, "srr", "--bins", "income=300,600", "-o", "s.json", cwd=tmp_path).err == ""
    fitted = ldpopt(*words, "cr", "--robust", "chi2", "--bins", "income=3", "-o", "r.json", cwd=tmp_path)
    assert fitted.err.count("warning: ") == 1
    assert EDGES in fitted.err


# ------------------------------------------------------------ the attacks work where they can


def test_three_divisions_give_the_counts_of_conditional_reporting_back():
    made = design(table_of(RARE["cr"]), "hiv", "ward", epsilon=1.0, method="cr", robust="chi2")
    programs = [in_programs(export(made.public, target)) for target in ("js", "python")]
    for matrix in (made.public.mechanism.matrix, *programs):
        assert len(matrix) == 6
        assert 4 in from_ratios(matrix, 404)


def test_the_entropy_of_a_table_is_the_count():
    """Each of these stood on a page once, or could: what the attacker makes of it."""
    tables = [np.array([[k], [27_765 - k]]) for k in range(1, 13_000)]
    assert from_numbers("H(X) = 0.0167364", tables) == {66}
    assert 66 in from_numbers("guessing without a report 0.997623", tables)
    assert 66 in from_numbers("guessed without a report: 99.7623 %", tables)
    assert 66 in from_numbers("odds of 2.3828e-03", tables)
    others = [np.array([[k], [27_699]]) for k in range(1, 200)]
    assert from_numbers("27,765 rows", others) == {66}
    assert from_numbers("27765 rows", others) == {66}
    matrix = design({"hiv": ["yes", "no"]}, "hiv", epsilon=1.0, method="grr").mechanism.matrix
    utility = statistics(others[65], matrix)[-4] / 100
    for said in (f"{utility:.6g} nats", f"{utility} nats"):
        assert from_numbers(said, others) == set()
        assert from_numbers(said, others, matrix) == {66}


@pytest.fixture(scope="module")
def internal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("internal")
    table = {"hiv": ["yes"] * 66 + ["no"] * 27_699}
    design(table, "hiv", epsilon=1.0, method="grr").save(folder / "m.json")
    name = page_name([folder / "m.json"])
    report(folder / "m.json", name, curve_seconds=0)
    return load_design(folder / "m.json"), Path(name)


def test_the_page_with_the_counts_is_marked(internal):
    _, page = internal
    assert page.name == "m.internal.html"
    text = words_of(page.read_text("utf-8"))
    assert text.split("–")[0].strip().startswith(INTERNAL)
    assert 66 in from_numbers(text, [np.array([[k], [27_765 - k]]) for k in range(1, 13_000)])


def test_hashes_are_salted(internal):
    """The same table twice: other hashes; without the salt, the attacker finds the counts."""
    made, page = internal
    around, text = list(neighbours(made)), words_of(page.read_text("utf-8"))
    assert made.digest in text
    assert from_hashes(text, made, around) == set()
    assert from_hashes(replace(made, salt=None).digest, made, around) == {66}
    again = design({"hiv": ["yes"] * 66 + ["no"] * 27_699}, "hiv", epsilon=1.0, method="grr")
    assert again.salt != made.salt
    assert again.public.to_json() == made.public.to_json()


@pytest.mark.parametrize("method", ["cr", "ir", "staircase", "srr"])
def test_the_name_of_the_released_column_tells_no_count(method, tmp_path):
    """Whoever has the reports alone designs for other counts and compares the fingerprints."""
    few, many = RARE[method]
    columns, guesses = [], []
    for more in (0, 0, 1, 2):
        made = design(
            table_of([[few[0] + more, *few[1:]], many]),
            "hiv",
            "ward",
            epsilon=1.0,
            method=method,
            robust="chi2",
        )
        columns.append(made.fingerprint)
        guesses.append(replace(made, salt=None).fingerprint)
    if made.public.recoverable == NOT_AT_ALL:  # the name is that of every table with these labels
        assert len({*columns, *guesses}) == 1
    else:
        assert not set(columns) & set(guesses)
        assert len(set(columns)) == 4  # a second design of the same table has another name
    made.save(tmp_path / "m.json")
    made.public.save(tmp_path / "m.public.json")
    for file in ("m.json", "m.public.json"):  # both files still know the reports
        assert load_mechanism(tmp_path / file).fingerprint == made.fingerprint
    assert made.salt not in (tmp_path / "m.public.json").read_text()


def test_a_file_without_a_salt_is_still_read(tmp_path):
    made = replace(design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr"), salt=None)
    made.save(tmp_path / "old.json")
    assert "salt" not in json.loads((tmp_path / "old.json").read_text())["design"]
    old = load_design(tmp_path / "old.json")
    assert old.verification
    assert old.digest == made.digest


def test_a_changed_salt_is_refuted(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr")
    made.save(tmp_path / "m.json")
    changed = (tmp_path / "m.json").read_text().replace(made.salt, "0" * 32)
    (tmp_path / "m.json").write_text(changed)
    with pytest.raises(LdpoptError, match="do not match its digest"):
        load_design(tmp_path / "m.json")
