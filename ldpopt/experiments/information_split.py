"""How the information of n users and of their reports splits
(Lopuhaä-Zwakenberg et al. 2019, Table 4.1).

The three parts are the distribution P, the tallies T given P, and who has which value, given T.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from scipy.special import digamma, gammaln

from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.drawing import legend_below, panels, save
from ldpopt.measures.information_metrics import average_privacy, distribution_utility, tally_utility
from ldpopt.measures.tallies import tally_entropy
from ldpopt.mechanisms import randomized_response
from ldpopt.models.priors import Dirichlet

PARTS = {"distribution": "about P", "group": "about T given P", "individual": "about X given T"}


def points(quick: bool) -> Iterable[Point]:
    """List numbers of users for randomised response on three values at ε = 1, Jeffreys' prior."""
    for n in (1, 4) if quick else (1, 2, 4, 8, 16, 32):
        yield {"a": 3, "epsilon": 1.0, "n": n}


def measure(a: int, epsilon: float, n: int) -> Row:
    """Compute the parts that the users hold and those that their reports give away, in nats."""
    m, prior = randomized_response(a, epsilon), Dirichlet.jeffreys(a)
    alpha = 1 / 2
    given_p = n * float(digamma(a * alpha + 1) - digamma(alpha + 1))  # H(X | P)
    tallies = tally_entropy(prior, n)
    given_t = float(gammaln(n + 1)) - a * _expected_log_factorial(n, alpha, a * alpha)  # H(X | T)
    whole = tallies + given_t
    about_p = float(distribution_utility(m, prior, n)) * (whole - given_p)
    leakage = (1 - float(average_privacy(m, prior))) * given_p  # I(Y; X | P)
    about_t = float(tally_utility(m, prior, n)) * tallies
    return {
        "users_distribution": whole - given_p,
        "users_group": given_p - given_t,
        "users_individual": given_t,
        "reports_distribution": about_p,
        "reports_group": about_t - about_p,
        "reports_individual": about_p + leakage - about_t,
    }


def _expected_log_factorial(n: int, alpha: float, total: float) -> float:
    """Compute E log T_x! where T_x is beta-binomial."""
    logs = [
        gammaln(n + 1) - gammaln(t + 1) - gammaln(n - t + 1)
        + gammaln(t + alpha) + gammaln(n - t + total - alpha) - gammaln(n + total)
        + gammaln(total) - gammaln(alpha) - gammaln(total - alpha)
        for t in range(n + 1)
    ]  # fmt: skip
    return sum(math.exp(p) * float(gammaln(t + 1)) for t, p in enumerate(logs))


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw what each part is per user: held by the users, given away by the reports."""
    figure, grid = panels(2, height=3.2)
    for axes, side in zip(grid, ("users", "reports"), strict=True):
        for (part, label), style in zip(PARTS.items(), ("o-", "s--", "^:"), strict=True):
            heights = [row[f"{side}_{part}"] / row["n"] for row in rows]
            axes.plot([row["n"] for row in rows], heights, style, ms=4, label=label)
        axes.set_xscale("log", base=2)
        axes.set(xlabel="users n", ylabel="nats per user")
        title = {"users": "held by the users", "reports": "given by the reports"}[side]
        axes.set_title(title, fontsize=10)
    legend_below(figure, grid)
    return [save(figure, out / "information-split.svg")]


def conclude(rows: list[Row]) -> str:
    """State the table at the largest n."""
    last = max(rows, key=lambda row: int(row["n"]))
    proper = sum(
        -1e-9 <= row[f"reports_{part}"] <= row[f"users_{part}"] + 1e-9 for row in rows for part in PARTS
    )
    held, given = (
        ", ".join(f"{last[f'{side}_{part}']:.4f} {label}" for part, label in PARTS.items())
        for side in ("users", "reports")
    )
    return (
        f"Randomised response, a = {last['a']}, ε = {last['epsilon']:g}, n = {last['n']}: the users "
        f"hold {held} (nats); the reports give {given}. {proper} of {3 * len(rows)} parts of reports "
        "are at least 0 and at most what the users hold."
    )


EXPERIMENT = Experiment("information-split", points, measure, draw, conclude)
