"""The printed error bound of the statistical exposure fails
(Bravo-Hermsdorff et al. 2022, Theorem 8).

p = (1, 0) and p̂ = (1 − 10⁻⁴, 10⁻⁴) with k = n: one deviating
user ends everybody's n-anonymity.
"""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.experiments import study
from ldpopt.measures.exposure_of_future_users import statistical_exposure, statistical_exposure_error

SHIFT = 1e-4


def points(quick: bool) -> study.Points:
    """List database sizes, doubling."""
    return study.grid(n=[2**power for power in range(1, 9 if quick else 14)])


def measure(n: int) -> study.Row:
    """Compute the true error, the printed bound (App. G with its constant), and the corrected bound."""
    p, q, support = (1.0, 0.0), (1 - SHIFT, SHIFT), 2
    error = abs(statistical_exposure(p, n, n) - statistical_exposure(q, n, n))
    constant = support * (math.sqrt(math.e * (n + 1)) / (2 * math.sqrt(support - 1)) + 1)
    return {
        "error": error,
        "printed": constant * SHIFT,
        "corrected": statistical_exposure_error(p, q, n, n),
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw all three on logarithmic axes."""
    lines = [
        study.Curve("corrected", "-", "corrected bound"),
        study.Curve("error", "k.-", "true error"),
        study.Curve("printed", "--", "bound as printed"),
    ]
    labels = "n = k", "error of the plug-in estimate"
    figure, _ = study.curves(rows, "n", lines, *labels, scale="log log", height=4.0)
    return [study.save(figure, out / "theorem-8.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State where the printed bound fails."""
    broken = [row["n"] for row in rows if row["error"] > row["printed"]]
    if not broken:
        return "No violation among these n."
    held = sum(row["error"] <= row["corrected"] for row in rows)
    return (
        f"The printed bound of Theorem 8 is violated from n = {min(broken)} on; the corrected one holds "
        f"at {held} of {len(rows)} n."
    )


EXPERIMENT = study.Experiment("theorem-8", points, measure, draw, conclude)
