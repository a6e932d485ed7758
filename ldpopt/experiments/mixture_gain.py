"""A mixture of two protocols beats both (Lopuhaä-Zwakenberg et al. 2019, Remark 7.9)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpopt.core.mechanism import Mechanism
from ldpopt.experiments import study
from ldpopt.measures.information_metrics import asymptotic_utility, average_privacy
from ldpopt.models.priors import Dirichlet

FIRST = Mechanism([[1.0, 0.0, 0.0], [0.0, 2 / 3, 1 / 3], [0.0, 1 / 3, 2 / 3]])
SECOND = Mechanism([[2 / 3, 1 / 3, 0.0], [1 / 3, 2 / 3, 0.0], [0.0, 0.0, 1.0]])


def points(quick: bool) -> study.Points:
    """List weights of the second protocol from 0 to 1."""
    return study.grid(weight=study.rounded(np.linspace(0, 1, 9 if quick else 41)))


def measure(weight: float) -> study.Row:
    """Compute privacy and asymptotic utility of the mixture under the uniform prior."""
    mixture, prior = Mechanism.mixture([FIRST, SECOND], [1 - weight, weight]), Dirichlet.uniform(3)
    utility = asymptotic_utility(mixture, prior)
    return {
        "average_privacy": float(average_privacy(mixture, prior)),
        "asymptotic_utility": float(utility),
        "error": utility.error,
        "method": utility.method,
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw U^as against the weight, with the straight line that (7.12) guarantees."""
    ends = [row for row in rows if row["weight"] in (0.0, 1.0)]
    lines = [study.Curve("asymptotic_utility", "o-", "mixture", {}, {"ms": 4})]
    title = "Same average privacy at every weight, more utility in between"
    labels = "weight of the second protocol", "asymptotic utility (nats)"
    figure, (axes,) = study.curves(rows, "weight", lines, *labels, title=title, height=3.7)
    study.Curve("asymptotic_utility", "--", "guaranteed by (7.12)").draw(axes, ends, "weight")
    return [study.save(figure, out / "mixture-gain.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State the values of the remark."""
    ends = [row["asymptotic_utility"] for row in rows if row["weight"] in (0.0, 1.0)]
    best = max(rows, key=lambda row: float(row["asymptotic_utility"]))
    return (
        f"Each protocol alone has asymptotic utility {ends[0]:.6f}, the mixture with weight "
        f"{best['weight']:g} has {best['asymptotic_utility']:.6f}, all with average privacy "
        f"{best['average_privacy']:.4f}: the −0.987 and −0.691 of Remark 7.9."
    )


EXPERIMENT = study.Experiment("mixture-gain", points, measure, draw, conclude)
