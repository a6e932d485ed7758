"""The performance profile of a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ldpopt.bench.benchmark import Benchmark, instance_key


def draw_profile(benchmark: Benchmark, path: Path) -> None:
    """Draw the performance profile: how many instances a solver answers within a factor of the best."""
    best: dict[tuple[Any, ...], float] = {}
    solved = [row for row in benchmark.rows if row["status"] == "optimal"]
    for row in solved:
        best[instance_key(row)] = min(best.get(instance_key(row), np.inf), row["seconds"])
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    names = sorted({row["solver"] for row in benchmark.rows})
    for i, solver in enumerate(names):
        ratios = sorted(
            row["seconds"] / best[instance_key(row)] for row in solved if row["solver"] == solver
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
    slowest = max((row["seconds"] / best[instance_key(row)] for row in solved), default=10.0)
    axes.set(
        xscale="log",
        xlim=(1, max(10.0, 2 * slowest)),
        ylim=(0, 1.05),
        xlabel="time relative to the fastest solver of the instance",
        ylabel="share of instances proven optimal",
    )
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
