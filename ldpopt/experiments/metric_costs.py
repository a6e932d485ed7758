"""How many terms the distribution utility sums over (Lopuhaä-Zwakenberg et al. 2019, Table 10.2).

In general there is one term per tally of the reports. For GRR and UE the paper expands the probability
of each report into a sum: every output y then has one part more for each input that it names. The terms
are the ways to split n reports into all the parts.
"""

from __future__ import annotations

import math
from pathlib import Path

from ldpopt.experiments import study

A = 3
COUNTS = (1, 3, 10, 30, 100, 300, 1000, 10_000)
STYLES = {"general": "o-", "GRR": "s--", "UE": "^:"}


def points(quick: bool) -> study.Points:
    """List numbers of users for three values."""
    return study.grid(case=STYLES, a=(A,), n=COUNTS[::2] if quick else COUNTS)


def measure(case: str, a: int, n: int) -> study.Row:
    """Count the terms; the growth is their number of parts less one, printed beside it."""
    parts = {"general": 2**a, "GRR": 2 * a, "UE": sum(1 + y.bit_count() for y in range(2**a))}[case]
    printed = {"general": 2**a - 1, "GRR": 2 * a - 1, "UE": 1 + (a + 1) * 2 ** (a - 1)}[case]
    count = math.comb(n + parts - 1, parts - 1)
    return {"log10_terms": math.log10(count), "exponent": parts - 1, "printed": printed}


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw the decimal logarithm of the number of terms against n."""
    first = {row["case"]: row for row in reversed(rows)}
    lines = [
        study.Curve(
            "log10_terms",
            style,
            "{case}: n^{exponent}, printed n^{printed}".format(**first[case]),
            {"case": case},
            {"ms": 4},
        )
        for case, style in STYLES.items()
        if case in first
    ]
    title = "a = {a} values; general: a protocol with 2^a outputs"
    labels = "users n", "log10 of the number of terms"
    figure, _ = study.curves(rows, "n", lines, *labels, title=title, scale="log linear", height=3.4)
    return [study.save(figure, out / "metric-costs.svg", 1)]


def conclude(rows: list[study.Row]) -> str:
    """State the growth of each case beside the printed one, and what it is measured to be."""
    parts = []
    for case in STYLES:
        one, two = study.where(rows, case=case)[-2:]
        slope = (two["log10_terms"] - one["log10_terms"]) / math.log10(two["n"] / one["n"])
        parts.append(f"{case} n^{two['exponent']} (counted: {slope:.2f}; printed: {two['printed']})")
    return f"The number of terms grows for a = {A} as: {', '.join(parts)}."


EXPERIMENT = study.Experiment("metric-costs", points, measure, draw, conclude, method="case")
