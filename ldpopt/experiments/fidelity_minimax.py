"""Bounds on the worst α over {p ≥ p0} against ε (Pastore and Gastpar 2021, Figures 7 and 9).

The corrected figures. Upper bounds are the step mechanism, (38) corrected, (42), (43), and the best
balanced design known here; lower bounds are sharper than (48), (50) and (54), which rest on the false
Lemma 11.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.minimax import worst_step_alpha
from ldpopt.problems.minimax_fidelity import MinimaxFidelity


def points(quick: bool) -> study.Points:
    """List K, p0 as a share of 1/K, loss and level; the paper's K and p0 are in its figures only."""
    levels = study.rounded(np.geomspace(0.1, 5, 4 if quick else 9))
    for k in (7, 13) if quick else (5, 13, 21):
        least = [round(share / k, 9) for share in (0.5, 0.1)]
        yield from study.grid(k=(k,), p0=least, loss=estimation_fidelity.LOSSES, epsilon=levels)


def measure(k: int, p0: float, loss: str, epsilon: float) -> study.Row:
    """Compute the supremum of the step mechanism, of the best design, and the lower bound."""
    result = solve(MinimaxFidelity(epsilon, k, p0, loss), "designs")
    return {
        "solver": result.solver,
        "step": worst_step_alpha(k, epsilon, loss, p0),
        "design": result.value,
        "bound": result.bound,
        "printed": printed_bound(k, epsilon, loss, p0),
        "status": result.status.value,
    }


def printed_bound(k: int, epsilon: float, loss: str, p0: float) -> float:
    """Evaluate (48), (50) or (54) as printed: with Lemma 11, which is false for large K.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        p0: the least entry of p.
    """
    phi = estimation_fidelity.printed_phi_bound(k, epsilon)
    if loss == "f-divergence":
        return (phi - 1) / (k - 1)
    if loss == "mse":
        return 1 + (phi / k - 1) / (p0 * (k - 1) * (2 - k * p0))
    root = math.sqrt(k - 1) + (phi - k) / (2 * math.sqrt(k * phi - 1))
    return max((phi - 1) / k, root * root) / (k - 1)


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per (K, p0): the upper bounds of Figure 7, the lower bounds of Figure 9."""
    upper = (("step", "-", "step"), ("design", ":", "best design"))
    lower = (("bound", "-", "proven here"), ("printed", "--", "as printed"))
    return [
        _figure(rows, upper, out / "fidelity-minimax-upper.svg"),
        _figure(rows, lower, out / "fidelity-minimax-lower.svg"),
    ]


def _figure(rows: list[study.Row], shown: tuple[tuple[str, str, str], ...], path: Path) -> Path:
    lines = study.coloured("loss", estimation_fidelity.LOSSES, shown)
    labels = "ε (nats)", "worst α"
    figure, _ = study.curves(
        rows, "epsilon", lines, *labels, title="K = {k}, p0 = {p0:.3g}", scale="log log", height=2.7
    )
    return study.save(figure, path)


def conclude(rows: list[study.Row]) -> str:
    """State where a design closes the gap."""
    closed = [row for row in rows if row["status"] == "optimal"]
    exact = [row for row in rows if row["loss"] != "tv"]  # (43) is an upper bound of the supremum
    gain = max(exact, key=lambda row: row["step"] / row["design"])
    saved = 1 - gain["design"] / gain["step"]
    above = [row for row in rows if row["printed"] > row["design"]]
    better = [row["bound"] / row["printed"] for row in rows]
    return (
        f"The gap is closed at {len(closed)} of {len(rows)} settings, by the "
        f"step mechanism or a difference set; a design needs up to {saved:.0%} fewer reports than the "
        f"step mechanism (K = {gain['k']}, ε = {gain['epsilon']:g}, {gain['loss']}). "
        f"The lower bound proven here is {min(better):.2f} to {max(better):.3g} times the printed one, "
        f"which lies above the value of a mechanism at {len(above)} of {len(rows)} settings."
    )


EXPERIMENT = study.Experiment(
    "fidelity-minimax", points, measure, draw, conclude, panel="k", method="loss"
)
