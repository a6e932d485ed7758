"""Parts of a composed question: small records that are written as ``{"name": {…}}`` in JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Named


@dataclass_transform(frozen_default=True, eq_default=False)
class Part(Named):
    """A part of a question: a frozen dataclass, whose fields are what a file says.

    A class below a base such as ``Objective`` has its own name in files, with hyphens, and is known to
    the base; what else is said of it stands in the line of the class.

    What a part means, and which values it takes, is written once, in the checker
    (``privacy_parts.py``, ``objective_parts.py``); a question with a bad part is refused there.
    """

    known: ClassVar[dict[str, type[Any]]]
    """Every part that a file may name."""

    def __init_subclass__(cls, **said: Any) -> None:
        super().__init_subclass__()
        if Part in cls.__bases__:
            cls.known = {}
            return
        for key, value in said.items():
            setattr(cls, key, value)
        cls.known[cls.name] = dataclass(frozen=True, eq=False)(cls)

    def to_json(self) -> dict[str, Any]:
        """Write the part as plain data; what is not set is left out."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {self.name: {key: _plain(value) for key, value in given.items() if value is not None}}

    @classmethod
    def read(cls, plain: Any) -> Self:
        """Return a part as it is, or read it from plain data."""
        if isinstance(plain, cls):
            return plain
        if not isinstance(plain, dict) or len(plain) != 1 or next(iter(plain)) not in cls.known:
            raise InvalidInputError(
                f"a part must be a {cls.__name__}, or an object whose one key is one of "
                f"{', '.join(cls.known)}, not {plain!r:.80}"
            )
        ((name, given),) = plain.items()
        part, allowed = cls.known[name], [one.name for one in fields(cls.known[name])]
        if not isinstance(given, dict) or not set(given) <= set(allowed):
            raise InvalidInputError(f"{name} takes {', '.join(allowed)}, not {given!r:.80}")
        try:
            found: Self = part(**given)
        except TypeError:
            raise InvalidInputError(f"{name} needs {', '.join(allowed)}, not {given!r:.80}") from None
        return found


def _plain(value: Any) -> Any:
    """Write arrays, tuples and infinite levels as JSON does."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [_plain(entry) for entry in value]
    return None if value == float("inf") else value
