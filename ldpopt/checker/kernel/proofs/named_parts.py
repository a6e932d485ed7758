"""The names of notions of privacy and of objectives, and the modules that read them.

A module is imported when a question names one of its parts, so that a verdict rests on no other. It has
a table ``PARTS``: for each name what the part may say, and what it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from ..claims import quoted
from ..reading import UnreadableError
from ..schema import Schema

MOST_INPUTS = 4096
MOST_LISTED = 400
"""The most inputs whose pairs are listed."""
OF_LISTS = (
    *("pairs", "metric", "given", "pml", "information-privacy", "sensitive"),
    *("scenarios", "cone", "maximal-leakage"),
)
NOTIONS = {
    **dict.fromkeys(("ldp", "secret"), "hidden_parts"),
    **dict.fromkeys(OF_LISTS, "privacy_parts"),
    **dict.fromkeys(("robust", "renyi", "statistic-leakage"), "cut_parts"),
}
OF_COLUMNS = ("mutual-information", "guessing", "bayes", "kl", "total-variation", "chi-squared")
OBJECTIVES = {
    "maximise": {
        **dict.fromkeys((*OF_COLUMNS, "hellinger", "renyi", "fisher", "largest"), "objective_parts"),
        "log-det": "designs",
    },
    "minimise": {"loss": "objective_parts", "queries": "designs"},
}
"""The module of each name."""


class Named(Schema):
    """An object of one key, the name of a part, whose value says the rest."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self.homes = homes

    def words(self) -> str:
        """See :meth:`Schema.words`: each name with the keys of its value."""
        parts = ((name, _part(name, home)[0]) for name, home in self.homes.items())
        said = (f"{name} ({', '.join([*own.required, *own.optional])})" for name, own in parts)
        return f"an object of one key, one of {', '.join(said)}"

    def read(self, value: Any, where: str) -> Any:
        """Return the object as it is; :func:`read_part` reads what it says."""
        return value


@cache
def _part(name: str, home: str) -> Any:
    return import_module(f".{home}", __package__).PARTS[name]


def read_part(plain: Any, where: str, homes: Mapping[str, str], *more: Any) -> Any:
    """Read a part of a question, and build what it means.

    Args:
        plain: the part as the file has it.
        where: its place in the file.
        homes: the names that it may have, and their modules.
        more: what the part needs to know of the question.
    """
    if not isinstance(plain, dict) or len(plain) != 1:
        raise UnreadableError(f"{where} must be an object with one key, one of {_listed(homes)}")
    ((name, given),) = plain.items()
    if name not in homes:
        raise UnreadableError(f"{where} must have one of the keys {_listed(homes)}, not {quoted(name)}")
    schema, build = _part(name, homes[name])
    return build(schema.read(given, f"{where}.{name}"), *more)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
