"""Releasing a table: exact probabilities, whole files, constant memory."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from ldpopt import Mechanism
from ldpopt.core.errors import InvalidInputError, RefutedFileError
from ldpopt.engine.result import Result
from ldpopt.mechanisms.randomizer import secure_words, seeded_words
from ldpopt.release.designing import Design, design, load_design
from ldpopt.release.matrix_randomizer import Matrix
from ldpopt.release.released_reports import released_reports
from ldpopt.release.releasing import privatize, reports

SMALL = {"s": ["a"] * 60 + ["b"] * 40, "u": ["x"] * 45 + ["y"] * 15 + ["x"] * 10 + ["y"] * 30}


@pytest.fixture(scope="module")
def made():
    return design(SMALL, "s", "u", epsilon=1.0)


def words(*values):
    """A source that says these words."""
    return lambda count: np.array(values[:count], dtype=np.uint64)


@given(st.integers(0, 2**52), st.integers(0, 3))
@settings(max_examples=200)
def test_the_borders_are_exact(cut, below):
    """P(report 0) is cut/2^52 to the last bit: the word cut − 1 gives 0 and the word cut gives 1."""
    mechanism = Mechanism([[0.5, 0.5], [cut / 2**52, 1 - cut / 2**52]])
    for step in range(-2, 3):
        r = cut + step
        if 0 <= r < 2**52:
            found = Matrix(mechanism).sample([1], words((r << 12) + below))
            assert found.tolist() == [0 if r < cut else 1]


def test_every_report_of_every_input(made):
    matrix, n = made.mechanism.matrix, 200_000
    words = seeded_words(5)
    for x, row in enumerate(matrix):
        drawn = np.bincount(made.randomizer.sample(np.full(n, x), words), minlength=matrix.shape[1])
        assert (drawn[row == 0] == 0).all()
        assert chisquare(drawn[row > 0], n * row[row > 0]).pvalue > 1e-4


def test_the_secure_source():
    first, second = secure_words(1000), secure_words(1000)
    assert len(set(first.tolist()) | set(second.tolist())) == 2000
    ones = np.unpackbits(first.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 6 * 0.5 / np.sqrt(64_000)


def test_unseeded_reports_differ_and_seeded_ones_do_not(made):
    def drawn(seed):
        return np.concatenate(list(reports("adult:sex-race", bigger, seed=seed)))

    bigger = design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr")
    assert (drawn(1) == drawn(1)).all()
    assert (drawn(1) != drawn(2)).any()
    assert (drawn(None) != drawn(None)).any()


def test_mechanisms_that_cannot_be_sampled_exactly():
    with pytest.raises(InvalidInputError, match="must be multiples of 2"):
        Matrix(Mechanism([[1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7]])).sample([0], words(1))
    with pytest.raises(InvalidInputError, match="must sum to exactly 1"):
        Matrix(Mechanism([[0.5, 0.5 - 2**-50], [0.5, 0.5]])).sample([0], words(1))
    with pytest.raises(InvalidInputError, match="an input index must be from 0 to"):
        Matrix(Mechanism([[0.5, 0.5], [0.25, 0.75]])).sample([2], words(1))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "CSV"])
def test_files(made, tmp_path, suffix):
    out = tmp_path / f"released.{suffix}"
    assert privatize(SMALL, made, out, seed=3) == 100
    drawn = np.concatenate(list(reports(SMALL, made, seed=3)))
    assert (np.concatenate(list(released_reports(out, made))) == drawn).all()
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.stat().st_mode & 0o777 == 0o644


def test_an_unknown_value_leaves_no_file(made, tmp_path):
    table = {"s": ["a"] * 200_000 + ["c"], "u": ["x"] * 200_001}
    out = tmp_path / "released.csv"
    with pytest.raises(InvalidInputError, match="row 200001 of column 's' holds 'c'"):
        privatize(table, made, out)
    assert not list(tmp_path.iterdir())
    out.write_text("earlier")
    with pytest.raises(InvalidInputError, match="row 200001"):
        privatize(table, made, out)
    assert out.read_text() == "earlier"


def test_a_refuted_mechanism_is_not_used(made, tmp_path):
    document = made.to_json()
    row = document["mechanism"]["matrix"][0]
    row[0], row[1] = row[1], row[0]
    forged = Design(Result.from_json(document), made.domain, made.question, made.method)
    with pytest.raises(RefutedFileError, match="is not used: the checker refutes that"):
        privatize(SMALL, forged, tmp_path / "released.csv")
    assert not list(tmp_path.iterdir())


def test_bad_output(made, tmp_path):
    with pytest.raises(InvalidInputError, match=r"must end in .csv or .parquet, not 'released.txt'"):
        privatize(SMALL, made, tmp_path / "released.txt")
    with pytest.raises(InvalidInputError, match="cannot write"):
        privatize(SMALL, made, tmp_path / "absent" / "released.csv")


def test_files_of_others(made, tmp_path):
    other = design(SMALL, "s", "u", epsilon=2.0)
    out = tmp_path / "released.csv"
    privatize(SMALL, other, out)
    with pytest.raises(InvalidInputError, match=f"another mechanism .{other.fingerprint}, not"):
        list(released_reports(out, made))
    with pytest.raises(InvalidInputError, match="has no column of reports"):
        list(released_reports(SMALL, made))
    column = f"ldpopt-{made.fingerprint}"
    for values, message in (
        ([0, None], "row 2 of the table holds no report"),
        ([0, 99], "row 2 of the table holds the report 99; those of the mechanism are 0 to"),
        ([0, -1], "row 2 of the table holds the report -1"),
        (["0", "x"], "row 2 of column .* holds 'x', which is not a number"),
        (["0", ""], "row 2 of the table holds no report"),
        (["0", "1.5"], "row 2 of the table holds the report 1.5"),
        ([], "has no rows"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            list(released_reports(pa.table({column: pa.array(values)}), made))


STREAM = """
import sys, psutil, pyarrow as pa, pyarrow.parquet as pq
from ldpopt.release.designing import load_design
from ldpopt.release.releasing import privatize
process, peak = psutil.Process(), []
rows = privatize(sys.argv[1], load_design(sys.argv[2]), sys.argv[3],
                 progress=lambda n: peak.append(process.memory_info().rss))
print(rows, peak[len(peak) // 5], max(peak))
"""


def long_table(path, rows):
    batch = pa.table({"s": ["a", "b", "a", "b"] * 25_000, "u": ["x", "x", "y", "y"] * 25_000})
    with pa.parquet.ParquetWriter(path, batch.schema) as writer:
        for _ in range(rows // 100_000):
            writer.write_table(batch)


def test_memory_does_not_grow_with_the_table(made, tmp_path):
    long_table(tmp_path / "long.parquet", 4_000_000)
    made.save(tmp_path / "mech.json")
    names = [str(tmp_path / name) for name in ("long.parquet", "mech.json", "released.csv")]
    run = subprocess.run(
        [sys.executable, "-c", STREAM, *names], capture_output=True, text=True, check=True, timeout=1800
    )
    rows, early, peak = map(int, run.stdout.split())
    assert rows == 4_000_000
    assert peak - early < 40e6  # the table as numbers would be 64 MB more, as text far more


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "long.parquet"
    long_table(path, 20_000_000)
    return path


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_file(made, long, tmp_path, number):
    made.save(tmp_path / "mech.json")
    folder = tmp_path / "out"
    folder.mkdir()
    command = [sys.executable, "-c", "from ldpopt.cli import main; main()", "privatize"]
    names = [long, "-m", tmp_path / "mech.json", "-o", folder / "released.csv"]
    with subprocess.Popen([*command, *map(str, names)], stderr=subprocess.PIPE, text=True) as run:
        deadline = time.monotonic() + 600
        while not any(os.path.getsize(folder / name) for name in os.listdir(folder)):
            assert run.poll() is None, run.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        run.send_signal(number)
        _, said = run.communicate(timeout=600)
    assert run.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert "Traceback" not in said
    assert not list(folder.iterdir())


def test_loading_what_was_saved(made, tmp_path):
    made.save(tmp_path / "mech.json")
    again = load_design(tmp_path / "mech.json")
    assert json.dumps(again.to_json()) == json.dumps(made.to_json())
    assert privatize(SMALL, again, tmp_path / "released.parquet") == 100


def test_reports_as_other_programs_write_them(made):
    column = f"ldpopt-{made.fingerprint}"
    found = released_reports({column: ["1.0", " 0"]}, made)
    assert np.concatenate(list(found)).tolist() == [1, 0]
