"""Small files that unpack to much: batches stay bounded, and what cannot be bounded is refused."""

import gzip
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.release import safe_columns
from ldpopt.release.designing import design
from ldpopt.release.safe_columns import exposed
from ldpopt.tables import coarser_levels, survey, unpacking
from ldpopt.tables.batches import TableReader, _distinct, open_table
from ldpopt.tables.domain import Attribute, Column

ROWS = 5000


def written(path, **columns):
    pa.parquet.write_table(pa.table(columns), path, compression="zstd")
    return path


@pytest.fixture
def tight(monkeypatch):
    monkeypatch.setattr(unpacking, "CELL_BYTES", 1 << 16)


def numbered(words, rows=ROWS):
    """A column of few words, each written once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.arange(rows) % len(words), pa.int32()), words)


@pytest.mark.parametrize("stored", [numbered, lambda words: numbered(words).dictionary_decode()])
def test_a_long_word_of_many_rows_is_unpacked_in_parts(stored, tight, tmp_path):
    words = ["x" * 3000, "y", "é" * 1000]
    path = written(tmp_path / "a.parquet", a=stored(words), b=pa.array(range(ROWS)))
    batches = list(open_table(path).batches(["a", "b"]))
    assert max(batch.nbytes for batch in batches) <= 3 << 16
    found = pa.Table.from_batches(batches)
    assert found.column("a").to_pylist() == [words[i % 3] for i in range(ROWS)]
    assert found.column("b").to_pylist() == list(range(ROWS))


def test_wide_cells_of_fixed_size_are_unpacked_in_parts(tight, tmp_path):
    path = written(tmp_path / "a.parquet", a=pa.array([bytes(3000)] * ROWS, pa.binary(3000)))
    batches = list(open_table(path).batches(["a"]))
    assert sum(batch.num_rows for batch in batches) == ROWS
    assert max(batch.nbytes for batch in batches) <= 2 << 16


def test_empty_and_numbered_cells_are_read_as_they_are(tmp_path):
    columns = {
        "words": pa.array(["a", None, ""]),
        "nothing": pa.array([None, None, None], pa.string()),
        "numbers": pa.array([1, None, 3]).dictionary_encode(),
        "bytes": pa.array([b"a", b"b", None]),
        "large": pa.array(["a", None, "c"], pa.large_string()),
        "time": pa.array([0, 1, None], pa.timestamp("s")),
    }
    path = written(tmp_path / "a.parquet", **columns)
    (batch,) = open_table(path).batches(list(columns))
    for name, cells in columns.items():
        assert batch.column(name).to_pylist() == cells.to_pylist()


def test_a_row_group_on_both_sides_of_the_limit(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet", a=pa.array(range(ROWS)), b=pa.array([0] * ROWS))
    (size, _) = (
        pa.parquet.read_metadata(path).row_group(0).column(i).total_uncompressed_size for i in range(2)
    )
    monkeypatch.setattr(unpacking, "GROUP_BYTES", size)
    assert open_table(path).read().num_rows == ROWS
    monkeypatch.setattr(unpacking, "GROUP_BYTES", size - 1)
    assert sum(batch.num_rows for batch in open_table(path).batches(["b"])) == ROWS
    with pytest.raises(InvalidInputError, match="write the file with smaller row groups"):
        list(open_table(path).batches(["a", "b"]))


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_a_cell_on_both_sides_of_the_limit(numbers, kind, tmp_path, monkeypatch):
    """One long cell is all that a small file needs to swell."""
    table = pa.table({"a": pa.array(["x" * 100, "y", None], kind), "b": [1, 2, 3]})
    pa.parquet.write_table(table, tmp_path / "a.parquet", use_dictionary=numbers)
    reader = open_table(tmp_path / "a.parquet")
    monkeypatch.setattr(unpacking, "WORD_BYTES", 100)
    assert reader.read().num_rows == 3
    monkeypatch.setattr(unpacking, "WORD_BYTES", 99)
    assert sum(batch.num_rows for batch in reader.batches(["b"])) == 3
    with pytest.raises(InvalidInputError, match=r"'a' of a.parquet has 100 bytes, and at most 99 are"):
        reader.read()


@pytest.mark.parametrize("numbers", [True, False])
def test_words_of_earlier_row_groups_are_not_kept(numbers, tight, tmp_path, monkeypatch):
    """Every row has another long word; a batch holds no more of them than its bytes allow."""
    words = [f"{i:04}" + "x" * 1000 for i in range(ROWS)]
    table = pa.table({"a": words})
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=50, use_dictionary=numbers)
    read, held = unpacking._next, []

    def watched(path, batches):
        batch = read(path, batches)
        held.append(0 if batch is None else batch.column(0).dictionary.nbytes)
        return batch

    monkeypatch.setattr(unpacking, "_next", watched)
    assert open_table(tmp_path / "a.parquet").read().column("a").to_pylist() == words
    assert max(held) <= 2 << 16


LYING = """
import sys
import pyarrow as pa
from ldpopt.core.errors import InvalidInputError
from ldpopt.tables import unpacking
from ldpopt.tables.batches import open_table
unpacking.READING_BYTES = int(sys.argv[2])
try:
    print(sum(batch.num_rows for batch in open_table(sys.argv[1]).batches(["a"])))
except InvalidInputError as error:
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not limit the memory")
@pytest.mark.parametrize(
    ("most", "said"),
    [(100 << 20, "more than 100 MB of"), pytest.param(4 << 30, "70\n", marks=pytest.mark.slow)],
)
def test_the_size_that_a_file_states_is_not_believed(most, said, tmp_path):
    """A file that says that 280 MB of words are 1 MB; in a process of its own, without other threads."""
    path = written(tmp_path / "a.parquet", a=[f"{i:02}" + "x" * ((4 << 20) - 2) for i in range(70)])
    size = pa.parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size
    content = path.read_bytes()
    path.write_bytes(content.replace(compact(size, 5), compact(1 << 20, 5)))
    assert pa.parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 1 << 20
    done = subprocess.run(
        [sys.executable, "-c", LYING, path, str(most)], capture_output=True, text=True, check=True
    )
    assert said in done.stdout


def compact(number, length):
    """A whole number as the footer writes it, at a given length."""
    groups = [2 * number >> 7 * i & 127 for i in range(length)]
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_columns_on_both_sides_of_the_limit(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_COLUMNS", 5)
    for count in (5, 6):
        names = [f"c{i}" for i in range(count - 1)] + ['d,"\n']
        path = tmp_path / f"{count}.{ending}"
        if ending == "parquet":
            written(path, **{name: ["1"] for name in names})
        else:
            names[0] = 'c"0'  # a quote inside of a name opens nothing
            quoted = ",".join([*names[:-1], '"d,""\n"'])
            opened = gzip.open if ending == "csv.gz" else open
            with opened(path, "wt") as file:
                file.write("\n" + quoted + "\n" + ",".join("1" * count) + "\n")
        if count == 5:
            assert len(open_table(path).columns) == 5
            continue
        monkeypatch.setattr(pa.csv, "open_csv", None)  # it is refused before pyarrow reads it
        with pytest.raises(InvalidInputError, match="must have at most 5 columns, not 6"):
            list(open_table(path).columns)


def test_a_first_line_that_cannot_be_counted_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x" * 200_000 + ",b\n1,2\n")
    with pytest.raises(UnreadableFileError, match="its first line: field larger than field limit"):
        list(open_table(path).columns)
    with pytest.raises(InvalidInputError, match="the encoding must be one that Python knows"):
        open_table(path, encoding="hex")


def test_lists_in_cells_are_refused_before_they_are_read(tmp_path):
    path = written(tmp_path / "a.parquet", a=pa.array([[1, 2], [3]]), b=pa.array([1, 2]))
    assert list(open_table(path).batches(["b"]))
    with pytest.raises(InvalidInputError, match="'a' holds cells of the type list"):
        list(open_table(path).batches(["a"]))


# ------------------------------------------------------------ how much is kept of a table


class Counting(TableReader):
    """A table in batches of ten rows, endless if it is not left; it counts the rows that were read."""

    def __init__(self, row, rows=None):
        self.name, self.columns, self.rows = "the table", list(row(0)), 0
        self._row, self._most = row, rows

    def _read(self, columns):
        self.rows = 0
        while self._most is None or self.rows < self._most:
            rows = [self._row(i) for i in range(self.rows, self.rows + 10)]
            self.rows += 10
            yield pa.RecordBatch.from_pylist(rows).select(columns)


def test_exposure_reads_no_more_than_the_checker_can_hold(monkeypatch):
    monkeypatch.setattr(safe_columns, "MOST_CELLS", 80)

    def row(i):
        return {"a": "xy"[i % 2], "b": i // 4 % 2}

    assert exposed(Counting(row, 40), threshold=0.1).rows == 40
    table = Counting(row)
    with pytest.raises(InvalidInputError, match="more than 40 rows, too many for 2 columns"):
        exposed(table, threshold=0.1)
    assert table.rows == 50


def test_exposure_knows_equal_cells_across_batches():
    values = [None, float("nan"), 0.0, -0.0, 1.0, 2.0]
    table = Counting(lambda i: {"a": values[i * 7 % 6], "b": str(i % 3)}, 60)
    assert exposed(table, threshold=0.01).values == (4, 3)


def words(i):
    return {"s": "ab"[i % 2], "u": f"w{i}"}


@pytest.mark.parametrize(
    "keeps",
    [
        lambda table: exposed(table, threshold=0.1),
        lambda table: design(table, "s", "u", epsilon=1.0, method="srr", robust="all", top={"u": 3}),
    ],
    ids=["exposure", "design"],
)
def test_long_words_that_are_kept_on_both_sides_of_the_limit(keeps, monkeypatch):
    def row(i):
        return {"s": "ab"[i % 2], "u": f"{i % 40:04}" + "x" * 1000}

    monkeypatch.setattr(unpacking, "WORDS_BYTES", 40 * sys.getsizeof("x" * 1004))
    assert keeps(Counting(row, 80))
    monkeypatch.setattr(unpacking, "WORDS_BYTES", 40 * sys.getsizeof("x" * 1004) - 1)
    table = Counting(row)
    with pytest.raises(InvalidInputError, match="values of the column 'u' take more than 0 MB"):
        keeps(table)
    assert table.rows == 40


@pytest.mark.parametrize(
    ("module", "name", "limit", "row", "options", "said"),
    [
        (survey, "MOST_CELLS", 40, words, {"text": ["u"]}, "more than 40 combinations"),
        (coarser_levels, "MOST_WORDS", 40, words, {"top": {"u": 3}}, "more than 40 different values"),
        (
            survey,
            "MOST_BINNED",
            40,
            lambda i: {**words(i), "u": i},
            {"bins": {"u": 3}},
            "give their edges",
        ),
    ],
)
def test_a_design_keeps_no_more_of_a_table_than_its_limits(
    module, name, limit, row, options, said, monkeypatch
):
    monkeypatch.setattr(module, name, limit if name != "MOST_CELLS" else 80)
    assert design(Counting(row, 40), "s", "u", epsilon=1.0, method="srr", robust="all", **options)
    monkeypatch.setattr(module, name, limit)
    table = Counting(row)
    with pytest.raises(InvalidInputError, match=said):
        design(table, "s", "u", epsilon=1.0, method="srr", robust="all", **options)
    assert table.rows == 50


def test_a_mapping_of_too_many_words_is_not_read_to_its_end(tmp_path, monkeypatch):
    table = {"s": ["a", "b"] * 4, "u": ["p", "q", "q", "p"] * 2}
    monkeypatch.setattr(coarser_levels, "MOST_GROUPED", 4)
    for words, fits in (("pqrs", True), ("pqrst", False)):
        path = tmp_path / f"{words}.csv"
        path.write_text("word,group\n" + "".join(f"{word},g{word}\n" for word in words * 3))
        if fits:
            assert design(table, "s", "u", epsilon=1.0, levels={"u": path})
        else:
            with pytest.raises(InvalidInputError, match="must have at most 4 words"):
                design(table, "s", "u", epsilon=1.0, levels={"u": path})


def test_combinations_are_numbered_as_the_members():
    rng = np.random.default_rng(0)
    for _ in range(30):
        sizes = rng.integers(1, 5, rng.integers(1, 4)).tolist()
        every = list(product(*map(range, sizes)))
        members = [every[i] for i in rng.permutation(len(every))[: rng.integers(1, len(every) + 1)]]
        columns = tuple(Column(f"c{i}", tuple(map(str, range(n)))) for i, n in enumerate(sizes))
        attribute = Attribute(columns, tuple(members))
        parts = [np.array(codes) for codes in zip(*every, strict=True)]
        expected = [members.index(code) if code in members else -1 for code in every]
        assert attribute._numbers(parts).tolist() == expected


def test_a_wide_domain_with_few_members_takes_little_memory():
    """All combinations of the values would be 10^18 numbers."""
    values = tuple(map(str, range(1_000_000)))
    attribute = Attribute(tuple(Column(name, values) for name in "abc"), ((5, 6, 7), (999_999, 0, 1)))
    parts = [np.array([5, 999_999, 5]), np.array([6, 0, 0]), np.array([7, 1, 1])]
    assert attribute._numbers(parts).tolist() == [0, 1, -1]


def test_names_of_columns_are_compared_in_linear_time():
    """Pairwise, half a million names would take hours."""
    names = [f"c{i}" for i in range(500_000)]
    assert _distinct(names, "the table") == names
    with pytest.raises(InvalidInputError, match="two columns called 'c7'"):
        _distinct([*names, "c7"], "the table")
