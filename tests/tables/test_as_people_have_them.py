"""Tables as people have them: separators, encodings, standard input, gaps, dates, many values."""

import datetime
import gzip
import io
import json
import math
import shlex
import sys

import numpy as np
import pandas as pd
import pytest

from ldpopt.checker.kernel.proofs.labelled_inputs import MISSING, OTHER
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.core.number_text import at_most
from ldpopt.engine.verifying import verify_document
from ldpopt.release.designing import design, load_design
from ldpopt.release.exporting import export
from ldpopt.tables.batches import open_table
from ldpopt.tables.cells import CompleteRows
from ldpopt.tables.decimals_and_dates import Rewritten
from ldpopt.tables.survey import survey

ROWS = [("f", "München"), ("m", "Köln"), ("f", "Köln"), ("m", "Genève")]


def text(sep):
    return "".join(f"{sep.join(row)}\n" for row in [("sex", "town"), *ROWS])


def counted(path, **how):
    domain, counts = survey(open_table(path, **how), ["sex"], ["town"])
    return domain.public.labels, counts.tolist()


EXPECTED = (("Genève", "Köln", "München"), [[0, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize(
    ("name", "sep", "encoding", "how"),
    [
        ("t.csv", ",", "utf-8", {}),
        ("t.tsv", "\t", "utf-8", {}),
        ("t.txt", "\t", "utf-8", {}),
        ("t.TXT", "|", "utf-8", {"sep": "|"}),
        ("t.csv", ";", "latin-1", {"sep": ";", "encoding": "latin-1"}),
        ("t.csv", ",", "utf-16", {"encoding": "utf-16"}),
        ("t.csv", ",", "utf-8-sig", {}),
    ],
)
def test_separators_and_encodings(name, sep, encoding, how, tmp_path):
    path = tmp_path / name
    path.write_bytes(text(sep).encode(encoding))
    assert counted(path, **how) == EXPECTED
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text(sep).encode(encoding)))
    assert counted(packed, **how) == EXPECTED


def test_bad_separators_and_encodings(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(text(";").encode("latin-1"))
    with pytest.raises(InvalidInputError, match="the separator must be one ASCII character, not ';;'"):
        open_table(path, sep=";;")
    with pytest.raises(InvalidInputError, match="such as utf-8, latin-1 or utf-16, not 'klingon'"):
        open_table(path, encoding="klingon")
    with pytest.raises(InvalidInputError, match="has ';' between its columns, not ',': say so"):
        counted(path, encoding="latin-1")
    with pytest.raises(ValueError, match=r"it is not in utf-8; say which encoding it has \(encoding"):
        counted(path, sep=";")


def test_standard_input(monkeypatch, ldpopt, tmp_path):
    rows = "s,u\n" + "a,x\na,y\nb,x\nb,y\nb,y\n" * 20
    words = ["--secret", "s", "--public", "u", "--epsilon", 1, "--method", "srr", "--robust", "all"]

    def run(*command):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
        return ldpopt(*command, cwd=tmp_path)

    assert run("design", "-", *words, "-o", "m.json").code == 0
    assert load_design(tmp_path / "m.json").question.counts.tolist() == [[20, 20], [20, 40]]
    answer = run("privatize", "-", "-m", "m.json", "-o", "r.csv")
    assert answer.code == 0, answer.err
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 101


# ---------------------------------------------------------------- empty cells

GAPS = {"s": ["a", "b", None, "b"] * 30, "u": ["x", "NA", "y", "y"] * 30, "age": [1, 2, 3, None] * 30}


def test_rows_with_gaps_are_left_out_and_counted():
    said = []
    made = design(
        GAPS, "s", "u", epsilon=1.0, method="srr", robust="all", missing="drop", warn=said.append
    )
    assert made.question.counts.tolist() == [[30, 0], [0, 30]]
    assert said == ["60 of 120 rows of the table were left out: a cell is empty"]
    with pytest.raises(InvalidInputError, match="must be one of refuse, drop, category, not 'x'"):
        design(GAPS, "s", "u", epsilon=1.0, missing="x")
    with pytest.raises(InvalidInputError, match=r"leave such rows out \(missing drop\); ldpopt"):
        design(GAPS, "s", "u", epsilon=1.0)


def test_words_that_look_empty_are_kept_where_every_cell_is_a_word():
    reader = CompleteRows(open_table(GAPS), ["s", "u"], text=["u"])
    assert sum(batch.num_rows for batch in reader.batches(["s"])) == 90
    assert (reader.dropped, reader.rows) == (30, 120)


def test_gaps_as_a_value():
    said = []
    domain, counts = survey(
        open_table(GAPS), ["s"], ["u", "age"], {"age": [2]}, missing="category", warn=said.append
    )
    assert domain.secret.labels == ("a", "b", MISSING)
    assert domain.public.columns[1].values == ("< 2", "≥ 2", MISSING)
    assert set(domain.public.labels) == {"x, < 2", f"{MISSING}, ≥ 2", "y, ≥ 2", f"y, {MISSING}"}
    assert int(counts.sum()) == 120
    assert len(said) == 3
    assert said[0] == "30 of 120 cells of 's' are empty, or say (missing), and count as (missing)"
    rows = np.concatenate(list(domain.rows(open_table(GAPS))))
    assert np.array_equal(np.bincount(rows, minlength=counts.size), counts.ravel())
    domain, _ = survey(open_table({"s": ["a", "b"], "u": ["x", "y"]}), ["s"], ["u"], missing="category")
    assert not any(column.missing for column in domain.all_columns)  # only where a cell is empty
    with pytest.raises(InvalidInputError, match="every cell of the column 'u' is empty"):
        survey(open_table({"s": ["a", "b"], "u": ["", "NA"]}), ["s"], ["u"], missing="category")


def test_a_design_with_gaps_is_certified_released_and_exported(ldpopt, tmp_path):
    pd.DataFrame(GAPS).to_csv(tmp_path / "t.csv", index=False)
    words = ["t.csv", "--secret", "s", "--public", "u,age", "--bins", "age=2", "--epsilon", 1]
    words += ["--missing", "category", "--method", "srr", "--robust", "all", "-o", "m.json"]
    answer = ldpopt("design", *words, cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert "note: 30 of 120 cells of 's' are empty, or say (missing), and count as" in answer.err
    assert ldpopt("verify", "m.json", cwd=tmp_path).code == 0
    assert ldpopt("verify", "m.public.json", cwd=tmp_path).code == 0
    answer = ldpopt("privatize", "t.csv", "-m", "m.public.json", "-o", "r.csv", cwd=tmp_path)
    assert answer.code == 0, answer.err
    names = {"__name__": "sampler"}
    exec(export(load_design(tmp_path / "m.json"), "python"), names)
    assert names["self_test"]() > 0
    assert names["report"]({"s": None, "u": "y", "age": 3}) >= 0
    with pytest.raises(ValueError, match="must be"):
        names["report"]({"s": "c", "u": "y", "age": 3})


def test_a_release_leaves_out_rows_with_gaps(ldpopt, tmp_path):
    whole = {"s": ["a", "b"] * 60, "u": ["x", "y", "y"] * 40}
    design(whole, "s", "u", epsilon=1.0, method="srr", robust="all").save(tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("s,u\n" + "a,x\n,y\nb,NA\n" * 50)
    answer = ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", cwd=tmp_path)
    assert (answer.code, (tmp_path / "r.csv").exists()) == (2, False)
    drop = ["--missing", "drop"]
    answer = ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", *drop, cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert "note: 100 of 150 rows of t.csv were left out: a cell is empty" in answer.err
    pairs = ["--data", "t.csv", "--released", "r.csv", "--samples", 100]
    answer = ldpopt("audit", "m.json", *pairs, cwd=tmp_path)
    assert answer.code == 2
    (tmp_path / "t.csv").write_text("s,u\n" + "a,x\nb,x\n,y\nb,NA\n" * 50)
    ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", *drop, "--force", cwd=tmp_path)
    answer = ldpopt("audit", "m.json", *pairs, *drop, "--confidence", "0.999999", cwd=tmp_path)
    assert answer.code == 0, answer.out + answer.err
    assert "100 reports of the released table" in answer.out


# ---------------------------------------------------------------- dates and times

DAYS = ["1979-12-31", "1980-01-01", "1999-12-31 23:59", "2000-01-01T00:00:00"]


def test_edges_that_are_dates():
    edges = ["1980-01-01", "2000-01-01"]
    for given in (edges, [datetime.date.fromisoformat(edge) for edge in edges]):
        domain, counts = survey(
            open_table({"s": list("abab"), "born": DAYS}), ["s"], ["born"], {"born": given}
        )
        assert domain.public.labels == ("< 1980-01-01", "[1980-01-01, 2000-01-01)", "≥ 2000-01-01")
        assert counts.tolist() == [[1, 1, 0], [0, 1, 1]]


@pytest.mark.parametrize("as_text", [True, False])
def test_bins_of_equal_frequency(as_text, tmp_path):
    days = pd.date_range("2020-01-01", periods=200)
    frame = pd.DataFrame({"s": ["a", "b"] * 100, "day": days.strftime("%Y-%m-%d") if as_text else days})
    frame.to_parquet(tmp_path / "t.parquet")
    domain, counts = survey(open_table(tmp_path / "t.parquet"), ["s"], ["day"], {"day": 4})
    assert counts.sum(axis=0).max() <= 51
    (column,) = domain.public.columns
    assert column.time
    assert column.values[0] == "< 2020-02-19"
    assert column.edges[0] == datetime.datetime(2020, 2, 19, tzinfo=datetime.UTC).timestamp()


def test_a_design_over_dates_is_certified(tmp_path):
    table = {"s": list("abab") * 20, "born": DAYS * 20}
    made = design(
        table, "s", "born", epsilon=1.0, method="srr", robust="all", bins={"born": ["1980-01-01 12:30"]}
    )
    assert made.domain.public.labels == ("< 1980-01-01 12:30:00", "≥ 1980-01-01 12:30:00")
    assert made.verification, str(made.verification)
    made.save(tmp_path / "m.json")
    assert load_design(tmp_path / "m.json").domain == made.domain
    names = {"__name__": "sampler"}
    exec(export(made, "python"), names)
    with pytest.raises(ValueError, match="of seconds since 1970-01-01 UTC, not '1980-01-01'"):
        names["report"]({"s": "a", "born": "1980-01-01"})


def test_a_cell_that_is_no_date_is_named():
    table = open_table({"s": ["a", "b"], "born": ["1980-01-01", "May"]})
    with pytest.raises(InvalidInputError, match="row 2 of column 'born' holds 'May', which is not"):
        survey(table, ["s"], ["born"], {"born": ["1970-01-01"]})
    with pytest.raises(InvalidInputError, match="must increase"):
        survey(table, ["s"], ["born"], {"born": ["1980-01-01", "1970-01-01"]})


def test_a_bin_that_holds_all_rows_is_said():
    said = []
    table = {"s": ["a", "b"] * 5, "age": list(range(10))}
    survey(open_table(table), ["s"], ["age"], {"age": [100]}, warn=said.append)
    assert said == ["all 10 rows of 'age' are in the bin '< 100': it says nothing"]


# ---------------------------------------------------------------- many values


@pytest.fixture
def towns():
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, 301)
    names = np.array([f"town {i}" for i in range(300)])
    return {
        "s": rng.choice(["a", "b"], 5000),
        "town": rng.choice(names, 5000, p=weights / weights.sum()),
    }


def test_the_most_frequent_values_are_kept(towns):
    with pytest.raises(InvalidInputError, match=r"more than 200 different values; .*top town=20"):
        survey(open_table(towns), ["s"], ["town"])
    said = []
    domain, counts = survey(open_table(towns), ["s"], ["town"], top={"town": 10}, warn=said.append)
    values, times = np.unique(towns["town"], return_counts=True)
    most = values[np.argsort(-times, kind="stable")[:10]]
    assert domain.public.labels == (*sorted(most), OTHER)
    assert counts.sum(axis=0)[-1] == 5000 - np.sort(times)[-10:].sum()
    p, q = times / 5000, counts.sum(axis=0) / 5000
    before, after = (-(x[x > 0] * np.log(x[x > 0])).sum() for x in (p, q))
    assert f"of the {before:.3g} nats of the column at most {at_most(after, 3)} can be learnt" in said[0]
    assert f"{len(values) - 10} values of 'town' count as (other)" in said[0]
    batch = domain.codes(next(open_table({"s": ["a"], "town": ["elsewhere"]}).batches(["s", "town"])), 1)
    assert batch.tolist() == [10]  # a town that the design has not seen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": {"town": 0}}, "top of 'town' must be from 1 to 199 values, not 0"),
        ({"top": {"town": 200}}, "top of 'town' must be from 1 to 199 values, not 200"),
        ({"top": {"s": 2}}, "top must be below 2, the number of values of the column 's', not 2"),
        ({"top": {"town": 3}, "bins": {"town": 3}}, "'town' is binned: top and levels are for columns"),
        ({"top": {"age": 3}}, "'age' of bins, text, top or levels is neither secret nor public"),
    ],
)
def test_bad_tops(options, message, towns):
    with pytest.raises(InvalidInputError, match=message):
        survey(open_table(towns), ["s"], ["town"], **options)


def test_a_design_with_others_is_certified_and_exported(towns):
    made = design(towns, "s", "town", epsilon=1.0, method="srr", robust="all", top={"town": 3})
    assert made.verification, str(made.verification)
    names = {"__name__": "sampler"}
    exec(export(made, "python"), names)
    assert names["self_test"]() > 0
    assert names["report"]({"s": "a", "town": "elsewhere"}) >= 0
    script = export(made, "sql")
    assert "ELSE '(other)' END" in script


# ---------------------------------------------------------------- what the checker says of such columns


def forged(document, **changes):
    copy = json.loads(json.dumps(document))
    copy["design"]["domain"]["public"]["columns"][0] |= changes
    return copy


def test_the_checker_ties_flags_to_values(towns):
    table = towns | {"day": ["2020-01-01", "2020-01-02"] * 2500}
    options = {"epsilon": 1.0, "method": "srr", "robust": "all"}
    top = design(table, "s", "town", top={"town": 3}, **options).to_json()
    day = design(table, "s", "day", bins={"day": ["2020-01-02"]}, **options).to_json()
    for document, changes in (
        (top, {"missing": True}),
        (top, {"time": True}),
        (day, {"other": True}),
        (day, {"missing": True}),
        (day, {"edges": [math.pi]}),
    ):
        inputs = next(
            c for c in verify_document(forged(document, **changes)).claims if c.what == "inputs"
        )
        assert inputs.holds is False
    for document in (top, day):
        assert verify_document(document)


# ---------------------------------------------------------------- the words of the command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--top", "race"], "--top must look like COLUMN=20, not 'race'"),
        (["--top", "race=2", "--top", "race=3"], "--top may name the column 'race' once, not twice"),
        (["--bins", "race=2020-13"], "COLUMN=1980-01-01,2000-01-01, not 'race=2020-13'"),
        (["--missing", "ignore"], "missing must be one of refuse, drop, category, not 'ignore'"),
    ],
)
def test_bad_words(words, message, ldpopt, tmp_path):
    fixed = ["--secret", "sex", "--public", "race", "--epsilon", 1, "-o", tmp_path / "m.json"]
    answer = ldpopt("design", "adult:sex-race", *fixed, *words)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert message in answer.err


# ---------------------------------------------------------------- directories


def test_a_directory_is_one_table(tmp_path):
    frame = pd.DataFrame({"s": ["a", "b", "b", "a"] * 25, "u": ["x", "y", "y", "y"] * 25})
    parts = tmp_path / "parts"
    parts.mkdir()
    frame[:30].to_csv(parts / "1.csv", index=False)
    frame[30:30].to_csv(parts / "2.csv", index=False)  # nobody reported that day
    frame[30:][["u", "s"]].to_parquet(parts / "3.parquet")
    (parts / ".hidden").write_text("nothing")
    reader = open_table(parts)
    rows = [row for batch in reader.batches(["s", "u"]) for row in batch.to_pylist()]
    assert rows == frame.to_dict("records")
    whole, pieces = (survey(open_table(t), ["s"], ["u"])[1].tolist() for t in (frame, parts))
    assert whole == pieces


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no files"),
        (
            {"a.csv": "s\n1\n", "b.csv": "t\n1\n"},
            "must have the same columns: .*a.csv has s, and .*b.csv has t",
        ),
        ({"a.csv": "s\n1\n", "notes.md": ""}, "a table must end in .csv"),
        ({"a.csv": "s\n", "b.csv": "s\n"}, "has no rows"),
    ],
)
def test_bad_directories(files, message, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInputError, match=message):
        list(open_table(tmp_path).batches(["s"]))
    (tmp_path / "inner").mkdir()
    with pytest.raises(InvalidInputError):
        open_table(tmp_path)


def test_reports_of_three_clients_give_the_numbers_of_one_file(ldpopt, tmp_path):
    made = design(GAPS, "s", "u", epsilon=1.0, method="srr", robust="all", missing="drop")
    made.save(tmp_path / "m.json")
    names = {"__name__": "sampler"}
    exec(export(made, "python"), names)
    reports = [names["report"]({"s": "ab"[i % 2], "u": "xy"[i % 2]}) for i in range(600)]
    (tmp_path / "clients").mkdir()
    for client in range(3):
        lines = [names["COLUMN"], *map(str, reports[client::3])]
        (tmp_path / "clients" / f"{client}.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "all.csv").write_text("\n".join([names["COLUMN"], *map(str, reports)]) + "\n")
    said = [
        ldpopt("estimate", r, "-m", "m.json", "--json", cwd=tmp_path) for r in ("all.csv", "clients")
    ]
    assert said[0].code == 0, said[0].err
    assert said[0] == said[1]


def test_the_next_command_reads_the_table_as_this_one_did(ldpopt, tmp_path):
    lines = ["s;u", *(f"{'ab'[i % 2]};{'é x'[i % 3]}" for i in range(60))]
    (tmp_path / "my table.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    words = "--secret s --public u --epsilon 1 --method srr --robust all --sep ; --encoding latin-1"
    said = ldpopt(
        "design", "my table.csv", *words.split(), "--missing", "drop", "-o", "m.json", cwd=tmp_path
    )
    assert said.code == 0, said.err
    line = next(line for line in said.out.splitlines() if line.startswith("next"))
    command = shlex.split(line.removeprefix("next"))
    assert command[0] == "ldpopt"
    assert ldpopt(*command[1:], cwd=tmp_path).code == 0


WRITTEN = {
    "paid": ["20399,20", "-7", "0,5", "1,234.50"] * 5,
    "born": ["31/1/2024", "1.12.1980", "28-02-1999 12:30", "02/03/2001"] * 5,
    "sex": ["m", "f", "f", "m"] * 5,
}


def test_decimal_commas_and_other_dates_are_read_as_they_are_meant():
    table = open_table(WRITTEN)
    found = Rewritten(table, ",", "dd/mm/yyyy").read().to_pydict()
    assert found["paid"][:4] == ["20399.20", "-7", "0.5", "1,234.50"]  # no decimal comma: left alone
    assert found["born"][:4] == ["2024-01-31", "1980-12-01", "1999-02-28 12:30", "2001-03-02"]
    assert Rewritten(table, dates="mm/dd/yyyy").read()["born"][3].as_py() == "2001-02-03"
    assert found["sex"] == WRITTEN["sex"]


@pytest.mark.parametrize("wrong", [{"decimal": ";"}, {"dates": "yyyy/mm/dd"}])
def test_another_way_to_write_is_refused_with_those_that_are_read(wrong):
    with pytest.raises(InvalidInputError, match=r"must be one of (\., ,|yyyy-mm-dd, dd/mm/yyyy)"):
        Rewritten(open_table(WRITTEN), **wrong)


@pytest.mark.parametrize(
    ("cell", "helps"),
    [("20399,20", "decimal ,"), ("31/12/2024", "dates dd/mm/yyyy"), ("180 cm", "the number, 180")],
)
def test_a_number_that_is_written_otherwise_is_refused_with_what_helps(cell, helps):
    table = {"x": [cell] * 20, "s": ["a", "b"] * 10}
    with pytest.raises(InvalidInputError, match=helps):
        survey(table, "s", "x", {"x": [100.0]})


def test_an_extra_separator_in_one_row_is_no_matter_of_the_separator(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("sex,ill\n" + "m,y\n" * 20 + "m,y,x\n" + "f,n\n" * 20)
    with pytest.raises(UnreadableFileError, match="has 3 cells, not 2: a cell with the sep") as error:
        survey(file, "ill", "sex")
    assert "sep (" not in str(error.value)


def test_dates_written_otherwise_go_from_design_to_privatize(tmp_path, ldpopt):
    file, made = tmp_path / "t.csv", tmp_path / "m.json"
    rows = zip(WRITTEN["sex"], WRITTEN["born"], strict=True)
    file.write_text("sex;born\n" + "".join(f"{sex};{born}\n" for sex, born in rows))
    asked = ("--secret", "sex", "--public", "born", "--bins", "born=2000-01-01", "--epsilon", 1)
    written = ("--sep", ";", "--dates", "dd/mm/yyyy")
    found = ldpopt("design", file, *asked, *written, "-o", made)
    assert found.code == 0, found.err
    assert "--sep ';' --dates dd/mm/yyyy" in found.out
    assert ldpopt("privatize", file, "--mechanism", made, "-o", tmp_path / "r.csv").code == 2
    released = ldpopt("privatize", file, *written, "--mechanism", made, "-o", tmp_path / "r.csv")
    assert released.code == 0, released.err
    audited = ("audit", made, "--data", file, "--released", tmp_path / "r.csv")
    assert ldpopt(*audited, *written).code == 0
    assert ldpopt(*audited, "--sep", ";").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--secret", "ill", "--public", "born", "--target", "20%"),
        ("exposure", "--identifying", "born", "--sensitive", "ill", "--k", 3),
        ("protocol", "--columns", "born"),
    ],
)
def test_every_command_reads_dates_and_persons_as_design_does(tmp_path, ldpopt, words):
    file = tmp_path / "t.csv"
    lines = [f"{i},{i % 28 + 1}/{i % 12 + 1}/1980,{'yn'[i % 2]}\n" for i in range(400)]
    file.write_text("who,born,ill\n" + "".join(2 * lines))
    asked = (words[0], file, *words[1:], "--bins", "born=1980-03-01,1980-06-01", "--json")
    assert ldpopt(*asked, "--id", "who").code == 2
    found = ldpopt(*asked, "--id", "who", "--dates", "dd/mm/yyyy")
    assert found.code == 0, found.err
    answer = json.loads(found.out)
    rows = answer["n"] if words[0] == "plan" else answer["rows"]
    assert (len(rows) if isinstance(rows, list) else rows) == 400
