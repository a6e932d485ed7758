"""How far known protocols are from the best asymptotic utility at a given ε.

Lopuhaä-Zwakenberg et al. 2019, Section 11.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ldpopt.core.mechanism import Channel
from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.measures.information_metrics import asymptotic_utility
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.mechanisms.encodings import SubsetSelection, UnaryEncoding
from ldpopt.models.priors import Dirichlet
from ldpopt.problems.asymptotic_utility import AsymptoticUtility

STYLES = {"GRR": "o-", "RAPPOR": "s--", "OUE": "^-.", "subset selection": "v:"}


def points(quick: bool) -> study.Points:
    """List sizes and levels under Jeffreys' prior."""
    levels = study.rounded(np.geomspace(0.2, 4, 4 if quick else 21))
    return study.grid(k=(3, 5) if quick else (3, 4, 5, 6, 8), epsilon=levels)


def measure(k: int, epsilon: float) -> study.Row:
    """Compute the optimum with its proven bound, and every protocol's share of its effective users."""
    prior = Dirichlet.jeffreys(k)
    result = solve(AsymptoticUtility(epsilon, prior.alpha))
    assert result.value is not None
    assert result.mechanism is not None
    row: study.Row = {
        "solver": result.solver,
        "optimum": result.value,
        "bound": result.bound,
        "outputs": result.mechanism.shape[1],
    }
    protocols: dict[str, Channel] = {
        "GRR": randomized_response(k, epsilon),
        "RAPPOR": UnaryEncoding.rappor(k, epsilon),
        "OUE": UnaryEncoding.oue(k, epsilon),
        "subset selection": SubsetSelection.best(k, epsilon),
    }
    for name, m in protocols.items():
        row[name] = math.exp(2 * (float(asymptotic_utility(m, prior)) - result.value))
    return row


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per k: effective users relative to the optimal protocol."""
    lines = [study.Curve(name, style, name, {}, {"ms": 3.5}) for name, style in STYLES.items()]
    scale, labels = "log linear", ("ε (nats)", "users / those of the optimum")
    figure, panels = study.curves(
        rows, "epsilon", lines, *labels, title="k = {k}", scale=scale, height=3.1, sharey=True
    )
    for axes in panels:
        axes.set_xticks([0.2, 0.5, 1, 2, 4], ["0.2", "0.5", "1", "2", "4"])
        axes.minorticks_off()
        axes.set_ylim(0, 1.05)
    figure.suptitle("Known protocols against the optimal one, Jeffreys' prior")
    return [study.save(figure, out / "optimal-protocols.svg", 4)]


def conclude(rows: list[study.Row]) -> str:
    """State the worst share of each protocol."""
    parts = []
    for name in STYLES:
        worst = min(rows, key=lambda row: float(row[name]))
        parts.append(f"{name} {worst[name]:.1%} (k = {worst['k']}, ε = {worst['epsilon']:.2g})")
    return "The smallest share of the optimal protocol's effective users: " + ", ".join(parts) + "."


EXPERIMENT = study.Experiment("optimal-protocols", points, measure, draw, conclude)
