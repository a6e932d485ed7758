"""Wang et al. 2024, Figs. 4 and 5 corrected: who distorts less at equal leakage."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from ldpopt.experiments import study
from ldpopt.mechanisms import histograms

TAU = 48_842
COLUMNS = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex", "income")
COMBINATIONS = 27_641
"""How many values the eight columns take together in all rows of the census data."""
PAPER_COMBINATIONS = 22_381
"""What Wang et al. 2024 says; no choice of columns gives it."""


def points(quick: bool) -> study.Points:
    """List the points of Fig. 4(a), 4(b) and 5, and those where each mechanism wins.

    They are numbers of secrets, levels and budgets.
    """
    few = 5 if quick else 25
    for secrets in np.unique(np.geomspace(2, TAU + 1, few).astype(int)):
        yield {"figure": "4a", "d": PAPER_COMBINATIONS, "secrets": int(secrets)}
    for offset in np.linspace(-30, 30, few):
        yield {"figure": "4b", "d": PAPER_COMBINATIONS, "offset": float(offset)}
    for interval in np.unique(np.geomspace(1, TAU + 1, few).astype(int)):
        yield {"figure": "budget", "d": PAPER_COMBINATIONS, "interval": int(interval)}
    for d in np.unique(np.geomspace(3, 1000, few).astype(int)):
        for interval in np.unique(np.geomspace(2, (TAU + 1) // 2, few).astype(int)):
            yield {"figure": "winner", "d": int(d), "interval": int(interval)}


def measure(
    figure: str, d: int, secrets: int | None = None, offset: float = 0.0, interval: int = 1
) -> study.Row:
    """Compute one point of one figure."""
    if figure == "4a":
        response = histograms.HistogramRandomizedResponse(TAU, d, 4.0, secrets)
        assert secrets is not None
        # SML = log(1 + (s − 1) r/(1 + r)) is far below the smallest float: its decimal logarithm
        decimals = (math.log(secrets - 1) + response.log_r) / math.log(10)
        return {"log10_sml": decimals, "attribute_privacy": response.epsilon}
    if figure == "4b":
        level = histograms.log_count(TAU, d) + offset
        return {
            "epsilon": level,
            "response": histograms.HistogramRandomizedResponse(TAU, d, level).distortion(),
        }
    quantisation = histograms.HistogramQuantization(TAU, d, interval)
    budget = quantisation.sml()
    row: study.Row = {
        "sml": budget,
        "quantisation": quantisation.distortion(),
        "printed": 1 / 2 + (d * (interval // 2) - TAU) / (2 * TAU * (d - 1)),
        "response": histograms.response_distortion(TAU, d, budget),
    }
    if figure == "budget" and interval * 50 >= TAU:
        row["maxl"] = histograms.HistogramMaxL(TAU, d, interval).distortion_bounds()[0]
    return row


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw Fig. 4; then Fig. 5 beside the sizes at which each mechanism wins."""
    own = {name: study.where(rows, figure=name) for name in ("4a", "4b", "budget", "winner")}
    return [_draw_attribute(own, out), _draw_budget(own, out)]


def _draw_attribute(own: dict[str, list[study.Row]], out: Path) -> Path:
    figure, (secrets, level) = study.panels(2, height=3.2)
    secrets.set_xscale("log")
    study.Curve("log10_sml", "o-", "").draw(secrets, own["4a"], "secrets")
    secrets.set(xlabel="number of secret values", ylabel="log10 of SML in nats")
    secrets.ticklabel_format(axis="y", useOffset=False)
    secrets.set_title("(a) response at ε = 4", fontsize=10)
    study.Curve("response", "o-", "").draw(level, own["4b"], "epsilon")
    level.set(xlabel="attribute privacy ε (nats)", ylabel="distortion")
    level.set_title("(b) randomised response", fontsize=10)
    level.ticklabel_format(useOffset=False)
    level.xaxis.set_major_locator(MaxNLocator(4))
    return study.save(figure, out / "leakage-tradeoff-attribute.svg")


def _draw_budget(own: dict[str, list[study.Row]], out: Path) -> Path:
    figure, (budget, winner) = study.panels(2, height=3.8)
    for curve in (
        study.Curve("response", "o-", "randomised response", {}, {"ms": 3}),
        study.Curve("quantisation", "o-", "quantisation", {}, {"ms": 3}),
        study.Curve("maxl", "x", "MaxL (lower bound)"),
        study.Curve("printed", ":", "QM as printed"),
    ):
        curve.draw(budget, own["budget"], "sml")
    budget.set(xlabel="SML (nats)", ylabel="distortion", ylim=(0, 1.05))
    budget.set_title(f"τ = {TAU}, d = {PAPER_COMBINATIONS}", fontsize=10)
    _draw_winner(winner, own["winner"])
    return study.save(figure, out / "leakage-tradeoff-budget.svg")


def _draw_winner(axes: Any, rows: list[study.Row]) -> None:
    for won, label, mark in ((True, "response better", "o"), (False, "quantisation better", "s")):
        own = [row for row in rows if _response_wins(row) == won]
        axes.loglog([r["d"] for r in own], [r["interval"] for r in own], mark, label=label, ms=3)
    grid = np.geomspace(3, math.sqrt(TAU / 2) + 1, 50)
    axes.loglog(grid, (grid - 1) ** 2, "k--", label="I = (d−1)²")
    axes.loglog(grid, 2 * TAU / grid, "k:", label="I = 2τ/d")
    axes.set_ylim(1, TAU)
    axes.set(xlabel="categories d", ylabel="interval I")
    axes.set_title("who distorts less at equal SML", fontsize=10)


def _response_wins(row: study.Row) -> bool:
    return bool(row["response"] < row["quantisation"])


def conclude(rows: list[study.Row]) -> str:
    """State what the corrected curves say."""
    census = [r for r in rows if r["figure"] == "budget" and 0 < r["sml"] < math.log(TAU + 1)]
    ahead = sum(_response_wins(r) for r in census)
    threshold = histograms.log_count(TAU, PAPER_COMBINATIONS)
    full = max(r["epsilon"] for r in rows if r["figure"] == "4b" and r["response"] > 0.999)
    return (
        f"At {TAU} records and the paper's {PAPER_COMBINATIONS} combinations, randomised response "
        f"distorts less than quantisation at {ahead} of {len(census)} budgets: quantisation stays above "
        f"{min(r['quantisation'] for r in census):.5f}, and its advantage in Fig. 5 of the paper comes "
        "from a misprinted formula. Quantisation wins only for intervals between about (d−1)² and 2τ/d. "
        f"Randomised response distorts by more than 0.999 up to ε = {full:,.0f}, just below "
        f"log C(τ+d−1, d−1) = {threshold:,.0f} (the paper: 44,320)."
    )


EXPERIMENT = study.Experiment("leakage-tradeoff", points, measure, draw, conclude, panel="figure")
