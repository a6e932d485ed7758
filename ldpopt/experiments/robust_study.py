"""What the studies of robust LDP share: tables, methods, and the figure of curves.

Lopuhaä-Zwakenberg and Goseling 2021, Section VIII.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ldpopt.core.form import FormSolution
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.engine.solving import solve
from ldpopt.engine.sweep import Row
from ldpopt.forms.scalar_search import ScalarSearch
from ldpopt.mechanisms import randomized_response, secret_randomized_response
from ldpopt.problems.grr_conditional import GRRConditional
from ldpopt.problems.independent_reporting import IndependentReporting
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.problems.ue_conditional import MOST_SECRETS, UEConditional
from ldpopt.solvers.bracket import Bracket
from ldpopt.theory.columns.utilities import MutualInformation, entropy
from ldpopt.theory.robust.protocols import Reporting

STYLES = {
    "polyopt": ("C3-o", "PolyOpt"),
    "ir": ("C0-s", "IR"),
    "grr_cr": ("C2-^", "GRR-CR"),
    "ue_cr": ("C4-v", "UE-CR"),
    "srr": ("C1--", "SRR"),
    "grr": ("C7:", "GRR"),
}
WIDEST = 6
"""Wider tables have their rarest public values merged before PolyOpt."""


def drawn_table(a1: int, a2: int, n: int, seed: int) -> tuple[Array, Array]:
    """Draw a distribution P* from the Jeffreys prior and the frequencies p̂ of n draws (Section VIII-A).

    Draws in which some secret never occurs are repeated.

    Args:
        a1: the number of secrets.
        a2: the number of public values.
        n: the number of draws.
        seed: of the generator.
    """
    rng = np.random.default_rng(seed)
    while True:
        true = rng.dirichlet(np.full(a1 * a2, 0.5))
        counts = rng.multinomial(n, true).reshape(a1, a2)
        if counts.any(axis=1).all():
            return true.reshape(a1, a2), counts / n


def best(problem: Reporting, gap: float = 1e-4) -> FormSolution:
    """Find the best parameters of a protocol, without building its (often very wide) matrix."""
    form = next(iter(problem.forms()))
    assert isinstance(form, ScalarSearch)
    return Bracket().run(form, Limits(gap=gap))


def utilities(p_hat: Array, n: float, alpha: float, epsilon: float, time_limit: float = 60.0) -> Row:
    """Compute I(X; Y)/H(X) under p̂ of every method.

    PolyOpt also has its proven bound and its seconds.

    Args:
        p_hat: the observed distribution [s][u].
        n: the number of samples.
        alpha: the significance level of the confidence set.
        epsilon: the level, in nats.
        time_limit: seconds for PolyOpt.
    """
    a1, a2 = p_hat.shape
    H, information = entropy(p_hat), MutualInformation(p_hat.ravel())
    given: dict[str, Any] = {"p_hat": p_hat, "n": n, "alpha": alpha, "epsilon": epsilon}
    width = WIDEST if a2 > WIDEST + 1 else None
    polyopt = solve(PolyOpt(**given, width=width), gap=1e-3, time_limit=time_limit)
    secrets_fit = a1 <= MOST_SECRETS
    found = {
        "polyopt": polyopt.value,
        "polyopt_bound": polyopt.bound,
        "ir": best(IndependentReporting(**given)).value,
        "grr_cr": best(GRRConditional(**given)).value,
        "ue_cr": best(UEConditional(**given), 1e-3).value if secrets_fit else None,
        "srr": float(information(secret_randomized_response(a1, a2, epsilon).matrix).sum()),
        "grr": float(information(randomized_response(a1 * a2, epsilon).matrix).sum()),
    }
    shares = {name: None if value is None else value / H for name, value in found.items()}
    return {**shares, "polyopt_seconds": polyopt.seconds, "solver": polyopt.solver}


def averages(rows: Iterable[Row], x: str, y: str) -> tuple[list[Any], list[float]]:
    """Average y over all rows with the same x.

    Args:
        rows: the rows of a study.
        x: the column by which they are grouped.
        y: the column that is averaged; rows without it are left out.

    Returns:
        The values of x in order, and the mean of y at each.
    """
    groups: dict[Any, list[float]] = {}
    for row in rows:
        if row.get(y) is not None:
            groups.setdefault(row[x], []).append(row[y])
    places = sorted(groups)
    return places, [float(np.mean(groups[place])) for place in places]


def draw_curves(
    rows: list[Row],
    path: Path,
    *,
    panel: Callable[[Row], str],
    x: str,
    names: dict[str, tuple[str, str]] = STYLES,
    xlabel: str = "ε",
    ylabel: str = "I(X;Y) / H(X)",
    log: bool = False,
) -> list[Path]:
    """Draw one panel per group of rows, one averaged curve per method.

    Args:
        rows: the rows of a study.
        path: the figure to write.
        panel: the title of the panel that a row belongs to.
        x: the column on the horizontal axis.
        names: for the column of each method its line style and its name.
        xlabel: the label of the horizontal axes.
        ylabel: the label of the vertical axes.
        log: whether the horizontal axes are logarithmic.
    """
    panels = list(dict.fromkeys(panel(row) for row in rows))
    columns = min(len(panels), 3)
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.3 * lines + 0.5), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for place, title in enumerate(panels):
        axes = grid[place // columns, place % columns]
        mine = [row for row in rows if panel(row) == title]
        for name, (style, label) in names.items():
            places, means = averages(mine, x, name)
            if places:
                axes.plot(places, means, style, markersize=4, label=label)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(xlabel)
        axes.grid(alpha=0.3)
        if log:
            axes.set_xscale("log")
        if place % columns == 0:
            axes.set_ylabel(ylabel)
    for spare in range(len(panels), lines * columns):
        grid[spare // columns, spare % columns].axis("off")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(labels), 3 * columns), fontsize=9
    )
    figure.savefig(path, dpi=120)
    return [path]
