"""What each party does with the messages it gets; no sockets, no processes.

Nothing that a user sends can stop a role: what is not acceptable is refused with a
:class:`RejectedError` and costs its sender only.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol import messages
from ldpopt.protocol.sealing import Opener, SealError
from ldpopt.protocol.session import (
    REDACTED,
    SALT,
    Incident,
    ProtocolError,
    PublicKeys,
    RejectedError,
    Round,
    Session,
)

Notice = Callable[[Incident], None]
Progress = Callable[[int, int], None]


class User:
    """One user: a row, a signing key that never leaves the object, and the salts of the notes it sent.

    >>> User(0, ["yes"]).prove(b"nonce") != User(0, ["yes"]).prove(b"nonce")
    True
    """

    def __init__(self, number: int, row: Sequence[str]) -> None:
        self.number = number
        self.row = tuple(row)
        self.key = Ed25519PrivateKey.generate()
        self.public = self.key.public_key().public_bytes_raw()
        self.salts: tuple[bytes, ...] = ()

    def prove(self, nonce: bytes) -> bytes:
        """Sign the run's nonce: whoever registers a key must own it."""
        return self.key.sign(registration(nonce))

    def check(self, session: Session, features: Sequence[str], least: int) -> None:
        """Refuse a session that is not the one this user agreed to.

        Args:
            session: what the bulletin board announced.
            features: the names of the features that the user agreed to release, in order.
            least: how many users must take part in each round.

        Raises:
            InvalidInputError: the session has other features, asks for fewer users, or lists another
                key.
        """
        if session.features != tuple(features) or len(self.row) != len(features):
            raise InvalidInputError(
                f"user {self.number} agreed to the features {list(features)!r:.80}, "
                f"not {list(session.features)!r:.80}"
            )
        if session.least < least:
            raise InvalidInputError(
                f"user {self.number} asks for at least {least} users, the session for {session.least}"
            )
        if self.number >= len(session.roster) or session.roster[self.number] != self.public:
            raise InvalidInputError(f"user {self.number} is not registered with its own key")

    def contents(self, this: Round) -> list[tuple[str, ...]]:
        """List the values of every note: one per feature, or one row of the released features."""
        if this.released is None:
            return [(value,) for value in self.row]
        return [tuple(self._sent(place, self.row[j], this) for place, j in enumerate(this.released))]

    @staticmethod
    def _sent(place: int, value: str, this: Round) -> str:
        """Return the value of a released feature, or the mark of one redacted by rule or at random."""
        kept = this.kept[place] if this.kept else None
        if kept is None:
            return value
        if value not in kept:
            return REDACTED
        chance = this.chances[place][kept.index(value)] if this.chances else 0.0
        return REDACTED if secrets.SystemRandom().random() < chance else value

    def send(self, this: Round) -> bytes:
        """Seal and sign this user's notes."""
        self.salts = tuple(secrets.token_bytes(SALT) for _ in range(this.slots))
        contents = zip(self.salts, self.contents(this), strict=True)
        return messages.envelope(
            self.number, [messages.write_note(s, c, this) for s, c in contents], this, self.key
        )


def registration(nonce: bytes) -> bytes:
    """Return what a user signs to register its key in the run with this nonce."""
    return b"ldpopt protocol: register" + nonce


class Role:
    """Shuffler, curator or analyst: a key to open with and a key to sign with."""

    def __init__(self) -> None:
        self.opener = Opener()
        self.key = Ed25519PrivateKey.generate()
        self.keys = PublicKeys(self.opener.public, self.key.public_key().public_bytes_raw())


class Shuffler(Role):
    """Opens the outer layer, keeps one envelope per user, mixes place by place; reads no note."""

    def begin(self, this: Round) -> None:
        """Forget the last round."""
        self._round = this
        self._records: dict[int, messages.Record] = {}
        self._slots: list[list[bytes]] = [[] for _ in range(this.slots)]

    @property
    def accepted(self) -> int:
        """How many users' envelopes were accepted."""
        return len(self._records)

    def accept(self, message: bytes) -> None:
        """Take an envelope.

        Raises:
            RejectedError: it is malformed, forged, replayed, or the second of its user.
        """
        record, sealed = messages.open_envelope(message, self._round, self.opener)
        if record.user in self._records:
            raise RejectedError("duplicated", f"user {record.user}: a second envelope")
        self._records[record.user] = record
        for slot, note in zip(self._slots, sealed, strict=True):
            slot.append(note)

    def absent(self) -> list[int]:
        """List the registered users of whom nothing was accepted."""
        roster = self._round.session.roster
        return [user for user, key in enumerate(roster) if key and user not in self._records]

    def mix(self) -> list[list[bytes]]:
        """Mix the notes of every place on their own: two places of one user stay unlinked."""
        least = self._round.session.least
        if self.accepted < least:
            raise ProtocolError(
                f"{self.accepted} users took part in round {self._round.number}; the shuffler forwards "
                f"nothing of fewer than {least}"
            )
        for slot in self._slots:
            secrets.SystemRandom().shuffle(slot)
        return self._slots

    def batch(self, slots: Sequence[Sequence[bytes]]) -> messages.Batch:
        """Sign the mixed notes for their reader."""
        joined = [b"".join(slot) for slot in slots]
        return messages.write_batch(list(self._records.values()), joined, self._round, self.key)


class Counted(NamedTuple):
    """What a reader counted.

    Attributes:
        columns: for every place, how often each content occurs.
        ledger: who and which notes were counted, to be published.
    """

    columns: list[Counter[tuple[str, ...]]]
    ledger: messages.Ledger


class Reader(Role):
    """Curator and analyst: open the notes of a batch and count."""

    def count(self, batch: messages.Batch, this: Round, notice: Notice, progress: Progress) -> Counted:
        """Count the notes that can be read, and pass an incident to ``notice`` for every other one.

        Args:
            batch: what the shuffler sent.
            this: the round.
            notice: called with every incident.
            progress: called with (notes read, notes expected).

        Raises:
            RejectedError: the shuffler did not sign this batch, or names users who did not take part.
            ProtocolError: the shuffler added notes of its own.
        """
        users, slots = messages.open_batch(batch, this)
        columns, salts, done = [], [], 0
        for number, notes in enumerate(slots):
            column: Counter[tuple[str, ...]] = Counter()
            seen: set[bytes] = set()
            for sealed in notes:
                done += 1
                progress(done, len(users) * this.slots)
                try:
                    salt, content = self._read(sealed, this, number)
                    if salt in seen:
                        raise RejectedError("duplicated", "a note that was read before")
                except RejectedError as rejected:
                    notice(Incident(this.reader, rejected.kind, f"{_place(this, number)}: {rejected}"))
                    continue
                seen.add(salt)
                column[content] += 1
            if len(seen) > len(users):
                raise ProtocolError(
                    f"the shuffler sent {len(seen)} different notes of {len(users)} users "
                    f"({_place(this, number)}); the {this.reader} uses none of them"
                )
            if len(notes) < len(users):
                detail = f"{_place(this, number)}: {len(notes)} notes of {len(users)} users"
                notice(Incident(this.reader, "dropped", detail))
            columns.append(column)
            salts.append(b"".join(sorted(seen)))
        return Counted(columns, messages.Ledger(tuple(users), tuple(salts)))

    def _read(self, sealed: bytes, this: Round, slot: int) -> tuple[bytes, tuple[str, ...]]:
        try:
            plain = self.opener.open(sealed, this.context("note", slot))
        except SealError:
            raise RejectedError("malformed", "a note that does not open") from None
        return messages.read_note(plain, this)


def _place(this: Round, slot: int) -> str:
    return f"feature {this.session.features[slot]!r}" if this.released is None else "the table"
