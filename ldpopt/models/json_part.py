"""Parts of a composed question: small records that are written as ``{"name": {…}}`` in JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core.errors import InvalidInputError


class Part:
    """A part of a question. Subclasses are frozen dataclasses; their fields are what a file says.

    What a part means, and which values it takes, is written once, in the checker
    (``privacy_parts.py``, ``objective_parts.py``); a question with a bad part is refused there.
    """

    name: ClassVar[str]
    """Its name in files."""

    def to_json(self) -> dict[str, Any]:
        """Write the part as plain data; what is not set is left out."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {self.name: {key: _plain(value) for key, value in given.items() if value is not None}}

    @classmethod
    def read(cls, plain: Any, known: Iterable[type[Self]]) -> Self:
        """Return a part as it is, or read one of the ``known`` classes from plain data."""
        if isinstance(plain, cls):
            return plain
        by_name = {one.name: one for one in known}
        if not isinstance(plain, dict) or len(plain) != 1 or next(iter(plain)) not in by_name:
            raise InvalidInputError(
                f"a part must be a {cls.__name__}, or an object whose one key is one of "
                f"{', '.join(by_name)}, not {plain!r:.80}"
            )
        ((name, given),) = plain.items()
        part, allowed = by_name[name], [one.name for one in fields(by_name[name])]  # type: ignore[arg-type]
        if not isinstance(given, dict) or not set(given) <= set(allowed):
            raise InvalidInputError(f"{name} takes {', '.join(allowed)}, not {given!r:.80}")
        try:
            return part(**given)
        except TypeError:
            raise InvalidInputError(f"{name} needs {', '.join(allowed)}, not {given!r:.80}") from None


def _plain(value: Any) -> Any:
    """Write arrays, tuples and infinite levels as JSON does."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [_plain(entry) for entry in value]
    return None if value == float("inf") else value
