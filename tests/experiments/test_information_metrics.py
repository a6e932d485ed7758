"""The studies of Lopuhaä-Zwakenberg et al. 2019: what each figure must show."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from ldpopt.experiments import EXPERIMENTS, asymptotic_convergence, optimal_protocols


def study(name, tmp_path):
    found = EXPERIMENTS[name].run(quick=True, out=tmp_path)
    assert {path.suffix for path in found.files} == {".csv", ".svg"}
    return found


def test_figure_2(tmp_path):
    found = study("average-privacy", tmp_path)
    by_protocol = {}
    for row in found.rows:
        assert row["average_privacy"] >= row["worst_case_privacy"]
        by_protocol.setdefault(row["protocol"], []).append(row["average_privacy"])
    last = {name: values[-1] for name, values in by_protocol.items()}
    assert max(last, key=last.get) == "GRR"
    assert "GRR" in found.conclusion


def test_figure_3(tmp_path):
    found = study("privacy-utility-tradeoff", tmp_path)
    best_worst_case = max(
        (row for row in found.rows if row["epsilon"] == 1.0), key=lambda row: row["participation_factor"]
    )
    assert best_worst_case["protocol"] == "GRR"
    assert all(0 < row["participation_factor"] <= 1 for row in found.rows)


def test_remark_7_9(tmp_path):
    found = study("mixture-gain", tmp_path)
    utilities = {row["weight"]: row["asymptotic_utility"] for row in found.rows}
    assert utilities[0.0] == pytest.approx(-0.987085713765, abs=1e-10)
    assert utilities[0.5] == pytest.approx(-0.691227450898, abs=1e-10)
    assert len({round(row["average_privacy"], 10) for row in found.rows}) == 1


def test_corollary_6_8(tmp_path):
    found = study("asymptotic-convergence", tmp_path)
    for alpha in (0.5, 2.0, 5.0):
        distance = [abs(row["distance"]) for row in found.rows if row["alpha"] == alpha]
        assert distance == sorted(distance, reverse=True)
    assert {row["method"] for row in found.rows} == {"exact-enumeration"}
    assert all(0 < row["distribution_utility"] < 1 for row in found.rows)
    tallies = [row["tally_utility"] for row in found.rows if row["alpha"] == 5.0]
    assert all(0 < value < 0.5 for value in tallies)  # the limit (6.3) is far


@pytest.mark.slow
def test_equation_6_5_at_many_users():
    """Corollary 6.8, (6.5): 1 − U is 2 (C − U^as)/log n up to a term of the order 1/log² n."""
    row = asymptotic_convergence.measure(5.0, 3, 2.0, 100_000)
    assert row["method"] == "monte-carlo"
    off = row["distribution_predicted"] - row["distribution_utility"]
    assert abs(off) < 4 / math.log(100_000) ** 2 + 3 * row["distribution_error"]
    assert abs(row["distance"]) < 0.02


def test_the_page_on_metrics_says_what_the_study_finds():
    """The loss of randomised response is largest at k = 8, ε = 0.2 of the full study."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    (percent, k, epsilon), *others = re.findall(
        r"loses up to\s+(\d+) %[^(]*\(k = (\d+), ε = ([\d.]+)\)", page
    )
    assert not others
    grid = list(optimal_protocols.points(quick=False))
    assert {"k": int(k), "epsilon": float(epsilon)} in grid
    shares = {size: optimal_protocols.measure(size, float(epsilon))["GRR"] for size in (3, 5, int(k))}
    assert round(100 * (1 - shares[int(k)])) == int(percent)
    assert min(shares.values()) == shares[max(point["k"] for point in grid)]


def test_optimal_protocols(tmp_path):
    found = study("optimal-protocols", tmp_path)
    for row in found.rows:
        assert max(row[name] for name in ("GRR", "RAPPOR", "OUE", "subset selection")) <= 1 + 1e-6
        assert row["bound"] - row["optimum"] < 1e-8


def test_optimal_frontier(tmp_path):
    found = study("optimal-frontier", tmp_path)
    free = [row for row in found.rows if row["protocol"] == "optimum" and row["epsilon"] is None]
    for row in free:
        assert row["average_privacy"] >= row["floor"] - 1e-9
        assert row["participation_factor"] == pytest.approx(1 - row["average_privacy"], abs=0.05)
    for row in found.rows:
        assert row["participation_factor"] <= 1 - row["average_privacy"] + 1e-9
