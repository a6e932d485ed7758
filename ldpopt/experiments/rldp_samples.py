"""Robust LDP: the role of n and α (Lopuhaä-Zwakenberg and Goseling 2021, Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments import robust_study


def points(quick: bool) -> Iterable[Point]:
    """List values of n at α = 0.05, then of α at n = 1000; 5 × 5 tables (3 × 3 in the quick run)."""
    size, seeds = (3, range(1)) if quick else (5, range(20))
    levels = (1.0,) if quick else (0.5, 1.0, 2.0, 4.0)
    for seed in seeds:
        for epsilon in levels:
            common = {"size": size, "epsilon": epsilon, "seed": seed}
            for n in (100, 1000, 10_000) if quick else (100, 300, 1000, 3000, 10_000, 100_000):
                yield {**common, "varied": "n", "n": n, "alpha": 0.05}
            for alpha in (1e-4, 1e-1) if quick else (1e-4, 1e-3, 1e-2, 1e-1):
                yield {**common, "varied": "alpha", "n": 1000, "alpha": alpha}


def measure(size: int, epsilon: float, seed: int, varied: str, n: int, alpha: float) -> Row:
    """Compute normalised utilities; the table is always that of 1000 draws, so that only F changes."""
    _, p_hat = robust_study.drawn_table(size, size, 1000, seed)
    return robust_study.utilities(p_hat, n, alpha, epsilon)


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw one figure for n and one for α."""
    files = []
    for varied, label in (("n", "samples n"), ("alpha", "significance level α")):
        mine = [row for row in rows if row["varied"] == varied]
        files += robust_study.draw_curves(
            mine,
            out / f"rldp-samples-{varied}.png",
            panel=lambda r: f"{r['size']} × {r['size']}, ε = {r['epsilon']:g}",
            x=varied,
            xlabel=label,
            log=True,
        )
    return files


def conclude(rows: list[Row]) -> str:
    """State what more samples and a laxer level bring."""
    by_n = [row for row in rows if row["varied"] == "n"]
    _, polyopt = robust_study.averages(by_n, "n", "polyopt")
    _, cr = robust_study.averages(by_n, "n", "grr_cr")
    _, srr = robust_study.averages(by_n, "n", "srr")
    return (
        f"From the fewest to the most samples PolyOpt gains a factor {polyopt[-1] / polyopt[0]:.2f}, "
        f"GRR-CR {cr[-1] / cr[0]:.2f}; SRR does not change ({srr[-1] / srr[0]:.2f}), as in the paper."
    )


EXPERIMENT = Experiment(
    name="rldp-samples",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
)
