"""Notes: what a reader opens. A salt, then each value in a field of constant length.

    note = salt (16 bytes), field, …, field;   field = length (2 bytes), UTF-8 text, zeros

There is exactly one way to write a content, so nothing can be hidden in the way it is written, and every
note of a round has the same length, so its length tells nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol.session import FIELD, SALT, RejectedError, Round


def value_text(value: Any, length: int) -> str:
    """Write a value as the text that is counted: printable, in Unicode's form NFC, not too long.

    >>> value_text(3, 8), value_text(float("nan"), 8)
    ('3', 'nan')
    >>> value_text("a\\nb", 8)
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: a value must be printable text, not 'a\\nb'
    """
    try:
        text = unicodedata.normalize("NFC", str(value))
    except ValueError:  # an integer of thousands of digits
        raise InvalidInputError(f"a value takes more than {length} bytes") from None
    if not text.isprintable():
        raise InvalidInputError(f"a value must be printable text, not {ascii(text)[:80]}")
    if len(text.encode()) > length:
        raise InvalidInputError(
            f"the value {ascii(text)[:80]} takes {len(text.encode())} bytes, more than {length}"
        )
    return text


def write_note(salt: bytes, values: Sequence[str], this: Round) -> bytes:
    """Write a note: the salt, then each value in a field of constant length.

    Args:
        salt: 16 random bytes, by which the user finds the note in the ledger.
        values: the texts, each short enough for a field; see :func:`value_text`.
        this: the round, which fixes the length of a field.
    """
    room = this.session.length
    fields = [FIELD.pack(len(text)) + text.ljust(room, b"\0") for text in (v.encode() for v in values)]
    return salt + b"".join(fields)


def read_note(plain: bytes, this: Round) -> tuple[bytes, tuple[str, ...]]:
    """Return salt and values.

    Raises:
        RejectedError: the bytes are not a note of this round, written in the one allowed way.
    """
    if len(plain) != this.note_length:
        raise RejectedError("malformed", f"a note of {len(plain)} bytes, not {this.note_length}")
    step = FIELD.size + this.session.length
    return plain[:SALT], tuple(_value(plain[i : i + step]) for i in range(SALT, len(plain), step))


def _value(field: bytes) -> str:
    (length,) = FIELD.unpack_from(field)
    content = field[FIELD.size :]
    if length > len(content) or any(content[length:]):
        raise RejectedError("malformed", "a value with a wrong length or padding")
    try:
        text = content[:length].decode()
    except UnicodeDecodeError:
        raise RejectedError("malformed", "a value that is not UTF-8") from None
    if not text.isprintable() or unicodedata.normalize("NFC", text) != text:
        raise RejectedError("malformed", "a value that is not printable text in the form NFC")
    return text
