"""Exported samplers, run where they are meant to run: a browser, Node, plain Python, a database."""

import csv
import json
import math
import re
import secrets
import sqlite3

import numpy as np
import pytest
from programs import in_python, node, node_reports, plain_python, python_reports

from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms.randomizer import MOST_VECTORS
from ldpopt.release.designing import design, load_design
from ldpopt.release.exporting import TARGETS, Sampler, export

ROWS = 100_000
SURE = "0.999999"
"""A correct sampler fails the audit once in a million runs."""
NASTY = {
    'it\'s "x"': ["</script>", "'); DROP TABLE people; --"],
    "__SAMPLER__": ["ü\u200dx", "__STEPS__"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 100,000 rows with a binned column, its mechanism, and the values of each row."""
    directory = tmp_path_factory.mktemp("export")
    rng = np.random.default_rng(3)
    cells = {
        "sex": rng.choice(["f", "m"], ROWS).tolist(),
        "age": rng.integers(0, 90, ROWS).tolist(),
    }
    rows = list(zip(*cells.values(), strict=True))
    with (directory / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(cells), *rows])
    people = directory / "people.csv"
    made = design(people, "sex", "age", epsilon=1.0, robust="all", bins={"age": [18, 40.5]})
    made.save(directory / "m.json")
    (directory / "rows.json").write_text(
        json.dumps([dict(zip(cells, row, strict=True)) for row in rows])
    )
    return directory


@pytest.fixture(scope="module")
def made(folder):
    return load_design(folder / "m.json")


@pytest.fixture
def audited(folder, ldpopt, tmp_path, made):
    """The exit code of the audit of the reports, and what it says."""

    def run(reports):
        released = tmp_path / "released.csv"
        lines = [f"ldpopt-{made.fingerprint}", *map(str, reports)]
        released.write_text("\n".join(lines) + "\n")
        words = ["--data", folder / "people.csv", "--released", released, "--samples", 1000]
        return ldpopt("audit", folder / "m.json", *words, "--confidence", SURE, "--explain")

    return run


def tampered(program, made):
    """The program with the rows of the first and the last input exchanged."""
    first, last = (json.dumps(Sampler(made).randomizer.numbers["ends"][x]) for x in (0, -1))
    assert first in program
    assert first != last
    return program.replace(first, "FIRST").replace(last, first).replace("FIRST", last)


# ---------------------------------------------------------------- JavaScript


def test_javascript_in_node(folder, made, audited, ldpopt, tmp_path):
    path, wrong = tmp_path / "sampler.js", tmp_path / "tampered.js"
    answer = ldpopt("export", folder / "m.json", "--target", "js", "-o", path)
    assert answer.code == 0, answer.err
    assert re.fullmatch(r"\d+ test vectors pass\n", node(path).stdout)
    wrong.write_text(tampered(path.read_text(), made))
    assert "self-test" in node(wrong).stderr
    found = node_reports(folder / "rows.json", path, wrong)
    assert found[0][0] == f"ldpopt-{made.fingerprint}"
    passed, failed = (audited(reports) for *_, reports in found)
    assert passed.code == 0, passed.out
    assert "could not be told from those of the mechanism" in passed.out
    assert failed.code == 1
    assert "the reports of the released table are not those of the mechanism" in failed.out


def test_javascript_in_a_browser(folder, made, audited, browser, tmp_path):
    program = export(made, "js")
    rows = (folder / "rows.json").read_text()
    for sampler, code in ((program, 0), (tampered(program, made), 1)):
        page = tmp_path / f"page{code}.html"
        page.write_text(f"<!doctype html><meta charset=utf-8><title>t</title><script>{sampler}</script>")
        browser.get(page.as_uri())
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
        reports = browser.execute_script(
            "return JSON.parse(arguments[0]).map((row) => ldpoptSampler.report(row))", rows
        )
        found = audited(reports)
        assert found.code == code, found.out
        test = "try { return ldpoptSampler.selfTest(); } catch (error) { return error.message; }"
        said = browser.execute_script(test)
        assert ("self-test" in str(said)) == bool(code)


GOOD = {"sex": "f", "age": 3}
TRY = "try { s.report(values); console.log('accepted'); } catch (error) { console.log(String(error)); }"
REFUSED = [
    ({"sex": "x", "age": 3}, '"sex" must be one of ["f","m"], not "x"'),
    ({"sex": "f", "age": "3"}, '"age" must be a finite number, not "3"'),
    ({"sex": "f", "age": None}, '"age" must be a finite number, not null'),
    ({"sex": "f"}, 'the columns must be ["sex","age"], not ["sex"]'),
    ({"sex": "f", "age": 3, "name": "x"}, "the columns must be"),
    (3, "the columns must be"),
]


def test_javascript_refuses_what_it_does_not_know(made, tmp_path):
    path = tmp_path / "sampler.js"
    path.write_text(export(made, "js"))
    given = json.dumps([values for values, _ in REFUSED])
    call = f"const s = require({json.dumps(str(path))}); for (const values of {given}) {TRY}"
    said = node("-e", f"{call}; delete globalThis.crypto; const values = {json.dumps(GOOD)}; {TRY}")
    *refused, without = said.stdout.splitlines()
    for line, (_, sentence) in zip(refused, REFUSED, strict=True):
        assert line.startswith(f"RangeError: ldpopt: {sentence}")
    assert without == "RangeError: ldpopt: crypto.getRandomValues is needed, and is not here"


# ---------------------------------------------------------------- Python


def test_python_needs_the_standard_library_alone(folder, made, audited, tmp_path):
    path, wrong = tmp_path / "sampler.py", tmp_path / "tampered.py"
    path.write_text(export(made, "python"))
    wrong.write_text(tampered(path.read_text(), made))
    assert re.fullmatch(r"\d+ test vectors pass\n", plain_python(path).stdout)
    assert "self-test" in plain_python(wrong).stderr
    for code, (column, _, reports) in enumerate(python_reports(folder / "rows.json", path, wrong)):
        assert column == f"ldpopt-{made.fingerprint}"
        assert audited(reports).code == code


def test_python_refuses_what_it_does_not_know(made):
    report = in_python(export(made, "python"))["report"]
    for values in (*(values for values, _ in REFUSED), {"sex": "f", "age": True}, {"sex": [], "age": 1}):
        with pytest.raises(ValueError, match="must be"):
            report(values)


def test_an_unknown_combination_is_refused():
    table = {"a": ["x", "y", "x"], "b": ["1", "2", "1"], "c": ["p", "q", "p"]}
    sampler = in_python(export(design(table, ["a", "b"], "c", epsilon=1.0, robust="all"), "python"))
    assert sampler["report"]({"a": "x", "b": "1", "c": "q"}) >= 0
    with pytest.raises(ValueError, match="does not know the combination"):
        sampler["report"]({"a": "x", "b": "2", "c": "q"})


# ---------------------------------------------------------------- SQL


def in_sqlite(script, names, rows):
    """Run the script on the rows; the reports in their order."""
    with sqlite3.connect(":memory:") as database:
        database.create_function("ldpopt_random_bits", 0, lambda: secrets.randbits(52))
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        database.execute(f"CREATE TABLE ldpopt_people (ldpopt_row, {columns})")
        marks = ", ".join("?" * (len(names) + 1))
        numbered = [(i, *row) for i, row in enumerate(rows)]
        database.executemany(f"INSERT INTO ldpopt_people VALUES ({marks})", numbered)
        database.commit()
        database.executescript(script)
        found = database.execute("SELECT * FROM ldpopt_released ORDER BY ldpopt_row").fetchall()
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert "ldpopt_draw" not in tables  # the random bits are gone
    assert [row for row, _ in found] == list(range(len(rows)))
    return [report for _, report in found]


def test_sql(folder, made, audited):
    rows = [tuple(row.values()) for row in json.loads((folder / "rows.json").read_text())]
    script = export(made, "sql")
    found = audited(in_sqlite(script, ["sex", "age"], rows))
    assert found.code == 0, found.out
    for row in (("x", 3), ("f", None), (None, 3)):
        with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
            in_sqlite(script, ["sex", "age"], [*rows[:5], row])
    wrong = script.replace("(0, 0, 0)", "(0, 0, 1)", 1)
    assert wrong != script
    with pytest.raises(sqlite3.IntegrityError, match="CHECK constraint failed: wrong = 0"):
        in_sqlite(wrong, ["sex", "age"], rows[:5])
    assert "cryptographic generator. RANDOM() of SQL is not one" in script


@pytest.mark.parametrize("target", TARGETS)
def test_every_program_says_what_is_promised_and_whether_its_file_decides_it(made, target):
    """A file without the counts leaves a promise about them open, which no program keeps back."""
    sure = "for another, whatever the distribution of the data"
    assert sure in export(made, target)
    near = design("adult:sex-race", "sex", "race", epsilon=1.0, robust="chi2", method="cr")
    program = export(near.public, target)
    assert sure not in program
    assert re.search(r"more than 2.72 times as likely .* \[not decided by this file\]", program)


def in_database(script, kinds, rows):
    """Run the script on rows with their numbers, of columns with types; the reports with the numbers."""
    with sqlite3.connect(":memory:") as database:
        database.create_function("ldpopt_random_bits", 0, lambda: secrets.randbits(52))
        database.execute(f"CREATE TABLE ldpopt_people ({kinds})")
        marks = ", ".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO ldpopt_people VALUES ({marks})", rows)
        database.commit()
        database.executescript(script)
        return database.execute("SELECT * FROM ldpopt_released ORDER BY ldpopt_row").fetchall()


ALIKE = {"s": ["1", "01", "1.0", "a", "A"] * 8, "u": ["x", "y"] * 20}


@pytest.mark.parametrize("options", [{}, {"top": {"s": 3}}, {"levels": {"s": 1}}])
@pytest.mark.parametrize("kind", ["", "INTEGER", "NUMERIC", "TEXT", "TEXT COLLATE NOCASE"])
def test_a_person_has_one_report_whatever_the_type_of_a_cell(kind, options):
    """To SQLite 1 equals '1' and '01', and in columns without case 'a' equals 'A'."""
    made = design(ALIKE, "s", "u", epsilon=1.0, robust="all", text=["s"], **options)
    people = [(i, s, u) for i, (s, u) in enumerate(zip(*ALIKE.values(), strict=True))]
    found = in_database(export(made, "sql"), f"ldpopt_row INTEGER, s {kind}, u TEXT", people)
    assert [row for row, _ in found] == list(range(len(people)))


@pytest.mark.parametrize("kind", ["", "INTEGER", "TEXT"])
@pytest.mark.parametrize("again", [1, "1", "01", 1.0])
def test_a_number_of_a_person_that_occurs_twice_stops_the_script(kind, again):
    made = design({"s": ["a", "b"] * 20}, "s", epsilon=1.0)
    people = [(1, "a"), (2, "b"), (again, "b")]
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE constraint failed: ldpopt_draw\."):
        in_database(export(made, "sql"), f"ldpopt_row {kind}, s TEXT", people)
    with pytest.raises(sqlite3.IntegrityError, match=r"NOT NULL constraint failed: ldpopt_draw\."):
        in_database(export(made, "sql"), f"ldpopt_row {kind}, s TEXT", [(1, "a"), (None, "b")])


@pytest.mark.parametrize("missing", ["refuse", "category"])
@pytest.mark.parametrize("kind", ["", "INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB"])
@pytest.mark.parametrize(
    "cell", ["n/a", "", " ", "abc", b"", b"17", math.inf, -math.inf, "inf", "9" * 400]
)
def test_a_cell_with_bins_that_is_no_finite_number_stops_the_script(cell, kind, missing):
    table = {"s": ["a", "b"] * 20, "u": [*range(38), *([None] * 2 if missing == "category" else [1, 2])]}
    options = {"bins": {"u": [10, 20.5]}, "missing": missing}
    made = design(table, "s", "u", epsilon=1.0, robust="all", **options)
    script, kinds = export(made, "sql"), f"ldpopt_row INTEGER, s TEXT, u {kind}"
    known = [] if kind == "TEXT" else [(i, "a", u) for i, u in enumerate((-1e308, 10, 20.5, 1e308))]
    empty = [(8, "b", None)] if missing == "category" else []
    if known:
        assert len(in_database(script, kinds, [*known, *empty])) == len(known) + len(empty)
    with pytest.raises(sqlite3.IntegrityError, match=r"NOT NULL constraint failed: ldpopt_draw\.x"):
        in_database(script, kinds, [*known, *empty, (9, "a", cell)])


def test_bins_in_a_database_are_those_of_the_other_programs():
    table = {"s": ["a", "b"] * 20, "u": list(range(40))}
    made = design(table, "s", "u", epsilon=25.0, robust="all", bins={"u": [10, 20.5]}, method="grr")
    program = in_python(export(made, "python"))["report"]
    cells = [-5, 9, 9.999, 10, 20, 20.5, 21, 1e9]
    found = in_database(
        export(made, "sql"),
        "ldpopt_row INTEGER, s TEXT, u NUMERIC",
        [(i, "a", u) for i, u in enumerate(cells)],
    )
    assert [y for _, y in found] == [program({"s": "a", "u": u}) for u in cells]


@pytest.mark.parametrize("missing", ["refuse", "category"])
def test_an_empty_text_is_none_of_the_other_words(missing):
    table = {"s": ["a", "b"] * 20, "u": [*"xxxxyyyyzw" * 3, *"xxxxxxxx", *"xv"]}
    if missing == "category":
        table["u"][-1] = None
    made = design(table, "s", "u", epsilon=1.0, robust="all", top={"u": 2}, missing=missing)
    script, kinds = export(made, "sql"), "ldpopt_row INTEGER, s TEXT, u TEXT"
    assert len(in_database(script, kinds, [(1, "a", "x"), (2, "b", "q"), (3, "b", " ")])) == 3
    with pytest.raises(sqlite3.IntegrityError, match=r"NOT NULL constraint failed: ldpopt_draw\.x"):
        in_database(script, kinds, [(1, "a", "x"), (2, "b", "")])
    with pytest.raises(ValueError, match="'u' must be one of"):
        in_python(export(made, "python"))["report"]({"s": "a", "u": ""})


# ---------------------------------------------------------------- all targets


@pytest.fixture(scope="module")
def nasty():
    secret, public = NASTY
    cells = {secret: NASTY[secret] * 40, public: (NASTY[public] * 40)[::-1]}
    cells[public][0] = NASTY[public][0]
    return design(cells, secret, public, epsilon=1.0, robust="all")


def test_no_label_leaves_its_quotes(nasty, tmp_path):
    values = dict(zip(NASTY, ("</script>", "ü\u200dx"), strict=True))
    program = export(nasty, "js")
    assert "</script" not in program
    assert "ü" not in program
    (tmp_path / "s.js").write_text(program)
    call = f"console.log(require({json.dumps(str(tmp_path / 's.js'))}).report({json.dumps(values)}))"
    assert int(node("-e", call).stdout) >= 0
    assert in_python(export(nasty, "python"))["report"](values) >= 0
    assert len(in_sqlite(export(nasty, "sql"), list(NASTY), [tuple(values.values())] * 3)) == 3


def test_the_vectors_pin_down_the_mechanism(made):
    """Every end of every row is between two vectors: a program with another sum fails one of them."""
    sampler = Sampler(made)
    found = {(x, bits): report for x, bits, report in sampler.vectors}
    for x, ends in enumerate(sampler.randomizer.numbers["ends"]):
        assert ends[-1] == 2**52
        for y, (low, high) in enumerate(zip([0, *ends], ends, strict=False)):
            if low < high:
                assert found[x, low] == found[x, high - 1] == y
    assert np.array_equal(
        np.diff(sampler.randomizer.numbers["ends"], prepend=0) / 2.0**52, made.mechanism.matrix
    )


def test_a_large_mechanism_has_some_vectors():
    rng = np.random.default_rng(0)
    table = {"s": rng.choice(list("abcdefgh"), 500), "u": rng.choice(list("0123456789"), 500)}
    made = design(table, "s", "u", epsilon=1.0, robust="all", method="grr")
    vectors = Sampler(made).vectors
    assert MOST_VECTORS / 2 < len(vectors) <= MOST_VECTORS
    assert in_python(export(made, "python"))["self_test"]() == len(vectors)


def test_bad_words(folder, made, ldpopt, tmp_path):
    with pytest.raises(InvalidInputError, match="target must be one of js, python, sql, not 'cobol'"):
        export(made, "cobol")
    answer = ldpopt("export", folder / "m.json", "--target", "cobol", "-o", tmp_path / "x")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    (tmp_path / "x").write_text("mine")
    answer = ldpopt("export", folder / "m.json", "--target", "js", "-o", tmp_path / "x")
    assert answer.code == 2
    assert "it exists; choose another name, or --force" in answer.err
    assert (tmp_path / "x").read_text() == "mine"


def test_a_refuted_design_is_not_exported(folder, ldpopt, tmp_path):
    document = json.loads((folder / "m.json").read_text())
    document["status"], document["bound"], document["gap"] = "gap", document["value"] - 0.01, 0.0
    (tmp_path / "forged.json").write_text(json.dumps(document))
    answer = ldpopt("export", tmp_path / "forged.json", "--target", "js", "-o", tmp_path / "s.js")
    assert answer.code == 1
    assert "the checker refutes that" in answer.err
    assert not (tmp_path / "s.js").exists()


@pytest.mark.parametrize("columns", [("s", "S"), ("s", "LDPOPT_row")])
def test_a_database_does_not_tell_names_apart_by_their_case(columns):
    first, second = columns
    made = design({first: ["a", "b"], second: ["x", "y"]}, first, second, epsilon=1.0, robust="all")
    with pytest.raises(InvalidInputError, match=f"the name '{second}' is that of another column"):
        export(made, "sql")
    assert export(made, "python")
