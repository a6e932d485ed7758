"""Participation factor against average and worst-case privacy
(Lopuhaä-Zwakenberg et al. 2019, Figure 3)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ldpopt.experiments import study
from ldpopt.experiments.average_privacy import PROTOCOLS, STYLES
from ldpopt.measures.information_metrics import average_privacy, participation_factor
from ldpopt.models.priors import Dirichlet


def points(quick: bool) -> study.Points:
    """List every protocol with a = 3 values, ε from high privacy to nearly none."""
    return study.grid(
        protocol=PROTOCOLS, a=(3,), epsilon=study.rounded(np.geomspace(0.1, 10, 9 if quick else 41))
    )


def measure(protocol: str, a: int, epsilon: float) -> study.Row:
    """Compute privacy of both kinds, and the share F_μ of the reports that remains."""
    m, prior = PROTOCOLS[protocol](a, epsilon), Dirichlet.jeffreys(a)
    factor = participation_factor(m, prior)
    return {
        "worst_case_privacy": math.exp(-epsilon),
        "average_privacy": float(average_privacy(m, prior)),
        "participation_factor": float(factor),
        "error": factor.error,
        "method": factor.method,
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw two panels: F_μ against S_μ, and against S^wc with square-root axes as in the paper."""
    figure, axes = study.panels(2, height=3.6)
    for name, style in STYLES.items():
        curve = study.Curve(
            "participation_factor", style, name, {"protocol": name}, {"ms": 2.5, "lw": 1.2}
        )
        curve.draw(axes[0], rows, "average_privacy")
        curve.draw(axes[1], rows, "worst_case_privacy")
    for panel, name in zip(axes, ("average privacy", "worst-case privacy"), strict=True):
        panel.set(xlabel=name, ylabel="participation factor F")
    axes[1].set_xscale("function", functions=(np.sqrt, np.square))
    axes[1].set_yscale("function", functions=(np.sqrt, np.square))
    for panel in axes:
        panel.set(xlim=(0, 1), ylim=(0, 1))
    figure.suptitle("a = 3, Jeffreys' prior (right: square-root axes)", fontsize=10)
    return [study.save(figure, out / "privacy-utility-tradeoff.svg", 4)]


def conclude(rows: list[study.Row]) -> str:
    """State the best protocol at a given privacy of each kind."""
    parts = []
    for key, word in (("average_privacy", "average"), ("worst_case_privacy", "worst-case")):
        best = [f"{_best(rows, key, level)} at {level}" for level in (0.5, 0.7, 0.9)]
        parts.append(f"For a given {word} privacy the best is {', '.join(best)}.")
    return " ".join(parts)


def _best(rows: list[study.Row], key: str, level: float) -> str:
    """Find the protocol with the largest F_μ where its curve crosses the level, by interpolation."""
    reached = {}
    for name in PROTOCOLS:
        mine = study.where(rows, protocol=name)
        curve = sorted((row[key], row["participation_factor"]) for row in mine)
        privacy, factor = np.array(curve).T
        if privacy[0] <= level <= privacy[-1]:
            reached[name] = float(np.interp(level, privacy, factor))
    return max(reached, key=lambda name: reached[name])


EXPERIMENT = study.Experiment(
    "privacy-utility-tradeoff", points, measure, draw, conclude, method="protocol"
)
