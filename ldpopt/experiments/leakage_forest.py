"""Wang et al. 2024, Figs. 6 and 7: random forests on census data released by quantisation.

The data are the complete Adult file (48,842 rows), named by the environment variable LDPOPT_ADULT. The
holder releases the 32,561 training rows, the forest is judged on the 16,281 test rows. The secret is the
paper's: the share of white people with a high income less that of the others, on a grid of 17 values.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from ldpopt.core.errors import InvalidInputError, MissingDependencyError
from ldpopt.core.validate import Array
from ldpopt.experiments import study
from ldpopt.experiments.leakage_tradeoff import COLUMNS
from ldpopt.mechanisms.rate_quantization import RateQuantization

CELLS = 17
RAW = 0
"""The interval that stands for training on the data themselves."""
FIXED = 6
"""The interval with which infeasible combinations are added, as in Figs. 7(c) to (e)."""
BUDGET = 4 * math.log(2)
"""The budget of Fig. 7(b): 4 bits."""
MISSED = (0, 1, 2, 5, 10, 20, 50, 100)


def points(quick: bool) -> study.Points:
    """List intervals of the secret's grid and added combinations, with the paper's 20 releases each."""
    size = {"rows": 1_500, "trees": 10} if quick else {"rows": 32_561, "trees": 20}
    added = (5_000,) if quick else (5_000, 20_000, 50_000, 200_000)
    settings = [(i, 0) for i in ((RAW, 17, FIXED, 1) if quick else (RAW, 17, 9, FIXED, 5, 3, 2, 1))]
    for interval, more in [*settings, *((FIXED, more) for more in added)]:
        for seed in range(1 if quick else 20):
            yield {"interval": interval, "added": more, "seed": seed, **size}


def measure(interval: int, added: int, seed: int, rows: int, trees: int) -> study.Row:
    """Measure the area under the ROC curve of a forest trained on one release."""
    train, test = read_census(os.environ.get("LDPOPT_ADULT", "adult.csv.gz"), rows)
    learned = train
    found: study.Row = {"sml": None, "released_cell": None}
    if interval != RAW:
        mechanism, everybody, histogram = _mechanism(rows, interval, added)
        released = mechanism.release(histogram, np.random.default_rng(seed))
        learned = np.repeat(everybody, released, axis=0)
        cell = mechanism.released_cell(mechanism.cell(histogram))
        found = {"sml": mechanism.sml(), "released_cell": cell}
    area, curve = forest_roc(learned, test, column_values(train, test), trees, seed)
    known = {"combinations": len(np.unique(train, axis=0)), "records": len(train)}
    return {**found, **known, "auc": area, "roc": [round(float(t), 3) for t in curve]}


@cache
def _mechanism(rows: int, interval: int, added: int) -> tuple[RateQuantization, Any, Any]:
    """Build the quantisation, its combinations (infeasible ones last) and the data's counts."""
    train, test = read_census(os.environ.get("LDPOPT_ADULT", "adult.csv.gz"), rows)
    categories, histogram = np.unique(train, axis=0, return_counts=True)
    extra = infeasible(column_values(train, test), [*train, *test], added)
    everybody = np.concatenate([categories, extra])
    outside = everybody[:, COLUMNS.index("race")] != "White"
    other = everybody[:, COLUMNS.index("income")] != ">50K"
    mechanism = RateQuantization(len(train), 2 * outside + other, CELLS, interval)
    return mechanism, everybody, np.concatenate([histogram, np.zeros(added, np.int64)])


def forest_roc(learned: Any, test: Any, values: list[Any], trees: int, seed: int) -> tuple[float, Array]:
    """Train a forest to tell high incomes: its area under the ROC curve, and the curve.

    Args:
        learned: the rows to learn from, the income last.
        test: the rows to judge by.
        values: the values of every column, by which cells become numbers.
        trees: how many trees the forest has.
        seed: the seed of the forest.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.metrics import roc_auc_score, roc_curve
    except ImportError:
        raise MissingDependencyError("a forest", "sklearn") from None
    forest = RandomForestClassifier(n_estimators=trees, min_samples_leaf=5, random_state=seed)
    forest.fit(_coded(learned, values)[:, :-1], learned[:, -1] == ">50K")
    scores = forest.predict_proba(_coded(test, values)[:, :-1])[:, -1]
    truth = test[:, -1] == ">50K"
    false, true, _ = roc_curve(truth, scores)
    return float(roc_auc_score(truth, scores)), np.interp(np.linspace(0, 1, 26), false, true)


def column_values(train: Any, test: Any) -> list[Any]:
    """List the values of every column."""
    return [np.unique(np.concatenate([train[:, j], test[:, j]])) for j in range(len(COLUMNS))]


def infeasible(values: list[Any], people: list[Any], count: int) -> Any:
    """Draw combinations that nobody has at random, none twice.

    Args:
        values: the values of every column.
        people: the rows of everybody.
        count: how many combinations to draw.
    """
    taken = {tuple(person) for person in people} if count else set()
    rng, found = np.random.default_rng(0), dict[tuple[str, ...], None]()
    while len(found) < count:
        drawn = np.column_stack([rng.choice(own, count) for own in values])
        found |= dict.fromkeys(row for row in map(tuple, drawn.tolist()) if row not in taken)
    return np.array(list(found)[:count], dtype=str).reshape(count, len(values))


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


def _coded(table: Any, names: list[Any]) -> Any:
    """Replace each value by its rank in its column; ages rank as numbers do, all having two digits."""
    return np.column_stack([np.searchsorted(own, table[:, j]) for j, own in enumerate(names)])


def printed_bound(interval: int, missed: int, added: int, records: int, combinations: int) -> float:
    """Evaluate the upper bound of Wang et al. 2024, Proposition 4, on the leakage of quantisation.

    It is stated for secrets that are the fraction of one category; the paper uses it for this one too.

    Args:
        interval: how many cells make a bin.
        missed: the feasible combinations that the holder misses.
        added: the infeasible ones that it adds.
        records: τ.
        combinations: the feasible ones that the holder knows.
    """
    bins, known = -(-CELLS // interval), combinations - missed + added
    first = math.log(bins) + missed * math.log1p(records / (records + known - 2))
    stay = (known - 1) / (records + combinations + added - 2)
    return min(first, math.log(bins + CELLS - CELLS * stay**missed), math.log(CELLS))


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw Fig. 6, ROC curves and their areas, and Fig. 7, areas with misjudged combinations."""
    return [_draw_roc(rows, out), _draw_misjudged(rows, out)]


def _draw_roc(rows: list[study.Row], out: Path) -> Path:
    figure, (curves, areas) = study.panels(2, height=3.6)
    plain = [row for row in rows if row["added"] == 0]
    intervals = list(dict.fromkeys(row["interval"] for row in plain))
    for place, (interval, pen) in enumerate(zip(intervals, study.nested(len(intervals)), strict=True)):
        own = [row for row in plain if row["interval"] == interval]
        label = "original data" if interval == RAW else f"SML {own[0]['sml']:.2f} nats"
        mean = np.mean([r["roc"] for r in own], axis=0)
        style = "k--" if interval == RAW else f"C{place}-"
        curves.plot(np.linspace(0, 1, len(mean)), mean, style, label=label, **pen)
        if interval == RAW:
            areas.axhline(float(np.mean([r["auc"] for r in own])), color="k", ls="--")
    found = sorted((own[0]["sml"], *_spread(own)) for own in _grouped(plain).values())
    if found:
        sml, mean_area, deviation = zip(*found, strict=True)
        areas.errorbar(sml, mean_area, deviation, fmt="o-", ms=3, capsize=3)
    curves.set(xlabel="false positive rate", ylabel="true positive rate")
    areas.set(xlabel="SML (nats)", ylabel="area under the ROC curve")
    return study.save(figure, out / "leakage-forest-roc.svg")


def _draw_misjudged(rows: list[study.Row], out: Path) -> Path:
    figure, (by_leakage, by_missed, by_added, leakage) = study.panels(4, height=3.0)
    areas = {key: _spread(own) for key, own in _grouped(rows).items()}
    for axes, style, found in (
        (by_leakage, "o", [(_bound(rows, i, 5, 0), *areas[i, 0]) for i, more in areas if more == 0]),
        (
            by_missed,
            "o-",
            [(m, *areas[i, 0]) for m in MISSED if (i := within_budget(rows, m)) is not None],
        ),
        (by_added, "o-", [(more, *area) for (i, more), area in areas.items() if i == FIXED]),
    ):
        if found:
            x, mean, deviation = zip(*found, strict=True)
            axes.errorbar(x, mean, deviation, fmt=style, ms=3, capsize=3)
        axes.set_ylabel("area under the ROC curve")
    added = (0, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
    for missed, style in ((5, "o-"), (20, "s--"), (100, "^:")):
        bounds = [_bound(rows, FIXED, missed, more) for more in added]
        leakage.plot(added, bounds, style, ms=3, label=f"{missed} missed")
    by_leakage.set(xlabel="Proposition 4 with 5 missed (nats)", title="(a)")
    by_missed.set(xlabel="missed combinations, at most 4 bits", title="(b)")
    by_added.set(xlabel="infeasible combinations added", title="(c)–(e), utility")
    leakage.set(xlabel="infeasible combinations added", title="(c)–(e), Proposition 4")
    leakage.set_ylabel("nats")
    for axes in (by_added, leakage):
        axes.xaxis.set_major_locator(MaxNLocator(4))
    return study.save(figure, out / "leakage-forest-misjudged.svg")


def _grouped(rows: list[study.Row]) -> dict[tuple[int, int], list[study.Row]]:
    """Collect the releases by interval and added combinations."""
    found: dict[tuple[int, int], list[study.Row]] = {}
    for row in rows:
        if row["interval"] != RAW:
            found.setdefault((row["interval"], row["added"]), []).append(row)
    return found


def _spread(rows: list[study.Row]) -> tuple[float, float]:
    areas = [row["auc"] for row in rows]
    return float(np.mean(areas)), float(np.std(areas))


def _bound(rows: list[study.Row], interval: int, missed: int, added: int) -> float:
    return printed_bound(interval, missed, added, rows[0]["records"], rows[0]["combinations"])


def within_budget(rows: list[study.Row], missed: int) -> int | None:
    """Find the shortest interval measured whose bound is within the budget; None if there is none.

    Args:
        rows: the rows of the study.
        missed: the combinations that the holder misses.
    """
    fit = [i for i, more in _grouped(rows) if more == 0 and _bound(rows, i, missed, 0) <= BUDGET]
    return min(fit, default=None)


def conclude(rows: list[study.Row]) -> str:
    """State the areas by leakage and with misjudged combinations."""
    grouped = _grouped(rows)
    raw = float(np.mean([row["auc"] for row in rows if row["interval"] == RAW]))
    by_leakage = [
        f"{_spread(own)[0]:.3f} at {own[0]['sml']:.2f} (cell {own[0]['released_cell']})"
        for (_, more), own in grouped.items()
        if more == 0
    ]
    most = max(more for _, more in grouped)
    ends = [_spread(grouped[FIXED, more])[0] for more in (0, most)]
    intervals = [f"{within_budget(rows, missed) or 'none'} for {missed}" for missed in MISSED]
    return (
        f"On {rows[0]['combinations']} combinations of {', '.join(COLUMNS)}, forests reach a mean area "
        f"of {raw:.3f} from the data; from releases, by leakage in nats and released cell of the "
        f"secret: {', '.join(by_leakage)}. Adding {most} infeasible combinations takes it from "
        f"{ends[0]:.3f} to {ends[1]:.3f}. By Proposition 4 the shortest intervals within 4 bits are, "
        f"by missed combinations, {', '.join(intervals)}."
    )


EXPERIMENT = study.Experiment(
    "leakage-forest", points, measure, draw, conclude, panel="added", draws="seed"
)
