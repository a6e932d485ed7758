"""The figures of a benchmark: time against size, accuracy against time, the performance profile."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ldpopt.bench.benchmark import Benchmark
from ldpopt.bench.rows import by, instance_key, middle
from ldpopt.core.files import save_figure
from ldpopt.engine.sweep import Row

COLOURS = ("#0072b2", "#d55e00", "#007a5a", "#a3467e", "#7a6000", "#1f1f1f", "#3f8fc0", "#8a4b00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (9, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)


def svg(figure: Figure, title: str) -> Markup:
    """Return a figure as an ``<svg>`` element that says what it shows."""
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(text, metadata=nothing)  # type: ignore[no-untyped-call]
    drawn = text.getvalue()[text.getvalue().index("<svg") :]
    return Markup(drawn.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1))


def draw_times(rows: list[Row]) -> Figure:
    """Draw the median time against size on logarithmic axes, a line per solver."""
    figure = Figure(figsize=(5.6, 2.7), layout="constrained")
    axes = figure.subplots()
    for i, (solver, of_solver) in enumerate(by("solver", [r for r in rows if r["cpu"] is not None])):
        points = [(size, middle("cpu", of_size)) for size, of_size in by("size", of_solver)]
        style = {"color": COLOURS[i % 8], "marker": MARKERS[i % 8], "linestyle": DASHES[i % 6]}
        (line,) = axes.plot(*zip(*points, strict=True), label=solver)
        line.set(markersize=5, linewidth=1.5, **style)
    axes.set(xscale="log", yscale="log", xlabel="size", ylabel="median time (CPU s)")
    sizes = sorted({row["size"] for row in rows})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    if axes.lines:
        figure.legend(loc="outside right upper", frameon=False, handlelength=4, fontsize="small")
    return figure


def draw_curves(curves: list[Row]) -> Figure:
    """Draw value and bound over the seconds of a solve, on the instance that took longest.

    Args:
        curves: what solves of one problem knew at which second.
    """
    shown = max(by("instance", curves), key=lambda found: sum(row["seconds"] for row in found[1]))
    figure = Figure(figsize=(5.6, 2.9), layout="constrained")
    axes = figure.subplots()
    for i, (solver, told) in enumerate(by("solver", [r for r in shown[1] if r["seed"] == 0])):
        _draw_solve(axes, told, COLOURS[i % 8], MARKERS[i % 8], solver)
    axes.set(xscale="log", xlabel="seconds", ylabel="value (solid), bound (dotted)")
    axes.set_title(shown[0], fontsize="small")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def _draw_solve(axes: Axes, told: list[Row], colour: str, marker: str, solver: str) -> None:
    """Draw one solve: the value it has, and the bound it has proven, hold until the next report."""
    for what, dashes in (("value", "-"), ("bound", ":")):
        points = [(row["seconds"], row[what]) for row in told if row[what] is not None]
        if points:
            (line,) = axes.step(*zip(*points, strict=True), where="post")
            line.set(color=colour, linestyle=dashes, linewidth=1.5, marker=marker, markersize=4)
            line.set_label(solver if what == "value" else f"_{solver}")


def draw_profile(benchmark: Benchmark, path: Path) -> None:
    """Draw the performance profile: how many instances a solver answers within a factor of the best."""
    best: dict[tuple[Any, ...], float] = {}
    solved = [row for row in benchmark.rows if row["status"] == "optimal"]
    for row in solved:
        best[instance_key(row)] = min(best.get(instance_key(row), np.inf), row["cpu"])
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    names = sorted({row["solver"] for row in benchmark.rows})
    for i, solver in enumerate(names):
        ratios = sorted(
            row["cpu"] / best[instance_key(row)] for row in solved if row["solver"] == solver
        )
        share = np.arange(1, len(ratios) + 1) / max(len(best), 1)
        axes.step(
            [1, *ratios, 1e9],
            [0, *share, share[-1] if len(share) else 0],
            styles[i % 4],
            where="post",
            label=solver,
            linewidth=2,
        )
    slowest = max((row["cpu"] / best[instance_key(row)] for row in solved), default=10.0)
    axes.set(
        xscale="log",
        xlim=(1, max(10.0, 2 * slowest)),
        ylim=(0, 1.05),
        xlabel="processor time relative to the fastest solver of the instance",
        ylabel="share of instances solved to “optimal”",
    )
    axes.legend()
    axes.grid(alpha=0.3)
    save_figure(figure, path, dpi=120)
