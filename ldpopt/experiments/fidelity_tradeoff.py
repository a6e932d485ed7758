"""Bounds on the best α against ε for known sources (Pastore and Gastpar 2021, Figures 5 and 6).

The corrected figures. The upper bound is the step mechanism, the lower bound (46) with φ* in place of
the false Lemma 11, and as printed; where K is small, the proven optimum lies between them. Figure 6b
of the paper has the ages in a Brazilian census that is not free to redistribute: here they are those of
the Adult data, which start at 17, in as many groups.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpopt.core.validate import Array
from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.measures import estimation_fidelity
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


def points(quick: bool) -> study.Points:
    """List sources, losses and levels."""
    sources = ["uniform-5", "zipf-5", "age-5"]
    sources += [] if quick else ["uniform-10", "uniform-20", "uniform-50", "age-10", "age-20", "age-50"]
    levels = study.rounded(np.geomspace(0.1, 6, 5 if quick else 13))
    return study.grid(source=sources, loss=estimation_fidelity.LOSSES, epsilon=levels)


def measure(source: str, loss: str, epsilon: float) -> study.Row:
    """Compute the step mechanism, the lower bounds, and the optimum where it can be proven."""
    p = _SOURCE(source)
    k = len(p)
    least, printed = (
        estimation_fidelity.phi_bound(k, epsilon),
        estimation_fidelity.printed_phi_bound(k, epsilon),
    )
    row: study.Row = {
        "step": estimation_fidelity.alpha(step_mechanism(k, epsilon), p, loss),
        "bound": estimation_fidelity.alpha_bound(p, epsilon, loss),
        "phi_bound": least,
        "printed_phi_bound": printed,
        "optimum": None,
    }
    if k <= LARGEST_SOLVED:
        result = solve(Fidelity(epsilon, p, loss))
        row |= {"solver": result.solver, "optimum": result.value, "gap": result.gap}
    return row


_SOURCE = source


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw α against ε, one panel per source and one colour per loss: Figure 5, then Figure 6."""
    shown: dict[str, list[study.Row]] = {"uniform": [], "known": []}
    for row in rows:
        family, _, k = row["source"].partition("-")
        shown["uniform" if family == "uniform" else "known"].append({**row, "family": family, "k": k})
    named = [(mine, out / f"fidelity-tradeoff-{name}.svg") for name, mine in shown.items() if mine]
    return [_figure(mine, path) for mine, path in named]


def _figure(rows: list[study.Row], path: Path) -> Path:
    columns = (("step", "-", "step"), ("bound", "--", "bound"), ("optimum", "o", "proven optimum"))
    lines = study.coloured("loss", estimation_fidelity.LOSSES, columns)
    labels = "ε (nats)", "α: times more reports"
    figure, _ = study.curves(
        rows, "epsilon", lines, *labels, title="{family}, K = {k}", scale="log log", height=3.1
    )
    return study.save(figure, path)


def conclude(rows: list[study.Row]) -> str:
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


EXPERIMENT = study.Experiment(
    "fidelity-tradeoff", points, measure, draw, conclude, panel="source", method="loss"
)
