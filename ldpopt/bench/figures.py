"""The figures of a benchmark: time against size, proven gap against time, performance profiles."""

from __future__ import annotations

import io
import math

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ldpopt.bench.benchmark import Benchmark
from ldpopt.bench.ranking import ROUGH, gap_steps, mean_log_gap, time_to
from ldpopt.bench.rows import by, instance_key, middle
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
    """Draw a figure of the times with its legend beside it."""
    figure = Figure(figsize=(5.6, 2.7), layout="constrained")
    if plot_times(figure.subplots(), rows).lines:
        figure.legend(loc="outside right upper", frameon=False, handlelength=4, fontsize="small")
    return figure


def plot_times(axes: Axes, rows: list[Row]) -> Axes:
    """Plot the median time against size on logarithmic axes, a line per solver."""
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
    return axes


def draw_gaps(rows: list[Row], found: Benchmark) -> Figure:
    """Draw three panels on one problem, over all its instances, a line per solver.

    The geometric mean of the proven gaps against processor time; and the performance profiles of two
    gaps: the share of the instances for which a solver had proven it within a factor of the time of the
    solver that was first.

    Args:
        rows: the rows of the problem, refusals included.
        found: the benchmark that they are from.
    """
    figure = Figure(figsize=(10.5, 2.9), layout="constrained")
    panels = figure.subplots(1, 3)
    steps, targets = gap_steps(found), (ROUGH, max(found.rules.gap, 1e-15))
    keys = list(dict.fromkeys(instance_key(row) for row in rows))
    solvers = [solver for solver, mine in by("solver", rows) if any(row["cpu"] for row in mine)]
    known = {solver: [steps.get((*key, solver), []) for key in keys] for solver in solvers}
    times = {
        solver: np.array([[time_to(told, gap, math.inf) for told in known[solver]] for gap in targets])
        for solver in solvers
    }
    for i, solver in enumerate(solvers):
        style = {"color": COLOURS[i % 8], "linestyle": DASHES[i % 6], "linewidth": 1.5}
        mean = mean_log_gap(known[solver], found.rules.gap)
        if mean:
            end = max(at for steps in known.values() for told in steps for at, _ in told)
            across, up = zip(*mean, (end, mean[-1][1]), strict=True)
            panels[0].step(across, up, where="post", label=solver, **style)
        first = np.min(list(times.values()), axis=0)
        for panel, mine, best in zip(panels[1:], times[solver], first, strict=True):
            reached = np.isfinite(mine)
            ratios = np.sort(mine[reached] / best[reached])
            share = np.arange(1, len(ratios) + 1) / len(keys)
            if len(share):
                panel.step([1, *ratios, 1e9], [0, *share, share[-1]], where="post", **style)
    panels[0].set(xscale="log", yscale="log", xlabel="CPU s", ylabel="mean proven gap")
    for panel, gap in zip(panels[1:], targets, strict=True):
        panel.set(xscale="log", xlim=(1, 1e3), ylim=(0, 1.05), xlabel="CPU time ÷ the first's")
        panel.set_title(f"share with a gap of {gap:g} or less", fontsize="small")
    panels[0].set_title(f"{len(keys)} instances", fontsize="small")
    panels[0].xaxis.set_minor_formatter(NullFormatter())
    for panel in panels:
        panel.grid(alpha=0.3)
    if panels[0].lines:
        figure.legend(loc="outside right upper", frameon=False, handlelength=4, fontsize="small")
    return figure
