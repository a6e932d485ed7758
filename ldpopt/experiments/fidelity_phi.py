"""The least φ against the number of inputs, with both bounds (Pastore and Gastpar 2021, Figure 8).

φ of the step mechanism grows as K³, the printed lower bound (Lemma 11) as K²; the paper leaves the gap
open. The truth is φ*, attained by subset selection: it grows as K², and the printed "bound" exceeds it
for large K.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpopt.experiments import study
from ldpopt.measures import estimation_fidelity


def points(quick: bool) -> study.Points:
    """List ε and K on a logarithmic grid, until the curves of ε = 10 near their asymptotes, too."""
    sizes = np.unique(np.geomspace(2, 1e6, 10 if quick else 50).round().astype(int)).tolist()
    return study.grid(epsilon=(0.1, 1.0, 2.5, 5.0, 10.0), k=sizes)


def measure(epsilon: float, k: int) -> study.Row:
    """Evaluate the step mechanism, the best subset selection and both bounds, all in closed form."""
    size = estimation_fidelity.block_size(k, epsilon)
    return {
        "step": estimation_fidelity.balanced_phi(k, epsilon, 1),
        "best": estimation_fidelity.balanced_phi(k, epsilon, size),
        "bound": estimation_fidelity.phi_bound(k, epsilon),
        "printed_bound": estimation_fidelity.printed_phi_bound(k, epsilon),
        "block_size": size,
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw φ against K, one colour per ε."""
    shown = {"step": "step mechanism", "best": "optimum = φ*", "printed_bound": "Lemma 11 as printed"}
    styles, levels = ("-", "o", ":"), sorted(study.distinct(rows, "epsilon"))
    lines = [
        study.Curve(column, f"C{color}{style}", "", {"epsilon": epsilon}, {"ms": 3})
        for color, epsilon in enumerate(levels)
        for column, style in zip(shown, styles, strict=True)
    ]
    labels = "number of inputs K", "φ"
    figure, (axes,) = study.curves(rows, "k", lines, *labels, scale="log log", height=5.0)
    for color, epsilon in enumerate(levels):
        axes.plot([], [], f"C{color}-", label=f"ε = {epsilon:g}")
    for style, name in zip(styles, shown.values(), strict=True):
        axes.plot([], [], f"k{style}", ms=3, label=name)
    return [study.save(figure, out / "fidelity-phi.svg", 2)]


def conclude(rows: list[study.Row]) -> str:
    """State the growth of the optimum, and where the printed bound fails."""
    broken = [row for row in rows if row["printed_bound"] > row["best"]]
    slopes = []
    for epsilon in sorted(study.distinct(rows, "epsilon")):
        one, two = study.where(rows, epsilon=epsilon)[-2:]
        step = np.log(two["k"] / one["k"])
        growth = [np.log(two[c] / one[c]) / step for c in ("step", "best")]
        slopes.append(f"ε = {epsilon:g}: step K^{growth[0]:.2f}, optimum K^{growth[1]:.2f}")
    return (
        "Growth at the largest K: " + "; ".join(slopes) + ". "
        f"The printed bound of Lemma 11 exceeds the φ of a mechanism at {len(broken)} of {len(rows)} "
        "settings."
    )


EXPERIMENT = study.Experiment("fidelity-phi", points, measure, draw, conclude, panel="epsilon")
