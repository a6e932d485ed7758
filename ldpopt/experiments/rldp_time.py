"""Robust LDP: computation time of PolyOpt against the number of inputs.

Lopuhaä-Zwakenberg and Goseling 2021, Section VIII-A: 72 s for 3 × 4, and no answer for 4 × 4 within
twelve hours.
"""

from __future__ import annotations

from pathlib import Path

from ldpopt.engine.solving import solve
from ldpopt.experiments import robust_study, study
from ldpopt.problems.polyopt import PolyOpt

SMALL = ((2, 2), (2, 3), (3, 3))
LARGE = ((3, 4), (4, 4), (5, 5), (7, 7), (10, 10))
LIMIT = {"cdd": 12, "enumerate": 12, "column-generation": 100}


def points(quick: bool) -> study.Points:
    """List square and nearly square tables; cdd and the explicit list up to 3 × 4."""
    for a1, a2 in SMALL if quick else SMALL + LARGE:
        for pairs in ("all", "distinct"):
            for solver, most in LIMIT.items():
                if a1 * a2 <= most and not (solver == "cdd" and a1 * a2 == 12 and quick):
                    yield {"a1": a1, "a2": a2, "pairs": pairs, "solver": solver}


def measure(a1: int, a2: int, pairs: str, solver: str) -> study.Row:
    """Compute seconds, value and proven gap at ε = 1.

    The gap asked for is 1e-8, 1e-4 or 1e-3 by size.
    """
    a = a1 * a2
    n = 1000 if a < 100 else 10_000
    gap = 1e-8 if a <= 16 else 1e-4 if a < 100 else 1e-3
    _, p_hat = robust_study.drawn_table(a1, a2, n, 0)
    result = solve(PolyOpt(1.0, p_hat, n, pairs=pairs), solver, gap=gap, time_limit=300.0)
    return {"a": a, "value": result.value, "gap": result.gap, "solve_seconds": result.seconds}


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw logarithmic time against a."""
    styles = {"cdd": "C7-s", "enumerate": "C0-^", "column-generation": "C3-o"}
    lines = [
        study.Curve("solve_seconds", style, name, {"solver": name}) for name, style in styles.items()
    ]
    title, labels = "pairs = {pairs}", ("inputs a", "seconds, certificate included")
    figure, panels = study.curves(
        rows, "a", lines, *labels, title=title, scale="log log", height=3.1, sharey=True
    )
    sizes = sorted(study.distinct(rows, "a"))
    for axes in panels:
        axes.set_xticks(sizes, [str(a) for a in sizes])
        axes.minorticks_off()
    return [study.save(figure, out / "rldp-time.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State the largest table and its gap."""
    largest = max(rows, key=lambda r: (int(r["a"]), float(r["solve_seconds"])))
    return (
        f"The largest table here has {largest['a']} inputs: {largest['solve_seconds']:.1f} s to a "
        f"proven gap of {largest['gap']:.1e}. The paper: 72 s for 12 inputs, no answer for 16."
    )


EXPERIMENT = study.Experiment("rldp-time", points, measure, draw, conclude)
