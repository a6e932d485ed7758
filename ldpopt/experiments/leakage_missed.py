"""Wang et al. 2024, Fig. 7: leakage and random forests with misjudged combinations.

As `leakage-forest`: the data are those named by the environment variable
LDPOPT_ADULT, the secret is the share of white people with a high income. The missed combinations are
other people's. The data that hold them are released over the known combinations and them, so missing
some costs privacy, not utility; combinations that the holder adds in vain (drawn from those that nobody
has) cost utility.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.leakage_forest import column_values, forest_roc, read_census, share_quantisation
from ldpopt.theory.leakage.block_secrets import BlockQuantization

FIXED = 6
"""The interval of Figs. 7(c) to (e)."""
BUDGET = 4 * math.log(2)
"""The budget of Fig. 7(b): 4 bits."""


def points(quick: bool) -> Iterable[Point]:
    """List forests by interval and by added combinations; the leakage of each by missed combinations."""
    intervals = (17, FIXED, 1) if quick else (17, 9, FIXED, 5, 4, 3, 2, 1)
    added = (0, 5_000) if quick else (0, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
    missed = (0, 5, 20) if quick else (0, 1, 2, 5, 10, 20, 50, 100)
    rows = 1_500 if quick else 32_561
    data = os.environ.get("LDPOPT_ADULT", "adult.csv.gz")
    settings = [(i, 0) for i in intervals] + [(FIXED, a) for a in added[1:]]
    for interval, more in settings:
        shared = {"interval": interval, "added": more, "data": data, "rows": rows}
        for count in missed:
            yield {"part": "leakage", "missed": count, **shared}
        for seed in range(1 if quick else 20):
            yield {"part": "forest", "seed": seed, "trees": 20 if quick else 100, **shared}


def measure(
    part: str,
    interval: int,
    added: int,
    data: str,
    rows: int,
    missed: int = 0,
    seed: int = 0,
    trees: int = 0,
) -> Row:
    """Measure the leakage with combinations missed, or the area under the ROC curve of one forest."""
    train, test = read_census(data, rows)
    values = column_values(train, test)
    categories, histogram = np.unique(train, axis=0, return_counts=True)
    everybody = np.concatenate([categories, _infeasible(values, [*train, *test], added)])
    mechanism = share_quantisation(everybody, len(train), interval)
    if part == "leakage":
        found = _without(mechanism, missed).missed_bounds(missed)
        return {"sml": found.low, "bound": found.high, "combinations": len(categories)}
    padded = np.concatenate([histogram, np.zeros(added, np.int64)])
    released = mechanism.release(padded, np.random.default_rng(seed))
    area, _ = forest_roc(np.repeat(everybody, released, axis=0), test, values, trees, seed)
    return {"auc": area}


def _without(mechanism: BlockQuantization, missed: int) -> BlockQuantization:
    """Build the mechanism of a holder who misses the first combinations outside the secret's group."""
    outside = np.flatnonzero(np.asarray(mechanism.blocks) == 0)[:missed]
    blocks = np.delete(np.asarray(mechanism.blocks), outside)
    return BlockQuantization(mechanism.tau, blocks, mechanism.value, mechanism.grid, mechanism.interval)


def _infeasible(values: list[Any], people: list[Any], count: int) -> Any:
    """Draw combinations that nobody has at random, none twice."""
    taken = {tuple(person) for person in people}
    rng, found = np.random.default_rng(0), dict[tuple[str, ...], None]()
    while len(found) < count:
        drawn = np.column_stack([rng.choice(own, count) for own in values])
        found |= dict.fromkeys(row for row in map(tuple, drawn.tolist()) if row not in taken)
    return np.array(list(found)[:count]).reshape(count, len(values))


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw utility by leakage, by missed and by added combinations, and leakage by added ones."""
    figure = Figure(figsize=(10, 7.5), layout="constrained")
    by_leakage, by_missed, by_added, leakage = figure.subplots(2, 2).ravel()
    areas = _areas(rows)
    counts = sorted({row["missed"] for row in rows if row["part"] == "leakage"})
    for count in counts:
        plain = [r for r in _leakages(rows, count) if r["added"] == 0]
        plain.sort(key=lambda r: float(r["bound"]))
        mean = [areas[r["interval"], 0][0] for r in plain]
        by_leakage.plot([r["bound"] for r in plain], mean, "o-", ms=3, label=f"{count} missed")
        wider = [r for r in _leakages(rows, count) if r["interval"] == FIXED]
        added = [r["added"] for r in wider]
        (line,) = leakage.plot(added, [r["bound"] for r in wider], "o-", ms=3, label=f"{count} missed")
        low, high = [r["sml"] for r in wider], [r["bound"] for r in wider]
        leakage.fill_between(added, low, high, color=line.get_color(), alpha=0.4, linewidth=0)
    within = [(count, best) for count in counts if (best := _within_budget(rows, count)) is not None]
    for axes, pairs in (
        (by_missed, [(count, areas[interval, 0]) for count, interval in within]),
        (by_added, [(more, areas[FIXED, more]) for i, more in areas if i == FIXED]),
    ):
        axes.errorbar(
            [x for x, _ in pairs], [m for _, (m, _) in pairs], [s for _, (_, s) in pairs], fmt="o-"
        )
        axes.set_ylabel("area under the ROC curve")
    by_leakage.set(xlabel="SML at most (nats)", ylabel="area under the ROC curve")
    by_missed.set(xlabel="combinations missed, SML ≤ 4 bits")
    by_added.set(xlabel=f"infeasible combinations added, I = {FIXED}")
    leakage.set(xlabel=f"infeasible combinations added, I = {FIXED}", ylabel="SML (nats)")
    by_leakage.legend(fontsize=8)
    leakage.legend(fontsize=8)
    path = out / "leakage-missed.png"
    figure.savefig(path, dpi=150)
    return [path]


def _areas(rows: list[Row]) -> dict[tuple[int, int], tuple[float, float]]:
    """Compute mean and standard deviation by interval and added combinations."""
    found: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row["part"] == "forest":
            found.setdefault((row["interval"], row["added"]), []).append(row["auc"])
    return {key: (float(np.mean(own)), float(np.std(own))) for key, own in found.items()}


def _leakages(rows: list[Row], missed: int) -> list[Row]:
    return [row for row in rows if row["part"] == "leakage" and row["missed"] == missed]


def _within_budget(rows: list[Row], missed: int) -> int | None:
    """Find the shortest interval that is proven to leak at most the budget; None if all leak more."""
    fit = [r for r in _leakages(rows, missed) if r["added"] == 0 and r["bound"] <= BUDGET + 1e-9]
    return min((r["interval"] for r in fit), default=None)


def conclude(rows: list[Row]) -> str:
    """State what missing and adding combinations costs."""
    areas = _areas(rows)
    counts = sorted({row["missed"] for row in rows if row["part"] == "leakage"})
    within = {count: _within_budget(rows, count) for count in counts}
    reached = max(count for count, interval in within.items() if interval is not None)
    most = max(added for _, added in areas)
    of_most = [r for r in _leakages(rows, counts[-1]) if r["interval"] == FIXED]
    means = [mean for mean, _ in areas.values()]
    return (
        f"Within 4 bits up to {reached} missed combinations can be afforded, with intervals "
        + ", ".join(f"{i} for {count}" for count, i in within.items() if i is not None)
        + f"; the areas lie between {min(means):.3f} and {max(means):.3f}. Adding {most} infeasible "
        f"combinations changes the area from {areas[FIXED, 0][0]:.3f} to {areas[FIXED, most][0]:.3f} "
        f"and, with {counts[-1]} missed, the leakage from at least {of_most[0]['sml']:.3f} to at most "
        f"{of_most[-1]['bound']:.3f} nats."
    )


EXPERIMENT = Experiment(
    name="leakage-missed",
    points=points,
    measure=measure,
    draw=draw,
    conclude=conclude,
)
