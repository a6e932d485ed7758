"""What the studies of robust LDP share: tables, methods, and the figure of curves.

Lopuhaä-Zwakenberg and Goseling 2021, Section VIII. Work is limited by the gap that is asked for, never
by the clock, so that a result does not depend on what else the machine does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ldpopt.core.form import FormSolution
from ldpopt.core.forms.searches import ScalarSearch
from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.mechanisms.catalogue import randomized_response, secret_randomized_response
from ldpopt.models.utilities import MutualInformation, entropy
from ldpopt.problems.grr_conditional import GRRConditional
from ldpopt.problems.independent_reporting import IndependentReporting
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.problems.reporting_problem import Reporting
from ldpopt.problems.ue_conditional import UEConditional
from ldpopt.solvers.bracket import Bracket

STYLES = {
    "polyopt": ("C3-o", "PolyOpt"),
    "ir": ("C0-s", "IR"),
    "grr-cr": ("C2-^", "GRR-CR"),
    "ue-cr": ("C4-v", "UE-CR"),
    "srr": ("C1--", "SRR"),
    "grr": ("C7:", "GRR"),
}
RIVALS = tuple(name for name in STYLES if name != "polyopt")
PROTOCOLS: dict[str, tuple[type[Any], float]] = {
    "ir": (IndependentReporting, 1e-4),
    "grr-cr": (GRRConditional, 1e-4),
    "ue-cr": (UEConditional, 1e-3),
}
"""The protocols of Sections VI and VII with the relative gap at which their search stops."""
WIDEST = 6
"""The number of groups to which PolyOpt merges the public values of wider tables."""


@cache
def drawn_table(a1: int, a2: int, n: int, seed: int) -> tuple[Array, Array]:
    """Draw a distribution P* from the Jeffreys prior and the frequencies p̂ of n draws (Section VIII-A).

    Draws in which some secret never occurs are repeated.

    Args:
        a1: the number of secrets.
        a2: the number of public values.
        n: the number of draws.
        seed: the seed of the generator.
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


def utility(method: str, p_hat: Array, n: float, alpha: float, epsilon: float) -> float:
    """Compute I(X; Y)/H(X) under p̂ of one method.

    Args:
        method: a key of :data:`STYLES`.
        p_hat: the observed distribution [s][u].
        n: the number of samples.
        alpha: the significance level of the confidence set.
        epsilon: the level, in nats.
    """
    a1, a2 = p_hat.shape
    information = MutualInformation(p_hat.ravel())
    given: dict[str, Any] = {"p_hat": p_hat, "n": n, "alpha": alpha, "epsilon": epsilon}
    if method == "srr":
        found = float(information(secret_randomized_response(a1, a2, epsilon).matrix).sum())
    elif method == "grr":
        found = float(information(randomized_response(a1 * a2, epsilon).matrix).sum())
    elif method == "polyopt":
        width = WIDEST if a2 > WIDEST + 1 else None
        value = solve(PolyOpt(**given, width=width), gap=1e-3).value
        assert value is not None
        found = value
    else:
        kind, gap = PROTOCOLS[method]
        value = best(kind(**given), gap).value
        assert value is not None
        found = value
    return found / entropy(p_hat)


def averaged(values: Iterable[float]) -> study.Row:
    """Compute the mean of some draws and its standard error; one draw has none."""
    drawn = np.array(list(values))
    error = float(drawn.std(ddof=1) / math.sqrt(len(drawn))) if len(drawn) > 1 else None
    return {"mean": float(drawn.mean()), "standard_error": error}


def mean_utility(
    method: str,
    epsilon: float,
    draws: int,
    size: int | str = 3,
    n: float = 1000,
    alpha: float = 0.05,
) -> study.Row:
    """Average the normalised utility of one method over tables of 1000 draws each.

    Args:
        method: a key of :data:`STYLES`.
        epsilon: the level, in nats.
        draws: how many tables are drawn.
        size: the numbers of secrets and of public values, as in "3x5", or the one number of both.
        n: the number of samples that the confidence set is for.
        alpha: its significance level.
    """
    sides = [int(side) for side in str(size).split("x")]
    tables = (drawn_table(sides[0], sides[-1], 1000, seed)[1] for seed in range(draws))
    return averaged(utility(method, p_hat, n, alpha, epsilon) for p_hat in tables)


def draw_curves(
    rows: list[study.Row],
    title: str,
    ylabel: str = "I(X;Y) / H(X)",
    *,
    curve: str = "method",
    styles: dict[Any, tuple[str, str]] = STYLES,
    **layout: Any,
) -> tuple[Figure, list[Axes]]:
    """Draw one panel per title, a curve of means against ε per method, ± two standard errors.

    Args:
        rows: the rows of a study, with columns epsilon, mean and standard_error.
        title: the title of a row's panel, with the columns in braces.
        ylabel: the label of the vertical axes.
        curve: the column that tells the curves of a panel apart.
        styles: for each value of that column its line style and its name.
        layout: options of :func:`ldpopt.experiments.study.panels`.
    """
    drawn = [
        study.Curve("mean", style, label, {curve: name}, pen, "standard_error")
        for (name, (style, label)), pen in zip(styles.items(), study.nested(len(styles)), strict=True)
    ]
    return study.curves(rows, "epsilon", drawn, "ε (nats)", ylabel, title=title, **layout)


def means(rows: list[study.Row], **chosen: Any) -> dict[str, float]:
    """Map each method to its mean in the rows that have the chosen values."""
    return {row["method"]: row["mean"] for row in study.where(rows, **chosen)}
