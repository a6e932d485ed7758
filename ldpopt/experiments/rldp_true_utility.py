"""Robust LDP: utility under p̂ and under the true distribution
(Lopuhaä-Zwakenberg and Goseling 2021, Figure 9)."""

from __future__ import annotations

from pathlib import Path

from ldpopt.experiments import robust_study, study
from ldpopt.experiments.robust_study import PROTOCOLS, STYLES
from ldpopt.models.utilities import MutualInformation, entropy


def points(quick: bool) -> study.Points:
    """List n, methods and levels; 5 × 5 tables (3 × 3 in the quick run)."""
    return study.grid(
        n=(100, 100_000) if quick else (100, 1000, 10_000),
        method=PROTOCOLS,
        epsilon=(0.5, 1.0, 2.0, 4.0) if quick else (0.2, 0.5, 1.0, 2.0, 4.0, 6.0),
        size=(3 if quick else 5,),
        draws=(2 if quick else 200,),
    )


def measure(n: int, method: str, epsilon: float, size: int, draws: int) -> study.Row:
    """Average (I under p̂ − I under P*)/H(X).

    It is computed from the matrices, as Theorems 18 and 20 need P = p̂.
    """
    return robust_study.averaged(_difference(method, size, n, epsilon, seed) for seed in range(draws))


def _difference(method: str, size: int, n: int, epsilon: float, seed: int) -> float:
    true, p_hat = robust_study.drawn_table(size, size, n, seed)
    kind, gap = PROTOCOLS[method]
    problem = kind(epsilon, p_hat, n)
    W = problem.mechanism(robust_study.best(problem, gap).point).matrix
    seen, real = (float(MutualInformation(p.ravel())(W).sum()) for p in (p_hat, true))
    return (seen - real) / entropy(p_hat)


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per n; above zero the design promises more than the truth gives."""
    styles = {name: STYLES[name] for name in PROTOCOLS}
    label = "(I under p̂ − I under P*) / H(X)"
    figure, panels = robust_study.draw_curves(rows, "n = {n:,}", label, styles=styles)
    for axes in panels:
        axes.axhline(0, color="black", lw=0.8)
    return [study.save(figure, out / "rldp-true-utility.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State the sign of the difference, and how fast it vanishes."""
    parts = []
    for n in sorted({row["n"] for row in rows}):
        mine = study.where(rows, n=n)
        below = sum(row["mean"] < 0 for row in mine)
        extremes = [min(row["mean"] for row in mine), max(row["mean"] for row in mine)]
        parts.append(
            f"n = {n}: from {extremes[0]:+.2g} to {extremes[1]:+.2g}, below zero (the truth gives more) "
            f"in {below} of {len(mine)} means"
        )
    return (
        f"{rows[0]['draws']} draws. The mean of (I under p̂ − I under P*)/H(X) at "
        + "; ".join(parts)
        + "."
    )


EXPERIMENT = study.Experiment(
    "rldp-true-utility", points, measure, draw, conclude, panel="n", method="method", draws="draws"
)
