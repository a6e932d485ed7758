"""The page of ``ldpopt protocol``: what each party saw, and what was released."""

from __future__ import annotations

from collections.abc import Collection

from ldpopt.core.files import PathName, write_whole
from ldpopt.protocol import Outcome
from ldpopt.report.rendering import rendered

MOST_ROWS = 200
"""Different rows that the page lists, the most frequent ones."""


def views(outcome: Outcome) -> list[tuple[str, str, str]]:
    """List every party with what it saw in a run, and what it did not see."""
    users = " and then ".join(dict.fromkeys(f"{number:,}" for number in outcome.users))
    values = sum(map(len, outcome.marginals.values()))
    columns, released = len(outcome.marginals), ", ".join(outcome.released)
    analyst = f"how often each of {len(outcome.rows):,} rows of {released} occurs"
    return [
        ("users", "the decision, and who took part", "any value of somebody else"),
        ("shuffler", f"who took part, {users} users, and their sealed notes", "any value"),
        (
            "curator",
            f"how often each of {values:,} values of {columns} columns occurs",
            "which values belong together, or to whom",
        ),
        ("analyst", analyst if released else "nothing", "the other columns, and whose row it is"),
    ]


def facts(outcome: Outcome, counted: Collection[str] = ()) -> dict[str, str]:
    """Say what was released, what is proven and measured of it, and what went wrong.

    Args:
        outcome: what each party knows at its end.
        counted: columns of which the number of bins was stated, so that their edges are from the table.
    """
    said = {
        "released": ", ".join(outcome.released)
        or "nothing: no column is proven to be within the budget",
        "kept": "; ".join(f"{name}: {', '.join(values)}" for name, values in outcome.kept.items()),
        "bins": _edges(counted) if counted else "",
        "proven": outcome.proven,
        "measured": outcome.measured,
        "incidents": "; ".join(": ".join(incident) for incident in outcome.incidents) or "none",
        "seconds": ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in outcome.seconds.items()),
    }
    return {name: text for name, text in said.items() if text}


def _edges(counted: Collection[str]) -> str:
    """Say what labels of bins tell, which the users and the curator see, and who gets the rows."""
    return (
        f"the edges of {', '.join(counted)} were chosen from the table before the protocol: they are "
        "values of it with about equally many rows between them, and whoever sees the bins sees these; "
        "edges that are stated (--bins COLUMN=18,30,65) tell nothing"
    )


def write_page(outcome: Outcome, name: str, out: PathName, counted: Collection[str] = ()) -> None:
    """Write one self-contained HTML page on a run.

    Args:
        outcome: what each party knows at its end.
        name: the table, in words.
        out: where the page is written.
        counted: columns of which the number of bins was stated.
    """
    rows = sorted(outcome.rows.items(), key=lambda row: (-row[1], row[0]))
    text = rendered(
        "protocol.html",
        name=name,
        views=views(outcome),
        facts=facts(outcome, counted),
        columns=outcome.released,
        rows=rows[:MOST_ROWS],
        more=len(rows) - MOST_ROWS,
    )
    write_whole(out, text)
