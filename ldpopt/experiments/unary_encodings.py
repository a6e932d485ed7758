"""The parameters κ, λ of three unary encodings (Lopuhaä-Zwakenberg et al. 2019, Table 10.1)."""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.experiments import study
from ldpopt.experiments.average_privacy import PROTOCOLS, STYLES
from ldpopt.mechanisms.encodings import UnaryEncoding

NAMES = ("RAPPOR", "OUE", "BLH")


def points(quick: bool) -> study.Points:
    """List the three encodings at several levels."""
    levels = (0.5, 1.0, 2.0, 4.0) if quick else (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
    return study.grid(protocol=NAMES, epsilon=levels)


def measure(protocol: str, epsilon: float) -> study.Row:
    """Compute κ, λ and the level log κ(1−λ)/(λ(1−κ)) of the matrix on four values."""
    m = PROTOCOLS[protocol](4, epsilon)
    assert isinstance(m, UnaryEncoding)
    formula = math.log(m.kappa * (1 - m.lam) / (m.lam * (1 - m.kappa)))
    return {"kappa": m.kappa, "lambda": m.lam, "formula": formula, "level": m.dense().epsilon()}


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw κ and λ against ε."""
    figure, axes = study.panels(2, height=3.0)
    for panel, column, label in zip(axes, ("kappa", "lambda"), ("κ", "λ"), strict=True):
        for name in NAMES:
            study.Curve(column, STYLES[name], name, {"protocol": name}, {"ms": 4}).draw(
                panel, rows, "epsilon"
            )
        panel.set(xlabel="ε (nats)", ylabel=label, ylim=(0, 1))
    return [study.save(figure, out / "unary-encodings.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State whether the level of the matrix is ε."""
    off = max(max(abs(row[c] - row["epsilon"]) for c in ("formula", "level")) for row in rows)
    return (
        f"The formula log κ(1−λ)/(λ(1−κ)) and the level of the matrix on four values are ε at all "
        f"{len(rows)} settings, to {off:.0e}."
    )


EXPERIMENT = study.Experiment("unary-encodings", points, measure, draw, conclude, method="protocol")
