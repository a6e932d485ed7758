"""Which Adult features are safe to release by their marginals alone (Bravo-Hermsdorff et al. 2022)."""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.engine.solving import solve
from ldpopt.experiments import study
from ldpopt.problems.feature_release import FeatureRelease
from ldpopt.tables.datasets import adult_features


def points(quick: bool) -> study.Points:
    """List budgets against thresholds, exact and greedy."""
    features = ["sex", "income", "race", "workclass", "marital_status", "relationship"]
    return study.grid(
        threshold=(1e-3,) if quick else (1e-3, 1e-4),
        budget=(0.01, 0.05, 0.1, 0.3) if quick else (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5),
        solver=("subset-branch", "subset-greedy"),
        features=[features if quick else [*features, "occupation", "education"]],
    )


def measure(threshold: float, budget: float, solver: str, features: list[str]) -> study.Row:
    """Solve with a feature's entropy as its weight: what a user's value tells on average, in nats."""
    data = adult_features()
    marginals = [data.marginal(name) for name in features]
    weights = [-math.fsum(x * math.log(x) for x in p if x > 0) for p in marginals]
    problem = FeatureRelease(threshold, budget, marginals=marginals, weights=weights)
    result = solve(problem, solver)
    chosen = result.answer["features"]
    return {
        "weight": result.value,
        "released": [features[j] for j in chosen],
        "proven_exposure": result.answer.get("exposure", 0.0),
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw released weight against the budget."""
    solvers = (("subset-branch", "o-", "exact"), ("subset-greedy", "x--", "greedy"))
    lines = [
        study.Curve("weight", f"C{i}{style}", f"t = {t:g}, {name}", {"threshold": t, "solver": solver})
        for i, t in enumerate(sorted(study.distinct(rows, "threshold")))
        for solver, style, name in solvers
    ]
    labels = "budget: fraction of users that may be exposed", "entropy of the released features (nats)"
    figure, _ = study.curves(rows, "budget", lines, *labels, scale="log linear", height=4.0)
    return [study.save(figure, out / "feature-release-adult.svg", 2)]


def conclude(rows: list[study.Row]) -> str:
    """State where greedy loses."""
    best = {
        (r["threshold"], r["budget"]): r["weight"] for r in study.where(rows, solver="subset-branch")
    }
    greedy = study.where(rows, solver="subset-greedy")
    worse = sum(r["weight"] < best[r["threshold"], r["budget"]] - 1e-9 for r in greedy)
    return f"Greedy releases less than the exact choice at {worse} of {len(greedy)} settings."


EXPERIMENT = study.Experiment("feature-release-adult", points, measure, draw, conclude)
