"""How the information of n users and of their reports splits
(Lopuhaä-Zwakenberg et al. 2019, Table 4.1).

The three parts are the distribution P, the tallies T given P, and who has which value, given T.
"""

from __future__ import annotations

from pathlib import Path

from ldpopt.experiments import study
from ldpopt.measures.information_decomposition import information_split
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.models.priors import Dirichlet

PARTS = {"distribution": "about P", "group": "about T given P", "individual": "about X given T"}


def points(quick: bool) -> study.Points:
    """List numbers of users for randomised response on three values at ε = 1, Jeffreys' prior."""
    return study.grid(a=(3,), epsilon=(1.0,), n=(1, 2, 4, 8) if quick else (1, 2, 4, 8, 16, 32))


def measure(a: int, epsilon: float, n: int) -> study.Row:
    """Compute the parts that the users hold and those that their reports give away, in nats."""
    split = information_split(randomized_response(a, epsilon), Dirichlet.jeffreys(a), n)
    return {
        f"{side}_{name}": float(value)
        for side, part in (("users", split.users), ("reports", split.aggregator))
        for name, value in zip(PARTS, part, strict=True)
    }


def draw(rows: list[study.Row], out: Path) -> list[Path]:
    """Draw what each part is per user: held by the users, given away by the reports."""
    sides = {"users": "held by the users", "reports": "given by the reports"}
    each = [
        {"n": row["n"], "side": title, **{part: row[f"{side}_{part}"] / row["n"] for part in PARTS}}
        for side, title in sides.items()
        for row in rows
    ]
    lines = [
        study.Curve(part, style, label, {}, {"ms": 4})
        for (part, label), style in zip(PARTS.items(), ("o-", "s--", "^:"), strict=True)
    ]
    labels = "users n", "nats per user"
    figure, panels = study.curves(each, "n", lines, *labels, title="{side}", height=3.2)
    for axes in panels:
        axes.set_xscale("log", base=2)
    return [study.save(figure, out / "information-split.svg")]


def conclude(rows: list[study.Row]) -> str:
    """State the table at the largest n."""
    last = max(rows, key=lambda row: int(row["n"]))
    proper = sum(
        -1e-9 <= row[f"reports_{part}"] <= row[f"users_{part}"] + 1e-9 for row in rows for part in PARTS
    )
    held, given = (
        ", ".join(f"{last[f'{side}_{part}']:.4f} {label}" for part, label in PARTS.items())
        for side in ("users", "reports")
    )
    return (
        f"Randomised response, a = {last['a']}, ε = {last['epsilon']:g}, n = {last['n']}: the users "
        f"hold {held} (nats); the reports give {given}. {proper} of {3 * len(rows)} parts of reports "
        "are at least 0 and at most what the users hold."
    )


EXPERIMENT = study.Experiment("information-split", points, measure, draw, conclude)
