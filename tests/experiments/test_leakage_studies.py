"""The studies of statistic maximal leakage run, and say what the mathematics says."""

import csv
import gzip
import math
from pathlib import Path

import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.experiments import (
    leakage_bounds,
    leakage_forest,
    leakage_optimum,
    leakage_scale,
    leakage_support,
    leakage_tradeoff,
)

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult.csv.gz"


def test_optimum(tmp_path) -> None:
    study = leakage_optimum.EXPERIMENT.run(quick=True, out=tmp_path)
    for row in study.rows:
        others = (row["response"], row["quantisation"], row["maxl"])
        assert row["bound"] <= row["optimum"] <= min(others) + 1e-9
    assert (tmp_path / "leakage-optimum.svg").stat().st_size > 0
    assert "randomised response" in study.conclusion


def test_scale(tmp_path) -> None:
    study = leakage_scale.EXPERIMENT.run(quick=True, out=tmp_path)
    bounds = {(row["case"], row["size"], row["solver"]): row["bound"] for row in study.rows}
    for (case, size, solver), bound in bounds.items():
        if case == "deterministic":
            assert bound == pytest.approx(bounds[case, size, "matching"], abs=1e-6)
        elif solver == "cuts":  # which branches where the linear program leaves a gap
            assert bound <= bounds[case, size, "full LP"] + 1e-9
    assert "networkx" in study.conclusion


def test_tradeoff(tmp_path) -> None:
    study = leakage_tradeoff.EXPERIMENT.run(quick=True, out=tmp_path)
    winners = [row for row in study.rows if row["figure"] == "winner"]
    tau = leakage_tradeoff.TAU
    for row in winners:
        d, interval = row["d"], row["interval"]
        if 1.2 * (d - 1) ** 2 < interval < 1.5 * tau / d:
            assert row["quantisation"] < row["response"]
        if interval < 0.8 * (d - 1) ** 2 or interval > 2.5 * tau / d:
            assert row["response"] < row["quantisation"]
    assert "distorts less" in study.conclusion


@pytest.mark.skipif(not DATA.exists(), reason="the census data are not here")
def test_combinations_of_the_census_data() -> None:
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = leakage_tradeoff.COLUMNS
    assert len(rows) == leakage_tradeoff.TAU
    assert len({tuple(row[c] for c in columns) for row in rows}) == leakage_tradeoff.COMBINATIONS


def test_support(tmp_path) -> None:
    study = leakage_support.EXPERIMENT.run(quick=True, out=tmp_path)
    for row in study.rows:
        assert row["sml"] <= row["bound"] <= row["printed"]
        if row["missed"] == 5:
            assert row["bound"] <= row["sml"] + 1e-9
    by_missed: dict[int, list[float]] = {}
    for row in study.rows:
        by_missed.setdefault(row["missed"], []).append(row["sml"])
    assert all(values == sorted(values, reverse=True) for values in by_missed.values())


@pytest.mark.skipif(not DATA.exists(), reason="the census data are not here")
def test_forest(tmp_path, monkeypatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setenv("LDPOPT_ADULT", str(DATA))
    study = leakage_forest.EXPERIMENT.run(quick=True, out=tmp_path)
    areas = {(row["interval"], row["added"]): row["auc"] for row in study.rows}
    assert areas[leakage_forest.RAW, 0] > 0.8
    assert min(areas.values()) > 0.6
    assert len(areas) == len(study.rows) == 5
    assert "combinations of age" in study.conclusion
    assert [path.suffix for path in study.files] == [".csv", ".svg", ".svg"]


def test_printed_bound_of_the_forests() -> None:
    """No missed combination: log ⌈s/I⌉; it grows with them and never passes log s."""
    for interval in (1, 6, 17):
        bounds = [leakage_forest.printed_bound(interval, m, 0, 48_842, 22_381) for m in range(101)]
        assert bounds[0] == pytest.approx(math.log(-(-17 // interval)))
        assert bounds == sorted(bounds)
        assert bounds[-1] == pytest.approx(math.log(17))
    more = [leakage_forest.printed_bound(6, 5, a, 48_842, 22_381) for a in (0, 5_000, 200_000)]
    assert more == sorted(more, reverse=True)


def test_bounds(tmp_path) -> None:
    study = leakage_bounds.EXPERIMENT.run(quick=True, out=tmp_path)
    for row in study.rows:
        assert row["sml"] <= row["bound"] <= row["printed"] + 1e-6
        assert row["distortion_low"] <= row["distortion_high"]
    assert (tmp_path / "leakage-bounds.svg").stat().st_size > 0
    assert "least leakage" in study.conclusion


def test_forest_without_data(monkeypatch) -> None:
    monkeypatch.setenv("LDPOPT_ADULT", "no-such-file.gz")
    with pytest.raises(InvalidInputError, match="set LDPOPT_ADULT to its path"):
        leakage_forest.measure(interval=1, added=0, seed=0, rows=10, trees=1)
