"""The frontier experiment: ordering of the curves and where each mechanism is optimal."""

from ldpopt.experiments.ldp_frontier import EXPERIMENT, frontiers, switches


def test_quick_run(tmp_path):
    study = EXPERIMENT.run(quick=True, out=tmp_path, jobs=1)
    assert {path.suffix for path in study.files} == {".csv", ".svg"}
    for row in study.rows:
        assert max(row["best_binary"], row["randomized_response"]) <= row["bound"]
        assert row["optimum"] <= row["bound"] <= row["optimum"] * (1 + 1e-8)
    for curve in frontiers(study.rows):
        binary, randomized = switches(curve)
        assert randomized is not None, "randomised response is optimal for large ε"
        if curve[0]["prior"] != "uniform":
            assert binary == 0.25 or curve[0]["k"] == 3
    assert "k = 5, zipf" in study.conclusion
