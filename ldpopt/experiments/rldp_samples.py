"""Robust LDP: the role of n (Lopuhaä-Zwakenberg and Goseling 2021, Figure 7).

The table is always that of 1000 draws, so that only the confidence set changes with n.
"""

from __future__ import annotations

from pathlib import Path

from ldpopt.experiments import robust_study, study
from ldpopt.experiments.robust_study import RIVALS, STYLES


def points(quick: bool) -> study.Points:
    """List n, methods and levels; 5 × 5 tables (3 × 3 in the quick run)."""
    return study.grid(
        n=(100, 1000, 10_000, 100_000),
        method=STYLES,
        epsilon=(1.0,) if quick else (0.2, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0),
        size=(3 if quick else 5,),
        draws=(2 if quick else 200,),
    )


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per n, utility against ε as in the paper."""
    return [study.save(robust_study.draw_curves(rows, "n = {n:,}")[0], out / "rldp-samples.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State what more samples bring to each method."""
    sizes, levels = sorted({row["n"] for row in rows}), sorted({row["epsilon"] for row in rows})
    parts = []
    for epsilon in sorted({levels[0], levels[len(levels) // 2], levels[-1]}):
        few, many = (robust_study.means(rows, n=n, epsilon=epsilon) for n in (sizes[0], sizes[-1]))
        gains = ", ".join(f"{STYLES[name][1]} {many[name] / few[name]:.2f}" for name in RIVALS)
        parts.append(f"at ε = {epsilon:g} {gains}")
    return (
        f"From n = {sizes[0]} to n = {sizes[-1]} the mean utility of {rows[0]['draws']} tables grows by "
        f"the factors: {'; '.join(parts)}."
    )


EXPERIMENT = study.Experiment(
    "rldp-samples",
    points,
    robust_study.mean_utility,
    draw,
    conclude,
    panel="n",
    method="method",
    usual=RIVALS,
    draws="draws",
)
