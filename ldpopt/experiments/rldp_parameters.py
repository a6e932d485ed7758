"""Robust LDP: optimal parameters of IR, GRR-CR and UE-CR
(Lopuhaä-Zwakenberg and Goseling 2021, Figure 5)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments import robust_study
from ldpopt.problems.grr_conditional import GRRConditional
from ldpopt.problems.independent_reporting import IndependentReporting
from ldpopt.problems.ue_conditional import UEConditional

NAMES = {
    "ir_share": ("C0-s", "ε₂/ε (IR)"),
    "grr_cr_share": ("C2-^", "ε₂/ε (GRR-CR)"),
    "kappa": ("C4-v", "κ (UE-CR)"),
    "lambda": ("C5-d", "λ (UE-CR)"),
}


def points(quick: bool) -> Iterable[Point]:
    """List 5 × 5 tables (3 × 3 in the quick run)."""
    size = 3 if quick else 5
    for epsilon in np.linspace(0.25, 6, 5 if quick else 24):
        for seed in range(2 if quick else 200):
            yield {"size": size, "epsilon": round(float(epsilon), 6), "seed": seed}


def measure(size: int, epsilon: float, seed: int) -> Row:
    """Find the best split of the budget, and the best κ and λ."""
    _, p_hat = robust_study.drawn_table(size, size, 1000, seed)
    given: dict[str, Any] = {"p_hat": p_hat, "n": 1000, "epsilon": epsilon}
    ir = robust_study.best(IndependentReporting(**given)).point
    grr = robust_study.best(GRRConditional(**given)).point
    problem = UEConditional(**given)
    second, kappa = robust_study.best(problem, 1e-3).point
    lam = problem.smallest(np.array([kappa]), np.array([epsilon - second]))[0]
    shares = {"ir_share": ir[0] / epsilon, "grr_cr_share": grr[0] / epsilon}
    return {name: float(x) for name, x in {**shares, "kappa": kappa, "lambda": lam}.items()}


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw two single tables and the average, as in the paper."""
    both = [{**row, "panel": f"table {row['seed']}"} for row in rows if row["seed"] < 2]
    both += [{**row, "panel": "average"} for row in rows]
    path = out / "rldp-parameters.png"
    return robust_study.draw_curves(
        both, path, panel=lambda r: str(r["panel"]), x="epsilon", names=NAMES, ylabel="parameter"
    )


def conclude(rows: list[Row]) -> str:
    """State how often the whole budget goes to one part."""
    extreme = [row["ir_share"] < 0.01 or row["ir_share"] > 0.99 for row in rows]
    silent = [row["kappa"] > 0.999 for row in rows if row["epsilon"] <= 1]
    return (
        f"IR spends its whole budget on s or on u in {np.mean(extreme):.0%} of the cases; for ε ≤ 1 "
        f"UE-CR reports every secret (κ = λ = 1) in {np.mean(silent):.0%}, as in the paper."
    )


EXPERIMENT = Experiment(
    name="rldp-parameters",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
)
