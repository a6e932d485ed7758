"""Exposure of four Adult columns, and what their marginals prove
(Bravo-Hermsdorff et al. 2022, Figure 2).

The paper draws the least bound of Theorems 2 and 3. Under it lie
the tighter variant of Theorem 3 and the best possible bound: no proof from the marginals can go below
the worst joint distribution.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.forms.threshold_search import ThresholdSearch
from ldpopt.problems.composition_bound import CompositionBound
from ldpopt.tables.datasets import adult_features
from ldpopt.theory.anonymity.composition import best_choice
from ldpopt.theory.anonymity.exposure import exposure, exposure_curve

MILP_NODES, PROOF_LPS = 300, 60
LINES = {
    "printed": ("Theorems 2 and 3", "black", "-"),
    "tighter": ("their tighter variants", "tab:orange", "-"),
    "proven": ("best proven", "tab:red", "-"),
    "worst_joint": ("worst joint found", "tab:red", ":"),
    "exposure": ("true exposure", "tab:blue", "-"),
}


def points(quick: bool) -> Iterable[Point]:
    """List the first two, three and four columns against a range of thresholds."""
    for features in (2, 3) if quick else (2, 3, 4):
        for t in np.geomspace(1e-4, 0.5, 4 if quick else 23):
            yield {"features": features, "threshold": float(f"{t:.6g}")}


def measure(features: int, threshold: float) -> Row:
    """Compute the truth and every bound."""
    data = adult_features()
    names = data.joint_names[:features]
    marginals = tuple(data.marginal(name) for name in names)
    rules = {
        rule: best_choice(ThresholdSearch(marginals, threshold, rule)).bound
        for rule in ("theorem-2", "theorem-3", "theorem-2-tight", "theorem-3-tight")
    }
    best = solve(
        CompositionBound(marginals, threshold, "best"), milp_nodes=MILP_NODES, proof_lps=PROOF_LPS
    )
    return {
        **rules,
        "printed": min(rules["theorem-2"], rules["theorem-3"]),
        "tighter": min(rules["theorem-2-tight"], rules["theorem-3-tight"]),
        "proven": best.value,
        "worst_joint": best.bound,
        "exposure": exposure(data.joint_distribution(names), threshold),
    }


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw single columns, then a panel per number of columns."""
    numbers = sorted({row["features"] for row in rows})
    figure = Figure(figsize=(10, 7.5), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    _single(axes[0])
    for axis, number in zip(axes[1:], numbers, strict=False):
        _panel(axis, [row for row in rows if row["features"] == number])
    for axis in axes[len(numbers) + 1 :]:
        axis.set_visible(False)
    axes[1].legend(fontsize="small", loc="upper left")
    path = out / "exposure-adult.png"
    figure.savefig(path, dpi=120)
    return [path]


def _single(axis: Axes) -> None:
    data = adult_features()
    for name in data.joint_names:
        curve = exposure_curve(data.marginal(name))
        t = np.concatenate([[1e-4], curve.thresholds, [1.0]])
        q = np.concatenate([[0.0], curve.exposures, [1.0]])
        axis.step(t, q, where="post", label=name)
    axis.set(xscale="log", title="single features", ylabel="exposure Q(t)", xlim=(1e-4, 1))
    axis.legend(fontsize="small")


def _panel(axis: Axes, rows: list[Row]) -> None:
    rows = sorted(rows, key=lambda row: float(row["threshold"]))
    t = [row["threshold"] for row in rows]
    for name, (label, colour, style) in LINES.items():
        axis.plot(t, [row[name] for row in rows], style, color=colour, label=label)
    names = ", ".join(adult_features().joint_names[: rows[0]["features"]])
    axis.set(xscale="log", title=names, xlabel="threshold t", ylabel="exposure Q(t)", ylim=(-0.02, 1.05))


def conclude(rows: list[Row]) -> str:
    """State how much tighter the bounds are."""
    useful = [row for row in rows if 0 < row["proven"] and row["printed"] < 1]
    ratios = [row["printed"] / row["proven"] for row in useful]
    return (
        f"The best proven bound is up to {max(ratios, default=1):.1f} times below the least bound of "
        "Theorems 2 and 3 that the paper draws, and meets the worst joint distribution or comes close "
        "to it; the true exposure lies below all of them."
    )


EXPERIMENT = Experiment(
    name="exposure-adult",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
)
