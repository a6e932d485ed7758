"""Read a result file strictly: only plain, finite, unambiguous JSON is accepted.

Each of these is refused with one sentence: a path that is not a regular file (a pipe would block, a
device never ends), files larger than :data:`MOST_BYTES`, nesting deeper than :data:`DEEPEST`, duplicate
keys, NaN and infinities, numbers beyond the range of floats or so small that they would be read as 0,
numbers of more than :data:`MOST_SIGNIFICANT` digits, whole numbers of more than :data:`MOST_DIGITS`, and
strings with a character of :data:`UNSHOWN`.

A decimal of the file stands for the double nearest to it, and the claims are about that double. No two
doubles have the same 17 digits; a number with more would state what no claim decides.

Lemma (shown as stated). A string without such characters is valid Unicode, so every program can write
it. It is one line, moves no cursor, and does not change the direction of the text around it: the letters
of Arabic or Hebrew alone order nothing outside of the element that isolates them on a page. ∎
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections import Counter
from itertools import accumulate
from typing import Any

from .budget import reserve
from .claims import quoted

MOST_BYTES = 32_000_000
DEEPEST = 200
MOST_DIGITS, MOST_SIGNIFICANT = 18, 17
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string, or the rest of the text where a string does not end. The pattern never backtracks, so time
and memory are linear. Up to the first fault of a text it finds the same strings as the JSON reader."""
SHORT = re.compile(rb"(?:[^0-9]++|[0.]{0,99}+(?:\.?[0-9]){0,17}+(?![0-9.]|[eE][+-]?[0-9]{3}))*+")
"""A text in which no number has 18 digits after 99 zeros, or an exponent of three digits: each is 0, or
between 10^-215 and 10^116, and has 17 digits at most. Only another text needs :func:`_float`, which
takes most of the time of reading a large matrix."""
UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    "\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
"""Control characters, ends of lines, marks that change the direction of text, halves of characters, and
characters that show nothing: with one of them two names look the same. (Joiners, which Persian, Hindi
and emoji need, are allowed.)"""
SUSPECT = re.compile(
    rb"\\|\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\x85[\x9f\xa0]|\xe1\xa0\x8e|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]"
    rb"|\xe2\x81[\xa0-\xaf]|\xe3\x85\xa4|\xef(?:\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])|\xf3\xa0"
)
"""What JSON text must have somewhere for a string of it to match :data:`UNSHOWN`: an escape, or one of
these characters in UTF-8. The others JSON itself refuses."""
STEPS = {ord(b): step for b, step in zip("[]{}", (1, -1, 1, -1), strict=True)}
NOT_BRACKETS = bytes(set(range(256)) - set(STEPS))


class UnreadableError(ValueError):
    """The file is not a result file: no claim can be read from it. The message is one sentence."""


def read(path: str) -> Any:
    """Read the JSON document in a file."""
    try:
        return parse(_content(path))
    except OSError as error:
        raise UnreadableError(f"cannot read {quoted(path)}: {error.strerror}") from None
    except UnreadableError as error:
        raise UnreadableError(f"cannot read {quoted(path)}: {error}") from None


def _content(path: str) -> bytes:
    """Read the bytes of a regular file; it is opened without waiting, so that a pipe does not block."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableError("it is not a regular file")
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UnreadableError(f"it has more than {MOST_BYTES} bytes")
    return content


def parse(content: bytes) -> Any:
    """Parse JSON text, with the refusals that the module lists."""
    parts = sum(map(content.count, (b",", b"[", b"{"))) + content.count(b'"') // 2
    reserve(parts, "reading the file")
    brackets = STRING.sub(b"", content).translate(None, NOT_BRACKETS)
    if max(accumulate(map(STEPS.__getitem__, brackets)), default=0) > DEEPEST:
        raise UnreadableError(f"it is nested deeper than {DEEPEST} levels")
    try:
        document = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=None if SHORT.fullmatch(content) else _float,
            parse_int=_int,
            parse_constant=_constant,
        )
    except UnreadableError:
        raise
    except RecursionError:
        raise UnreadableError(f"it is nested deeper than {DEEPEST} levels") from None
    except ValueError as error:
        raise UnreadableError(f"it is not JSON: {quoted(str(error))[1:-1]}") from None
    if SUSPECT.search(content):
        _check_strings(document)
    return document


def unshown(text: str) -> str | None:
    """Name the first character of a text that no name may have; None if there is none.

    >>> unshown("a\\u202eb"), unshown("שלום")
    ('U+202E', None)
    """
    found = UNSHOWN.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def check_shown(text: str, where: str) -> None:
    """Refuse a string with a character that does not show what it is."""
    if bad := unshown(text):
        raise UnreadableError(
            f"{where} has the character {bad}; no control characters, ends of lines, marks that change "
            "the direction of text, halves of characters or characters that show nothing are allowed"
        )


def _check_strings(document: Any) -> None:
    """Check every string of a document, the keys too."""
    rest = [document]
    while rest:
        part = rest.pop()
        if isinstance(part, str):
            check_shown(part, "a string of it")
        elif isinstance(part, dict):
            rest += [*part, *part.values()]
        elif isinstance(part, list):
            rest += part


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise UnreadableError(
            f"the key {quoted(counts.most_common(1)[0][0])} occurs twice in one object"
        )
    return found


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UnreadableError(f"the number {quoted(text)[1:-1]} is beyond the range of floats")
    digits = re.sub("[eE].*|[-.]", "", text).strip("0")
    if digits and not number:
        raise UnreadableError(f"the number {quoted(text)[1:-1]} is too small for floats: it is not 0")
    if len(digits) > MOST_SIGNIFICANT:
        raise UnreadableError(
            f"numbers have at most {MOST_SIGNIFICANT} significant digits, not {len(digits)}: "
            f"{quoted(text)[1:-1]}"
        )
    return number


def _int(text: str) -> int:
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise UnreadableError(f"whole numbers have at most {MOST_DIGITS} digits, not {len(text)}")
    return int(text)


def _constant(text: str) -> Any:
    raise UnreadableError(f"{text} is not a number of JSON")
