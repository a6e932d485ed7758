"""Expected loss of an estimate against the number of reports
(Pastore and Gastpar 2021, Figures 2 and 3).

The step mechanism on four values, p = (1/2, 1/4, 1/8, 1/8):
the expected loss of the ML and the MMSE estimate, exact where all count vectors can be listed and
sampled beyond, next to the expansions (16), (18), (19) and, as a ratio to the loss without privacy, next
to the limits (20a)–(20c).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ldpopt.experiments import study
from ldpopt.measures import estimation_fidelity, losses
from ldpopt.mechanisms.balanced_designs import step_mechanism

P = (0.5, 0.25, 0.125, 0.125)
LOSSES = {"kl": "f-divergence", "mse": "mse", "tv": "tv"}
"""Each loss of the figure with the α that is its limit."""


def points(quick: bool) -> study.Points:
    """List ε = 0.1 and 1, sample sizes on a logarithmic grid."""
    sizes = map(round, np.geomspace(2, 45, 5) if quick else np.geomspace(2, 1e5, 24))
    return study.grid(epsilon=(0.1, 1.0), n=sizes, loss=LOSSES, seed=(0,))


def measure(epsilon: float, n: int, loss: str, seed: int) -> study.Row:
    """Compute the expected loss with and without privacy, its expansion, and the limit of the ratio."""
    W = step_mechanism(len(P), epsilon)
    ml, mmse = (losses.expected_loss(W, P, n, loss, e, seed=seed) for e in ("ml", "mmse"))
    clear = losses.expected_loss(np.eye(len(P)), P, n, loss, "ml", seed=seed)
    power = 2 if loss == "tv" else 1
    return {
        "ml": float(ml),
        "ml_standard_error": ml.error if ml.method == "monte-carlo" else 0.0,
        "mmse": float(mmse),
        "without_privacy": float(clear),
        "expansion": estimation_fidelity.expansion(W, P, n, loss),
        "ratio_ml": float((ml / clear) ** power),
        "ratio_mmse": float((mmse / clear) ** power),
        "alpha": estimation_fidelity.alpha(W, P, LOSSES[loss]),
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw Figure 2, losses and expansions, and Figure 3, ratios and limits."""
    lines = (("ml", "-", "ML"), ("mmse", ":", "MMSE"), ("expansion", "--", "expansion"))
    ratios = (("ratio_ml", "-", "ML"), ("ratio_mmse", ":", "MMSE"), ("alpha", "--", "limit α"))
    return [
        _panels(rows, lines, "expected loss", out / "fidelity-convergence-losses.svg"),
        _panels(rows, ratios, "loss relative to no privacy", out / "fidelity-convergence-ratios.svg"),
    ]


def _panels(rows: list[study.Row], shown: Any, label: str, path: Path) -> Path:
    lines = study.coloured("loss", LOSSES, shown)
    title = f"step mechanism, K = {len(P)}, ε = {{epsilon:g}}"
    labels = "number of reports n", label
    figure, panels = study.curves(rows, "n", lines, *labels, title=title, scale="log log", height=3.6)
    short = max(row["n"] for row in rows) < 1000
    for axes in panels:
        if label == "expected loss":  # the expansions start far above every possible loss
            axes.set_ylim(top=10)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        low, high = axes.get_ylim()
        if high < 100 * low:  # powers of ten alone would leave the axis with one number
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    for axes in panels[1:]:
        axes.set_ylabel("")
    return study.save(figure, path)


def conclude(rows: list[study.Row]) -> str:
    """State how far the last sample size still is from the limit."""
    last = max(row["n"] for row in rows)
    parts = [
        f"ε = {row['epsilon']:g}, {row['loss']}: ratio {row['ratio_ml']:.4g}, limit {row['alpha']:.4g}"
        for row in study.where(rows, n=last)
    ]
    return (
        f"At n = {last} (ML against the limit α of Pastore and Gastpar 2021, (20a)–(20c)): "
        + "; ".join(parts)
        + ". The water-filling forms of ML and MMSE are swapped in the paper; here they are right."
    )


EXPERIMENT = study.Experiment(
    "fidelity-convergence", points, measure, draw, conclude, panel="epsilon", method="loss"
)
