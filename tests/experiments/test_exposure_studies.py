"""The studies of statistical anonymity run, draw, and show what they say."""

import pytest

from ldpopt.experiments import EXPERIMENTS


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    def study(name):
        return EXPERIMENTS[name].run(quick=True, out=tmp_path_factory.mktemp(name))

    return study


def test_bounds_on_adult(run):
    study = run("exposure-adult")
    for row in study.rows:
        assert row["exposure"] <= row["proven"] + 1e-9
        assert row["worst_joint"] <= row["proven"] + 1e-9
        assert row["proven"] <= min(row["printed"], row["tighter"]) + 1e-9
    assert [path.name for path in study.files] == ["exposure-adult.csv", "exposure-adult.svg"]
    assert "times below" in study.conclusion


def test_statistical_exposure_varies_less(run):
    study = run("statistical-exposure")
    largest = {n: max(row[f"{n}_std"] for row in study.rows) for n in ("exposure", "statistical")}
    assert largest["statistical"] < largest["exposure"]
    assert all(path.stat().st_size > 0 for path in study.files)


def test_theorem_8(run):
    study = run("theorem-8")
    assert any(row["error"] > row["printed"] for row in study.rows)
    assert all(row["error"] <= row["corrected"] + 1e-12 for row in study.rows)
    assert "violated" in study.conclusion


def test_feature_release(run):
    study = run("feature-release-adult")
    assert all(row["proven_exposure"] <= row["budget"] for row in study.rows)
    assert any(row["released"] for row in study.rows)
    assert "Greedy" in study.conclusion
