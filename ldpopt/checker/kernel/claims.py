"""Represent claims as data, and write each of them as one line.

A claim is a record. Its verdict is True (it holds: a theorem), False (refuted: false, or the file's
proof of it fails) or None (undecided within the budget). Numbers are written in full, as ``repr``
writes them, and words from the file are escaped, so that one claim is one line whatever the file
contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .budget import UndecidedError

MARKS = {True: "holds  ", False: "REFUTED", None: "undecided"}
GIVES_UP = (UndecidedError, ArithmeticError, MemoryError, RecursionError)
"""Errors of a test that leave its claim undecided; the other claims are still decided."""
LONGEST = 120
"""Words from the file are cut after so many characters."""


class Claim(NamedTuple):
    """One claim of a file and its verdict.

    Attributes:
        statement: the claim as one sentence.
        strength: how it was decided: "exact" (rationals, integers or enclosed intervals), or the reason
            why it is undecided.
        holds: True, False (refuted) or None (undecided).
        what: which claim of the frame it is: "stochastic", "member", "privacy", "value", "bound",
            "order", "gap", "agreement" or "audit"; of a design "inputs", "counts", "level",
            "together" or "digest".
        about: the set that the claim is about, in words; empty if it is about the file's answer.
        value: the number that is claimed, where there is one.
    """

    statement: str
    strength: str
    holds: bool | None
    what: str = ""
    about: str = ""
    value: float | None = None

    def __str__(self) -> str:
        return f"{MARKS[self.holds]}  {self.statement} [{self.strength}]"


def decided(
    what: str,
    statement: str,
    test: Callable[[], bool | None],
    *,
    strength: str = "exact",
    about: str = "",
    value: float | None = None,
) -> Claim:
    """Decide a claim: run its test; a test that gives up or cannot tell leaves it undecided.

    Args:
        what: which claim of the frame it is; see :class:`Claim`.
        statement: the claim as one sentence.
        test: decides it; None if the numbers are too close to tell.
        strength: how it is decided.
        about: the set that the claim is about, in words.
        value: the number that is claimed, where there is one.
    """
    try:
        holds = test()
    except GIVES_UP as error:
        return Claim(statement, f"undecided: {why(error)}", None, what, about, value)
    if holds is None:
        strength = "undecided: the numbers are too close to tell"
    return Claim(statement, strength, holds, what, about, value)


def why(error: BaseException) -> str:
    """Say in one sentence why a test gave up."""
    if isinstance(error, UndecidedError):
        return str(error)
    return f"the numbers are beyond the checker's means ({named(error)})"


def named(error: BaseException) -> str:
    """Name an error of the interpreter."""
    return f"{type(error).__name__}: {escaped(str(error))}"


def verdict(claims: Sequence[Claim]) -> bool | None:
    """Combine the claims: False if one is refuted, else None if one is undecided."""
    if any(claim.holds is False for claim in claims):
        return False
    return None if any(claim.holds is None for claim in claims) else True


def escaped(words: Any) -> str:
    r"""Escape words of a file for a terminal.

    Control characters, line breaks and bidi marks are spelt out.

    >>> escaped("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    text = words if isinstance(words, str) else repr(words)
    return printable(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def printable(text: str) -> str:
    r"""Return text of any length with all that is not printable spelt out.

    >>> printable("\u202eabc\x9b2J")
    '\\u202eabc\\x9b2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(words: Any) -> str:
    """Quote a value of a file for a message: short, escaped, and a string in quotation marks."""
    return f"'{escaped(words)}'" if isinstance(words, str) else escaped(_shown(words))


def _shown(value: Any) -> str:
    """Show a value as text; containers by their size, as their text may be long."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)
