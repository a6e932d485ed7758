"""``privatize --new-values``: this year's table with last year's design."""

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.workers import workers
from ldpopt.release.releasing import privatize
from ldpopt.tables.batches import open_table
from ldpopt.tables.domain import Attribute, Column, Domain
from ldpopt.tables.new_values import NewValues, value_for_others

GROUPS = (("Lyon", "south"), ("Nice", "south"), ("Paris", "Other"), ("Brest", "Other"))
COLUMNS = [
    (Column("c", ("Other", "left", "right")), ("Other", "Other")),
    (Column("c", ("OTHER", "left", "(other)"), other=True), ("(other)", "(other)")),
    (Column("c", ("left", "(other)", "(missing)"), other=True, missing=True), ("(other)", "(other)")),
    (Column("c", ("Other", "south"), groups=GROUPS), ("Other", "Brest")),
    (Column("c", ("south", "(other)"), groups=GROUPS, other=True), ("(other)", "Brest")),
    (Column("c", ("left", "right")), None),
    (Column("c", ("left", "Oth"), prefix=3), None),
]


@pytest.mark.parametrize(("column", "expected"), COLUMNS)
def test_the_value_for_others(column, expected):
    assert value_for_others(column) == expected


@pytest.mark.parametrize(("column", "expected"), [pair for pair in COLUMNS if pair[1]])
def test_every_new_word_is_read_as_the_value_for_others(column, expected):
    """Whatever the design knows, and empty cells, are read as before."""
    known = ["Lyon", "Paris"] if column.groups else ["left", expected[0]]
    table = open_table({"c": [*known, " pirates ", "", "x" * 100]})
    cells = next(NewValues(table, [column]).batches(["c"])).column("c")
    before = next(table.batches(["c"])).column("c")
    assert cells[3].as_py() == ""
    codes = column.codes(cells.filter(np.array([True, True, True, False, True])), 1)
    assert codes[:2].tolist() == column.codes(before[:2], 1).tolist()
    assert {column.values[code] for code in codes[2:]} == {expected[0]}


def test_numbers_and_other_columns_stay_as_they_are():
    columns = [Column("age", ("young", "old"), (30.0,)), Column("c", ("Other", "left"))]
    table = open_table({"age": [20, 99], "c": ["left", "new"], "more": ["new", "new"]})
    read = next(NewValues(table, columns).batches(["age", "c", "more"]))
    assert read.to_pydict() == {"age": [20, 99], "c": ["left", "Other"], "more": ["new", "new"]}


def test_a_column_without_such_a_value_refuses_them():
    reader = NewValues(open_table({"c": ["left", "new", "right"]}), [Column("c", ("left", "right"))])
    with pytest.raises(InvalidInputError, match=r"row 2 of column 'c' holds 'new'.* top c=N tells"):
        list(reader.batches(["c"]))
    assert "nothing: they are refused" in reader.in_words


def test_parts_are_read_by_several_workers(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text("c\nleft\nnew\n")
    domain = Domain(Attribute((Column("c", ("Other", "left")),), ((0,), (1,))), None)
    reader = NewValues(open_table(tmp_path), domain.all_columns)
    with workers(2, None) as parallel:
        found = list(reader.map_parts(counts_of_part, parallel))
    assert found == [(i, {"c": ["left", "Other"]}) for i in range(3)]
    assert domain.count(reader).tolist() == [[3], [3]]


def counts_of_part(number, part):
    return number, part.read().to_pydict()


LAST_YEAR = "party\n" + "left\n" * 50 + "right\n" * 40 + "Other\n" * 10
THIS_YEAR = "party\n" + "left\n" * 50 + "right\n" * 40 + "Other\n" * 6 + "pirates\n" * 4


@pytest.fixture
def work(tmp_path, ldpopt):
    (tmp_path / "last.csv").write_text(LAST_YEAR)
    (tmp_path / "this.csv").write_text(THIS_YEAR)
    made = ldpopt(
        "design", "last.csv", "--secret", "party", "--epsilon", "2", "-o", "m.json", cwd=tmp_path
    )
    assert made.code == 0, made.err
    return tmp_path


def test_last_years_design_takes_this_years_table(work, ldpopt):
    asked = ["privatize", "this.csv", "-m", "m.json", "--seed", "1"]
    for words in ([], ["--new-values", "refuse"]):
        refused = ldpopt(*asked, *words, "-o", "out.csv", cwd=work)
        assert refused.code == 2
        assert "row 97 of column 'party' holds 'pirates', which the mechanism does not" in refused.err
    taken = ldpopt(*asked, "--new-values", "other", "-o", "out.csv", cwd=work)
    assert taken.code == 0, taken.err
    assert "values that the design does not know count as 'Other' of party" in taken.err
    privatize(work / "last.csv", work / "m.json", work / "same.csv", seed=1)
    assert (work / "out.csv").read_text() == (work / "same.csv").read_text()
    assert ldpopt("estimate", "out.csv", "-m", "m.json", cwd=work).code == 0


def test_there_are_two_ways(work, ldpopt):
    said = ldpopt(
        "privatize", "this.csv", "-m", "m.json", "--new-values", "drop", "-o", "o.csv", cwd=work
    )
    assert said.code == 2
    assert "new-values must be one of refuse, other" in said.err
