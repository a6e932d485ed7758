"""Robust LDP: utility against ε for many sizes (Lopuhaä-Zwakenberg and Goseling 2021, Figures 3, 4).

PolyOpt, which the paper could not run on these sizes, is measured on demand (``--methods polyopt``);
tables with more than seven public values then have the rarest merged first.
"""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.experiments import robust_study, study
from ldpopt.experiments.rldp_polyopt import LEVELS
from ldpopt.experiments.robust_study import RIVALS, STYLES


def points(quick: bool) -> study.Points:
    """List sizes, methods and levels, with the paper's 200 draws."""
    sizes = ["2x2", "3x3"] if quick else [f"{a1}x{a2}" for a1 in (3, 5, 7, 9) for a2 in (3, 5, 7, 9)]
    levels = (0.5, 1.0, 2.0, 4.0) if quick else LEVELS
    return study.grid(size=sizes, method=STYLES, epsilon=levels, draws=(2 if quick else 200,))


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw one panel per size, one figure per number of secrets."""
    groups: dict[str, list[study.Row]] = {}
    for row in rows:
        a1, a2 = row["size"].split("x")
        groups.setdefault(a1, []).append({**row, "a1": a1, "a2": a2})
    drawn = {a1: robust_study.draw_curves(mine, "{a1} × {a2}")[0] for a1, mine in groups.items()}
    return [study.save(figure, out / f"rldp-synthetic-{a1}.svg") for a1, figure in drawn.items()]


def conclude(rows: list[study.Row]) -> str:
    """State from which level on SRR is the best of the methods, by size, and how others compare."""
    since = {}
    for size in study.distinct(rows, "size"):
        levels = sorted(study.distinct(study.where(rows, size=size), "epsilon"))
        means = {epsilon: robust_study.means(rows, size=size, epsilon=epsilon) for epsilon in levels}
        behind = [e for e, own in means.items() if own["srr"] < max(own[name] for name in RIVALS)]
        since[size] = next((epsilon for epsilon in levels if epsilon > max(behind, default=0)), None)
    pairs = [(one, two) for one in since for two in since if one != two and _fits(one, two)]
    later = sum((since[two] or math.inf) >= (since[one] or math.inf) for one, two in pairs)
    return (
        f"{rows[0]['draws']} draws. SRR is the best of {', '.join(STYLES[n][1] for n in RIVALS)} from "
        + "ε = "
        + ", ".join("never" + f" ({s})" if e is None else f"{e:g} ({s})" for s, e in since.items())
        + " on. Where one table fits into another, that ε is at least as high for the larger in "
        f"{later} of {len(pairs)} pairs (Section VIII-B: higher; Section IX: lower). {_others(rows)}"
    )


def _others(rows: list[study.Row]) -> str:
    """State how GRR compares with SRR, and GRR-CR with IR."""
    settings = dict.fromkeys((row["size"], row["epsilon"]) for row in rows)
    found = {at: robust_study.means(rows, size=at[0], epsilon=at[1]) for at in settings}
    below = sum(means["grr"] < means["srr"] for means in found.values())
    parts = []
    for words, chosen in (("up to", True), ("beyond", False)):
        shares = [m["grr-cr"] / m["ir"] for (_, level), m in found.items() if (level <= 1) == chosen]
        parts.append(f"{min(shares):.2f} to {max(shares):.2f} times that of IR {words} ε = 1")
    return (
        f"GRR is below SRR in {below} of {len(found)} means; the utility of GRR-CR is "
        + " and ".join(parts)
        + "."
    )


def _fits(one: str, two: str) -> bool:
    """Return whether a table is no larger than another in secrets and in public values."""
    return all(a <= b for a, b in zip(*(map(int, s.split("x")) for s in (one, two)), strict=True))


EXPERIMENT = study.Experiment(
    "rldp-synthetic",
    points,
    robust_study.mean_utility,
    draw,
    conclude,
    panel="size",
    method="method",
    usual=RIVALS,
    draws="draws",
)
