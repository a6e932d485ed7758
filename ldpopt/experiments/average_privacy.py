"""Average against worst-case privacy by the number of values
(Lopuhaä-Zwakenberg et al. 2019, Figure 2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ldpopt.core.mechanism import Channel
from ldpopt.experiments import study
from ldpopt.measures.information_metrics import average_privacy, worst_case_privacy
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.mechanisms.encodings import UnaryEncoding
from ldpopt.models.priors import Dirichlet

PROTOCOLS: dict[str, Callable[[int, float], Channel]] = {
    "GRR": randomized_response,
    "RAPPOR": UnaryEncoding.rappor,
    "OUE": UnaryEncoding.oue,
    "BLH": UnaryEncoding.blh,
}
STYLES = {"GRR": "o-", "RAPPOR": "s--", "OUE": "^-.", "BLH": "v:"}


def points(quick: bool) -> study.Points:
    """List every protocol at ε = 2 for a growing number of values."""
    sizes = (2, 4, 8, 16, 32) if quick else (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1000)
    return study.grid(protocol=PROTOCOLS, a=sizes, epsilon=(2.0,))


def measure(protocol: str, a: int, epsilon: float) -> study.Row:
    """Compute S_μ under Jeffreys' prior."""
    m = PROTOCOLS[protocol](a, epsilon)
    found = average_privacy(m, Dirichlet.jeffreys(a))
    return {
        "average_privacy": float(found),
        "error": found.error,
        "method": found.method,
        "worst_case_privacy": float(worst_case_privacy(m)),
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw S_μ against a, and the level that all protocols share."""
    lines = [
        study.Curve("average_privacy", style, name, {"protocol": name}, {"ms": 4})
        for name, style in STYLES.items()
    ]
    title = "Average privacy at ε = {epsilon:g}, Jeffreys' prior"
    figure, (axes,) = study.curves(
        rows, "a", lines, "number of values a", "privacy", title=title, height=3.6
    )
    axes.axhline(rows[0]["worst_case_privacy"], color="grey", linewidth=1, label="worst case (all)")
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 1.02)
    return [study.save(figure, out / "average-privacy.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State who is most private at the largest a."""
    largest = max(row["a"] for row in rows)
    last = sorted(study.where(rows, a=largest), key=lambda row: -float(row["average_privacy"]))
    ranking = ", ".join(f"{row['protocol']} {row['average_privacy']:.3f}" for row in last)
    worst, least = rows[0]["worst_case_privacy"], min(row["average_privacy"] for row in rows)
    found = [[r["average_privacy"] for r in study.where(rows, protocol=row["protocol"])] for row in last]
    growing = sum(values == sorted(values) for values in found)
    return (
        f"Average privacy is at least {least:.3f}, the worst case e^−2 = {worst:.3f}; it grows with a "
        f"for {growing} of {len(found)} protocols; at a = {largest}: {ranking} (the paper: randomised "
        "response hides most for large a)."
    )


EXPERIMENT = study.Experiment("average-privacy", points, measure, draw, conclude, method="protocol")
