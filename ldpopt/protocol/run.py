"""Run both rounds of the protocol on this machine, one process per party."""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import MOST_FEATURES
from ldpopt.protocol.board import Board, Party, Progress
from ldpopt.protocol.deciding import Policy, measured, proven
from ldpopt.protocol.faults import Fault
from ldpopt.protocol.messages import Ledger, read_decision, value_text
from ldpopt.protocol.roles import registration
from ldpopt.protocol.session import (
    KEY,
    LONGEST,
    REDACTED,
    ROLES,
    Incident,
    ProtocolError,
    PublicKeys,
    RejectedError,
    Round,
    Session,
    check_names,
)

T = TypeVar("T")
COMPLAINTS = {
    "refused": "does not take part in a session it did not agree to",
    "unanswered": "got no receipt of the shuffler",
    "uncounted": "is not listed among those who took part",
    "replaced": "does not find its own notes among those that were counted",
}
"""What a user may say. Nobody can check it: a hostile user can complain without a reason."""


@dataclass(frozen=True)
class Outcome:
    """What each party knows at the end of a run.

    Attributes:
        marginals: the curator's view: for every feature, how often each value occurs.
        released: the features that the curator lets through.
        kept: the values of each that users may send, all others being redacted; no entry if all may.
        rows: the analyst's view: how often each row of released values occurs.
        incidents: what was noticed.
        users: how many users took part in each round.
        proven: what the marginals prove about the rows, in words; empty if nothing was released.
        measured: how many of the rows are rare, in words; empty if nothing was released.
        seconds: wall-clock time per stage.
    """

    marginals: dict[str, dict[str, int]]
    released: tuple[str, ...]
    rows: dict[tuple[str, ...], int]
    incidents: tuple[Incident, ...]
    users: tuple[int, ...] = ()
    proven: str = ""
    measured: str = ""
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def run_protocol(
    rows: Sequence[Sequence[Any]],
    features: Sequence[str],
    policy: Policy | None,
    *,
    workers: int | None = None,
    least: int = 10,
    length: int = 64,
    patience: float = 300.0,
    faults: Sequence[Fault] = (),
    progress: Progress | None = None,
) -> Outcome:
    """Run both rounds with one process per party (the users share a few).

    Args:
        rows: the private row of every user; values become text.
        features: their names.
        policy: how the curator decides; None to count only, so that nothing is released.
        workers: processes for the users; by default one per core.
        least: how many users must take part in each round; a smaller group is refused.
        length: bytes of a value at most. Fixed beforehand: the length of a note tells nothing.
        patience: seconds of silence after which a party is given up.
        faults: what goes wrong on purpose.
        progress: called with (stage, finished, total).

    Raises:
        InvalidInputError: the arguments are not a run, or the group is smaller than ``least``.
        ProtocolError: shuffler, curator or analyst failed, or too few users took part.
    """
    users = _checked(rows, features, policy, length, faults)
    if type(least) is not int or least < 2:
        raise InvalidInputError(f"least must be a whole number of users >= 2, not {least!r}")
    if len(users) < least:
        raise InvalidInputError(
            f"the protocol needs at least one group of {least} users to hide among, not {len(users)}"
        )
    if not patience > 0:
        raise InvalidInputError(f"patience must be a number of seconds > 0, not {patience}")
    board = Board(patience, progress)
    try:
        run = _Run(board, users, tuple(features), policy, least, length, patience, list(faults))
        return run.both_rounds(min(workers or os.cpu_count() or 1, len(users)))
    finally:
        board.close()


def _checked(
    rows: Any, features: Sequence[str], policy: Policy | None, length: int, faults: Sequence[Fault]
) -> list[list[str]]:
    if not len(rows) or not len(features):
        raise InvalidInputError("the protocol needs at least one user and one feature")
    check_names(features)
    if policy is not None and len(features) > MOST_FEATURES:
        raise InvalidInputError(
            f"a curator decides about at most {MOST_FEATURES} features, not {len(features)}"
        )
    if type(length) is not int or not 1 <= length <= LONGEST:
        raise InvalidInputError(f"length must be a whole number from 1 to {LONGEST}, not {length!r}")
    weights, redact = (None, None) if policy is None else (policy.weights, policy.redact)
    if weights is not None and len(weights) != len(features):
        raise InvalidInputError(
            f"there must be {len(features)} weights, one per feature, not {len(weights)}"
        )
    for fault in faults:
        fault.check(len(rows))
    users = []
    for i, row in enumerate(rows):
        if len(row) != len(features):
            raise InvalidInputError(
                f"user {i} must have {len(features)} values, one per feature, not {len(row)}"
            )
        users.append([value_text(value, length) for value in row])
        if redact is not None and REDACTED in users[-1]:
            raise InvalidInputError(
                f"user {i} must not have the value {REDACTED!r}, which stands for a redacted one"
            )
    return users


@dataclass
class _Run:
    """One run: who was started with what."""

    board: Board
    rows: list[list[str]]
    features: tuple[str, ...]
    policy: Policy | None
    least: int
    length: int
    patience: float
    faults: list[Fault]

    def both_rounds(self, workers: int) -> Outcome:
        """Start the parties, agree on a session, run round 1, decide, run round 2."""
        clock = [time.perf_counter()]
        nonce = secrets.token_bytes(16)
        self._start(nonce, workers)
        this = Round(self._agree(nonce))
        clock.append(time.perf_counter())
        first = self._round(this, self.curator)
        marginals = self._marginals(this)
        decision = self.board.expect(self.curator, "decision")
        second = self._judged(read_decision, decision, this)
        clock.append(time.perf_counter())
        for party in (self.shuffler, self.analyst, *self.groups):
            party.tell("decision", decision)
        rows: dict[tuple[str, ...], int] = {}
        took_part = [first]
        if second is not None:
            took_part.append(self._round(second, self.analyst))
            rows = self._table(second)
        self.board.hear_out()
        clock.append(time.perf_counter())
        stages = ("keys", "round 1", "round 2")
        return Outcome(
            marginals=marginals,
            released=self._names(second),
            rows=rows,
            incidents=tuple(self.board.incidents),
            users=tuple(took_part),
            proven=proven(self.policy, first) if second and self.policy else "",
            measured=measured(rows, self.policy, first) if second and self.policy else "",
            kept=self._kept(second),
            seconds={s: b - a for s, (a, b) in zip(stages, pairwise(clock), strict=True)},
        )

    def _names(self, second: Round | None) -> tuple[str, ...]:
        return tuple(self.features[j] for j in (second and second.released) or ())

    def _kept(self, second: Round | None) -> dict[str, tuple[str, ...]]:
        if second is None or not second.kept:
            return {}
        named = zip(self._names(second), second.kept, strict=True)
        return {name: values for name, values in named if values is not None}

    def _start(self, nonce: bytes, workers: int) -> None:
        board, users = self.board, len(self.rows)
        # every value once, and every salt, at most six bytes a character in JSON
        most = (1 << 20) + users * len(self.features) * (6 * self.length + 100)
        common = {"patience": self.patience, "faults": [list(fault) for fault in self.faults]}
        decision = self.policy and asdict(self.policy)
        self.curator = board.start("curator", common | {"policy": decision}, most=most)
        self.analyst = board.start("analyst", common, most=most)
        self.shuffler = board.start("shuffler", common, most=1 << 20)
        self.groups = []
        cuts = [users * i // workers for i in range(workers + 1)]
        agreed = {"nonce": nonce.hex(), "features": self.features, "least": self.least}
        for number, (a, b) in enumerate(pairwise(cuts)):
            content = {**common, **agreed, "first": a, "rows": self.rows[a:b]}
            most = (1 << 20) + 300 * (b - a)
            self.groups.append(board.start(f"group {number}", content, users=range(a, b), most=most))

    def _agree(self, nonce: bytes) -> Session:
        """Collect the keys and announce the session."""
        parties = dict(zip(ROLES, (self.shuffler, self.curator, self.analyst), strict=True))
        keys = {
            role: self._understood(party, "keys", lambda said: PublicKeys(*map(bytes.fromhex, said)))
            for role, party in parties.items()
        }
        claimed = []
        for group, announced in self.board.gather(self.groups, "keys").items():
            claimed += self._claims(group, announced)
        roster = self._roster(claimed, {key.signing for key in keys.values()}, nonce)
        try:
            session = Session(nonce, self.features, self.length, self.least, keys, roster)
        except InvalidInputError as error:
            raise ProtocolError(f"no session: {error}") from None
        for party in self.board.parties:
            party.tell("session", session.to_json())
        return session

    def _claims(self, group: Party, announced: Any) -> list[tuple[int, bytes, bytes]]:
        """List the users of a group with the key that each claims and the proof that it owns the key."""
        try:
            keys = [tuple(map(bytes.fromhex, entry)) for entry in announced]
            return [(user, key, proof) for user, (key, proof) in zip(group.users, keys, strict=True)]
        except (TypeError, ValueError):
            self.board.leave_out(group, "registered other than one key per user")
            return []

    def _roster(
        self, claimed: list[tuple[int, bytes, bytes]], taken: set[bytes], nonce: bytes
    ) -> tuple[bytes, ...]:
        """Collect everybody's key.

        Of several users who claim one key, the first who owns it keeps it.

        A key that nobody else claims needs no proof: a user who does not own it cannot sign with it.
        """
        roster, claims = [b""] * len(self.rows), Counter(key for _, key, _ in claimed)
        for user, key, proof in claimed:
            owned = claims[key] == 1 or _owns(key, proof, nonce)
            if len(key) != KEY or key in taken or not owned:
                detail = f"user {user}: a key that is not its own, or that it registered before"
                self.board.incidents.append(Incident("board", "forged", detail))
                continue
            taken.add(key)
            roster[user] = key
        return tuple(roster)

    def _round(self, this: Round, reader: Party) -> int:
        """Collect, forward, publish; return how many users took part."""
        board = self.board
        ports = {"shuffler": _port(board, self.shuffler), "reader": _port(board, reader)}
        for group in self.groups:
            group.tell("round", ports)
        self._complaints(board.gather(self.groups, "sent"), this)
        self.shuffler.tell("close", ports["reader"])
        published = board.expect(reader, "ledger")
        ledger = self._judged(Ledger.from_json, published, this)
        for group in self.groups:
            group.tell("ledger", published)
        self._complaints(board.gather(self.groups, "checked"), this)
        return len(ledger.users)

    def _judged(self, judge: Callable[[Any, Round], T], content: Any, this: Round) -> T:
        """Read what a reader signed; a run ends with one that signs something else."""
        try:
            return judge(content, this)
        except RejectedError as rejected:
            raise ProtocolError(f"the {this.reader} announced {rejected}") from None

    def _complaints(self, said: dict[Party, Any], this: Round) -> None:
        """Write down what users say about themselves; each once, and nothing about others."""
        for group, complaints in said.items():
            try:
                found = {int(user): COMPLAINTS[kind] and kind for user, kind in complaints}
            except (TypeError, ValueError, KeyError, OverflowError):
                self.board.leave_out(group, "complained in a way that is not understood")
                continue
            for user in sorted(set(group.users).intersection(found)):
                kind = found[user]
                detail = f"user {user}: round {this.number}: {COMPLAINTS[kind]}"
                self.board.incidents.append(Incident("users", kind, detail))

    def _understood(self, party: Party, what: str, read: Callable[[Any], T]) -> T:
        """Read what shuffler, curator or analyst announces next; what cannot be read ends the run."""
        announced = self.board.expect(party, what)
        try:
            return read(announced)
        except (AttributeError, TypeError, ValueError):
            raise ProtocolError(f"the {party.name} announced no {what} that can be read") from None

    def _marginals(self, this: Round) -> dict[str, dict[str, int]]:
        def read(announced: Any) -> dict[str, dict[str, int]]:
            columns = [{value: _count(n) for value, n in column.items()} for column in announced]
            return dict(zip(this.session.features, columns, strict=True))

        return self._understood(self.curator, "marginals", read)

    def _table(self, second: Round) -> dict[tuple[str, ...], int]:
        def read(announced: Any) -> dict[tuple[str, ...], int]:
            rows = {tuple(values): _count(n) for *values, n in announced}
            if any([*map(type, row)] != [str] * second.fields for row in rows):
                raise ValueError("a row that is not a text for each feature")
            return rows

        return self._understood(self.analyst, "rows", read)


def _count(n: Any) -> int:
    if type(n) is not int or n < 1:
        raise ValueError("not a number of users")
    return n


def _owns(key: bytes, proof: bytes, nonce: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(proof, registration(nonce))
    except (ValueError, InvalidSignature):
        return False
    return True


def _port(board: Board, party: Party) -> int:
    port = board.expect(party, "ready")
    if type(port) is not int or not 0 < port < 65536:
        raise ProtocolError(f"the {party.name} announced no port")
    return port
