"""The studies of Lopuhaä-Zwakenberg et al. 2019: what each figure must show."""

from __future__ import annotations

import pytest

from ldpopt.experiments import EXPERIMENTS


def study(name, tmp_path):
    found = EXPERIMENTS[name].run(quick=True, out=tmp_path)
    assert {path.suffix for path in found.files} == {".csv", ".png"}
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
    for alpha in (2.0, 5.0):  # (6.5) holds up to a term of the order 1/log² n
        rows = [row for row in found.rows if row["alpha"] == alpha]
        off = [row["distribution_predicted"] - row["distribution_utility"] for row in rows]
        assert off == sorted(off, reverse=True)
        assert off[-1] < 0.25
    assert all(0 < row["distribution_utility"] < 1 for row in found.rows)
    tallies = [row["tally_utility"] for row in found.rows if row["alpha"] == 5.0]
    assert tallies == sorted(tallies)
    assert tallies[-1] < 0.5  # the limit (6.3)


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
