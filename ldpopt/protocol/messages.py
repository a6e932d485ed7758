"""What the parties of the two-round protocol say to each other.

Bravo-Hermsdorff et al. 2022, Section 5, Figure 1. A *note* is one salted value (round 1) or one redacted
row (round 2), padded to a fixed length and sealed for its reader. An *envelope* carries all notes of one
user, sealed once more for the shuffler and signed by the user. (The caption of Figure 1 prints the two
encryptions in the wrong order: the shuffler decrypts first, so its encryption must come last.)
"""

from __future__ import annotations

import json
import secrets
import struct
from typing import Any, NamedTuple

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol.sealing import OVERHEAD, Opener, SealError, seal  # first: says what is missing

from cryptography.exceptions import InvalidSignature  # isort: skip
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey  # isort: skip

SALT = 16
SESSION = 16
SIGNATURE = 64
_HEADER = struct.Struct(f">{SESSION}sBI")


class Session(NamedTuple):
    """What everybody knows: a fresh name, the public keys, and how long a padded note is."""

    name: bytes
    features: tuple[str, ...]
    shuffler: bytes
    curator: bytes
    analyst: bytes
    length: int

    def context(self, round_number: int, reader: str) -> bytes:
        """What a seal is bound to: replayed in another session or round, it does not open."""
        return self.name + bytes([round_number]) + reader.encode()

    @property
    def sealed_note(self) -> int:
        """The length of every sealed note."""
        return SALT + self.length + OVERHEAD


class Incident(NamedTuple):
    """Something that is not as it should be, and who noticed."""

    noticed_by: str
    kind: str
    detail: str


class RejectedError(Exception):
    """A message that is not accepted; ``kind`` is forged, replayed or duplicated."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


# ---------------------------------------------------------------- notes


def note(content: Any, session: Session) -> bytes:
    """A content in its standard form with a random salt, padded: equal contents look different."""
    text = json.dumps(content).encode()
    if len(text) > session.length:
        raise InvalidInputError(f"{content!r} takes {len(text)} bytes, more than {session.length}")
    return secrets.token_bytes(SALT) + text.ljust(session.length)


def read_note(plain: bytes) -> tuple[bytes, Any]:
    """Salt and content."""
    return plain[:SALT], json.loads(plain[SALT:])


# ---------------------------------------------------------------- envelopes


def envelope(
    user: int, notes: list[bytes], round_number: int, session: Session, key: Ed25519PrivateKey
) -> bytes:
    """Seal the notes for their reader, all of them for the shuffler, and sign.

    One outer seal for all notes of a user tells the shuffler nothing new: it sees who sends.
    """
    reader = session.curator if round_number == 1 else session.analyst
    inner = session.context(round_number, "reader")
    sealed = b"".join(seal(reader, plain, inner) for plain in notes)
    outer = seal(session.shuffler, sealed, session.context(round_number, "shuffler"))
    body = _HEADER.pack(session.name, round_number, user) + outer
    return body + key.sign(body)


def open_envelope(
    message: bytes, round_number: int, session: Session, opener: Opener, roster: list[bytes], count: int
) -> tuple[int, list[bytes]]:
    """The user and the sealed notes of an envelope; only the shuffler can do this.

    Raises:
        RejectedError: the envelope is forged (unknown or wrong signature, broken seal) or replayed.
    """
    if len(message) < _HEADER.size + SIGNATURE:
        raise RejectedError("forged", f"an envelope of {len(message)} bytes")
    body, signature = message[:-SIGNATURE], message[-SIGNATURE:]
    name, number, user = _HEADER.unpack_from(body)
    if user >= len(roster):
        raise RejectedError("forged", f"user {user} is unknown")
    if (name, number) != (session.name, round_number):
        raise RejectedError("replayed", f"user {user}: an envelope of another session or round")
    try:
        Ed25519PublicKey.from_public_bytes(roster[user]).verify(signature, body)
        sealed = opener.open(body[_HEADER.size :], session.context(round_number, "shuffler"))
    except (InvalidSignature, SealError):
        raise RejectedError("forged", f"user {user}: signature or seal is broken") from None
    size = session.sealed_note
    if len(sealed) != size * count:
        raise RejectedError("forged", f"user {user}: {len(sealed)} bytes of notes")
    return user, [sealed[i : i + size] for i in range(0, len(sealed), size)]


class Reader:
    """Opens shuffled notes and refuses what was sealed for others, changed, or seen before."""

    def __init__(self, opener: Opener, context: bytes) -> None:
        self._opener = opener
        self._context = context
        self._salts: set[bytes] = set()

    def read(self, sealed: bytes) -> Any:
        """The content of a note.

        Raises:
            RejectedError: the note is forged or duplicated.
        """
        try:
            salt, content = read_note(self._opener.open(sealed, self._context))
        except (SealError, ValueError):
            raise RejectedError("forged", "a note that does not open") from None
        if salt in self._salts:
            raise RejectedError("duplicated", "a note that was read before")
        self._salts.add(salt)
        return content
