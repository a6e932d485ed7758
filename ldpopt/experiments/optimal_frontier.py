"""The optimal frontier of asymptotic utility and average privacy, ε fixed and free."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ldpopt.core.mechanism import Channel
from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.experiments.average_privacy import PROTOCOLS, STYLES
from ldpopt.measures.asymptotics import unobfuscated_utility
from ldpopt.measures.information_metrics import asymptotic_utility, average_privacy
from ldpopt.models.priors import Dirichlet
from ldpopt.problems.asymptotic_utility import PrivacyUtilityFrontier


def points(quick: bool) -> study.Points:
    """List the frontier at ε = 1, 2 and free, and the protocols by ε, for a = 3 values."""
    floors = study.rounded(np.linspace(0.1, 0.95, 4 if quick else 18))
    yield from study.grid(protocol=("optimum",), epsilon=(1.0, 2.0, None), floor=floors)
    levels = study.rounded(np.geomspace(0.2, 8, 4 if quick else 25))
    yield from study.grid(protocol=PROTOCOLS, epsilon=levels, floor=(None,))


def measure(protocol: str, epsilon: float | None, floor: float | None) -> study.Row:
    """Compute average privacy and participation factor of a mechanism; the bound, if it is optimal."""
    prior = Dirichlet.jeffreys(3)
    if floor is not None:
        result = solve(PrivacyUtilityFrontier(prior.alpha, floor, epsilon))
        assert result.mechanism is not None
        assert result.value is not None
        m: Channel = result.mechanism
        utility, bound = result.value, result.bound
    else:
        assert epsilon is not None
        m, bound = PROTOCOLS[protocol](3, epsilon), None
        utility = float(asymptotic_utility(m, prior))
    return {
        "average_privacy": float(average_privacy(m, prior)),
        "asymptotic_utility": utility,
        "bound": bound,
        "participation_factor": math.exp(2 * (utility - unobfuscated_utility(prior))),
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw F_μ against S_μ: the protocols and the optimal curves."""
    factor = "participation_factor"
    lines = [
        study.Curve(factor, style, name, {"protocol": name}, {"ms": 3}) for name, style in STYLES.items()
    ]
    for limit, colour in ((1.0, "C4"), (2.0, "C5"), (None, "k")):
        label = "optimum, ε free" if limit is None else f"optimum, ε ≤ {limit:g}"
        optimum = {"protocol": "optimum", "epsilon": limit}
        lines.append(study.Curve(factor, f"{colour}-", label, optimum, {"lw": 2}))
    labels = "average privacy S", "participation factor F"
    title = "The optimal frontier, a = 3, Jeffreys' prior"
    figure, _ = study.curves(rows, "average_privacy", lines, *labels, title=title, height=4.5)
    return [study.save(figure, out / "optimal-frontier.svg")]


def _curve(rows: list[study.Row]) -> tuple[list[float], list[float]]:
    ordered = sorted(rows, key=lambda row: float(row["average_privacy"]))
    return [r["average_privacy"] for r in ordered], [r["participation_factor"] for r in ordered]


def conclude(rows: list[study.Row]) -> str:
    """State what the free frontier looks like, and how far the protocols stay below it."""
    free = study.where(rows, protocol="optimum", epsilon=None)
    privacy, factor = map(np.array, _curve(free))
    off = float(np.abs(factor - (1 - privacy)).max())
    shares = []
    for name in PROTOCOLS:
        s, f = map(np.array, _curve(study.where(rows, protocol=name)))
        if s[0] <= 0.8 <= s[-1]:
            shares.append(f"{name} {np.interp(0.8, s, f) / np.interp(0.8, privacy, factor):.0%}")
    return (
        f"With ε free the frontier is close to F = 1 − S (within {off:.3f}): tell the truth or nothing. "
        f"At average privacy 0.8 the protocols reach of it: {', '.join(shares)}."
    )


EXPERIMENT = study.Experiment("optimal-frontier", points, measure, draw, conclude)
