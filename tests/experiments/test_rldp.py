"""The studies of robust LDP: each quick run, and what its figure must show."""

import itertools

import pytest

from ldpopt.experiments import EXPERIMENTS, robust_study


def run(name, tmp_path, **options):
    study = EXPERIMENTS[name].run(quick=True, out=tmp_path, jobs=1, **options)
    assert all(path.stat().st_size > 500 for path in study.files)
    assert {path.suffix for path in study.files} == {".csv", ".svg"}
    assert study.conclusion
    return study


def test_polyopt(tmp_path):
    rows = run("rldp-polyopt", tmp_path, draws=1).rows
    for epsilon in (0.5, 4.0):
        found = robust_study.means(rows, epsilon=epsilon)
        assert found["polyopt"] >= max(found["srr"], found["grr"]) * (1 - 1e-3)
        assert found["polyopt"] <= 1


def test_synthetic(tmp_path):
    study = run("rldp-synthetic", tmp_path)
    assert {row["method"] for row in study.rows} == {"ir", "grr-cr", "ue-cr", "srr", "grr"}
    for row in study.rows:
        assert 0 < row["mean"] < 1
        assert row["standard_error"] > 0
    assert "SRR is the best" in study.conclusion


@pytest.mark.parametrize(("early", "count"), [("3x3", 1), ("3x5", 0)])
def test_tables_that_fit_into_each_other_are_compared(early, count):
    """SRR leads from ε = 1 on in one table, from ε = 2 on in the other."""
    rows = [
        {"size": size, "method": name, "epsilon": epsilon, "draws": 1, "mean": 1.0 + (name == leader)}
        for size in ("3x3", "3x5")
        for epsilon in (1.0, 2.0)
        for leader in ["srr" if epsilon == 2 or size == early else "ir"]
        for name in robust_study.RIVALS
    ]
    assert f"in {count} of 1 pairs" in EXPERIMENTS["rldp-synthetic"].conclude(rows)


def test_a_method_on_demand(tmp_path):
    study = run("rldp-synthetic", tmp_path, methods=["polyopt", "srr"], only=["2x2"], draws=1)
    found = robust_study.means(study.rows, epsilon=1.0)
    assert set(found) == {"polyopt", "srr"}
    assert found["polyopt"] > found["srr"]
    assert {row["size"] for row in study.rows} == {"2x2"}
    assert all(row["standard_error"] is None for row in study.rows)
    assert "a part of the study" in study.conclusion


def test_parameters(tmp_path):
    for row in run("rldp-parameters", tmp_path).rows:
        if row["method"] == "ue-cr":
            assert 0 <= row["lambda"] <= row["kappa"] <= 1
        else:
            assert 0 <= row["share"] <= 1


def test_ir_or_cr(tmp_path):
    study = run("rldp-ir-or-cr", tmp_path, draws=10)
    assert "correlation" in study.conclusion
    assert [row["seed"] for row in study.rows] == list(range(10))


def test_samples(tmp_path):
    rows = run("rldp-samples", tmp_path).rows
    few, many = (robust_study.means(rows, n=n, epsilon=1.0) for n in (100, 10_000))
    for name in ("ir", "grr-cr", "ue-cr"):
        assert few[name] <= many[name] * (1 + 1e-3), "more samples never hurt"
    assert few["srr"] == many["srr"]


def test_significance(tmp_path):
    study = run("rldp-significance", tmp_path)
    for method in ("ir", "grr-cr", "ue-cr"):
        curve = [r for r in study.rows if r["method"] == method and r["epsilon"] == 0.1]
        means = [r["mean"] for r in sorted(curve, key=lambda r: r["alpha"])]
        assert all(low <= high * (1 + 2e-3) for low, high in itertools.pairwise(means))
    assert "the paper: 36%" in study.conclusion


def test_true_utility(tmp_path):
    rows = run("rldp-true-utility", tmp_path).rows
    mean = {n: sum(abs(r["mean"]) for r in rows if r["n"] == n) for n in (100, 100_000)}
    assert mean[100_000] < mean[100]


def test_adult(tmp_path):
    rows = run("rldp-adult", tmp_path, draws=1).rows
    for source in ("adult", "synthetic"):
        for epsilon in (0.5, 2.0):
            found = robust_study.means(rows, source=source, epsilon=epsilon)
            assert found["polyopt"] > found["srr"]


def test_averages():
    assert robust_study.averaged([1.0, 3.0]) == {"mean": 2.0, "standard_error": 1.0}
    assert robust_study.averaged([1.0]) == {"mean": 1.0, "standard_error": None}


def test_time(tmp_path):
    rows = run("rldp-time", tmp_path).rows
    for a, pairs in {(r["a"], r["pairs"]) for r in rows}:
        values = [r["value"] for r in rows if (r["a"], r["pairs"]) == (a, pairs)]
        assert max(values) == pytest.approx(min(values), rel=1e-7)
