"""Optimal mutual information against ε, beside randomised response and binary mechanisms.

For small ε a binary mechanism is optimal, for large ε generalised randomised response (Kairouz, Oh and
Viswanath 2014, Theorems 5 and 14); between them neither is, and the figure marks where each
starts or stops being optimal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.core.mechanism import Mechanism
from ldpopt.core.number_text import at_most
from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.mechanisms.catalogue import binary_mechanism, randomized_response
from ldpopt.problems.staircase import Staircase


def prior(name: str, k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Build a prior of the study: uniform, Zipf (p_i ∝ 1/i), geometric (p_i ∝ 2^−i)."""
    ranks = np.arange(1, k + 1)
    weights = {"uniform": np.ones(k), "zipf": 1 / ranks, "geometric": 0.5**ranks}[name]
    return np.asarray(weights / weights.sum())


def points(quick: bool) -> study.Points:
    """List a grid of k, prior and ε."""
    levels = study.rounded(np.linspace(0.25, 5, 8 if quick else 39))
    priors = ("uniform", "zipf", "geometric")
    return study.grid(k=(3, 5) if quick else (3, 5, 8, 12), prior=priors, epsilon=levels)


def measure(k: int, prior: str, epsilon: float) -> study.Row:
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


def switches(rows: list[study.Row]) -> tuple[float | None, float | None]:
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


def _attains(row: study.Row, mechanism: str) -> bool:
    # a mechanism counts as optimal if its relative distance to the proven bound is below this
    return bool(row["bound"] - row[mechanism] <= 1e-8 * row["bound"])


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per (k, prior): the share of the optimum that each mechanism reaches."""
    shares = [
        {**row, **{name: row[name] / row["bound"] for name in ("best_binary", "randomized_response")}}
        for row in rows
    ]
    lines = [
        study.Curve("best_binary", "o-", "best binary mechanism", {}, {"ms": 3}),
        study.Curve("randomized_response", "s--", "randomised response", {}, {"ms": 3}),
    ]
    title, labels = "k = {k}, {prior} prior", ("ε (nats)", "share of the optimum")
    figure, panels = study.curves(
        shares, "epsilon", lines, *labels, title=title, columns=3, sharex=True, sharey=True
    )
    for axes, curve in zip(panels, frontiers(rows), strict=True):
        binary, randomized = switches(curve)
        if binary is not None:
            axes.axvspan(curve[0]["epsilon"], binary, alpha=0.12, color="C0")
        if randomized is not None:
            axes.axvspan(randomized, curve[-1]["epsilon"], alpha=0.12, color="C1", hatch="//")
        axes.label_outer()
    figure.suptitle(
        "Shaded: there the mechanism is optimal (plain: binary, hatched: randomised response)"
    )
    return [study.save(figure, out / "ldp-frontier.svg")]


def frontiers(rows: list[study.Row]) -> list[list[study.Row]]:
    """Group the rows by k and prior, by increasing ε."""
    ordered = sorted(rows, key=lambda row: float(row["epsilon"]))
    pairs = dict.fromkeys((row["k"], row["prior"]) for row in rows)
    return [study.where(ordered, k=k, prior=prior) for k, prior in pairs]


def conclude(rows: list[study.Row]) -> str:
    """State where each mechanism is optimal, and how far the better of the two is below the optimum."""
    parts = []
    for curve in frontiers(rows):
        binary, randomized = switches(curve)
        loss = max(
            1 - max(row["best_binary"], row["randomized_response"]) / row["bound"] for row in curve
        )
        until = "at no ε" if binary is None else f"up to ε = {binary:g}"
        since = "at no ε" if randomized is None else f"from ε = {randomized:g} on"
        parts.append(
            f"k = {curve[0]['k']}, {curve[0]['prior']}: the binary mechanism is optimal {until}, "
            f"randomised response {since}; "
            f"the better of the two is at most {at_most(100 * loss, 2)} % below the optimum"
        )
    return "On this grid:\n" + "\n".join(parts)


EXPERIMENT = study.Experiment("ldp-frontier", points, measure, draw, conclude, panel="prior")
