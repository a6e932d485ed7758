"""Robust LDP: optimal parameters of IR, GRR-CR and UE-CR
(Lopuhaä-Zwakenberg and Goseling 2021, Figure 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.experiments import robust_study, study
from ldpopt.experiments.robust_study import PROTOCOLS
from ldpopt.problems.ue_conditional import UEConditional

STYLES = {
    "ir share": ("C0-s", "ε₂/ε (IR)"),
    "grr-cr share": ("C2-^", "ε₂/ε (GRR-CR)"),
    "kappa": ("C4-v", "κ (UE-CR)"),
    "lambda": ("C5--d", "λ (UE-CR)"),
}
LEVELS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)


def points(quick: bool) -> study.Points:
    """List 5 × 5 tables (3 × 3 in the quick run), 200 of them as in the paper."""
    return study.grid(
        method=PROTOCOLS,
        size=(3 if quick else 5,),
        epsilon=(0.25, 0.75, 1.5, 3.0) if quick else LEVELS,
        seed=range(2 if quick else 200),
    )


def measure(method: str, size: int, epsilon: float, seed: int) -> study.Row:
    """Find the best split of the budget, or the best κ and λ."""
    _, p_hat = robust_study.drawn_table(size, size, 1000, seed)
    kind, gap = PROTOCOLS[method]
    problem = kind(epsilon, p_hat, 1000)
    point = robust_study.best(problem, gap).point
    if not isinstance(problem, UEConditional):
        return {"share": float(point[0] / epsilon)}
    second, kappa = point
    smallest = problem.smallest(np.array([kappa]), np.array([epsilon - second]))
    return {"kappa": float(kappa), "lambda": float(smallest[0])}


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw two single tables and the average, as in the paper."""
    seeds = sorted({row["seed"] for row in rows})
    many = f"{len(seeds)} tables"
    shown = [(f"table {s + 1} of {many}", study.where(rows, seed=s)) for s in seeds[:2]]
    shown.append((f"average of {many}", rows))
    means = [
        {"panel": title, "method": name, "epsilon": epsilon, **robust_study.averaged(values)}
        for title, mine in shown
        for (name, epsilon), values in _grouped(mine).items()
    ]
    figure, _ = robust_study.draw_curves(means, "{panel}", "parameter", styles=STYLES)
    return [study.save(figure, out / "rldp-parameters.svg")]


def _grouped(rows: list[study.Row]) -> dict[tuple[str, float], list[float]]:
    """Collect the values of each curve at each level."""
    groups: dict[tuple[str, float], list[float]] = {}
    for row in rows:
        for name in ("share", "kappa", "lambda"):
            if row.get(name) is not None:
                curve = f"{row['method']} share" if name == "share" else name
                groups.setdefault((curve, row["epsilon"]), []).append(row[name])
    return groups


def conclude(rows: list[study.Row]) -> str:
    """State how often the whole budget goes to one part, and when UE-CR is silent about s."""
    by: dict[str, Any] = {"ir": [], "grr-cr": []}
    for row in rows:
        if row["method"] in by and row["epsilon"] <= 1:
            by[row["method"]].append(row["share"])
    extreme = {name: np.mean([s < 0.01 or s > 0.99 for s in shares]) for name, shares in by.items()}
    all_u = np.mean([s > 0.99 for s in by["grr-cr"]])
    silent = [row["kappa"] > 0.999 for row in rows if row["method"] == "ue-cr" and row["epsilon"] <= 1]
    averages = {key: np.mean(values) for key, values in _grouped(rows).items()}
    ir = [mean for (name, _), mean in averages.items() if name == "ir share"]
    return (
        f"For ε ≤ 1, IR spends its whole budget on s or on u in {extreme['ir']:.0%} of the cases, "
        f"GRR-CR in {extreme['grr-cr']:.0%} (on u in {all_u:.0%}), and UE-CR reports every secret "
        f"(κ = λ = 1) in {np.mean(silent):.0%}. The average "
        f"ε₂/ε of IR lies between {min(ir):.2f} and {max(ir):.2f}."
    )


EXPERIMENT = study.Experiment(
    "rldp-parameters", points, measure, draw, conclude, method="method", draws="seed"
)
