"""Optimal mutual information against ε, beside randomised response and binary mechanisms.

For small ε a binary mechanism is optimal, for large ε generalised randomised response (Kairouz, Oh and
Viswanath 2014, Theorems 5 and 14); between them neither is, and the figure marks where each
starts or stops being optimal.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ldpopt.core.mechanism import Mechanism
from ldpopt.core.rounding import at_most
from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.drawing import save
from ldpopt.mechanisms import binary_mechanism, randomized_response
from ldpopt.problems.staircase import Staircase


def prior(name: str, k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Build a prior of the study: uniform, Zipf (p_i ∝ 1/i), geometric (p_i ∝ 2^−i)."""
    ranks = np.arange(1, k + 1)
    weights = {"uniform": np.ones(k), "zipf": 1 / ranks, "geometric": 0.5**ranks}[name]
    return np.asarray(weights / weights.sum())


def points(quick: bool) -> Iterable[Point]:
    """List a grid of k, prior and ε."""
    sizes = (3, 5) if quick else (3, 5, 8, 12)
    levels = np.linspace(0.25, 5, 8 if quick else 39)
    for k in sizes:
        for name in ("uniform", "zipf", "geometric"):
            for level in levels:
                yield {"k": k, "prior": name, "epsilon": round(float(level), 6)}


def measure(k: int, prior: str, epsilon: float) -> Row:
    """Compute the optimum with its proven bound, randomised response, and the best binary mechanism."""
    problem = Staircase(epsilon, prior=_PRIOR(prior, k))
    result = solve(problem)
    return {
        "solver": result.solver,
        "optimum": result.value,
        "bound": result.bound,
        "randomized_response": problem.value(randomized_response(k, epsilon)),
        "best_binary": problem.value(best_binary(problem)),
    }


_PRIOR = prior


def best_binary(problem: Staircase) -> Mechanism:
    """Find the best of the 2^(k−1) − 1 mechanisms that ask whether x lies in a set."""
    k = len(problem.prior)
    subsets = (np.arange(1, 2 ** (k - 1))[:, None] >> np.arange(k)) & 1
    candidates = (binary_mechanism(subset, problem.epsilon) for subset in subsets)
    return max(candidates, key=problem.value)


def switches(rows: list[Row]) -> tuple[float | None, float | None]:
    """Find the largest ε where binary is still optimal, and the smallest where response is."""
    rows = sorted(rows, key=lambda row: float(row["epsilon"]))
    binary = randomized = None
    for row in rows:
        if not _attains(row, "best_binary"):
            break
        binary = row["epsilon"]
    for row in reversed(rows):
        if not _attains(row, "randomized_response"):
            break
        randomized = row["epsilon"]
    return binary, randomized


def _attains(row: Row, mechanism: str) -> bool:
    # a mechanism counts as optimal if its relative distance to the proven bound is below this
    return bool(row["bound"] - row[mechanism] <= 1e-8 * row["bound"])


def curves(rows: list[Row]) -> dict[tuple[int, str], list[Row]]:
    """Group the rows by (k, prior), by increasing ε."""
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: float(row["epsilon"])):
        groups.setdefault((row["k"], row["prior"]), []).append(row)
    return groups


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw one panel per (k, prior): the share of the optimum that each mechanism reaches."""
    groups = curves(rows)
    priors = list(dict.fromkeys(name for _, name in groups))
    sizes = sorted({k for k, _ in groups})
    figure = Figure(figsize=(4 * len(priors), 2.8 * len(sizes)), layout="constrained")
    panels = figure.subplots(len(sizes), len(priors), squeeze=False, sharex=True, sharey=True)
    for (k, name), curve in groups.items():
        axes = panels[sizes.index(k), priors.index(name)]
        levels = [row["epsilon"] for row in curve]
        for column, style, label in (
            ("best_binary", "o-", "best binary mechanism"),
            ("randomized_response", "s--", "randomised response"),
        ):
            share = [row[column] / row["bound"] for row in curve]
            axes.plot(levels, share, style, markersize=3, label=label)
        binary, randomized = switches(curve)
        if binary is not None:
            axes.axvspan(levels[0], binary, alpha=0.12, color="C0")
        if randomized is not None:
            axes.axvspan(randomized, levels[-1], alpha=0.12, color="C1", hatch="//")
        axes.set_title(f"k = {k}, {name} prior", fontsize=10)
        axes.grid(alpha=0.3)
    for axes in panels[-1]:
        axes.set_xlabel("ε (nats)")
    for axes in panels[:, 0]:
        axes.set_ylabel("share of the optimum")
    panels[0, 0].legend(fontsize=8, loc="lower center")
    figure.suptitle(
        "Shaded: there the mechanism is optimal (plain: binary, hatched: randomised response)"
    )
    return [save(figure, out / "ldp-frontier.svg")]


def conclude(rows: list[Row]) -> str:
    """State where each mechanism is optimal, and how far the better of the two is below the optimum."""
    parts = []
    for (k, name), curve in curves(rows).items():
        binary, randomized = switches(curve)
        loss = max(
            1 - max(row["best_binary"], row["randomized_response"]) / row["bound"] for row in curve
        )
        until = "at no ε" if binary is None else f"up to ε = {binary:g}"
        since = "at no ε" if randomized is None else f"from ε = {randomized:g} on"
        parts.append(
            f"k = {k}, {name}: the binary mechanism is optimal {until}, randomised response {since}; "
            f"the better of the two is at most {at_most(100 * loss, 2)} % below the optimum"
        )
    return "On this grid:\n" + "\n".join(parts)


EXPERIMENT = Experiment("ldp-frontier", points, measure, draw, conclude, panel="prior")
