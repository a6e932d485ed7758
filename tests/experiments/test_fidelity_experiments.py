from itertools import pairwise
from pathlib import Path

import pytest

from ldpopt.engine.sweep import Study
from ldpopt.experiments import EXPERIMENTS
from ldpopt.measures import estimation_fidelity


def quick(name: str, out: Path) -> Study:
    study = EXPERIMENTS[name].run(quick=True, out=out)
    assert all(path.stat().st_size > 0 for path in study.files)
    assert any(path.suffix == ".svg" for path in study.files)
    return study


def test_convergence(tmp_path: Path) -> None:
    """Figures 2 and 3: ML and MMSE are close, and both stay below the MSE expansion."""
    study = quick("fidelity-convergence", tmp_path)
    assert len(study.files) == 3
    for row in study.rows:
        assert row["ml"] == pytest.approx(row["mmse"], rel=0.2)
        assert row["without_privacy"] < row["ml"]
        if row["loss"] == "mse":  # projecting to the simplex only helps
            assert row["mmse"] <= row["expansion"] * (1 + 1e-9)


def test_tradeoff(tmp_path: Path) -> None:
    """Figures 5 and 6: bound ≤ proven optimum ≤ step mechanism; at the uniform source it is tight."""
    study = quick("fidelity-tradeoff", tmp_path)
    for row in study.rows:
        assert row["bound"] <= row["step"] * (1 + 1e-9)
        if row["optimum"] is not None:
            assert row["bound"] * (1 - 1e-9) <= row["optimum"] <= row["step"] * (1 + 1e-9)
            assert row["gap"] <= 1e-9
        if row["source"] == "uniform-5" and row["loss"] != "tv":
            assert row["optimum"] == pytest.approx(row["bound"], rel=1e-9)
    assert "more reports than" in study.conclusion


def test_minimax(tmp_path: Path) -> None:
    """Figures 7 and 9: the lower bounds hold, and designs are never worse than the step mechanism."""
    study = quick("fidelity-minimax", tmp_path)
    for row in study.rows:
        assert row["bound"] <= row["design"] <= row["step"] * (1 + 1e-9)


def test_phi(tmp_path: Path) -> None:
    """Figure 8: the optimum grows as K², and Lemma 11 as printed exceeds it somewhere."""
    study = quick("fidelity-phi", tmp_path)
    assert all(row["best"] == row["bound"] <= row["step"] for row in study.rows)
    assert any(row["printed_bound"] > row["best"] for row in study.rows)
    assert "optimum K^2.00" in study.conclusion


def test_step_is_not_optimal(tmp_path: Path) -> None:
    study = quick("step-is-not-optimal", tmp_path)
    for row in study.rows:
        families = [row[name] for name in ("broad", "square", "circulant", "step")]
        assert all(a <= b * (1 + 1e-9) for a, b in pairwise(families))
        assert row["bound"] * (1 - 1e-9) <= row["broad"] == pytest.approx(row["bound"], rel=1e-9)
    smallest = [row for row in study.rows if row["epsilon"] == 0.05]
    assert smallest
    assert all(row["circulant"] < 0.9 * row["step"] for row in smallest)
    assert "K = 7: the step mechanism is beaten by circulant" in study.conclusion


def test_optimal_squares(tmp_path: Path) -> None:
    study = quick("optimal-squares", tmp_path)
    assert "(7, 3) Singer PG(2, 2): ε from 0.000 to 0.602" in study.conclusion
    assert "(40, 13) Singer PG(3, 3): ε from 0.675 to 0.789" in study.conclusion
    assert "(16, 6) bent function on 4 bits: ε from 0.381 to 0.650, not cyclic" in study.conclusion
    for row in study.rows:
        for entry in row["designs"]:
            middle = entry["from"] + 0.01
            assert estimation_fidelity.block_size(row["k"], middle) == entry["m"]
