"""Read a result file strictly: only plain, finite, unambiguous JSON is accepted.

Each of these is refused with one sentence: a path that is not a regular file (a pipe would block, a
device never ends), files larger than :data:`MOST_BYTES`, nesting deeper than :data:`DEEPEST`, duplicate
keys, NaN and infinities, numbers beyond the range of floats, and whole numbers of more than
:data:`MOST_DIGITS` digits.
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
MOST_DIGITS = 18
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string, or the rest of the text where a string does not end. The pattern never backtracks, so time
and memory are linear. Up to the first fault of a text it finds the same strings as the JSON reader."""
LONG = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{200}")
"""A number beyond the range of floats has 200 digits in a row, or an exponent of three digits that is
not negative: without these it is below 10^200 · 10^99. Only a text that has some needs :func:`_float`,
which takes most of the time of reading a large matrix."""
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
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_float if LONG.search(content) else None,
            parse_int=_int,
            parse_constant=_constant,
        )
    except UnreadableError:
        raise
    except RecursionError:
        raise UnreadableError(f"it is nested deeper than {DEEPEST} levels") from None
    except ValueError as error:
        raise UnreadableError(f"it is not JSON: {quoted(str(error))[1:-1]}") from None


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
    return number


def _int(text: str) -> int:
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise UnreadableError(f"whole numbers have at most {MOST_DIGITS} digits, not {len(text)}")
    return int(text)


def _constant(text: str) -> Any:
    raise UnreadableError(f"{text} is not a number of JSON")
