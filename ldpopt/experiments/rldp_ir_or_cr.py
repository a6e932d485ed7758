"""Robust LDP: IR against GRR-CR by entropy (Lopuhaä-Zwakenberg and Goseling 2021, Figure 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from ldpopt.experiments import robust_study, study
from ldpopt.models.utilities import entropy
from ldpopt.problems.grr_conditional import GRRConditional
from ldpopt.problems.independent_reporting import IndependentReporting

if TYPE_CHECKING:
    import pathlib

EQUAL = 1e-4
"""Differences below the gap of the searches count as none."""


def points(quick: bool) -> study.Points:
    """List 5 × 5 tables at ε = 4; 2000 of them in the full run, as in the paper."""
    return study.grid(size=(5,), epsilon=(4.0,), seed=range(25 if quick else 2000))


def measure(size: int, epsilon: float, seed: int) -> study.Row:
    """Compute the normalised difference (IR − GRR-CR)/H(X)."""
    _, p_hat = robust_study.drawn_table(size, size, 1000, seed)
    H = entropy(p_hat)
    ir = robust_study.best(IndependentReporting(epsilon, p_hat, 1000)).value
    cr = robust_study.best(GRRConditional(epsilon, p_hat, 1000)).value
    assert ir is not None
    assert cr is not None
    return {"entropy": H, "difference": (ir - cr) / H}


def draw(rows: list[study.Row], out: pathlib.Path) -> list[pathlib.Path]:
    """Draw a scatter plot."""
    figure, (axes,) = study.panels(1, height=3.6)
    dots = np.repeat([[r["entropy"], r["difference"]] for r in rows], 2, axis=0)
    codes = [Path.MOVETO, Path.LINETO] * len(rows)  # one path of points: a tenth of the bytes
    style = {"edgecolor": "C0", "linewidth": 2.4, "capstyle": "round", "alpha": 0.7}
    axes.add_patch(PathPatch(Path(dots, codes), **style))
    axes.autoscale_view()
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xlabel("H(X) in nats")
    axes.set_ylabel("(IR − GRR-CR) / H(X)")
    axes.set_title(f"{len(rows)} tables of 5 × 5, ε = 4: above the line IR is better", fontsize=10)
    return [study.save(figure, out / "rldp-ir-or-cr.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State the trend that the paper sees."""
    H = np.array([row["entropy"] for row in rows])
    difference = np.array([row["difference"] for row in rows])
    other = np.abs(difference) >= EQUAL
    correlation = np.corrcoef(H[other], difference[other])[0, 1] if other.sum() > 2 else 0.0
    halves = [np.mean(difference[part] < -EQUAL) for part in (H <= np.median(H), H > np.median(H))]
    return (
        f"{1 - other.mean():.0%} of {len(rows)} tables have equal utilities; among the others the "
        f"correlation of the difference with H(X) is {correlation:+.2f} (the paper: a downward trend). "
        f"GRR-CR is better in {halves[0]:.0%} of the tables with the lower and {halves[1]:.0%} of those "
        "with the higher entropies."
    )


EXPERIMENT = study.Experiment("rldp-ir-or-cr", points, measure, draw, conclude, draws="seed")
