"""How fast n reports reach the asymptotic utility (Lopuhaä-Zwakenberg et al. 2019, Corollary 6.8)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from matplotlib.figure import Figure

from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.drawing import save
from ldpopt.measures.asymptotics import unobfuscated_utility
from ldpopt.measures.information_metrics import (
    asymptotic_utility,
    digit_utility,
    distribution_utility,
    tally_utility,
)
from ldpopt.mechanisms import randomized_response
from ldpopt.models.priors import Dirichlet


def points(quick: bool) -> Iterable[Point]:
    """List randomised response on three values, priors with α = 1/2, 2, 5, growing n."""
    counts = (5, 20, 80) if quick else (5, 10, 20, 40, 80, 160, 320, 10_000, 1_000_000)
    for alpha in (0.5, 2.0, 5.0):
        for n in counts:
            yield {"alpha": alpha, "a": 3, "epsilon": 2.0, "n": n}


def measure(alpha: float, a: int, epsilon: float, n: int) -> Row:
    """Compute the utilities of n users and what (6.3), (6.4) and (6.5) say about them; (6.2) is 1 here.

    (6.5) reads 1 − U ~ 2 (C − U^as)/log n; the tally utility (6.3) tends to 1/2 as the rank is a.
    """
    m, prior = randomized_response(a, epsilon), Dirichlet([alpha] * a)
    digits, share = digit_utility(m, prior, n), distribution_utility(m, prior, n)
    known = float(asymptotic_utility(m, prior))
    limit = 0.5 * math.log(n) + known
    # beyond so many users the tally utility of three values takes minutes
    return {
        "digit_utility": float(digits),
        "limit": limit,
        "distance": float(digits) - limit,
        "distribution_utility": float(share),
        "distribution_error": share.error,
        "distribution_predicted": 1 - 2 * (unobfuscated_utility(prior) - known) / math.log(n),
        "tally_utility": float(tally_utility(m, prior, n)) if n <= 80 else None,
        "method": digits.method,
    }


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw the distance to the limit, on logarithmic axes."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for alpha, style in ((0.5, "o-"), (2.0, "s--"), (5.0, "^-.")):
        curve = sorted((row["n"], abs(row["distance"])) for row in rows if row["alpha"] == alpha)
        axes.plot(*zip(*curve, strict=True), style, markersize=4, label=f"α = {alpha:g}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    counts = sorted({row["n"] for row in rows})
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.set_yticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
    axes.minorticks_off()
    axes.set_xlabel("number of users n")
    axes.set_ylabel("|digit utility − (½ log n + asymptotic utility)|")
    axes.set_title("Randomised response, a = 3, ε = 2: distance to the limit (6.4)")
    axes.legend(title="symmetric Dirichlet prior")
    axes.grid(alpha=0.3, which="both")
    return [save(figure, out / "asymptotic-convergence.svg")]


def conclude(rows: list[Row]) -> str:
    """State the distances at the largest n."""
    n = max(row["n"] for row in rows)
    last = [f"{abs(row['distance']):.2g} for α = {row['alpha']:g}" for row in rows if row["n"] == n]
    shares = [
        f"{row['distribution_utility']:.3f} ({row['distribution_predicted']:.3f} by (6.5)) for "
        f"α = {row['alpha']:g}"
        for row in rows
        if row["n"] == n
    ]
    return (
        f"At n = {n} the digit utility is off its limit by {', '.join(last)}: under Jeffreys' prior, "
        "much of which lies near the boundary of the simplex, convergence is slow. The distribution "
        f"utility is {', '.join(shares)}; its limit (6.2) is 1."
    )


EXPERIMENT = Experiment("asymptotic-convergence", points, measure, draw, conclude)
