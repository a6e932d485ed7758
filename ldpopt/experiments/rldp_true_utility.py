"""Robust LDP: utility under p̂ and under the true distribution
(Lopuhaä-Zwakenberg and Goseling 2021, Figure 9).

PolyOpt is one of the methods here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments import robust_study
from ldpopt.problems.grr_conditional import GRRConditional
from ldpopt.problems.independent_reporting import IndependentReporting
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.problems.ue_conditional import UEConditional
from ldpopt.theory.columns.utilities import MutualInformation, entropy

KINDS: dict[str, type[Any]] = {
    "ir": IndependentReporting,
    "grr_cr": GRRConditional,
    "ue_cr": UEConditional,
}
NAMES = {name: robust_study.STYLES[name] for name in ("polyopt", "ir", "grr_cr", "ue_cr")}


def points(quick: bool) -> Iterable[Point]:
    """List several n; 5 × 5 tables (3 × 3 in the quick run)."""
    for n in (100, 100_000) if quick else (100, 1000, 10_000):
        for epsilon in (1.0, 3.0) if quick else (0.5, 1.0, 2.0, 4.0, 6.0):
            for seed in range(1 if quick else 50):
                yield {"size": 3 if quick else 5, "n": n, "epsilon": epsilon, "seed": seed}


def measure(size: int, n: int, epsilon: float, seed: int) -> Row:
    """Compute (I under p̂ − I under P*)/H(X) of every method.

    It is computed from the matrices, as Theorems 18 and 20 need P = p̂.
    """
    true, p_hat = robust_study.drawn_table(size, size, n, seed)
    given: dict[str, Any] = {"p_hat": p_hat, "n": n, "epsilon": epsilon}
    matrices = {"polyopt": solve(PolyOpt(**given), gap=1e-4).answer.matrix}
    for name, kind in KINDS.items():
        problem = kind(**given)
        matrices[name] = problem.mechanism(robust_study.best(problem, 1e-3).point).matrix
    seen, real = MutualInformation(p_hat.ravel()), MutualInformation(true.ravel())
    H = entropy(p_hat)
    return {name: float((seen(W).sum() - real(W).sum()) / H) for name, W in matrices.items()}


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw one panel per n."""
    path = out / "rldp-true-utility.png"
    return robust_study.draw_curves(
        rows,
        path,
        panel=lambda r: f"n = {r['n']}",
        x="epsilon",
        names=NAMES,
        ylabel="(I under p̂ − I under P*) / H(X)",
    )


def conclude(rows: list[Row]) -> str:
    """State the mean difference at each n."""
    parts = []
    for n in sorted({row["n"] for row in rows}):
        worst = {name: np.mean([abs(r[name]) for r in rows if r["n"] == n]) for name in NAMES}
        parts.append(f"n = {n}: " + ", ".join(f"{name} {value:.4f}" for name, value in worst.items()))
    return "Mean absolute difference relative to H(X): " + "; ".join(parts)


EXPERIMENT = Experiment(
    name="rldp-true-utility",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
)
