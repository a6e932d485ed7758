"""The demonstration: hide a census attribute, with proof, on tables that ship with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ldpopt.core.files import save_figure
from ldpopt.core.mechanism import Mechanism
from ldpopt.engine.result import Result
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
    out.mkdir(parents=True, exist_ok=True)
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
    draw_mechanism(
        result, labels, out / f"{name}.png", f"designed to hide {table.secret}, ε = {EPSILON:g}"
    )
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


def draw_mechanism(result: Result, labels: list[str], path: Path, title: str) -> None:
    """Draw the mechanism as a heat map: one row per input, one column per output, most likely first.

    Args:
        result: holds the mechanism.
        labels: the names of the inputs.
        path: the figure to write.
        title: the title of the figure.
    """
    mechanism = result.mechanism
    assert isinstance(mechanism, Mechanism)
    order = mechanism.matrix.sum(axis=0).argsort()[::-1]
    rows, columns = mechanism.shape
    figure = Figure(figsize=(5 + columns * 0.14, 1.5 + rows * 0.17), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(mechanism.matrix[:, order], cmap="viridis", aspect="auto", vmin=0)
    axes.set(xlabel="output (most likely first)", title=title)
    axes.set_yticks(range(rows), labels, fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.colorbar(image, label="P(output | input)")
    save_figure(figure, path, dpi=120)


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
