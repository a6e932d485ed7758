"""The sweep engine: parallel, resumable, with provenance."""

import csv
import dataclasses
import json

import pytest
from alarms import time_is_over

from ldpopt.core import workers
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.limits import Limits
from ldpopt.engine.sweep import Experiment, read_csv, write_csv


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


# ---------------------------------------------------------------- parts of a study, and interruptions


def grid(quick):
    for panel in ("left", "right"):
        for method in ("plain", "dear"):
            yield {"panel": panel, "method": method, "seed": 0}
    yield {"panel": "right", "method": "plain"}


def value(panel, method, seed=None):
    if STOP["at"] == (panel, method):
        raise KeyboardInterrupt
    return {"value": seed}


STOP = {"at": None}
PARTS = Experiment(
    "parts",
    grid,
    value,
    draw,
    lambda rows: f"{len(rows)} rows",
    panel="panel",
    method="method",
    usual=("plain",),
    draws="seed",
)


def settings(study):
    return [(row["panel"], row["method"], row["seed"]) for row in study.rows]


def test_the_usual_methods_unless_others_are_asked_for():
    whole = PARTS.run()
    assert settings(whole) == [("left", "plain", 0), ("right", "plain", 0), ("right", "plain", None)]
    assert whole.conclusion == "3 rows"
    dear = PARTS.run(methods=["dear"])
    assert settings(dear) == [("left", "dear", 0), ("right", "dear", 0)]
    assert "no conclusion is drawn" in dear.conclusion


def test_one_panel_and_more_draws():
    study = PARTS.run(only=["right"], draws=2)
    expected = [("right", "plain", 0), ("right", "plain", 1), ("right", "plain", None)]
    assert settings(study) == expected
    counted = Experiment("n", lambda _: [{"draws": 5}], lambda draws: {}, draw, str, draws="draws")
    assert counted.run(draws=7).rows[0]["draws"] == 7


@pytest.mark.parametrize(
    ("experiment", "options", "told"),
    [
        (PARTS, {"only": ["middle"]}, "there is no panel 'middle'; choose among 'left', 'right'"),
        (PARTS, {"methods": ["best"]}, "there is no method 'best'; choose among 'plain', 'dear'"),
        (SQUARES, {"only": ["left"]}, "squares has no panels to choose from"),
        (SQUARES, {"methods": ["plain"]}, "squares measures all methods at once"),
        (SQUARES, {"draws": 3}, "squares draws nothing at random"),
    ],
)
def test_a_part_that_does_not_exist(experiment, options, told):
    with pytest.raises(InvalidInputError, match=told):
        experiment.run(**options)


def test_an_interruption_keeps_what_is_finished(tmp_path, monkeypatch):
    monkeypatch.setitem(STOP, "at", ("right", "plain"))
    study = PARTS.run(out=tmp_path)
    assert settings(study) == [("left", "plain", 0)]
    assert study.missing == 2
    assert "no conclusion is drawn" in study.conclusion
    assert len(read_csv(tmp_path / "parts.csv")) == 1
    assert (tmp_path / "figure.txt").read_text() == "1"
    monkeypatch.setitem(STOP, "at", None)
    rest = PARTS.run(out=tmp_path)
    assert (rest.reused, rest.missing, rest.conclusion) == (1, 0, "3 rows")


def test_an_interruption_before_anything_is_finished(tmp_path, monkeypatch):
    PARTS.run(out=tmp_path, methods=["dear"])  # other points do not count
    monkeypatch.setitem(STOP, "at", ("left", "plain"))
    with pytest.raises(KeyboardInterrupt):
        PARTS.run(out=tmp_path)


def test_a_table_is_read_as_it_was_written(tmp_path):
    rows = [
        {"a": 1, "b": 0.1 + 0.2, "c": None, "d": "3x3", "e": [1.5, "x"], "f": True},
        {"a": -2, "b": 1e-300, "c": "0x", "d": "ε, κ", "e": None, "f": False},
    ]
    write_csv(tmp_path / "t.csv", rows)
    assert read_csv(tmp_path / "t.csv") == rows


def slow_measure(n, log):
    """The time of odd points is over while a solve looks after its own alarm."""
    if n % 2:
        Limits.within(600.0).in_time(time_is_over, lambda: None)
    return measure(n, log)


SLOW = Experiment("slow", points, slow_measure, draw, conclude)


def test_points_that_take_too_long_are_left_out(tmp_path, ldpopt):
    study = SLOW.run(out=tmp_path, time_limit=1000.0)
    assert [row["square"] for row in study.rows] == [0, 4]
    assert (study.late, study.missing) == (1, 0)
    assert study.conclusion.startswith("This is a part of the study (2 of its points)")
    assert SLOW.run(out=tmp_path, time_limit=1000.0).reused == 2
    with pytest.raises(InvalidInputError, match="every point took longer than 1000 s"):
        dataclasses.replace(SLOW, points=lambda quick: [{"n": 1, "log": None}]).run(time_limit=1000.0)
    with pytest.raises(InvalidInputError, match="time_limit must be"):
        SLOW.run(time_limit=0)
    code, said, _ = ldpopt("experiment", f"{__file__}:SLOW", "--out", tmp_path, "--time-limit", 1000)
    assert (code, "1 point left out: longer than 1000 s" in said) == (0, True)
