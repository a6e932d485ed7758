"""Derivatives at 1 of the functions behind f-divergences (Pastore and Gastpar 2021, Table 1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev

from ldpopt.experiments import study
from ldpopt.measures.losses import DIVERGENCES

STYLES = {"kl": "C0-", "hellinger": "C1--", "chi-squared": "C2-.", "triangular": "C3:"}
NAMES = ("second", "third", "fourth")
HALF_WIDTH = 0.2


def points(quick: bool) -> study.Points:
    """List the divergences of the table."""
    return study.grid(divergence=DIVERGENCES)


def measure(divergence: str) -> study.Row:
    """Differentiate the interpolation of f around 1 by Chebyshev polynomials, beside the table."""
    found = DIVERGENCES[divergence]
    nodes = np.cos(np.pi * (np.arange(21) + 0.5) / 21)
    series = chebyshev.chebfit(nodes, found.f(1 + HALF_WIDTH * nodes), 20)
    row: study.Row = {}
    for order, name in enumerate(NAMES, start=2):
        slope = float(chebyshev.chebval(0.0, chebyshev.chebder(series, order))) / HALF_WIDTH**order
        row |= {name: getattr(found, name), f"{name}_measured": slope}
    return row


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw the functions around 1, and what is left of them beyond the fourth order."""
    x = np.linspace(0.05, 2, 60)
    figure, (plain, rest) = study.panels(2, height=3.2)
    for row in rows:
        f, u = DIVERGENCES[row["divergence"]].f(x), x - 1
        tangent = {"kl": u}.get(row["divergence"], 0 * u)
        expanded = row["second"] * u**2 / 2 + row["third"] * u**3 / 6 + row["fourth"] * u**4 / 24
        plain.plot(x, f - tangent, STYLES[row["divergence"]], label=row["divergence"])
        rest.plot(x, f - tangent - expanded, STYLES[row["divergence"]])
    plain.set(xlabel="x", ylabel="f(x) − f'(1)(x − 1)")
    rest.set(xlabel="x", ylabel="less the terms of order 2 to 4")
    return [study.save(figure, out / "divergence-derivatives.svg", 4)]


def conclude(rows: list[study.Row]) -> str:
    """State the largest difference between table and function."""
    off = max(abs(row[name] - row[f"{name}_measured"]) for row in rows for name in NAMES)
    table = "; ".join(f"{r['divergence']} " + ", ".join(f"{r[n]:g}" for n in NAMES) for r in rows)
    return f"Second, third and fourth derivatives at 1: {table}; the functions have these to {off:.0e}."


EXPERIMENT = study.Experiment(
    "divergence-derivatives", points, measure, draw, conclude, method="divergence"
)
