"""Which K have an exactly optimal square mechanism, and at which ε.

A symmetric design of block size m attains φ* where m is the best block size. For every K this lists the
designs that can be constructed here, with that range of ε; each is tested to be a design.
"""

from __future__ import annotations

from pathlib import Path

from ldpopt.experiments import study
from ldpopt.measures import estimation_fidelity
from ldpopt.mechanisms.balanced_designs import difference_sets, is_difference_set


def points(quick: bool) -> study.Points:
    """List all K up to 40, or to 200."""
    return study.grid(k=range(2, 41 if quick else 201))


def measure(k: int) -> study.Row:
    """List the designs of K that are optimal somewhere: name, block size, cyclic or not, range of ε."""
    found = {}
    for design in difference_sets(k):
        m = len(design.elements)
        span = estimation_fidelity.optimal_range(k, m)
        if span is not None and m not in found and is_difference_set(design):
            low, high = span
            found[m] = {
                "design": design.name,
                "m": m,
                "circulant": len(design.moduli) == 1,
                "from": low,
                "to": None if m == 1 else high,
            }
    return {"designs": sorted(found.values(), key=lambda entry: -entry["m"])}


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one bar per design: K against the range of ε."""
    figure, (axes,) = study.panels(1, height=4.7)
    top = 1.15 * max(entry["from"] for row in rows for entry in row["designs"])
    for row in rows:
        for entry in row["designs"]:
            high = top if entry["to"] is None else entry["to"]
            color = "0.75" if entry["m"] == 1 else ("C0" if entry["circulant"] else "C1")
            axes.plot([entry["from"], high], [row["k"]] * 2, color=color, linewidth=2.5)
    for color, label in (("0.75", "step"), ("C0", "circulant design"), ("C1", "other symmetric design")):
        axes.plot([], [], color=color, linewidth=2.5, label=label)
    axes.set(xlim=(0, top), xlabel="ε at which it is exactly optimal", ylabel="number of inputs K")
    return [study.save(figure, out / "optimal-squares.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State the table, without the step mechanism."""
    lines = [
        f"({row['k']}, {entry['m']}) {entry['design']}: ε from {entry['from']:.3f} to {entry['to']:.3f}"
        + ("" if entry["circulant"] else ", not cyclic")
        for row in rows
        for entry in row["designs"]
        if entry["m"] > 1
    ]
    head = "Exactly optimal square mechanisms, beside the step one (optimal iff e^2ε >= (K−1)(K−2)/2):"
    return "\n".join([head, *lines])


EXPERIMENT = study.Experiment("optimal-squares", points, measure, draw, conclude)
