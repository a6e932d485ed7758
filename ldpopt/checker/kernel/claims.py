"""Represent claims as data, and write each of them as one line.

A claim is a record. Its verdict is True (it holds: a theorem), False (refuted: false, or the file's
proof of it fails) or None (undecided within the budget). A claim is *open* where nothing in the file
decides it, however long one computes: ``holds`` is None, too, and the file's verdict :data:`OPEN`.
Numbers are written in full, as ``repr`` writes them, and words from the file are escaped, so that one
claim is one line whatever the file contains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from .budget import UndecidedError


class Open(Enum):
    """The verdict "holds, but the promise is not decided": no claim is refuted, and one is open."""

    OPEN = "open"

    def __bool__(self) -> bool:
        return False


OPEN = Open.OPEN
Verdict = bool | Open | None
"""True: every claim holds. False: one is refuted. None: one is undecided within the budget."""
MARKS: dict[Verdict, str] = {True: "holds  ", False: "REFUTED", None: "undecided", OPEN: "open   "}
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
            "together" or "digest"; of a public mechanism also "promise".
        about: the set that the claim is about, in words; empty if it is about the file's answer.
        value: the number that is claimed, where there is one.
        open: whether nothing in the file decides it; ``holds`` is then None, and more time is no help.
    """

    statement: str
    strength: str
    holds: bool | None
    what: str = ""
    about: str = ""
    value: float | None = None
    open: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict on this claim alone."""
        return OPEN if self.open else self.holds

    def __str__(self) -> str:
        return f"{MARKS[self.verdict]}  {self.statement} [{self.strength}]"


def decided(
    what: str,
    statement: str,
    test: Callable[[], bool | None],
    *,
    strength: str = "exact",
    about: str = "",
    value: float | None = None,
    otherwise: str = "",
) -> Claim:
    """Decide a claim: run its test; a test that gives up or cannot tell leaves it undecided.

    Args:
        what: which claim of the frame it is; see :class:`Claim`.
        statement: the claim as one sentence.
        test: decides it; None if the numbers are too close to tell.
        strength: how it is decided.
        about: the set that the claim is about, in words.
        value: the number that is claimed, where there is one.
        otherwise: why a test that answers None leaves the claim open, where that is what it means.
    """
    try:
        holds = test()
    except GIVES_UP as error:
        return Claim(statement, f"undecided: {why(error)}", None, what, about, value)
    if holds is None:
        strength = otherwise or "undecided: the numbers are too close to tell"
    return Claim(statement, strength, holds, what, about, value, open=holds is None and bool(otherwise))


def why(error: BaseException) -> str:
    """Say in one sentence why a test gave up."""
    if isinstance(error, UndecidedError):
        return str(error)
    return f"the numbers are beyond the checker's means ({named(error)})"


def named(error: BaseException) -> str:
    """Name an error of the interpreter."""
    return f"{type(error).__name__}: {escaped(str(error))}"


def verdict(claims: Sequence[Claim]) -> Verdict:
    """Combine the verdicts on claims into that on the file."""
    return combined(claim.verdict for claim in claims)


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Combine answers: False as soon as one is, else None if one is not known, else True."""
    found: bool | None = True
    for answer in answers:
        if answer is False:
            return False
        found = found and answer
    return found


def combined(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine verdicts: False if one is, else None if one is, else OPEN if one is.

    >>> combined([True, OPEN]), combined([None, OPEN]), combined([None, False, OPEN]), combined([])
    (<Open.OPEN: 'open'>, None, False, True)
    """
    found = set(verdicts)
    return next((worse for worse in (False, None, OPEN) if worse in found), True)


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
    if text.isprintable() and not BLANK.intersection(text):
        return text
    return "".join(c if visible(c) else c.encode("unicode_escape").decode() for c in text)


BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0") | frozenset(map(chr, range(0xE0100, 0xE01F0)))
"""Letters, signs and selectors that show nothing, though Unicode calls them printable."""


def visible(c: str) -> bool:
    """Return whether a character shows something, or is a space."""
    return c.isprintable() and c not in BLANK


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
