"""Plug-in estimates of exposure and statistical exposure (Bravo-Hermsdorff et al. 2022, Figure 3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpopt.experiments import study
from ldpopt.measures.exposure import exposure_curve
from ldpopt.measures.exposure_of_future_users import statistical_exposure

P = (0.4, 0.3, 0.2, 0.1)
USERS = 128


def points(quick: bool) -> study.Points:
    """List every anonymity level k, with the paper's 1000 simulations (100 in the quick study)."""
    levels = range(1, USERS // 2 + 8, 6 if quick else 1)
    return study.grid(k=levels, draws=(100 if quick else 1000,), seed=(0,))


def measure(k: int, draws: int, seed: int) -> study.Row:
    """Compute mean and spread of both plug-in estimates over databases of 128 users."""
    samples = np.random.default_rng(seed).multinomial(USERS, P, size=draws) / USERS
    plain = np.array([exposure_curve(p)(k / USERS) for p in samples])
    statistical = np.array([statistical_exposure(p, USERS, k) for p in samples])
    return {
        "exposure_mean": float(plain.mean()),
        "exposure_std": float(plain.std()),
        "statistical_mean": float(statistical.mean()),
        "statistical_std": float(statistical.std()),
        "truth": statistical_exposure(P, USERS, k),
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw means with one standard deviation around them."""
    rows = sorted(rows, key=lambda row: int(row["k"]))
    k = np.array([row["k"] for row in rows])
    figure, (axis,) = study.panels(1, height=4.0)
    for name, label, colour in (
        ("exposure", "exposure Q(k/n)", "tab:green"),
        ("statistical", "statistical exposure", "tab:pink"),
    ):
        mean = np.array([row[f"{name}_mean"] for row in rows])
        spread = np.array([row[f"{name}_std"] for row in rows])
        axis.step(k, mean, where="mid", color=colour, label=f"{label}, plug-in")
        low, high = np.maximum(mean - spread, 0), np.minimum(mean + spread, 1)
        axis.fill_between(k, low, high, step="mid", color=colour, alpha=0.25, linewidth=0)
    axis.step(k, [row["truth"] for row in rows], "k--", where="mid", lw=1, label="truth")
    axis.set(xlabel="k", ylabel="fraction of users below k-anonymity")
    axis.set_title(f"{rows[0]['draws']} databases of {USERS} users, p = {P}", fontsize=10)
    return [study.save(figure, out / "statistical-exposure.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State whose spread is smaller, and by how much."""
    largest = {n: max(row[f"{n}_std"] for row in rows) for n in ("exposure", "statistical")}
    return (
        f"The largest standard deviation is {largest['statistical']:.3f} for the statistical exposure "
        f"and {largest['exposure']:.3f} for the exposure (the paper: the former is smaller)."
    )


EXPERIMENT = study.Experiment("statistical-exposure", points, measure, draw, conclude, draws="draws")
