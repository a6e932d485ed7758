"""Statistic maximal leakage: matching against flow, cuts against the full LP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import vstack

from ldpopt.core.highs import scipy_options
from ldpopt.core.limits import Limits
from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.problems import StatisticLeakage
from ldpopt.solvers.row_selection_milp import FacilityModel


def points(quick: bool) -> study.Points:
    """List deterministic mechanisms of growing size, then random ones; also the LP without cuts."""
    sizes = [60, 100, 140, 200] if quick else [60, 120, 240, 480, 10_000, 100_000]
    slow = 60 if quick else 480
    for size in sizes:
        for solver in ["matching", "flow-networkx"] if size <= slow else ["matching"]:
            yield {"case": "deterministic", "size": size, "solver": solver, "seed": 0}
    for size in [60] if quick else [200, 500, 1000]:
        for solver in ("cuts", "full LP"):
            yield {"case": "dirichlet", "size": size, "solver": solver, "seed": 0}


def measure(case: str, size: int, solver: str, seed: int) -> study.Row:
    """Compute seconds, value and bound of one method on one instance of the benchmark."""
    instances = StatisticLeakage.random(size, np.random.default_rng(seed))
    problem = next(instance for label, instance in instances if label.startswith(case))
    if solver == "full LP":
        limits = Limits.within(600.0)
        bound = _full_lp(problem, limits)
        return {"value": None, "bound": bound, "solving": limits.elapsed()}
    result = solve(problem, solver)
    return {"value": result.value, "bound": result.bound, "solving": result.seconds}


def _full_lp(problem: StatisticLeakage, limits: Limits) -> float | None:
    """Solve the facility-location LP, all variables at once, and take the log; None if not in time."""
    model: Any = FacilityModel(problem.form)
    link, assign, equal = (constraint.A for constraint in model.constraints)
    upper: Any = vstack([link, assign])
    most = np.concatenate([np.zeros(link.shape[0]), np.ones(assign.shape[0])])
    options: Any = scipy_options(limits)
    found = linprog(model.cost, upper, most, equal, np.ones(equal.shape[0]), options=options)
    return float(np.log(-found.fun)) if found.fun is not None else None


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw seconds against size, one panel per case."""
    sizes = {"deterministic": "parameters (deterministic)", "dirichlet": "parameters (20 per secret)"}
    shown = [{**row, "named": sizes[row["case"]]} for row in rows]
    lines = [
        study.Curve("solving", f"C{i}o-", name, {"solver": name})
        for i, name in enumerate(study.distinct(rows, "solver"))
    ]
    labels = "size", "seconds"
    figure, _ = study.curves(shown, "size", lines, *labels, title="{named}", scale="log log", height=3.3)
    return [study.save(figure, out / "leakage-scale.svg", 4)]


def conclude(rows: list[study.Row]) -> str:
    """State the two comparisons at their largest common size."""
    seconds = {(r["case"], r["solver"], r["size"]): r["solving"] for r in rows}
    size = max(s for case, solver, s in seconds if solver == "flow-networkx")
    faster = seconds["deterministic", "flow-networkx", size] / seconds["deterministic", "matching", size]
    most = max(r["size"] for r in rows if r["case"] == "deterministic")
    last = [r for r in rows if r["solver"] == "cuts"][-1]
    full = [r for r in rows if r["solver"] == "full LP"][-1]
    ended = "the full LP" if full["bound"] is not None else "the full LP, stopped there,"
    at_most = seconds["deterministic", "matching", most]
    gap = last["bound"] - last["value"]
    return (
        f"Matching takes {at_most:.2g} s for {most} parameters and is {faster:.0f} times faster than "
        f"networkx's flow at {size}. Cuts prove a gap of {gap:.3f} nats for {last['size']} parameters "
        f"in {last['solving']:.1f} s; {ended} took {full['solving']:.0f} s for its bound alone."
    )


EXPERIMENT = study.Experiment("leakage-scale", points, measure, draw, conclude)
