"""Wang et al. 2024, Fig. 6: random forests on census data released by quantisation.

The data are the complete Adult file (48,842 rows), named by the environment variable LDPOPT_ADULT. The
holder releases the 32,561 training rows, the forest is judged on the 16,281 test rows. Its secret is the
share of white people with a high income, on a grid of 17 values: sampling the paper's secret (a
difference of two rates) uniformly needs all counts of four groups, 10^13 of them.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ldpopt.core.errors import InvalidInputError, MissingDependencyError
from ldpopt.core.validate import Array
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.leakage_tradeoff import COLUMNS
from ldpopt.theory.leakage.block_secrets import BlockQuantization

CELLS = 17
RAW = 0
"""The interval that stands for training on the data themselves."""


def points(quick: bool) -> Iterable[Point]:
    """List intervals of the secret's grid, repeated with independent releases."""
    size = {"rows": 1_500, "trees": 20} if quick else {"rows": 32_561, "trees": 100}
    data = os.environ.get("LDPOPT_ADULT", "adult.csv.gz")
    for interval in (RAW, 17, 1) if quick else (RAW, 17, 9, 6, 5, 4, 3, 2, 1):
        for seed in range(1 if quick else 20):
            yield {"interval": interval, "seed": seed, "data": data, **size}


def measure(interval: int, seed: int, data: str, rows: int, trees: int) -> Row:
    """Measure the area under the ROC curve of a forest trained on one release."""
    train, test = read_census(data, rows)
    categories, histogram = np.unique(train, axis=0, return_counts=True)
    sml, released = 0.0, histogram
    if interval != RAW:
        mechanism = share_quantisation(categories, len(train), interval)
        sml, released = mechanism.sml(), mechanism.release(histogram, np.random.default_rng(seed))
    learned = np.repeat(categories, released, axis=0)
    area, curve = forest_roc(learned, test, column_values(train, test), trees, seed)
    return {
        "sml": None if interval == RAW else sml,
        "combinations": len(categories),
        "auc": area,
        "roc": [round(float(t), 4) for t in curve],
    }


def forest_roc(learned: Any, test: Any, values: list[Any], trees: int, seed: int) -> tuple[float, Array]:
    """Train a forest to tell high incomes: its area under the ROC curve, and the curve.

    Args:
        learned: the rows to learn from, the income last.
        test: the rows to judge by.
        values: the values of every column, by which cells become numbers.
        trees: how many trees the forest has.
        seed: of the forest.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.metrics import roc_auc_score, roc_curve
    except ImportError:
        raise MissingDependencyError("forests need scikit-learn: pip install 'ldpopt[forest]'") from None
    forest = RandomForestClassifier(n_estimators=trees, min_samples_leaf=5, random_state=seed)
    forest.fit(_coded(learned, values)[:, :-1], learned[:, -1] == ">50K")
    scores = forest.predict_proba(_coded(test, values)[:, :-1])[:, -1]
    truth = test[:, -1] == ">50K"
    false, true, _ = roc_curve(truth, scores)
    return float(roc_auc_score(truth, scores)), np.interp(np.linspace(0, 1, 51), false, true)


def column_values(train: Any, test: Any) -> list[Any]:
    """List the values of every column."""
    return [np.unique(np.concatenate([train[:, j], test[:, j]])) for j in range(len(COLUMNS))]


@cache
def read_census(path: str, rows: int) -> tuple[Any, Any]:
    """Read the chosen columns of the training and test rows, the first ``rows`` of each at most."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
    except OSError as error:
        raise InvalidInputError(
            f"cannot read the census data at {path}: {error.strerror}; set LDPOPT_ADULT to its path"
        ) from None
    parts = {"train": [], "test": []}  # type: dict[str, list[list[str]]]
    for row in table:
        if len(parts[row["split"]]) < rows:
            parts[row["split"]].append([row[column] for column in COLUMNS])
    return np.array(parts["train"]), np.array(parts["test"])


def share_quantisation(categories: Any, tau: int, interval: int) -> BlockQuantization:
    """Build the quantisation whose secret is the share of white people with a high income.

    Args:
        categories: the combinations of values, one a row.
        tau: the number τ of records.
        interval: how many cells of the secret's grid make a bin.
    """
    race, income = COLUMNS.index("race"), COLUMNS.index("income")
    inside = (categories[:, race] == "White") & (categories[:, income] == ">50K")
    grid = np.linspace(0, 1, CELLS + 1)[1:-1]
    return BlockQuantization(tau, inside.astype(np.int64), lambda sums: sums[:, 1] / tau, grid, interval)


def _coded(table: Any, names: list[Any]) -> Any:
    """Replace each value by its rank in its column; ages rank as numbers do, all having two digits."""
    return np.column_stack([np.searchsorted(own, table[:, j]) for j, own in enumerate(names)])


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw mean ROC curves and the areas under them."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    curves, areas = figure.subplots(1, 2)
    means = []
    for interval in dict.fromkeys(row["interval"] for row in rows):
        own = [row for row in rows if row["interval"] == interval]
        label = "original data" if interval == RAW else f"SML {own[0]['sml']:.2f}"
        style = "k--" if interval == RAW else "-"
        curves.plot(np.linspace(0, 1, 51), np.mean([r["roc"] for r in own], axis=0), style, label=label)
        found = [r["auc"] for r in own]
        if interval == RAW:
            areas.axhline(float(np.mean(found)), color="k", ls="--", label="original data")
        else:
            means.append((own[0]["sml"], float(np.mean(found)), float(np.std(found))))
    curves.set(xlabel="false positive rate", ylabel="true positive rate")
    curves.legend(fontsize=8)
    sml, mean, deviation = (list(part) for part in zip(*means, strict=True))
    areas.errorbar(sml, mean, deviation, fmt="o-", capsize=3)
    areas.set(xlabel="SML (nats)", ylabel="area under the ROC curve")
    areas.legend(fontsize=8)
    path = out / "leakage-forest.png"
    figure.savefig(path, dpi=150)
    return [path]


def conclude(rows: list[Row]) -> str:
    """State the areas at both ends."""
    means: dict[int, float] = {}
    for interval in dict.fromkeys(row["interval"] for row in rows):
        means[interval] = float(np.mean([r["auc"] for r in rows if r["interval"] == interval]))
    released = {interval: auc for interval, auc in means.items() if interval != RAW}
    return (
        f"On {rows[0]['combinations']} combinations of {', '.join(COLUMNS)}, a forest reaches an area "
        f"of {means[RAW]:.3f} from the data, {released[max(released)]:.3f} from a release that leaks "
        f"nothing about the secret and {released[min(released)]:.3f} from one that reveals its cell."
    )


EXPERIMENT = Experiment(
    name="leakage-forest",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
)
