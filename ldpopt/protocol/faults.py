"""Faults made on purpose, to show what is noticed and what it costs."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol.messages import envelope, seal_envelope, write_batch, write_note
from ldpopt.protocol.roles import User
from ldpopt.protocol.sealing import seal
from ldpopt.protocol.session import SALT, Round

USER_FAULTS = ("drop", "duplicate", "replay", "forge", "malformed", "misplace", "oversize", "impostor")
SHUFFLER_FAULTS = ("shuffler-drop", "shuffler-duplicate", "shuffler-replace", "shuffler-add")
FAULTS = USER_FAULTS + SHUFFLER_FAULTS


class Fault(NamedTuple):
    """Something that goes wrong on purpose in a round.

    A faulty user: "drop" loses its envelope; "duplicate" and "replay" send it again, the latter as one
    of another session; "forge" breaks its signature; "malformed" signs and seals junk; "misplace" fills
    every place with the note of the first feature; "oversize" also announces a frame of 4 GB; "impostor"
    also sends the reader a batch, as if it were the shuffler. A faulty shuffler drops, duplicates or
    replaces the first note, or adds one.
    """

    kind: str
    round_number: int
    user: int = 0

    def check(self, users: int) -> None:
        """Refuse a fault that does not exist."""
        if self.kind not in FAULTS:
            raise InvalidInputError(f"a fault must be one of {', '.join(FAULTS)}, not {self.kind!r}")
        if self.round_number not in (1, 2):
            raise InvalidInputError(f"the round of a fault must be 1 or 2, not {self.round_number}")
        if not 0 <= self.user < users:
            raise InvalidInputError(f"the user of a fault must be below {users}, not {self.user}")


def sent_with_faults(user: User, this: Round, kinds: Collection[str]) -> list[bytes]:
    """Build the frames that a user sends to the shuffler.

    Args:
        user: the user, with its row and key.
        this: the round.
        kinds: the faults of this user in this round; see :class:`Fault`.
    """
    sent = user.send(this)
    if "forge" in kinds:
        return [sent[:-1] + bytes([sent[-1] ^ 1])]
    if "malformed" in kinds:
        junk = [secrets.token_bytes(this.note_length) for _ in range(this.slots)]
        return [envelope(user.number, junk, this, user.key)]
    if "misplace" in kinds:
        first = write_note(user.salts[0], user.contents(this)[0], this)
        return [_misplaced(user, first, this)]
    frames = [] if "drop" in kinds else [sent]
    if "replay" in kinds:
        frames.insert(0, secrets.token_bytes(16) + sent[16:])
    if "duplicate" in kinds:
        frames.append(sent)
    return frames


def _misplaced(user: User, note: bytes, this: Round) -> bytes:
    """Build an envelope whose notes are all sealed for the first place."""
    sealed = [
        seal(this.session.keys[this.reader].sealing, note, this.context("note", 0))
        for _ in range(this.slots)
    ]
    return seal_envelope(user.number, sealed, this, user.key)


def impostor_batch(user: User, this: Round) -> list[bytes]:
    """Build a batch that looks right, signed by a user instead of the shuffler."""
    batch = write_batch([], [b""] * this.slots, this, user.key)
    return [batch.head, batch.records, *batch.slots]


def tampered(slots: Sequence[Sequence[bytes]], this: Round, kinds: Collection[str]) -> list[list[bytes]]:
    """Change the first place of the mixed notes, as a faulty shuffler does.

    Args:
        slots: for every place the mixed notes.
        this: the round.
        kinds: the faults of the shuffler in this round; see :class:`Fault`.
    """
    first, *others = [list(slot) for slot in slots]
    if "shuffler-duplicate" in kinds:
        first.append(first[0])
    if "shuffler-drop" in kinds:
        first.pop()
    if "shuffler-replace" in kinds:
        first[0] = own_note(this, 0)
    if "shuffler-add" in kinds:
        first.append(own_note(this, 0))
    return [first, *others]


def own_note(this: Round, slot: int) -> bytes:
    """Write a note that anybody who knows the reader's public key can write."""
    note = write_note(secrets.token_bytes(SALT), ["?"] * this.fields, this)
    return seal(this.session.keys[this.reader].sealing, note, this.context("note", slot))
