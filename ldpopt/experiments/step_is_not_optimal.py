"""Compare φ of the step mechanism with the best circulant, square and broad ones, against ε.

Pastore and Gastpar 2021, Theorem 9 and the conjecture of Section 7.1 say that the step mechanism has the
least φ among circulant, and among all square, ε-LDP mechanisms. Below e^{2ε} = (K−1)(K−2)/2 the best
broad mechanism is better, and where a difference set or descent finds one, so is a square and a
circulant one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.measures import estimation_fidelity
from ldpopt.problems.least_phi import BroadFidelity, CirculantFidelity, PhiProblem, SquareFidelity

FAMILIES: dict[str, Callable[[float, int], PhiProblem]] = {
    "circulant": CirculantFidelity,
    "square": SquareFidelity,
    "broad": BroadFidelity,
}


def points(quick: bool) -> study.Points:
    """List K and ε, the latter up to where the step mechanism becomes optimal and a little beyond."""
    sizes = (5, 7, 13) if quick else (4, 5, 6, 7, 11, 13, 21, 31, 40, 57, 73, 100)
    for k in sizes:
        threshold = estimation_fidelity.optimal_range(k, 1)
        assert threshold is not None
        top = 1.25 * max(threshold[0], 0.4)
        for epsilon in np.linspace(0.05, top, 4 if quick else 16):
            level = round(float(epsilon), 6)
            yield {"k": k, "epsilon": level, "starts": 6 if quick else 24, "seed": 0}


def measure(k: int, epsilon: float, starts: int, seed: int) -> study.Row:
    """Compute φ of the step mechanism, of the best mechanism of every family, and the bound."""
    row: study.Row = {
        "step": estimation_fidelity.balanced_phi(k, epsilon, 1),
        "bound": estimation_fidelity.phi_bound(k, epsilon),
    }
    for name, kind in FAMILIES.items():
        method: dict[str, Any] = {} if name == "broad" else {"solver": "descent", "starts": starts}
        result = solve(kind(epsilon, k), seed=seed, **method)
        row |= {name: result.value, f"{name}_status": result.status.value}
    return row


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per K: φ relative to the bound."""
    styles = {"step": "k-", "circulant": "C0s--", "square": "C1o:", "broad": "C2-"}
    shown = [{**row, **{name: row[name] / row["bound"] for name in styles}} for row in rows]
    lines = [study.Curve(name, style, name, {}, {"ms": 3.5}) for name, style in styles.items()]
    labels = "ε (nats)", "φ / φ*"
    figure, panels = study.curves(
        shown, "epsilon", lines, *labels, title="K = {k}", columns=3, height=2.6
    )
    for axes, k in zip(panels, study.distinct(rows, "k"), strict=True):
        axes.set_yscale("log" if k > 20 else "linear")
    return [study.save(figure, out / "step-is-not-optimal.svg", 4)]


def conclude(rows: list[study.Row]) -> str:
    """State for every K up to which ε each family beats the step mechanism, and where it is optimal."""
    parts = []
    for k in sorted({row["k"] for row in rows}):
        curve = study.where(rows, k=k)
        beaten = []
        for name in FAMILIES:
            # a mechanism counts as better than the step mechanism if its φ is lower by this relative
            # amount
            better = [r["epsilon"] for r in curve if r[name] < r["step"] * (1 - 1e-9)]
            exact = sum(r[f"{name}_status"] == "optimal" for r in curve)
            until = f"up to ε = {max(better):g}" if better else "nowhere"
            beaten.append(f"{name} {until} (proven optimal at {exact} of {len(curve)})")
        parts.append(f"K = {k}: the step mechanism is beaten by " + ", ".join(beaten))
    return "On this grid:\n" + "\n".join(parts)


EXPERIMENT = study.Experiment("step-is-not-optimal", points, measure, draw, conclude)
