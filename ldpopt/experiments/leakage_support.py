"""Wang et al. 2024, Fig. 7(c)-(e): leakage with misjudged categories, against the printed bound.

Proven bounds from both sides, which meet for few missed categories; `leakage-forest` has the utility.
"""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.experiments import study
from ldpopt.experiments.leakage_tradeoff import COMBINATIONS, TAU
from ldpopt.measures.misspecified_support import MisspecifiedSupport

INTERVAL = 10_000


def points(quick: bool) -> study.Points:
    """List missed feasible categories, and infeasible ones that the holder adds."""
    added = (0, 5_000, 20_000, 50_000) if quick else (0, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
    return study.grid(missed=(5, 20) if quick else (1, 2, 5, 10, 20, 100), added=added)


def measure(missed: int, added: int) -> study.Row:
    """Compute the leakage of quantisation about the number of records in one category, in nats."""
    case = MisspecifiedSupport(TAU, COMBINATIONS - missed + added, missed)
    found = case.quantisation_bounds(INTERVAL)
    return {"sml": found.low, "bound": found.high, "printed": case.quantisation_upper(INTERVAL)}


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw leakage against added categories, a colour per number of missed ones."""
    figure, (axes,) = study.panels(1, height=4.4)
    for i, missed in enumerate(study.distinct(rows, "missed")):
        own = study.where(rows, missed=missed)
        added = [row["added"] for row in own]
        low, high = [r["sml"] for r in own], [r["bound"] for r in own]
        axes.plot(added, high, "o-", ms=3, color=f"C{i}", label=f"{missed} missed")
        axes.fill_between(added, low, high, color=f"C{i}", alpha=0.4, linewidth=0)
        label = "Proposition 4" if i == 0 else None
        axes.plot(added, [r["printed"] for r in own], ":", color=f"C{i}", label=label)
    axes.axhline(math.log(-(-(TAU + 1) // INTERVAL)), color="k", lw=0.8, label="none missed")
    axes.set(xlabel="infeasible categories added", ylabel="SML (nats)", xticks=range(0, 200_001, 50_000))
    return [study.save(figure, out / "leakage-support.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State how much adding categories helps, and how loose the printed bound is."""
    most = max(row["missed"] for row in rows)
    own = study.where(rows, missed=most)
    loose = max(row["printed"] - row["bound"] for row in rows)
    wide = max(row["bound"] - row["sml"] for row in rows)
    first, last = own[0], own[-1]
    return (
        f"With {most} missed categories, adding {last['added']} infeasible ones lowers the leakage of "
        f"quantisation from at least {first['sml']:.3f} to at most {last['bound']:.3f} nats; the bounds "
        f"are at most {wide:.2g} apart, and Proposition 4 lies up to {loose:.2f} nats above them."
    )


EXPERIMENT = study.Experiment("leakage-support", points, measure, draw, conclude, panel="missed")
