"""Robust LDP: PolyOpt beside the others, 3 × 3 (Lopuhaä-Zwakenberg and Goseling 2021, Figure 2)."""

from __future__ import annotations

from pathlib import Path

from ldpopt.experiments import robust_study, study
from ldpopt.experiments.robust_study import RIVALS, STYLES

LEVELS = (0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


def points(quick: bool) -> study.Points:
    """List levels and methods, with the paper's 200 draws of a 3 × 3 table."""
    levels = (0.5, 1.0, 2.0, 4.0) if quick else LEVELS
    return study.grid(method=STYLES, epsilon=levels, draws=(2 if quick else 200,))


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel."""
    title = "3 × 3, n = 1000, {draws} draws, ± 2 standard errors"
    return [study.save(robust_study.draw_curves(rows, title)[0], out / "rldp-polyopt.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State how much PolyOpt gains over the best of the others."""
    gains = {}
    for epsilon in sorted({row["epsilon"] for row in rows}):
        found = robust_study.means(rows, epsilon=epsilon)
        gains[epsilon] = found["polyopt"] / max(found[name] for name in RIVALS)
    first, last = min(gains), max(gains)
    return (
        f"On average over {rows[0]['draws']} tables PolyOpt has {gains[first]:.2f} times the utility of "
        f"the best other method at ε = {first:g} and {gains[last]:.2f} times at ε = {last:g}; it is "
        f"ahead at {sum(gain > 1 for gain in gains.values())} of {len(gains)} levels."
    )


EXPERIMENT = study.Experiment(
    "rldp-polyopt", points, robust_study.mean_utility, draw, conclude, method="method", draws="draws"
)
