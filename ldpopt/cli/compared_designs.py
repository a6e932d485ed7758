"""The table of ``ldpopt design --compare``: one question, answered by every method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ldpopt.cli.terminal import hang, print_table, tell
from ldpopt.core.number_text import at_least, at_most

if TYPE_CHECKING:
    from ldpopt.release.designed import Design

TITLES = {
    "information": "Information released, most first (* is kept)",
    "estimates": "Frequencies from as many rows as the table's, least squared error first (* is kept)",
}

VERIFIED = {
    "information": "the independent checker decided status, proven bound and nats",
    "estimates": "the independent checker decided status and nats",
}
"""What is decided of a method that maximises information, by what the table is for."""
ENCODED = (
    "the level of the secret is the LDP level, which bounds it; the precision is that of estimates from "
    "counts of reports, as ldpopt estimate makes them of an encoding."
)
OPTIMAL = "no mechanism of the method's own kind is better; a design by --method says which kind."
SPARE = {
    "information": ("LDP level", "× rows", "reports", "of all", "seconds", "determined", "proven bound"),
    "estimates": ("LDP level", "seconds", "determined", "level of the secret", "nats"),
}
"""The columns that a narrow terminal leaves out, in this order."""


def print_comparison(
    found: dict[str, Design | str], kept: Design, goal: str, queries: list[str]
) -> None:
    """Print what every method found, the best first, and why others found nothing.

    Args:
        found: the designs by method, or the reasons.
        kept: the design that is kept.
        goal: what they are for: "information" or "estimates".
        queries: the columns whose frequencies are wanted; all if not given.
    """
    designs = [made for made in found.values() if not isinstance(made, str)]
    designs.sort(key=lambda made: -made.worth(goal, queries))
    rows = []
    for made in designs:
        row = comparison_row(made)
        row = row if goal == "information" else _estimates_row(row, made, queries)
        verified = "undecided" if row["verified"] is None else row["verified"]
        name = made.method + (" *" if made.method == kept.method else "")
        if row.get("proven bound") is not None:
            row["proven bound"] = at_most(row["proven bound"])
        row["nats"] = None if row["nats"] is None else at_least(row["nats"])
        rows.append({**row, "method": name, "verified": verified})
    print_table(
        list(rows[0]),
        [list(row.values()) for row in rows],
        left=("method", "status"),
        title=TITLES[goal],
        spare=SPARE[goal],
    )
    others = "the other columns are computed and not checked"
    hang("verified: ", f"{VERIFIED[goal]}{_but(designs)}; {others}.")
    hang("optimal: ", OPTIMAL)
    if encodings := [made.method for made in designs if math.isnan(made.information)]:
        hang(f"{', '.join(encodings)}: ", ENCODED)
    for reason in dict.fromkeys(other for other in found.values() if isinstance(other, str)):
        hang(f"{', '.join(name for name, other in found.items() if other == reason)}: ", reason)
    print()


def _but(designs: Sequence[Design]) -> str:
    """Name the methods that maximise something else: their nats are computed and not checked."""
    names = [made.method for made in designs if not (made.informs or math.isnan(made.information))]
    return f" (for {' and '.join(names)}, not nats)" if names else ""


def tell_method(name: str, made: Design | str, goal: str, queries: list[str]) -> None:
    """Print the result of a method as soon as it is done; the table of all follows at the end.

    Args:
        name: the method.
        made: its design, or the reason why there is none.
        goal: what it is for: "information" or "estimates".
        queries: the columns whose frequencies are wanted; all if not given.
    """
    if isinstance(made, str):
        return
    from ldpopt.engine.verifying import NOT_CHECKED

    status, seconds = made.result.status.value, made.result.seconds
    bound = "" if made.bound is None else f", proven bound {at_most(made.bound)}"
    known = not math.isnan(made.information)
    worth = f"{at_least(made.information)} nats{bound}" if known else "its nats are not computed"
    if goal == "estimates":
        worth = ", ".join(f"{column} {said}" for column, said in _margins(made, queries).items())
    tell(f"{name}: {worth}, {status} [{NOT_CHECKED}], {seconds:.1f} s")


def comparison_row(made: Design) -> dict[str, Any]:
    """Return the cells of a method's design, by the titles of the table."""
    from ldpopt.release.promises import merging

    value, status = made.information, made.result.status.value
    return {
        "method": made.method,
        "nats": None if math.isnan(value) else value,
        "of all": None if math.isnan(value) else f"{value / made.entropy:.1%}",
        "proven bound": made.bound if made.verification.proven else None,
        "status": made.verification.marked("merged" if merging(made) else status),
        "level of the secret": made.level.level,
        "LDP level": made.ldp_level,
        "reports": None if made.randomizer.sets else made.randomizer.outputs,
        "determined": f"{made.determined}/{made.inputs}",
        "× rows": made.sample_factor,
        "seconds": made.result.seconds,
        "verified": made.verification.verdict,
    }


def _estimates_row(row: dict[str, Any], made: Design, queries: list[str]) -> dict[str, Any]:
    """Return the cells of a design, its margins first."""
    kept = ("nats", "status", "level of the secret", "LDP level", "determined", "seconds", "verified")
    return {"method": made.method, **_margins(made, queries), **{name: row[name] for name in kept}}


def _margins(made: Design, queries: list[str]) -> dict[str, str]:
    """Say ± of every column, in points."""
    from ldpopt.release.promises import margin

    n = int(made.question.counts.sum())
    return {part.name: margin(part, n) for part in made.accuracy(queries)}
