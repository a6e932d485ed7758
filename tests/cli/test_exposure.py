"""``ldpopt exposure``: counts by hand, words, page, and bad input."""

import json
import shlex

import numpy as np
import pytest

from ldpopt.cli.options import split_columns
from ldpopt.core.errors import InvalidInputError
from ldpopt.engine import solving as engine
from ldpopt.release import safe_columns
from ldpopt.release.safe_columns import exposed, exposure_in_words, release_in_words
from ldpopt.report.exposure_page import curve, steps

ROWS = "age,place\n" + "old,town\n" * 6 + "old,village\n" * 3 + "young,town\n"


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    return path


def test_a_table_without_columns_is_refused():
    with pytest.raises(InvalidInputError, match="the table has no columns"):
        exposed({}, threshold=0.2, budget=0.0)


def test_counts_of_ten_rows(people):
    """Of ten rows, one is young and in a town, three are old and in a village."""
    found = exposed(people, threshold=0.2, budget=0.0)
    assert (found.rows, found.crowd) == (10, 2)
    assert found.alone == (1, 0)
    assert found.together == 1
    assert found.released == ("place",)
    assert found.exposed_by_released == 0
    assert found.exposed_at(0.4) == 4
    assert found.verification
    assert exposed(people, threshold=0.2, budget=0.1).released == ("age", "place")
    assert exposed(people, ["age"], threshold=0.2).released == ()


def test_words_and_json(people, ldpopt):
    done = ldpopt("exposure", people, "--threshold", "0.2")
    assert done.code == 0
    for words in (
        "a row whose values fewer than 2 rows have",
        "all 2 columns expose 1 row (10 %)",
        "place: 0 rows (0 %) exposed, within the budget of 0; no larger set of the columns stays",
    ):
        assert words in done.out
    told = json.loads(ldpopt("exposure", people, "--threshold", "0.2", "--json").out)
    assert told["released"] == ["place"]
    assert told["verified"] is True


def test_a_column_that_could_be_released_is_not_called_exposing(people, monkeypatch):
    """Where the time is over before a set is chosen, each column is still counted by itself."""
    monkeypatch.setattr("ldpopt.core.limits.LEAST_LEFT", 1e-9)
    found = exposed(people, threshold=0.2, time_limit=1e-9)
    assert found.released == ()
    assert found.safe_alone == ("place",)
    assert release_in_words(found) == (
        "none of the columns yet: the time was over before a set was chosen; by itself, place stays "
        "within the budget of 0"
    )
    none = exposed(people, ["age"], threshold=0.2)
    assert release_in_words(none) == "none of the columns: each exposes more than 0 of the rows"


def test_the_curve_has_at_every_threshold_the_height_that_is_counted(people):
    """Of ten rows groups of 1, 3 and 6: the curve rises right after each of these sizes."""
    found = exposed(people, threshold=0.2)
    after, shares = steps(found)
    for rows in (1.5, 2.9, 3.1, 5.9, 6.1, 9.9):
        drawn = shares[np.flatnonzero(after < rows / 10)[-1]]
        assert drawn == pytest.approx(found.exposed_at(rows / 10) / 10)
    assert curve(found).count("<svg") == 1


def test_page(people, ldpopt, tmp_path):
    nasty = tmp_path / "nasty.csv"
    nasty.write_text(ROWS.replace("age", "<b>age"))
    out = tmp_path / "page.html"
    assert ldpopt("exposure", nasty, "--threshold", "0.2", "--out", out).code == 0
    text = out.read_text()
    assert "place: 0 rows (0 %) exposed" in text
    assert "<b>age" not in text
    assert text.count("✓") == 7
    again = ldpopt("exposure", nasty, "--threshold", "0.2", "--out", out)
    assert again.code == 2
    assert "--force" in again.err


def test_what_a_sensitive_column_would_give_away(tmp_path, ldpopt):
    """Of both men in a town the disease is known; of six others it is one of two."""
    rows = ["m,town,hiv"] * 2 + ["f,town,flu", "f,town,none"] * 3
    (tmp_path / "ill.csv").write_text("sex,place,disease\n" + "\n".join(rows) + "\n")
    found = exposed(tmp_path / "ill.csv", k=3, sensitive=["disease"])
    assert (found.columns, found.crowd, found.alone) == (("sex", "place"), 3, (2, 0))
    assert found.released == ("place",)
    assert found.told == {"disease": (0, 2)}
    command = ("exposure", "ill.csv", "--identifying", "sex", "--sensitive", "disease", "--k", "2")
    done = ldpopt(*command, "-o", "page.html", cwd=tmp_path)
    assert "beside it, the columns chosen tell it of 2 rows (25 %), all columns of" in done.out
    assert "<strong>" not in (tmp_path / "page.html").read_text()
    assert "--sensitive" in ldpopt("exposure", "ill.csv", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("missing", "sizes"), [("category", (1, 1, 2)), ("drop", (1, 2)), ("refuse", None)]
)
def test_columns_are_binned_and_taken_at_coarser_levels(missing, sizes, tmp_path):
    table = {"age": ["21", "29", "61", None], "place": ["4051", "4052", "8001", "8002"]}
    asked = {"bins": {"age": [40.0]}, "levels": {"place": 2}, "missing": missing, "k": 2}
    if sizes is None:
        with pytest.raises(InvalidInputError, match="'age' has empty cells"):
            exposed(table, **asked)
    else:
        assert exposed(table, **asked).sizes == sizes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--k", "11"), "k must be from 1 to the number of rows, 10, not 11"),
        (("--k", "2", "--threshold", "0.1"), "or the rows that must be alike (k), not both"),
        (("--sensitive", "wage"), "wage"),
        (("--identifying", "age", "--sensitive", "age"), "columns must be different"),
        (("--bins", "wage=3"), "wage"),
        (("--missing", "forget"), "missing must be"),
        (("--threshold", "0"), "threshold must be a finite number above 0 to 1, not 0.0"),
        (("--threshold", "2"), "threshold must be a finite number above 0 to 1, not 2.0"),
        (("--budget", "-1"), "budget must be a finite number from 0 to 1, not -1.0"),
        (("--columns", "age,age"), "columns must be different, not age, age"),
        (("--columns", "wage"), "wage"),
    ],
)
def test_bad_input_is_one_sentence(people, ldpopt, options, message):
    done = ldpopt("exposure", people, *options)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_the_command_keeps_to_a_time_limit(people, ldpopt, monkeypatch):
    """The search has what reading left of it, the checker what both left."""
    given = []

    def solve(problem, time_limit):
        given.append(time_limit)
        return engine.solve(problem, time_limit=time_limit)

    monkeypatch.setattr(safe_columns, "solve", solve)
    done = ldpopt("exposure", people, "--threshold", "0.2", "--time-limit", "1000")
    assert done.code == 0
    assert 0 < given[0] < 1000
    refused = ldpopt("exposure", people, "--time-limit", "0")
    assert (refused.code, "time_limit must be" in refused.err) == (2, True)


def test_a_column_that_is_not_chosen_is_not_said_to_exceed_the_budget(people, ldpopt):
    """Each of two columns may be within the budget though both together are not."""
    found = exposed(people, threshold=0.4, budget=0.3)
    assert found.safe_alone == ("age", "place")
    assert len(found.released) == 1
    done = ldpopt("exposure", people, "--threshold", "0.4", "--budget", "0.3")
    (head, *rows) = [line for line in done.out.splitlines() if line.startswith(("┃", "│"))]
    assert head.split()[-2] == "chosen"
    assert sorted(row.split()[-2] for row in rows) == ["NO", "yes"]


def test_a_table_of_sensitive_columns_alone(tmp_path, ldpopt):
    (tmp_path / "ill.csv").write_text("disease\nflu\nflu\n")
    done = ldpopt("exposure", "ill.csv", "--sensitive", "disease", cwd=tmp_path)
    assert (done.code, done.err) == (2, "ldpopt: ill.csv has no columns but the sensitive ones\n")


@pytest.mark.parametrize("name", ["disease; touch here", "$(touch here)", "it's", 'a,"b"', "-x"])
def test_the_command_that_hides_a_column_is_one_command(tmp_path, name):
    """Whoever wrote the table named its columns; whoever reads the words pastes the command."""
    (told,) = exposure_in_words(exposed({name: ["flu"] * 4, "age": ["old"] * 4}, k=2, sensitive=[name]))[
        f"sensitive {name}"
    ].split("(ldpopt design ")[1:]
    option, columns = shlex.split(told.removesuffix(")"))
    assert option == "--secret"
    assert split_columns(columns) == [name]
