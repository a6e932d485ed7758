"""Draw the picture of the README: what a census release may tell when it hides sex.

    python tools/draw_picture.py docs/assets/census.svg

Every point is solved, and verified by the independent checker, before it is drawn.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.special import entr

from ldpopt import Result, Status, problem, solve, verify
from ldpopt.measures.information_metrics import mutual_information
from ldpopt.mechanisms import randomized_response
from ldpopt.tables import datasets

LEVELS = np.arange(0.25, 4.01, 0.25)


def proven(kind: str, **params: object) -> Result:
    """Solve a problem to a gap of 1e-6 and let the checker decide every claim."""
    result = solve(problem(kind, **params), gap=1e-6)
    assert result.status is Status.OPTIMAL, result
    assert verify(result), result
    return result


def curves() -> tuple[dict[str, list[float]], float]:
    """Return the information released at each level by each method, and that of the data."""
    table = datasets.table("sex-race")
    p = table.distribution()
    found: dict[str, list[float]] = {
        "robust LDP (polyopt)": [],
        "best LDP": [],
        "randomised response": [],
    }
    for level in LEVELS.tolist():
        best = [
            proven("polyopt", epsilon=level, counts=table.counts.tolist()).value,
            proven("staircase", epsilon=level, prior=p.ravel().tolist()).value,
            mutual_information(randomized_response(p.size, level), p.ravel()),
        ]
        for values, value in zip(found.values(), best, strict=True):
            values.append(float(value))
    return found, float(entr(p).sum())


def draw(path: Path) -> None:
    """Draw the curves, each with its name at its end."""
    found, everything = curves()
    with mpl.rc_context({"font.size": 10, "svg.hashsalt": "ldpopt", "axes.spines.right": False}):
        figure = Figure(figsize=(7.6, 3.6), layout="constrained")
        axes = figure.add_subplot()
        axes.spines["top"].set_visible(False)
        axes.axhline(everything, color="0.6", linestyle=":", linewidth=1)
        axes.text(0.25, everything - 0.02, "everything: sex and race themselves", color="0.4", va="top")
        for (name, values), colour in zip(found.items(), ("#3f51b5", "#00897b", "#9e9e9e"), strict=True):
            axes.plot(LEVELS, values, color=colour, marker="o", markersize=3)
            above = name != "randomised response"
            axes.text(LEVELS[-1] + 0.08, values[-1], name, color=colour, va="bottom" if above else "top")
        axes.set(
            xlim=(0, 5.4),
            ylim=(0, everything * 1.05),
            xticks=range(5),
            xlabel="privacy level ε",
            ylabel="information released, nats",
            title="32,561 people of a census: hide sex, release race",
        )
        figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    draw(parser.parse_args().path)
