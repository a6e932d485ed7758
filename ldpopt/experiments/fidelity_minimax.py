"""Bounds on the worst α over {p ≥ p0} against ε (Pastore and Gastpar 2021, Figures 7 and 9).

The figures put right. Above, the step mechanism, (38) corrected, (42), (43), and the best balanced
design known here; below, bounds sharper than (48), (50) and (54), which rest on the false Lemma 11.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.problems.minimax_fidelity import MinimaxFidelity
from ldpopt.theory.fidelity import measures
from ldpopt.theory.fidelity.minimax import worst_step_alpha


def points(quick: bool) -> Iterable[Point]:
    """List K, p0 as a share of 1/K, loss and level."""
    sizes = (7, 13) if quick else (5, 7, 13, 21)
    for k in sizes:
        for share in (0.5, 0.1):
            for loss in measures.LOSSES:
                for epsilon in np.geomspace(0.1, 5, 3 if quick else 21):
                    yield {
                        "k": k,
                        "p0": round(share / k, 9),
                        "loss": loss,
                        "epsilon": round(float(epsilon), 6),
                    }


def measure(k: int, p0: float, loss: str, epsilon: float) -> Row:
    """Compute the supremum of the step mechanism, of the best design, and the lower bound."""
    result = solve(MinimaxFidelity(k, epsilon, p0, loss), "designs")
    return {
        "solver": result.solver,
        "step": worst_step_alpha(k, epsilon, loss, p0),
        "design": result.value,
        "bound": result.bound,
        "status": result.status.value,
    }


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw one panel per (K, p0)."""
    cases = list(dict.fromkeys((row["k"], row["p0"]) for row in rows))
    columns = 2
    lines = -(-len(cases) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.2 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for axes, (k, p0) in zip(panels, cases, strict=False):
        for color, loss in enumerate(measures.LOSSES):
            curve = [r for r in rows if (r["k"], r["p0"], r["loss"]) == (k, p0, loss)]
            levels, paint = [row["epsilon"] for row in curve], f"C{color}"
            for column, style in (("step", "-"), ("design", ":"), ("bound", "--")):
                heights = [row[column] for row in curve]
                axes.loglog(levels, heights, style, color=paint, label=f"{loss}: {column}")
        axes.set_title(f"K = {k}, p0 = {p0:.3g}", fontsize=10)
        axes.set_xlabel("ε")
        axes.set_ylabel("worst α over {p ≥ p0}")
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=7)
    path = out / "fidelity-minimax.png"
    figure.savefig(path, dpi=120)
    return [path]


def conclude(rows: list[Row]) -> str:
    """State where a design closes the gap."""
    closed = [row for row in rows if row["status"] == "optimal"]
    gain = max(rows, key=lambda row: row["step"] / row["design"])
    saved = 1 - gain["design"] / gain["step"]
    return (
        f"The gap is closed at {len(closed)} of {len(rows)} settings, by the "
        f"step mechanism or a difference set; a design needs up to {saved:.0%} fewer reports than the "
        f"step mechanism (K = {gain['k']}, ε = {gain['epsilon']:g}, {gain['loss']})."
    )


EXPERIMENT = Experiment(
    name="fidelity-minimax",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
)
