"""The demonstration: hide a census attribute, with proof, on tables that ship with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ldpopt.core.files import save_figure
from ldpopt.core.mechanism import Mechanism
from ldpopt.engine.solving import solve, whole_answers
from ldpopt.engine.verifying import verify
from ldpopt.mechanisms.catalogue import randomized_response, secret_randomized_response
from ldpopt.problems.secret_staircase import SecretStaircase
from ldpopt.problems.staircase import Staircase
from ldpopt.tables import datasets

TABLES = ("sex-race", "race-income", "race-relationship", "sex-occupation")
EPSILON = 1.0


def run(out: Path) -> list[dict[str, Any]]:
    """Design, certify and save a mechanism for every table; one row each for the printed table."""
    with whole_answers():
        return [_row(name, out) for name in TABLES]


def _row(name: str, out: Path) -> dict[str, Any]:
    table = datasets.table(name)
    prior = table.distribution()
    question = SecretStaircase(EPSILON, prior)
    result = solve(question, gap=1e-6, time_limit=60)
    path = out / f"{name}.json"
    result.save(path)
    plain = solve(Staircase(EPSILON, prior=prior.ravel()), gap=1e-6, time_limit=60)
    a1, a2 = prior.shape
    labels = [f"{s}, {u}" for s in table.secret_values for u in table.public_values]
    mechanism = result.mechanism
    assert isinstance(mechanism, Mechanism)
    figure = Figure(
        figsize=(5 + mechanism.shape[1] * 0.14, 1.5 + len(labels) * 0.17), layout="constrained"
    )
    axes = Mechanism(mechanism.matrix, labels).plot(figure.subplots())
    axes.set(title=f"designed to hide {table.secret}, ε = {EPSILON:g}")
    save_figure(figure, out / f"{name}.png", dpi=120)
    return {
        "secret": table.secret,
        "public": table.public,
        "inputs": f"{a1} × {a2}",
        "optimum": result.value,
        "gap": result.gap,
        "secret randomised response": question.value(secret_randomized_response(a1, a2, EPSILON)),
        "plain LDP": plain.value,
        "randomised response": question.value(randomized_response(a1 * a2, EPSILON)),
        "seconds": result.seconds,
        "verified": verify(path).verdict,
    }


def draw_comparison(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw bars: what each mechanism releases about the data, in nats."""
    names = ("optimum", "secret randomised response", "plain LDP", "randomised response")
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    for i, (name, hatch) in enumerate(zip(names, ("", "//", "..", "xx"), strict=True)):
        axes.bar(
            [j + 0.2 * (i - 1.5) for j in range(len(rows))],
            [row[name] for row in rows],
            width=0.19,
            label=name,
            hatch=hatch,
            edgecolor="white",
        )
    axes.set_xticks(range(len(rows)), [f"{row['secret']} → {row['public']}" for row in rows])
    axes.set(
        ylabel="mutual information (nats)",
        title=f"Information released by mechanisms designed to hide the secret, ε = {EPSILON:g}",
    )
    axes.legend()
    axes.grid(axis="y", alpha=0.3)
    save_figure(figure, path, dpi=120)
