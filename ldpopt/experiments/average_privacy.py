"""Average against worst-case privacy by the number of values
(Lopuhaä-Zwakenberg et al. 2019, Figure 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ldpopt.core.mechanism import Mechanism
from ldpopt.engine.sweep import Experiment, Point, Row
from ldpopt.experiments.drawing import panels, save
from ldpopt.measures.information_metrics import average_privacy, worst_case_privacy
from ldpopt.mechanisms import UnaryEncoding, randomized_response
from ldpopt.mechanisms.encodings import SetMechanism
from ldpopt.models.priors import Dirichlet

PROTOCOLS: dict[str, Callable[[int, float], Mechanism | SetMechanism]] = {
    "GRR": randomized_response,
    "RAPPOR": UnaryEncoding.rappor,
    "OUE": UnaryEncoding.oue,
    "BLH": UnaryEncoding.blh,
}
STYLES = {"GRR": "o-", "RAPPOR": "s--", "OUE": "^-.", "BLH": "v:"}


def points(quick: bool) -> Iterable[Point]:
    """List every protocol at ε = 2 for a growing number of values."""
    sizes = (2, 4, 8, 16, 32) if quick else (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1000)
    for name in PROTOCOLS:
        for a in sizes:
            yield {"protocol": name, "a": a, "epsilon": 2.0}


def measure(protocol: str, a: int, epsilon: float) -> Row:
    """Compute S_μ under Jeffreys' prior."""
    m = PROTOCOLS[protocol](a, epsilon)
    found = average_privacy(m, Dirichlet.jeffreys(a))
    return {
        "average_privacy": float(found),
        "error": found.error,
        "method": found.method,
        "worst_case_privacy": float(worst_case_privacy(m)),
    }


def draw(rows: list[Row], out: Path) -> list[Path]:
    """Draw S_μ against a, and the level that all protocols share."""
    figure, (axes,) = panels(1, height=3.6)
    for name, style in STYLES.items():
        curve = sorted((row["a"], row["average_privacy"]) for row in rows if row["protocol"] == name)
        if curve:
            axes.plot(*zip(*curve, strict=True), style, markersize=4, label=name)
    axes.axhline(rows[0]["worst_case_privacy"], color="grey", linewidth=1, label="worst case (all)")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("number of values a")
    axes.set_ylabel("privacy")
    axes.set_ylim(0, 1.02)
    axes.legend(loc="center right", fontsize=9)
    axes.set_title(f"Average privacy at ε = {rows[0]['epsilon']:g}, Jeffreys' prior")
    return [save(figure, out / "average-privacy.svg")]


def conclude(rows: list[Row]) -> str:
    """State who is most private at the largest a."""
    largest = max(row["a"] for row in rows)
    last = {row["protocol"]: row["average_privacy"] for row in rows if row["a"] == largest}
    ranking = ", ".join(f"{name} {value:.3f}" for name, value in sorted(last.items(), key=_by_value))
    worst, least = rows[0]["worst_case_privacy"], min(row["average_privacy"] for row in rows)
    curves = [[r["average_privacy"] for r in rows if r["protocol"] == name] for name in last]
    growing = sum(curve == sorted(curve) for curve in curves)
    return (
        f"Average privacy is at least {least:.3f}, the worst case e^−2 = {worst:.3f}; it grows with a "
        f"for {growing} of {len(curves)} protocols; at a = {largest}: {ranking} (the paper: randomised "
        "response hides most for large a)."
    )


def _by_value(item: tuple[str, float]) -> float:
    return -item[1]


EXPERIMENT = Experiment("average-privacy", points, measure, draw, conclude, method="protocol")
