"""The embedded census, read from its files without numpy, so that a listing is quick."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

EMBEDDED = "adult"
"""The name of the census; a table of it is ``adult:`` and the name of the table."""


@cache
def census_tables() -> dict[str, Any]:
    """Read the contingency tables, with their citation, licence and changes."""
    return _read("adult.json")


@cache
def census_features() -> dict[str, Any]:
    """Read the counts of the features, and of four of them jointly."""
    return _read("adult_features.json")


def _read(name: str) -> dict[str, Any]:
    text = files("ldpopt.tables").joinpath("data", name).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def embedded_tables() -> dict[str, str]:
    """Describe the embedded tables in a line each, by their names.

    >>> embedded_tables()["adult:sex-race"]
    'sex (2 values) and race (5 values) of 32,561 people'
    """
    joint = census_features()["joint"]
    names, people = ", ".join(joint["features"]), sum(joint["counts"])
    found = {EMBEDDED: f"{names} of {people:,} people of the Adult census"}
    for pair, entry in census_tables()["tables"].items():
        secret, public = (
            f"{entry[role]} ({len(entry[f'{role}_values'])} values)" for role in ("secret", "public")
        )
        people = sum(map(sum, entry["counts"]))
        found[f"{EMBEDDED}:{pair}"] = f"{secret} and {public} of {people:,} people"
    return found
