"""The sweep engine: parallel, resumable, with provenance."""

import csv
import json

import pytest

from ldpopt.core import workers
from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.sweep import Experiment


def points(quick):
    return [{"n": n, "log": None} for n in range(3 if quick else 6)]


def measure(n, log):
    return {"square": n * n, "solver": "by-hand"}


def draw(rows, out):
    (out / "figure.txt").write_text(str(len(rows)))
    return [out / "figure.txt"]


def conclude(rows):
    return f"the squares sum to {sum(row['square'] for row in rows)}"


SQUARES = Experiment("squares", points, measure, draw, conclude)


def test_without_a_directory_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = SQUARES.run(quick=False)
    assert study.conclusion == "the squares sum to 55"
    assert study.files == []
    assert list(tmp_path.iterdir()) == []


def test_tidy_rows_with_provenance(tmp_path):
    SQUARES.run(out=tmp_path)
    with (tmp_path / "squares.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["square"] for row in rows] == ["0", "1", "4"]
    assert {row["version"] for row in rows} == {"0.1.0"}
    assert {row["solver"] for row in rows} == {"by-hand"}
    assert all(float(row["seconds"]) >= 0 and "seed" in row for row in rows)


def test_finished_points_are_not_measured_again(tmp_path):
    SQUARES.run(out=tmp_path)
    journal = tmp_path / "squares.journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines[1]["row"]["square"] = 1000
    kept = [json.dumps(line) for line in lines[:2]]
    journal.write_text("\n".join(kept) + "\n" + json.dumps(lines[2])[:20])
    calls = []
    study = SQUARES.run(out=tmp_path, progress=lambda done, total: calls.append((done, total)))
    assert [row["square"] for row in study.rows] == [0, 1000, 4]
    assert calls == [(3, 3)]


def test_two_processes_give_the_same_rows(tmp_path):
    alone, both = SQUARES.run(quick=False), SQUARES.run(quick=False, jobs=2)
    assert [row["square"] for row in alone.rows] == [row["square"] for row in both.rows]


def test_an_unwritable_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot write to"):
        SQUARES.run(out=tmp_path / "file")


def test_on_a_dask_cluster(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "PATIENCE", 600.0)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=False
    ) as cluster:
        study = SQUARES.run(quick=False, out=tmp_path, scheduler=cluster.scheduler_address)
    assert study.conclusion == "the squares sum to 55"


def test_no_scheduler_there(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "PATIENCE", 0.1)
    with pytest.raises(InvalidInputError, match="no Dask scheduler answers at"):
        SQUARES.run(scheduler="tcp://127.0.0.1:1")
