"""How fast n reports reach the asymptotic utility (Lopuhaä-Zwakenberg et al. 2019, Corollary 6.8)."""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.experiments import study
from ldpopt.measures.asymptotics import unobfuscated_utility
from ldpopt.measures.information_metrics import (
    asymptotic_utility,
    digit_utility,
    distribution_utility,
    tally_utility,
)
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.models.priors import Dirichlet


def points(quick: bool) -> study.Points:
    """List randomised response on three values, priors with α = 1/2, 2, 5, growing n."""
    counts = (5, 10, 20, 80) if quick else (5, 10, 20, 40, 80, 160, 320, 10_000, 1_000_000)
    return study.grid(alpha=(0.5, 2.0, 5.0), a=(3,), epsilon=(2.0,), n=counts)


def measure(alpha: float, a: int, epsilon: float, n: int) -> study.Row:
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


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw the distance to the limit, on logarithmic axes."""
    shown = [row | {"off": abs(row["distance"])} for row in rows]
    lines = [
        study.Curve("off", style, f"Dirichlet prior, α = {alpha:g}", {"alpha": alpha}, {"ms": 4})
        for alpha, style in ((0.5, "o-"), (2.0, "s--"), (5.0, "^-."))
    ]
    title = "Randomised response, a = {a}, ε = {epsilon:g}: distance to the limit (6.4)"
    labels = "number of users n", "|digit utility − (½ log n + asymptotic utility)|"
    figure, (axes,) = study.curves(shown, "n", lines, *labels, title=title, scale="log log", height=3.7)
    counts = sorted(study.distinct(rows, "n"))
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.set_yticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
    axes.minorticks_off()
    return [study.save(figure, out / "asymptotic-convergence.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State the distances at the largest n."""
    n = max(row["n"] for row in rows)
    last = [f"{abs(row['distance']):.2g} for α = {row['alpha']:g}" for row in study.where(rows, n=n)]
    shares = [
        f"{row['distribution_utility']:.3f} ({row['distribution_predicted']:.3f} by (6.5)) for "
        f"α = {row['alpha']:g}"
        for row in study.where(rows, n=n)
    ]
    return (
        f"At n = {n} the digit utility is off its limit by {', '.join(last)}: under Jeffreys' prior, "
        "much of which lies near the boundary of the simplex, convergence is slow. The distribution "
        f"utility is {', '.join(shares)}; its limit (6.2) is 1."
    )


EXPERIMENT = study.Experiment("asymptotic-convergence", points, measure, draw, conclude)
