"""Robust LDP: the role of α (Lopuhaä-Zwakenberg and Goseling 2021, Figure 8)."""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.experiments import robust_study, study
from ldpopt.experiments.robust_study import PROTOCOLS, STYLES

ALPHAS = {
    0.1: ("C0-o", "α = 0.1"),
    0.01: ("C1-s", "α = 0.01"),
    0.001: ("C2-^", "α = 0.001"),
    0.0001: ("C3-v", "α = 0.0001"),
}
PRINTED = {"ir": 0.0, "grr-cr": 0.36, "ue-cr": 0.47}
"""The loss from α = 0.1 to 0.0001 at ε = 0.1 that Section VIII-E states."""


def points(quick: bool) -> study.Points:
    """List methods, α and levels from the paper's 0.1 on; 5 × 5 tables (3 × 3 in the quick run)."""
    return study.grid(
        method=PROTOCOLS,
        alpha=ALPHAS,
        epsilon=(0.1, 0.5, 1.0, 2.0) if quick else (0.1, 0.5, 1.0, 2.0, 4.0, 6.0),
        size=(3 if quick else 5,),
        draws=(2 if quick else 200,),
    )


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per method, one curve per α; and the loss, relative to α = 0.1."""
    shown: list[study.Row] = []
    for method in study.distinct(rows, "method"):
        mine, name = study.where(rows, method=method), STYLES[method][1]
        shown += [{**row, "panel": name} for row in mine]
        for row in mine:
            share = row["mean"] / (_at(rows, row, 0.1) or math.nan)
            shown.append({**row, "panel": f"{name}, relative", "mean": share, "standard_error": None})
    figure, panels = robust_study.draw_curves(
        shown, "{panel}", curve="alpha", styles=ALPHAS, sharey="col"
    )
    for axes in panels[1::2]:
        axes.set_ylabel("share of that at α = 0.1")
    return [study.save(figure, out / "rldp-significance.svg")]


def _at(rows: list[study.Row], row: study.Row, alpha: float) -> float | None:
    """Return the mean of the same method and level at another α; None if it is not measured."""
    same = study.where(rows, method=row["method"], epsilon=row["epsilon"], alpha=alpha)
    return same[0]["mean"] if same else None


def conclude(rows: list[study.Row]) -> str:
    """State the loss from α = 0.1 to 0.0001 beside the paper's numbers, the only ones it prints."""
    least = min(row["epsilon"] for row in rows)
    parts = []
    for method, printed in PRINTED.items():
        high, low = (_at(rows, {"method": method, "epsilon": least}, alpha) for alpha in (0.1, 0.0001))
        assert high is not None
        assert low is not None
        parts.append(f"{1 - low / high:.0%} for {STYLES[method][1]} (the paper: {printed:.0%})")
    return (
        f"From α = 0.1 to 0.0001 the mean utility of {rows[0]['draws']} tables falls at ε = {least:g} "
        + "by "
        + ", ".join(parts)
        + "."
    )


EXPERIMENT = study.Experiment(
    "rldp-significance",
    points,
    robust_study.mean_utility,
    draw,
    conclude,
    panel="method",
    method="method",
    draws="draws",
)
