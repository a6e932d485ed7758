"""The studies of robust LDP: each quick run, and what its figure must show."""

import pytest

from ldpopt.experiments import EXPERIMENTS


def run(name, tmp_path):
    study = EXPERIMENTS[name].run(quick=True, out=tmp_path, jobs=1)
    assert all(path.stat().st_size > 500 for path in study.files)
    assert {path.suffix for path in study.files} == {".csv", ".png"}
    assert study.conclusion
    return study


def test_synthetic(tmp_path):
    for row in run("rldp-synthetic", tmp_path).rows:
        assert row["polyopt"] >= max(row["srr"], row["grr"]) * (1 - 1e-3)
        assert row["polyopt"] <= row["polyopt_bound"] <= 1


def test_parameters(tmp_path):
    for row in run("rldp-parameters", tmp_path).rows:
        assert 0 <= row["lambda"] <= row["kappa"] <= 1
        assert 0 <= row["ir_share"] <= 1


def test_ir_or_cr(tmp_path):
    assert "correlation" in run("rldp-ir-or-cr", tmp_path).conclusion


def test_samples(tmp_path):
    rows = run("rldp-samples", tmp_path).rows
    mine = [r for r in rows if r["varied"] == "n"]
    values = [r["polyopt"] for r in sorted(mine, key=lambda r: r["n"])]
    assert values == sorted(values), "more samples never hurt"


def test_true_utility(tmp_path):
    rows = run("rldp-true-utility", tmp_path).rows
    mean = {n: sum(abs(r["ir"]) for r in rows if r["n"] == n) for n in (100, 100_000)}
    assert mean[100_000] < mean[100]


def test_adult(tmp_path):
    for row in run("rldp-adult", tmp_path).rows:
        assert row["polyopt"] > row["srr"]


def test_time(tmp_path):
    rows = run("rldp-time", tmp_path).rows
    for a, pairs in {(r["a"], r["pairs"]) for r in rows}:
        values = [r["value"] for r in rows if (r["a"], r["pairs"]) == (a, pairs)]
        assert max(values) == pytest.approx(min(values), rel=1e-7)
