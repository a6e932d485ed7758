"""The mechanisms of Wang et al. 2024 against the best under a leakage budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from matplotlib.figure import Figure

from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.drawing import save
from ldpopt.mechanisms.histograms import (
    HistogramMaxL,
    HistogramQuantization,
    response_distortion,
)
from ldpopt.problems import LeakageDesign

MECHANISMS = {"response": "randomised response", "quantisation": "quantisation", "maxl": "MaxL"}


def points(quick: bool) -> Iterable[Point]:
    """List budgets log 1, log 2, …, at which quantisation can be exact."""
    spaces = [(2, 3)] if quick else [(4, 2), (3, 3), (4, 3), (5, 3), (3, 4)]
    for tau, d in spaces:
        for bins in range(1, tau + 2):
            yield {"tau": tau, "d": d, "bins": bins}


def measure(tau: int, d: int, bins: int) -> Row:
    """Compute the optimum with its bound, and the distortion of each mechanism at the same budget."""
    budget = math.log(bins)
    best = solve(LeakageDesign(tau, d, budget))
    interval = next(i for i in range(1, tau + 2) if HistogramQuantization(tau, d, i).bins <= bins)
    return {
        "budget": budget,
        "optimum": best.value,
        "bound": best.bound,
        "status": best.status.value,
        "response": response_distortion(tau, d, budget),
        "quantisation": HistogramQuantization(tau, d, interval).distortion(),
        "maxl": min(HistogramMaxL(tau, d, interval, seed).distortion() for seed in range(20)),
    }


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw distortion against budget, one panel per space."""
    spaces = list(dict.fromkeys((row["tau"], row["d"]) for row in rows))
    figure = Figure(figsize=(3.4 * len(spaces), 3.6), layout="constrained")
    panels = figure.subplots(1, len(spaces), squeeze=False, sharey=True)[0]
    for axes, (tau, d) in zip(panels, spaces, strict=True):
        own = [row for row in rows if (row["tau"], row["d"]) == (tau, d)]
        budgets = [row["budget"] for row in own]
        for key, label in MECHANISMS.items():
            axes.plot(budgets, [row[key] for row in own], "o--", label=label)
        axes.plot(budgets, [row["optimum"] for row in own], "k.-", label="best design")
        axes.fill_between(budgets, [r["bound"] for r in own], [r["optimum"] for r in own], alpha=0.3)
        axes.set_title(f"{tau} records, {d} categories", fontsize=10)
        axes.set_xlabel("leakage budget (nats)")
    panels[0].set_ylabel("worst expected distortion (TV)")
    panels[0].legend(fontsize=8)
    return [save(figure, out / "leakage-optimum.svg")]


def conclude(rows: list[Row]) -> str:
    """State the worst and the best of the paper's mechanisms, relative to the optimum."""
    inner = [row for row in rows if row["optimum"] > 1e-6 and row["budget"] > 0]
    ratios = {label: [row[key] / row["optimum"] for row in inner] for key, label in MECHANISMS.items()}
    parts = [f"{label} {min(r):.2f} to {max(r):.2f}" for label, r in ratios.items()]
    proven = sum(row["status"] == "optimal" for row in rows)
    return (
        f"Times the best possible distortion, over budgets with something to lose: {'; '.join(parts)}. "
        f"{proven} of {len(rows)} optima are proven to nine digits, the others to the shaded bound."
    )


EXPERIMENT = Experiment("leakage-optimum", points, measure, draw, conclude)
