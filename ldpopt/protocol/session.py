"""What all parties of a run agree on: the session, its two rounds, and who signs what.

The name of a session is a hash of everything that was agreed. Every seal and every signature is bound to
it, to the round and to a purpose, so parties that got different announcements cannot talk to each other,
and nothing said in one session, round or role can be used in another.
"""

from __future__ import annotations

import hashlib
import json
import struct
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ldpopt.core.errors import FailedError, InvalidInputError
from ldpopt.protocol.sealing import OVERHEAD  # first: says what is missing

from cryptography.exceptions import InvalidSignature  # isort: skip
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey  # isort: skip

ROLES = ("shuffler", "curator", "analyst")
SALT = 16
SIGNATURE = 64
KEY = 32
MOST_FEATURES = 1000
MOST_USERS = 10_000_000
LONGEST = 4096
"""Bytes of a value at most."""
REDACTED = "*"
"""What a user sends in place of a value that is too rare."""
FIELD = struct.Struct(">H")
_CONTEXT = struct.Struct(">BHI")


class ProtocolError(FailedError):
    """The run cannot go on: too few took part, or shuffler, curator or analyst broke the rules."""


class RejectedError(Exception):
    """A message that is not accepted; ``kind`` is malformed, forged, replayed or duplicated."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Incident(NamedTuple):
    """Something that went wrong, and who noticed it."""

    noticed_by: str
    kind: str
    detail: str


# ---------------------------------------------------------------- the session


class PublicKeys(NamedTuple):
    """What a role shows of itself: the key to seal for it, and the key that its signatures match."""

    sealing: bytes
    signing: bytes


@dataclass(frozen=True)
class Session:
    """The agreement: a fresh number, the features, the limits, and everybody's public keys.

    Attributes:
        nonce: 16 random bytes.
        features: the names of the features.
        length: bytes of a value at most; every value takes this much room.
        least: how many users must take part in each round.
        keys: the public keys of shuffler, curator and analyst.
        roster: the signing key of every user; empty for a place whose registration was refused.
    """

    nonce: bytes
    features: tuple[str, ...]
    length: int
    least: int
    keys: dict[str, PublicKeys]
    roster: tuple[bytes, ...]

    def __post_init__(self) -> None:
        check_names(self.features)
        if type(self.length) is not int or type(self.least) is not int:
            raise InvalidInputError(
                f"length and least must be whole numbers, not {self.length!r} and {self.least!r}"
            )
        if not 1 <= self.length <= LONGEST:
            raise InvalidInputError(f"length must lie between 1 and {LONGEST} bytes, not {self.length}")
        if self.least < 2:
            raise InvalidInputError(f"least must be at least 2 users, not {self.least}")
        signing = [k for k in self.roster if k] + [self.keys[role].signing for role in ROLES]
        sealing = [self.keys[role].sealing for role in ROLES]
        if any(len(k) != KEY for k in signing + sealing) or len(self.nonce) != SALT:
            raise InvalidInputError(f"a key must have {KEY} bytes and the nonce {SALT}")
        if len(set(signing)) < len(signing) or len(set(sealing)) < len(sealing):
            raise InvalidInputError("every party must have keys of its own, but one key occurs twice")
        if len(self.roster) > MOST_USERS:
            raise InvalidInputError(f"at most {MOST_USERS} users, not {len(self.roster)}")
        if self.members < self.least:
            raise InvalidInputError(
                f"the group has {self.members} users; at least {self.least} are needed to hide among"
            )

    @property
    def members(self) -> int:
        """How many users are registered."""
        return sum(map(bool, self.roster))

    @cached_property
    def name(self) -> bytes:
        """The hash of everything that was agreed."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).digest()

    def to_json(self) -> dict[str, Any]:
        """Return the agreement as it is announced."""
        return {
            "nonce": self.nonce.hex(),
            "features": list(self.features),
            "length": self.length,
            "least": self.least,
            "keys": {role: [key.hex() for key in self.keys[role]] for role in ROLES},
            "roster": [key.hex() for key in self.roster],
        }

    @classmethod
    def from_json(cls, content: Any) -> Session:
        """Read an announced agreement; whatever is not exactly one is refused."""
        try:
            session = cls(
                bytes.fromhex(content["nonce"]),
                tuple(content["features"]),
                content["length"],
                content["least"],
                {role: PublicKeys(*map(bytes.fromhex, content["keys"][role])) for role in ROLES},
                tuple(map(bytes.fromhex, content["roster"])),
            )
            same = session.to_json() == content
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInputError(f"not the agreement of a session: {error}") from None
        if not same:
            raise InvalidInputError("not the agreement of a session: unknown entries")
        return session


def check_names(names: Sequence[Any]) -> None:
    """Refuse feature names that a reader could take for each other.

    Notes are bound to the number of a feature, not to its name: a misleading name cannot redirect a
    value, but it could mislead the people who decide to take part. Refused are unprintable characters
    (with them all invisible and direction-changing ones), compatibility forms, letters of two alphabets
    in one name, and names that differ in case only. A name wholly in one alphabet that looks like a
    name wholly in another (Cyrillic "сосо") is not noticed.

    >>> check_names(["age", "Age"])
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: the feature names 'age' and 'Age' look the same
    """
    if not 1 <= len(names) <= MOST_FEATURES:
        raise InvalidInputError(f"there must be 1 to {MOST_FEATURES} features, not {len(names)}")
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
            raise InvalidInputError(
                f"a feature name must be 1 to 200 printable characters, not {ascii(name)[:80]}"
            )
        if unicodedata.normalize("NFKC", name) != name or name != name.strip():
            raise InvalidInputError(
                f"the feature name {name!a} must be in the form NFKC, without outer blanks"
            )
        alphabets = {unicodedata.name(c, "?").split()[0] for c in name if c.isalpha()}
        if len(alphabets & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}) > 1:
            raise InvalidInputError(f"the feature name {name!a} mixes letters of two alphabets")
        folded = name.casefold()
        if folded in seen:
            raise InvalidInputError(f"the feature names {seen[folded]!r} and {name!r} look the same")
        seen[folded] = name


# ---------------------------------------------------------------- its rounds


class Decision(NamedTuple):
    """What the curator lets through.

    Common values are named, not the rare ones: a decision that said which to redact would tell
    everybody that somebody has them.

    Attributes:
        features: the numbers of the features.
        kept: for each of them the values that may be sent, all others being redacted; None if all may.
        chances: for each of these values how often its owners redact it nevertheless, so that nobody
            stands out by redacting; empty if nobody does.
    """

    features: tuple[int, ...]
    kept: tuple[tuple[str, ...] | None, ...]
    chances: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Round:
    """One of the two rounds; the second is bound to what the curator lets through.

    Attributes:
        session: the agreement.
        released: the numbers of the features of round 2; None for round 1.
        kept: see :class:`Decision`; empty if no value is redacted.
        chances: see :class:`Decision`; empty if no value is redacted at random.
    """

    session: Session
    released: tuple[int, ...] | None = None
    kept: tuple[tuple[str, ...] | None, ...] = ()
    chances: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        chosen = self.released
        if chosen is None:
            return
        d = len(self.session.features)
        whole = all(type(j) is int and 0 <= j < d for j in chosen)
        if not whole or not chosen or list(chosen) != sorted(set(chosen)):
            raise RejectedError(
                "malformed", f"a decision that does not name features: {ascii(chosen)[:80]}"
            )
        texts = [text for values in self.kept if values is not None for text in values]
        if len(self.kept) not in (0, len(chosen)) or any(type(text) is not str for text in texts):
            raise RejectedError("malformed", "a decision that does not name the values to keep")
        if self.chances:
            sizes = [len(values or ()) for values in self.kept]
            wrong = [
                x for row in self.chances for x in row if type(x) not in (int, float) or not 0 <= x <= 1
            ]
            if [len(row) for row in self.chances] != sizes or wrong:
                raise RejectedError("malformed", "a decision without a chance for each value to keep")

    @property
    def number(self) -> int:
        """1 or 2."""
        return 1 if self.released is None else 2

    @property
    def reader(self) -> str:
        """For whom the notes are sealed."""
        return "curator" if self.released is None else "analyst"

    @property
    def slots(self) -> int:
        """Notes of one user: one per feature, then one row."""
        return len(self.session.features) if self.released is None else 1

    @property
    def fields(self) -> int:
        """Values in one note."""
        return 1 if self.released is None else len(self.released)

    @property
    def note_length(self) -> int:
        """Bytes of every note: the salt, and every value with its length, padded."""
        return SALT + self.fields * (FIELD.size + self.session.length)

    @property
    def sealed_length(self) -> int:
        """Bytes of every sealed note."""
        return self.note_length + OVERHEAD

    @cached_property
    def _prefix(self) -> bytes:
        released = json.dumps([self.released, self.kept, self.chances]).encode()
        return hashlib.sha256(self.session.name + released).digest()

    def context(self, purpose: str, slot: int = 0, user: int = 0) -> bytes:
        """Return what a seal or a signature is bound to.

        Args:
            purpose: what is sealed or signed, such as "note" or "envelope".
            slot: the place of a note.
            user: the number of the user whose message it is.
        """
        return self._prefix + _CONTEXT.pack(self.number, slot, user) + purpose.encode()

    def sign(self, key: Ed25519PrivateKey, purpose: str, content: bytes, user: int = 0) -> bytes:
        """Sign a content for one purpose.

        Args:
            key: the key of the signer.
            purpose: what is signed.
            content: the bytes.
            user: the number of the user whose message it is.
        """
        return key.sign(self.context(purpose, user=user) + content)

    def signed(self, key: bytes, signature: bytes, purpose: str, content: bytes, user: int = 0) -> bool:
        """Return whether the owner of the key signed this content for this purpose.

        Args:
            key: the public key of the signer.
            signature: what is to be verified.
            purpose: what is signed.
            content: the bytes.
            user: the number of the user whose message it is.
        """
        try:
            public = Ed25519PublicKey.from_public_bytes(key)
            public.verify(signature, self.context(purpose, user=user) + content)
        except (InvalidSignature, ValueError):
            return False
        return True
