"""``ldpopt protocol``: the two rounds on a person's table, what each party saw, the rows, the page."""

import csv
import json
from collections import Counter

import pytest
from web import sound

pytest.importorskip("cryptography")
ROWS = [("old" if i % 3 else "young", "town" if i % 2 else "village", str(i)) for i in range(30)]


@pytest.fixture
def people(tmp_path):
    lines = [",".join(row) for row in (("age", "<place>", "number"), *ROWS)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_rows_page_and_what_each_party_saw(people, ldpopt):
    command = ("protocol", "people.csv", "--threshold", "0.05", "--budget", "0.4", "--jobs", "1")
    done = ldpopt(*command, "--page", "page.html", "-o", "rows.csv", cwd=people)
    assert done.code == 0, done.err
    with (people / "rows.csv").open() as file:
        names, *rows = map(tuple, csv.reader(file))
    assert names == ("age", "<place>")
    assert Counter(rows) == Counter(row[:2] for row in ROWS)
    assert rows == sorted(rows)  # the order of the table is gone
    page = sound((people / "page.html").read_text())
    for words in (
        "who took part, 30 users, and their sealed notes",
        "how often each of 34 values of 3 columns occurs",
        "how often each of 4 rows of age, <place> occurs",
        "0 of the 30 rows that the analyst counted are each sent by fewer than 2 users",
    ):
        assert words in done.out.replace("\n", " ")
        assert words in page.text
    again = ldpopt(*command, "-o", "rows.csv", cwd=people)
    assert (again.code, "--force" in again.err) == (2, True)


def test_columns_are_binned_and_rare_values_redacted(people, ldpopt):
    asked = ("--columns", "number", "--bins", "number=3,10", "--threshold", "0.05", "--redact", "0.2")
    done = ldpopt("protocol", "people.csv", *asked, "--jobs", "1", "--json", cwd=people)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    counts = Counter(row[0] for row in found["rows"])
    assert found["released"] == ["number"]
    assert counts == {"*": 10, "≥ 10": 20} or sum(counts.values()) == 30


@pytest.mark.parametrize("missing", ["refuse", "drop", "category"])
def test_a_column_that_is_named_twice_is_bad_input(people, ldpopt, missing):
    asked = ("--columns", "age,number,age", "--missing", missing)
    done = ldpopt("protocol", "people.csv", *asked, cwd=people)
    words = "ldpopt: columns must be different, not age, number, age\n"
    assert (done.code, done.err) == (2, words)


def test_edges_that_are_values_of_the_table_are_said_to_be(people, ldpopt):
    """Every party sees the labels of the bins: so it sees values of others, where they were chosen."""
    asked = ("protocol", "people.csv", "--columns", "number", "--threshold", "0.05", "--jobs", "1")
    done = ldpopt(*asked, "--bins", "number=3", "--page", "page.html", cwd=people)
    assert done.code == 0, done.err
    for text in (done.out.replace("\n", " "), sound((people / "page.html").read_text()).text):
        assert "the edges of number were chosen from the table" in text
    stated = ldpopt(*asked, "--bins", "number=3,10", cwd=people)
    assert (stated.code, "chosen from the table" in stated.out) == (0, False)


def test_empty_cells_and_their_word_are_said_to_be_one_value(people, ldpopt):
    (people / "gaps.csv").write_text("a,b\n" + "(missing),x\n,y\n" * 10)
    asked = ("protocol", "gaps.csv", "--threshold", "0.05", "--jobs", "1", "--json")
    done = ldpopt(*asked, cwd=people)
    assert "count as one value, (missing)" in done.err
    assert {row[0] for row in json.loads(done.out)["rows"]} == {"(missing)"}


@pytest.mark.parametrize(
    "command",
    [
        ("protocol", "people.csv", "-o", "x.html", "--page", "x.html"),
        ("protocol", "people.csv", "-o", "x.html", "--page", "./x.html", "--force"),
    ],
)
def test_two_outputs_with_one_name_are_bad_input(people, ldpopt, command):
    done = ldpopt(*command, cwd=people)
    assert (done.code, "it would replace x.html" in done.err) == (2, True)
    assert not (people / "x.html").exists()
