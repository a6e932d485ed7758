"""Frozen dataclasses whose fields are checked when they are built."""

from __future__ import annotations

from typing import Any


class Cleaned:
    """The base of frozen dataclasses that check their fields and store them in one form.

    A frozen dataclass cannot assign to its own fields; so a subclass returns the clean values, and
    they are stored here.
    """

    def __post_init__(self) -> None:
        for name, value in self.cleaned().items():
            object.__setattr__(self, name, value)

    def cleaned(self) -> dict[str, Any]:
        """Check the fields; return those that are stored in another form than they were given in.

        Raises:
            InvalidInputError: a field is not what it may be; the message names it.
        """
        return {}
