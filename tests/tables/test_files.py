"""Reading tables."""

import gzip
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.tables import batches as tablefiles
from ldpopt.tables import datasets
from ldpopt.tables.batches import _sentence, open_table

COLUMNS = {"sex": ["f", "m", "f"], "age": [1, 2, 3]}


def content(table, columns=("sex", "age")):
    rows = [batch.to_pylist() for batch in open_table(table).batches(list(columns))]
    return [tuple(str(row[name]) for name in columns) for batch in rows for row in batch]


def test_every_kind_of_table_says_the_same(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    tables = [COLUMNS, frame, pl.DataFrame(COLUMNS), pa.table(COLUMNS)]
    for table in [*tables, *(tmp_path / name for name in ("t.csv", "t.csv.gz", "t.parquet"))]:
        assert open_table(table).columns == ["sex", "age"]
        assert content(table) == [("f", "1"), ("m", "2"), ("f", "3")]
        assert content(table, ["age"]) == [("1",), ("2",), ("3",)]


def test_csv_cells_are_text(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n01,"x, y"\n1.50,"two\nlines"\n')
    assert content(tmp_path / "t.csv", ["a", "b"]) == [("01", "x, y"), ("1.50", "two\nlines")]


def test_long_files_come_in_batches(tmp_path, monkeypatch):
    rows = 300_000
    monkeypatch.setattr(tablefiles, "BATCH_BYTES", 1 << 16)
    pd.DataFrame({"a": np.arange(rows) % 7}).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"a": np.arange(rows) % 7}).to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        sizes = [batch.num_rows for batch in open_table(tmp_path / name).batches(["a"])]
        assert sum(sizes) == rows
        assert max(sizes) < rows


def test_embedded_tables():
    for pair in datasets.tables():
        table = datasets.table(pair)
        rows = content(f"adult:{pair}", [table.secret, table.public])
        assert len(rows) == table.n
        s, u = table.secret_values[0], table.public_values[-1]
        assert rows.count((s, u)) == table.counts[0, -1]
        assert rows != sorted(rows)
    assert open_table("adult").columns == ["sex", "income", "race", "workclass"]
    assert len(content("adult", ["sex"])) == 32561


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "Empty CSV file"),
        ("t.csv", "a,b\n", "has no rows"),
        (
            "t.csv",
            "a,b\n1,2\n3\n",
            "Expected 2 columns, got 1; name the separator of the columns with sep",
        ),
        ("t.csv", "a,a\n1,2\n", "two columns called 'a'"),
        ("t.csv", "b,c\n1,2\n", "unknown column of"),
        ("t.csv", b"a\n\xff\n", "it is not in utf-8; say which encoding it has"),
        ("t.parquet", "a,b\n1,2\n", "cannot read"),
        (
            "t.xlsx",
            "a,b\n",
            "must end in .csv, .tsv, .txt, one of these followed by .gz, or .parquet",
        ),
        ("t.csv", "a", "needs a line with the names of columns, and rows"),
        ("t.csv", "a;b\n1;2\n", "has ';' between its columns, not ',': say so with sep"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), "it is compressed, in UTF-16"),
        (
            "t.csv",
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0),
            "it is compressed, in UTF-16",
        ),
        ("t.csv", "a,b\n1," + "x" * 9_000_000 + "\n", "one of its lines is longer than 4 MB"),
    ],
)
def test_bad_files(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((InvalidInputError, UnreadableFileError), match=message) as caught:
        list(open_table(path).batches(["a"]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", ["Row #3: ", ""])
def test_a_row_that_cannot_be_read_is_not_shown(number):
    """pyarrow's threads do not always know its number."""
    said = _sentence(ValueError(f"CSV parse error: {number}Expected 2 columns, got 1: Ada Lovelace"))
    assert said.startswith(f"{number}Expected 2 columns, got 1; name the separator")
    assert "Ada" not in said


def test_truncated_gzip(tmp_path):
    whole = gzip.compress(b"a\n" + b"x\n" * 100_000)
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableFileError, match="cannot read"):
        list(open_table(tmp_path / "t.csv.gz").batches(["a"]))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("absent.csv", "there is no file absent.csv; embedded tables: adult, adult:sex-race"),
        ("adult:sex-rice", "did you mean 'sex-race'"),
        ({"a": [1, "x"]}, "mixes types"),
        (pd.DataFrame({"a": [1, "x"]}), "mixes types"),
        (17, "a table is a file, a data frame or columns by name, not 17"),
        ({"a": []}, "has no rows"),
        ({"a": [1, 2], "b": [1]}, "this is not a table: Column 1 named b expected length 2"),
        ({0: [1, 2]}, "this is not a table"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "this is not a table: Duplicate column names"),
        (pd.Series([1, 2], name="a"), "columns by name, not 0 1 1 2 Name: a"),
        (pl.DataFrame({"a": [1]}).lazy(), "columns by name, not <LazyFrame"),
    ],
)
def test_bad_tables(table, message):
    with pytest.raises(InvalidInputError, match=message):
        list(open_table(table).batches(["a"]))


def test_spaces_around_names_do_not_count(tmp_path):
    (tmp_path / "t.csv").write_text("a , b\nx,y\n")
    assert open_table(tmp_path / "t.csv").columns == ["a", "b"]
    assert content(tmp_path / "t.csv", ["b", "a"]) == [("y", "x")]


def test_suffixes_in_capitals(tmp_path):
    (tmp_path / "T.CSV").write_text("a\nx\n")
    (tmp_path / "T.CSV.GZ").write_bytes(gzip.compress(b"a\nx\n"))
    for name in ("T.CSV", "T.CSV.GZ"):
        assert content(tmp_path / name, ["a"]) == [("x",)]


def test_an_empty_line_is_a_cell_of_a_single_column(tmp_path):
    (tmp_path / "one.csv").write_text("a\nx\n\ny\n")
    (tmp_path / "two.csv").write_text("a,b\nx,1\n\ny,2\n")
    assert content(tmp_path / "one.csv", ["a"]) == [("x",), ("",), ("y",)]
    assert content(tmp_path / "two.csv", ["a"]) == [("x",), ("y",)]


def test_a_damaged_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": ["x", "y"] * 50}), path)
    damaged = path.read_bytes()
    path.write_bytes(damaged[:30] + b"\xff" * 20 + damaged[50:])
    with pytest.raises(UnreadableFileError, match="cannot read"):
        list(open_table(path).batches(["a"]))


def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "d.csv")
    with pytest.raises(InvalidInputError, match=r"d.csv is not a regular file"):
        open_table(tmp_path / "d.csv")
