"""Signed messages between the parties (Bravo-Hermsdorff et al. 2022, Section 5, Figure 1).

* A *note* is what a reader opens: a salt, then each value in a field of constant length,

      note = salt (16 bytes), field, …, field;   field = length (2 bytes), UTF-8 text, zeros.

  There is exactly one way to write a content, so nothing can be hidden in the way it is written, and
  every note of a round has the same length, so its length tells nothing.
* An *envelope* carries the notes of one user to the shuffler: one note per feature (round 1) or one row
  (round 2), each sealed for its reader and its place, all of them sealed for the shuffler, signed by the
  user. (The caption of Figure 1 prints the two encryptions in the wrong order: the shuffler decrypts
  first, so its encryption must come last.)
* A *batch* carries the notes of all users, mixed place by place, from the shuffler to the reader, with
  the users' signatures as proof that they took part; signed by the shuffler.
* A *ledger* is what the reader publishes: who took part, and the salt of every note that it counted;
  signed by the reader. Every user can look whether its own notes were counted.
* A *decision* names the features that the curator lets through, and the values of each that are common
  enough; signed by the curator.
"""

from __future__ import annotations

import hashlib
import json
import struct
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol.sealing import OVERHEAD, Opener, SealError, seal
from ldpopt.protocol.session import FIELD, SALT, SIGNATURE, Decision, RejectedError, Round

_HEADER = struct.Struct(">16sBI")
"""The first bytes of the session's name, the round, the user."""
DIGEST = 32
_RECORD = struct.Struct(f">I{DIGEST}s{SIGNATURE}s")
HEAD = _RECORD.size


def _hash(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


# ---------------------------------------------------------------- notes


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


# ---------------------------------------------------------------- envelopes


class Record(NamedTuple):
    """The proof that a user took part: its number, the hash of what it sealed, its signature of both."""

    user: int
    digest: bytes
    signature: bytes


def envelope_length(this: Round) -> int:
    """Compute the bytes of every envelope of a round."""
    return _HEADER.size + this.slots * this.sealed_length + OVERHEAD + SIGNATURE


def envelope(user: int, notes: Sequence[bytes], this: Round, key: Ed25519PrivateKey) -> bytes:
    """Seal each note for the reader and its place, all of them for the shuffler, and sign.

    Args:
        user: the number of the user.
        notes: one note per place, not sealed yet.
        this: the round.
        key: the user's signing key.
    """
    reader = this.session.keys[this.reader].sealing
    inner = [seal(reader, plain, this.context("note", slot)) for slot, plain in enumerate(notes)]
    return seal_envelope(user, inner, this, key)


def seal_envelope(user: int, inner: Sequence[bytes], this: Round, key: Ed25519PrivateKey) -> bytes:
    """Seal the sealed notes of a user for the shuffler, and sign.

    One outer seal for all notes of a user tells the shuffler nothing new: it sees who sends. The outer
    seal is bound to the user, so nobody can send the sealed notes of somebody else as its own.

    Args:
        user: the number of the user.
        inner: one note per place, each sealed for the reader.
        this: the round.
        key: the user's signing key.
    """
    shuffler = this.session.keys["shuffler"].sealing
    outer = seal(shuffler, b"".join(inner), this.context("notes", user=user))
    signature = this.sign(key, "envelope", hashlib.sha256(outer).digest(), user)
    return _HEADER.pack(this.session.name[:16], this.number, user) + outer + signature


def open_envelope(message: bytes, this: Round, opener: Opener) -> tuple[Record, list[bytes]]:
    """Return who sends, and its sealed notes in their places; only the shuffler can do this.

    Args:
        message: the envelope as it arrived.
        this: the round.
        opener: the shuffler's private key.

    Raises:
        RejectedError: the envelope is malformed, forged or replayed. Nothing of it is used.
    """
    if len(message) != envelope_length(this):
        raise RejectedError(
            "malformed", f"an envelope of {len(message)} bytes, not {envelope_length(this)}"
        )
    name, number, user = _HEADER.unpack_from(message)
    if user >= len(this.session.roster):
        raise RejectedError("forged", f"user {user} is unknown")
    if (name, number) != (this.session.name[:16], this.number):
        raise RejectedError("replayed", f"user {user}: an envelope of another session or round")
    outer, signature = message[_HEADER.size : -SIGNATURE], message[-SIGNATURE:]
    record = Record(user, hashlib.sha256(outer).digest(), signature)
    if not took_part(record, this):
        raise RejectedError("forged", f"user {user}: the signature is not the user's")
    try:
        sealed = opener.open(outer, this.context("notes", user=user))
    except SealError:
        raise RejectedError("malformed", f"user {user}: the seal is broken") from None
    size = this.sealed_length
    return record, [sealed[i : i + size] for i in range(0, len(sealed), size)]


def took_part(record: Record, this: Round) -> bool:
    """Return whether the user signed the record, and so took part in this round."""
    key = this.session.roster[record.user] if record.user < len(this.session.roster) else b""
    return bool(key) and this.signed(key, record.signature, "envelope", record.digest, record.user)


# ---------------------------------------------------------------- batches


class Batch(NamedTuple):
    """The notes of all users, mixed place by place, and who they are.

    Attributes:
        head: how many users, the hash of the rest, the shuffler's signature: read and judged first.
        records: one :class:`Record` per user.
        slots: for every place the sealed notes, one after the other.
    """

    head: bytes
    records: bytes
    slots: tuple[bytes, ...]


def write_batch(
    records: Sequence[Record], slots: Sequence[bytes], this: Round, key: Ed25519PrivateKey
) -> Batch:
    """Sign the records, in the order of the users' numbers, and the mixed notes.

    Args:
        records: who took part, in any order.
        slots: for every place the mixed sealed notes, one after the other.
        this: the round.
        key: the shuffler's signing key.
    """
    packed = b"".join(_RECORD.pack(*record) for record in sorted(records))
    digest = _hash(packed, *slots)
    count = len(records).to_bytes(4, "big")
    return Batch(count + digest + this.sign(key, "batch", count + digest), packed, tuple(slots))


def batch_size(head: bytes, this: Round) -> int:
    """Return how many users a batch is of, by its head; called before the rest is read.

    Raises:
        RejectedError: the shuffler did not sign this head, or says that too few took part.
    """
    if len(head) != HEAD:
        raise RejectedError("malformed", f"the head of a batch of {len(head)} bytes, not {HEAD}")
    count, _, signature = _RECORD.unpack(head)
    if not this.signed(this.session.keys["shuffler"].signing, signature, "batch", head[: 4 + DIGEST]):
        raise RejectedError("forged", "a batch that the shuffler did not sign")
    if not this.session.least <= count <= this.session.members:
        low, high = this.session.least, this.session.members
        raise RejectedError("forged", f"a batch of {count} users, not from {low} to {high}")
    return int(count)


def batch_limits(count: int, this: Round) -> tuple[int, int]:
    """Compute the most bytes of the records and of one place.

    The limit is twice the expected size, as a faulty shuffler may send more notes than expected.
    """
    return count * _RECORD.size, 2 * count * this.sealed_length


def check_digest(batch: Batch) -> None:
    """Refuse a batch that differs from what its head says."""
    if _hash(batch.records, *batch.slots) != batch.head[4 : 4 + DIGEST]:
        raise RejectedError("forged", "a batch that differs from what the shuffler signed")


def open_batch(batch: Batch, this: Round) -> tuple[list[int], list[list[bytes]]]:
    """Return the users that took part, and the sealed notes of every place.

    Raises:
        RejectedError: the batch is not what the shuffler signed, or names a user that did not take part.
    """
    count = batch_size(batch.head, this)
    check_digest(batch)
    if len(batch.records) != count * _RECORD.size or len(batch.slots) != this.slots:
        raise RejectedError("malformed", "a batch with too few or too many parts")
    records = [Record(*fields) for fields in _RECORD.iter_unpack(batch.records)]
    users = [record.user for record in records]
    if users != sorted(set(users)) or not all(took_part(record, this) for record in records):
        raise RejectedError("forged", "a batch that names a user who did not take part")
    size = this.sealed_length
    if any(len(slot) % size for slot in batch.slots):
        raise RejectedError("malformed", "a batch with a note of a wrong length")
    return users, [[slot[i : i + size] for i in range(0, len(slot), size)] for slot in batch.slots]


# ---------------------------------------------------------------- what is published


class Ledger(NamedTuple):
    """Who took part, and the salts of the notes that were counted, sorted, place by place."""

    users: tuple[int, ...]
    salts: tuple[bytes, ...]

    def digest(self) -> bytes:
        """Compute the hash that the reader signs."""
        return _hash(json.dumps(self.users).encode(), *self.salts)

    def to_json(self, this: Round, key: Ed25519PrivateKey) -> dict[str, Any]:
        """Return the ledger with its reader's signature."""
        return {
            "users": list(self.users),
            "salts": [salts.hex() for salts in self.salts],
            "signature": this.sign(key, "ledger", self.digest()).hex(),
        }

    @classmethod
    def from_json(cls, content: Any, this: Round) -> Ledger:
        """Read a published ledger.

        Raises:
            RejectedError: it is malformed, or the reader did not sign it.
        """
        try:
            ledger = cls(tuple(content["users"]), tuple(map(bytes.fromhex, content["salts"])))
            signature = bytes.fromhex(content["signature"])
        except (KeyError, TypeError, ValueError):
            raise RejectedError("malformed", "not a ledger") from None
        if any(type(u) is not int for u in ledger.users) or len(ledger.salts) != this.slots:
            raise RejectedError("malformed", "not a ledger of this round")
        if not this.signed(this.session.keys[this.reader].signing, signature, "ledger", ledger.digest()):
            raise RejectedError("forged", f"a ledger that the {this.reader} did not sign")
        return ledger

    def missing(self, own: Mapping[int, Sequence[bytes]]) -> dict[int, str]:
        """Return the users whom, or whose notes, the ledger lacks, given the salts of their notes.

        "uncounted": the user is not listed; "replaced": it is, but one of its notes is not.
        """
        listed = set(self.users)
        found = {user: "uncounted" for user in own if user not in listed}
        for slot, column in enumerate(self.salts):
            counted = {column[i : i + SALT] for i in range(0, len(column), SALT)}
            for user, salts in own.items():
                if salts[slot] not in counted:
                    found.setdefault(user, "replaced")
        return found


def write_decision(decision: Decision, first: Round, key: Ed25519PrivateKey) -> dict[str, Any]:
    """Name the features to release and the values to keep, signed by the curator.

    Args:
        decision: no feature ends the run.
        first: round 1, to which the decision is bound.
        key: the curator's signing key.
    """
    plain = {
        "released": list(decision.features),
        "kept": list(decision.kept),
        "chances": list(decision.chances),
    }
    return plain | {"signature": first.sign(key, "decision", json.dumps(plain).encode()).hex()}


def read_decision(content: Any, first: Round) -> Round | None:
    """Return round 2 as the curator decided; None if nothing is released, which ends the run.

    Raises:
        RejectedError: malformed, or the curator did not sign it.
    """
    try:
        plain = {name: list(content[name]) for name in ("released", "kept", "chances")}
        signature = bytes.fromhex(content["signature"])
        text = json.dumps(plain).encode()
        kept = tuple(None if values is None else tuple(values) for values in plain["kept"])
        chances = tuple(map(tuple, plain["chances"]))
    except (KeyError, TypeError, ValueError):
        raise RejectedError("malformed", "not a decision") from None
    if not first.signed(first.session.keys["curator"].signing, signature, "decision", text):
        raise RejectedError("forged", "a decision that the curator did not sign")
    if not plain["released"]:
        return None
    return Round(
        first.session, tuple(plain["released"]), kept, chances
    )  # refuses a decision that names no features
