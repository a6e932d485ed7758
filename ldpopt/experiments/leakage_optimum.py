"""The mechanisms of Wang et al. 2024 against the best under a leakage budget."""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.mechanisms.histograms import (
    HistogramMaxL,
    HistogramQuantization,
    response_distortion,
)
from ldpopt.problems import LeakageDesign

MECHANISMS = {"response": "randomised response", "quantisation": "quantisation", "maxl": "MaxL"}


def points(quick: bool) -> study.Points:
    """List budgets log 1, log 2, …, at which quantisation can be exact."""
    spaces = [(2, 3)] if quick else [(4, 2), (3, 3), (4, 3), (5, 3), (3, 4)]
    for tau, d in spaces:
        for bins in range(1, tau + 2):
            yield {"tau": tau, "d": d, "bins": bins}


def measure(tau: int, d: int, bins: int) -> study.Row:
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


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw distortion against budget, one panel per space."""
    lines = [study.Curve(key, "o--", label) for key, label in MECHANISMS.items()]
    lines += [study.Curve("optimum", "k.-", "best design")]
    title = "{tau} records, {d} categories"
    labels = "leakage budget (nats)", "worst expected distortion (TV)"
    figure, panels = study.curves(rows, "budget", lines, *labels, title=title, height=3.1, sharey=True)
    spaces = dict.fromkeys((row["tau"], row["d"]) for row in rows)
    for axes, (tau, d) in zip(panels, spaces, strict=True):
        own = study.where(rows, tau=tau, d=d)
        budgets, low, high = ([r[name] for r in own] for name in ("budget", "bound", "optimum"))
        axes.fill_between(budgets, low, high, alpha=0.3)
    return [study.save(figure, out / "leakage-optimum.svg", 2)]


def conclude(rows: list[study.Row]) -> str:
    """State the worst and the best of the paper's mechanisms, relative to the optimum."""
    inner = [row for row in rows if row["optimum"] > 1e-6 and row["budget"] > 0]
    ratios = {label: [row[key] / row["optimum"] for row in inner] for key, label in MECHANISMS.items()}
    parts = [f"{label} {min(r):.2f} to {max(r):.2f}" for label, r in ratios.items()]
    proven = sum(row["status"] == "optimal" for row in rows)
    return (
        f"Times the best possible distortion, over budgets with something to lose: {'; '.join(parts)}. "
        f"{proven} of {len(rows)} optima are proven to nine digits, the others to the shaded bound."
    )


EXPERIMENT = study.Experiment("leakage-optimum", points, measure, draw, conclude)
