"""Tables in parts: released and counted by several workers, with the numbers of one file."""

import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.files import file_digest
from ldpopt.release.designing import design
from ldpopt.release.estimating import estimate
from ldpopt.release.exporting import export
from ldpopt.release.releasing import privatize

ROWS = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table as one file and as four files of a directory, one of them without rows; a mechanism."""
    folder = tmp_path_factory.mktemp("parts")
    rng = np.random.default_rng(0)
    s = rng.integers(2, size=ROWS)
    frame = pd.DataFrame({"s": np.take(["a", "b"], s), "u": np.take(["x", "y", "z"], s + (s < 1) * 2)})
    frame.to_csv(folder / "all.csv", index=False)
    (folder / "parts").mkdir()
    for i, (start, end) in enumerate([(0, 1000), (1000, 1000), (1000, 1700), (1700, ROWS)]):
        if i % 2:
            frame[start:end].to_csv(folder / "parts" / f"{i}.csv", index=False)
        else:
            frame[start:end].to_parquet(folder / "parts" / f"{i}.parquet")
    design(frame, "s", "u", epsilon=1.0, method="srr", robust="all").save(folder / "m.json")
    return folder


@pytest.fixture(scope="module")
def scheduler():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=False
    ) as cluster:
        yield cluster.scheduler_address


def same_reports(folder, *released):
    """Whether released files and directories hold the same reports in the same order."""
    tables = [pyarrow.parquet.read_table(folder / name) for name in released]
    return all(table.equals(tables[0]) for table in tables)


def test_a_released_directory_is_whole_and_holds_a_file_for_each_part(folder, tmp_path):
    hashes = []
    rows = privatize(
        folder / "parts", folder / "m.json", tmp_path / "out", seed=3, recorded=hashes.append
    )
    files = sorted((tmp_path / "out").iterdir())
    assert rows == ROWS
    assert [file.name for file in files] == [f"part-{i:05}.parquet" for i in range(4)]
    assert hashes == [hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()]
    assert hashes == [file_digest(tmp_path / "out")]
    privatize(folder / "all.csv", folder / "m.json", tmp_path / "one.parquet", seed=3)
    assert same_reports(tmp_path, "one.parquet", "out")
    with pytest.raises(InvalidInputError, match="it exists; choose another name"):
        privatize(folder / "parts", folder / "m.json", tmp_path / "out")


def test_two_dask_workers_release_what_one_file_gives(folder, scheduler, tmp_path, ldpopt):
    words = ["-m", str(folder / "m.json"), "--seed", "5"]
    commands = {
        "one.parquet": [str(folder / "all.csv")],
        "file.parquet": [str(folder / "parts"), "--scheduler", scheduler],
        "directory": [str(folder / "parts"), "--scheduler", scheduler],
    }
    for out, given in commands.items():
        answer = ldpopt("privatize", *given, *words, "-o", out, cwd=tmp_path)
        assert answer.code == 0, answer.err
        assert f"wrote {ROWS:,} reports to {out}" in answer.out
    assert same_reports(tmp_path, *commands)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(commands)


def test_reports_of_three_clients_counted_by_two_dask_workers(folder, scheduler, tmp_path, ldpopt):
    made = design(folder / "all.csv", "s", "u", epsilon=1.0, method="srr", robust="all")
    made.save(tmp_path / "m.json")
    names = {"__name__": "sampler"}
    exec(export(made, "python"), names)
    reports = [names["report"]({"s": "ab"[i % 2], "u": "zy"[i % 2]}) for i in range(600)]
    (tmp_path / "clients").mkdir()
    for client in range(3):
        lines = [names["COLUMN"], *map(str, reports[client::3])]
        (tmp_path / "clients" / f"{client}.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "all.csv").write_text("\n".join([names["COLUMN"], *map(str, reports)]) + "\n")
    one, three = (
        ldpopt("estimate", *given, "-m", "m.json", "--json", cwd=tmp_path)
        for given in (["all.csv"], ["clients", "--scheduler", scheduler])
    )
    assert one.code == 0, one.err
    assert one == three
    assert json.loads(three.out)["n"] == 600


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's, of pandas
def test_dask_frames(folder, scheduler, tmp_path):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.read_csv(folder / "all.csv"), npartitions=3)
    made = design(frame, "s", "u", epsilon=1.0, method="srr", robust="all")
    assert made.question.counts.sum() == ROWS
    for name, how in {"one": {}, "two": {"scheduler": scheduler}}.items():
        assert privatize(frame, made, tmp_path / name, seed=5, **how) == ROWS
        assert len(list((tmp_path / name).iterdir())) == 3
    privatize(folder / "all.csv", made, tmp_path / "all.parquet", seed=5)
    assert same_reports(tmp_path, "all.parquet", "one", "two")
    found = estimate(frames.read_parquet(tmp_path / "two"), made, scheduler=scheduler)
    assert found.to_json() == estimate(tmp_path / "all.parquet", made).to_json()


@pytest.mark.parametrize("out", ["out", "out.csv"])
@pytest.mark.parametrize("spread", [False, True])
def test_a_bad_part_is_named_and_nothing_is_left(out, spread, folder, tmp_path, request, ldpopt):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "1.csv").write_text("s,u\na,z\nb,y\n")
    (parts / "2.csv").write_text("s,u\na,z\nb,q\n")
    mechanism = shutil.copy(folder / "m.json", tmp_path)
    words = ["--scheduler", request.getfixturevalue("scheduler")] if spread else []
    answer = ldpopt("privatize", "parts", "-m", mechanism, "-o", out, *words, cwd=tmp_path)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "holds 'q', which the mechanism does not know" in answer.err
    assert ("parts/2.csv: row 2" in answer.err) == (spread or out == "out")
    assert {path.name for path in tmp_path.iterdir()} == {"parts", "m.json"}


def test_rows_left_out_are_counted_over_all_parts(folder, scheduler, tmp_path, ldpopt):
    (tmp_path / "parts").mkdir()
    for i in range(3):
        (tmp_path / "parts" / f"{i}.csv").write_text("s,u\na,z\nb,y\n,y\n" + "b,\n" * i)
    for words in ([], ["--scheduler", scheduler]):
        answer = ldpopt(
            "privatize", "parts", "-m", str(folder / "m.json"), "-o", f"out{len(words)}.csv",
            "--missing", "drop", *words, cwd=tmp_path,
        )  # fmt: skip
        assert answer.code == 0, answer.err
        assert "6 of 12 rows of parts were left out" in answer.err
        assert "one for each complete row of parts" in answer.out


def test_a_table_of_empty_parts_has_no_rows(folder, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.csv").write_text("s,u\n")
    for out in ("out", "out.csv"):
        with pytest.raises(InvalidInputError, match="has no rows"):
            privatize(tmp_path / "parts", folder / "m.json", tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
