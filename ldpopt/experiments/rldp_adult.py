"""Robust LDP on the Adult census and on tables of its sizes
(Lopuhaä-Zwakenberg and Goseling 2021, Figures 10, 11).

PolyOpt is measured on the small tables, as in the paper; UE-CR for at most 12 secrets.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpopt.core.exact import MOST_UNARY_SECRETS
from ldpopt.experiments import robust_study, study
from ldpopt.experiments.robust_study import STYLES
from ldpopt.tables.datasets import table as read_table
from ldpopt.tables.datasets import tables

LEVELS = (0.2, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0)


def points(quick: bool) -> study.Points:
    """List every table at every level: the data, and 20 drawn tables of the same shape and n."""
    for name in ["sex-race"] if quick else tables():
        for source in ("adult", "synthetic"):
            for method in STYLES:
                a1, a2 = read_table(name).counts.shape
                # inputs up to which PolyOpt is measured
                fits = (method != "polyopt" or a1 * a2 <= 10) and (
                    method != "ue-cr" or a1 <= MOST_UNARY_SECRETS
                )
                for epsilon in (0.5, 1.0, 2.0, 4.0) if quick else LEVELS:
                    point = {"table": name, "source": source, "method": method, "epsilon": epsilon}
                    if fits and source == "adult":
                        yield point
                    elif fits:
                        yield {**point, "draws": 2 if quick else 20}


def measure(table: str, source: str, method: str, epsilon: float, draws: int = 1) -> study.Row:
    """Compute normalised utilities with n = 32561 and α = 0.05."""
    data = read_table(table)
    a1, a2 = data.counts.shape
    if source == "adult":
        shown = [data.distribution()]
    else:
        shown = [robust_study.drawn_table(a1, a2, data.n, seed)[1] for seed in range(draws)]
    found = [robust_study.utility(method, p_hat, data.n, 0.05, epsilon) for p_hat in shown]
    return {"shape": f"{a1} × {a2}", **robust_study.averaged(found)}


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one figure for the data, one for the drawn tables."""
    named = [{**row, "columns": row["table"].replace("_", " ")} for row in rows]
    titles = {"adult": "{columns} ({shape})", "synthetic": "drawn, {shape} as {columns}"}
    files = []
    for source in study.distinct(rows, "source"):
        figure, _ = robust_study.draw_curves(study.where(named, source=source), titles[source])
        files.append(study.save(figure, out / f"rldp-adult-{source}.svg"))
    return files


def conclude(rows: list[study.Row]) -> str:
    """State where PolyOpt is ahead, and whether IR and GRR-CR change places between data and draws."""
    groups: dict[tuple[str, str, float], dict[str, float]] = {}
    for row in rows:
        groups.setdefault((row["table"], row["source"], row["epsilon"]), {})[row["method"]] = row["mean"]
    gains = [
        found["polyopt"] / max(value for name, value in found.items() if name != "polyopt")
        for found in groups.values()
        if "polyopt" in found
    ]
    swapped = [
        f"{table} at ε = {epsilon:g}"
        for (table, source, epsilon), found in groups.items()
        if source == "adult" and _differs(found, groups[table, "synthetic", epsilon])
    ]
    shares = [
        groups[table, "synthetic", epsilon][method] / value
        for (table, source, epsilon), found in groups.items()
        if source == "adult"
        for method, value in found.items()
    ]
    draws = max(row.get("draws") or 1 for row in rows)
    return (
        f"PolyOpt is ahead of every other method in {sum(g > 1 for g in gains)} of {len(gains)} cases, "
        f"by a factor of up to {max(gains):.2f}. Between the data and {draws} drawn tables of the same "
        f"shape IR and GRR-CR change places in {len(swapped)} of {len(groups) // 2} cases"
        + (f" ({', '.join(swapped)}). " if swapped else ". ")
        + f"Means on drawn tables are {min(shares):.2f} to {max(shares):.2f} times those on the data, "
        f"the middle half {np.quantile(shares, 0.25):.2f} to {np.quantile(shares, 0.75):.2f} times."
    )


def _differs(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return whether IR leads GRR-CR in one case and trails it in the other, by more than 1 %."""
    margins = [found["ir"] / found["grr-cr"] - 1 for found in (one, other)]
    return min(margins) < -0.01 and max(margins) > 0.01


EXPERIMENT = study.Experiment(
    "rldp-adult", points, measure, draw, conclude, panel="table", method="method", draws="draws"
)
