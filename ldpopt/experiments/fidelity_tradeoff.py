"""Bounds on the best α against ε for known sources (Pastore and Gastpar 2021, Figures 5 and 6).

The corrected figures. The upper bound is the step mechanism, the lower bound (46) with φ* in place of
the false Lemma 11, and as printed; where K is small, the proven optimum lies between them. Figure 6b
of the paper has the ages in a Brazilian census that is not free to redistribute: here they are those of
the Adult data, which start at 17, in as many groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ldpopt.core.validate import Array
from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.drawing import legend_below, nested, panels, save
from ldpopt.measures import channel_fidelity
from ldpopt.mechanisms.balanced_designs import step_mechanism
from ldpopt.problems.fidelity import Fidelity
from ldpopt.tables import datasets

LARGEST_SOLVED = 5


def source(name: str) -> Array:
    """Build uniform-K, zipf-K or age-K.

    The last are the ages of the Adult data in K groups of (nearly) as many years.
    """
    family, _, k = name.partition("-")
    if family == "age":
        data = datasets.adult_features()
        groups, _ = np.histogram(
            [int(age) for age in data.values["age"]], int(k), weights=data.marginal("age")
        )
        return groups
    ranks = np.arange(1, int(k) + 1)
    weights = {"uniform": np.ones(int(k)), "zipf": 1 / ranks}[family]
    return weights / weights.sum()


def points(quick: bool) -> Iterable[Point]:
    """List sources, losses and levels."""
    sources = ["uniform-5", "zipf-5", "age-5"]
    sources += [] if quick else ["uniform-10", "uniform-20", "uniform-50", "age-10", "age-20", "age-50"]
    for name in sources:
        for loss in channel_fidelity.LOSSES:
            for epsilon in np.geomspace(0.1, 6, 3 if quick else 13):
                yield {"source": name, "loss": loss, "epsilon": round(float(epsilon), 6)}


def measure(source: str, loss: str, epsilon: float) -> Row:
    """Compute the step mechanism, the lower bounds, and the optimum where it can be proven."""
    p = _SOURCE(source)
    k = len(p)
    least, printed = (
        channel_fidelity.phi_bound(k, epsilon),
        channel_fidelity.printed_phi_bound(k, epsilon),
    )
    row: Row = {
        "step": channel_fidelity.alpha(step_mechanism(k, epsilon), p, loss),
        "bound": channel_fidelity.alpha_bound(p, epsilon, loss),
        "phi_bound": least,
        "printed_phi_bound": printed,
        "optimum": None,
    }
    if k <= LARGEST_SOLVED:
        result = solve(Fidelity(epsilon, p, loss))
        row |= {"solver": result.solver, "optimum": result.value, "gap": result.gap}
    return row


_SOURCE = source


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw α against ε, one panel per source and one colour per loss: Figure 5, then Figure 6."""
    sources = list(dict.fromkeys(row["source"] for row in rows))
    uniform = [name for name in sources if name.startswith("uniform")]
    others = [name for name in sources if name not in uniform]
    named = (("uniform", uniform), ("known", others))
    return [_figure(rows, chosen, out / f"fidelity-tradeoff-{n}.svg") for n, chosen in named if chosen]


def _figure(rows: list[Row], sources: list[str], path: Path) -> Path:
    figure, grid = panels(len(sources), height=3.1)
    for axes, name in zip(grid, sources, strict=True):
        for color, (loss, pen) in enumerate(zip(channel_fidelity.LOSSES, nested(3), strict=True)):
            curve = [row for row in rows if (row["source"], row["loss"]) == (name, loss)]
            levels, paint = [row["epsilon"] for row in curve], f"C{color}"
            for column, style in (("step", "-"), ("bound", "--")):
                heights = [row[column] for row in curve]
                axes.loglog(levels, heights, style, color=paint, label=f"{loss}: {column}", **pen)
            if curve and curve[0]["optimum"] is not None:
                best = [row["optimum"] for row in curve]
                axes.loglog(levels, best, "o", color=paint, label=f"{loss}: proven optimum", **pen)
        axes.set_title(f"{name.partition('-')[0]}, K = {name.partition('-')[2]}", fontsize=10)
        axes.set_xlabel("ε (nats)")
        axes.set_ylabel("α: times more reports")
    legend_below(figure, grid)
    return save(figure, path)


def conclude(rows: list[Row]) -> str:
    """State how much the step mechanism loses, and how much better the corrected bound is."""
    solved = [row for row in rows if row["optimum"] is not None]
    worst = max(solved, key=lambda row: row["step"] / row["optimum"])
    gain = max(row["phi_bound"] / row["printed_phi_bound"] for row in rows)
    excess = worst["step"] / worst["optimum"] - 1
    return (
        f"The step mechanism needs up to {excess:.1%} more reports than the "
        f"proven optimum ({worst['source']}, {worst['loss']}, ε = {worst['epsilon']:g}); the corrected "
        f"bound φ* is up to {gain:.3g} times the printed one of Lemma 11."
    )


EXPERIMENT = Experiment(
    name="fidelity-tradeoff",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
    panel="source",
    method="loss",
)
