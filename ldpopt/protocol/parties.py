"""The parties as processes: each makes its keys itself, and never shows a private one.

A process gets from the bulletin board what is public (on its standard input) and announces what is
public (on its standard output); notes travel over loopback sockets from party to party. Run by
:func:`ldpopt.protocol.run_protocol`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol import messages
from ldpopt.protocol.deciding import Policy, decide
from ldpopt.protocol.faults import Fault, impostor_batch, sent_with_faults, tampered
from ldpopt.protocol.roles import Counted, Reader, Shuffler, User
from ldpopt.protocol.session import (
    SIGNATURE,
    Decision,
    Incident,
    ProtocolError,
    RejectedError,
    Round,
    Session,
)
from ldpopt.protocol.wire import Keep, Line, Put, Serve, Server, read_frame, send_frames, write_frame

MOST_INCIDENTS = 1000
"""Incidents that a party announces one by one; of the others it announces the number."""
MOST_ANNOUNCED = 1 << 31


class Reporter:
    """Announces progress, not too often, and incidents, not too many."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._next = 0.0
        self.incidents = 0

    def progress(self, stage: str, done: int, total: int) -> None:
        """Say how far a stage has come.

        Args:
            stage: the name of the stage.
            done: how many of its steps are finished.
            total: how many there are.
        """
        now = time.monotonic()
        if done == total or now >= self._next:
            self._next = now + 0.5
            self._line.say("progress", [stage, done, total])

    def incident(self, incident: Incident) -> None:
        """Announce an incident."""
        self.incidents += 1
        if self.incidents <= MOST_INCIDENTS:
            self._line.say("incident", list(incident))

    def finish(self, name: str) -> None:
        """Say how many incidents were not reported."""
        if self.incidents > MOST_INCIDENTS:
            more = self.incidents - MOST_INCIDENTS
            self._line.say("incident", [name, "more", f"{more} more incidents like these"])


# ---------------------------------------------------------------- users


def run_users(line: Line, start: dict[str, Any]) -> None:
    """Run the users ``first``, ``first + 1``, …, each with a key of its own and one row."""
    users = [User(start["first"] + i, row) for i, row in enumerate(start["rows"])]
    nonce, faults = bytes.fromhex(start["nonce"]), [Fault(*fault) for fault in start["faults"]]
    line.say("keys", [[user.public.hex(), user.prove(nonce).hex()] for user in users])
    session = Session.from_json(line.expect("session"))
    refusals: list[tuple[int, str]] = []
    willing = []
    for user in users:
        try:
            user.check(session, start["features"], start["least"])
            willing.append(user)
        except InvalidInputError:
            refusals.append((user.number, "refused"))
    reporter, this = Reporter(line), Round(session)
    while True:
        ports = line.expect("round")
        line.say(
            "sent", refusals + _send_round(willing, this, ports, faults, start["patience"], reporter)
        )
        ledger = messages.Ledger.from_json(line.expect("ledger"), this)
        line.say("checked", sorted(ledger.missing({u.number: u.salts for u in willing}).items()))
        if this.number == 2:
            return
        decided = messages.read_decision(line.expect("decision"), this)
        if decided is None:
            return
        this, refusals = decided, []


def _send_round(
    users: list[User],
    this: Round,
    ports: dict[str, int],
    faults: list[Fault],
    patience: float,
    reporter: Reporter,
) -> list[tuple[int, str]]:
    """Send everybody's envelope; return who got no receipt of the shuffler."""
    kinds: dict[int, set[str]] = {}
    for fault in faults:
        if fault.round_number == this.number:
            kinds.setdefault(fault.user, set()).add(fault.kind)

    def frames() -> Iterator[bytes]:
        for done, user in enumerate(users, start=1):
            mine = kinds.get(user.number)
            yield from [user.send(this)] if mine is None else sent_with_faults(user, this, mine)
            reporter.progress(f"round {this.number}: users seal", done, len(users))

    for user in users:
        _attack(user, this, ports, kinds.get(user.number, set()), patience)
    try:
        digest, receipt = send_frames(ports["shuffler"], frames(), patience, SIGNATURE)
        answered = this.signed(this.session.keys["shuffler"].signing, receipt, "receipt", digest)
    except RejectedError:
        answered = False
    return [] if answered else [(user.number, "unanswered") for user in users]


def _attack(user: User, this: Round, ports: dict[str, int], kinds: set[str], patience: float) -> None:
    """Attack as a hostile user does, over connections of its own."""
    if "impostor" in kinds:
        with contextlib.suppress(RejectedError):  # as it should be: no receipt for an impostor
            send_frames(ports["reader"], impostor_batch(user, this), patience, SIGNATURE)
    if "oversize" in kinds:
        address = "127.0.0.1", ports["shuffler"]
        with (
            contextlib.suppress(OSError),
            socket.create_connection(address, timeout=patience) as stream,
        ):
            stream.sendall(b"\xff\xff\xff\xff")
            stream.recv(1)  # until the shuffler hangs up


# ---------------------------------------------------------------- shuffler


def run_shuffler(line: Line, start: dict[str, Any]) -> None:
    """Collect, mix, forward; remembers nothing and reads no note."""
    shuffler, reporter = Shuffler(), Reporter(line)
    faults = [Fault(*fault) for fault in start["faults"]]
    line.say("keys", [key.hex() for key in shuffler.keys])
    session = Session.from_json(line.expect("session"))
    this = Round(session)
    while True:
        port = _collect(line, shuffler, this, reporter, start["patience"])
        for user in shuffler.absent():
            reporter.incident(Incident("shuffler", "dropped", f"user {user}: nothing accepted"))
        slots = shuffler.mix()
        kinds = {fault.kind for fault in faults if fault.round_number == this.number}
        batch = shuffler.batch(tampered(slots, this, kinds))
        frames = [batch.head, batch.records, *batch.slots]
        try:
            _, receipt = send_frames(port, frames, start["patience"], SIGNATURE)
        except RejectedError as rejected:
            raise ProtocolError(f"the {this.reader} did not take the batch: {rejected}") from None
        if not this.signed(session.keys[this.reader].signing, receipt, "receipt", batch.head):
            raise ProtocolError(f"the receipt for the batch is not the {this.reader}'s")
        decided = messages.read_decision(line.expect("decision"), this) if this.number == 1 else None
        if decided is None:
            reporter.finish("shuffler")
            return
        this = decided


def _collect(line: Line, shuffler: Shuffler, this: Round, reporter: Reporter, patience: float) -> int:
    """Accept envelopes until the board closes the round; return the port of the reader."""
    shuffler.begin(this)
    members = this.session.members
    server = Server(_receiver(shuffler, this), patience)

    def wait_for_close() -> None:
        try:
            server.events.put(("close", int(line.expect("close"))))
        except (EOFError, RejectedError, TypeError, ValueError) as error:
            server.events.put(error)

    threading.Thread(target=wait_for_close, daemon=True).start()
    line.say("ready", server.port)
    while True:
        event = server.events.get()
        if isinstance(event, tuple):
            server.close()
            return int(event[1])
        if isinstance(event, Exception) and not isinstance(event, RejectedError):
            raise ProtocolError(f"the shuffler lost the board: {event}")
        try:
            if isinstance(event, RejectedError):
                raise event
            shuffler.accept(event)
        except RejectedError as rejected:
            reporter.incident(Incident("shuffler", rejected.kind, str(rejected)))
        reporter.progress(f"round {this.number}: shuffler opens", shuffler.accepted, members)


def _receiver(shuffler: Shuffler, this: Round) -> Serve:
    """Serve a connection of users: take frames to its end, then sign a receipt for all of them."""
    longest, most = messages.envelope_length(this), 2 * this.session.members

    def serve(file: BinaryIO, put: Put, keep: Keep) -> None:
        digest, frames = hashlib.sha256(), 0
        while (frame := read_frame(file, longest)) is not None:
            digest.update(len(frame).to_bytes(4, "big") + frame)
            frames += 1
            if frames > most:
                raise RejectedError("malformed", f"a connection with more than {most} envelopes")
            put(frame)
        write_frame(file, this.sign(shuffler.key, "receipt", digest.digest()))
        file.flush()

    return serve


# ---------------------------------------------------------------- readers


def run_curator(line: Line, start: dict[str, Any]) -> None:
    """Count the values of every feature, then decide which features are safe together."""
    curator, reporter = Reader(), Reporter(line)
    line.say("keys", [key.hex() for key in curator.keys])
    this = Round(Session.from_json(line.expect("session")))
    counted = _count(line, curator, this, reporter, start["patience"])
    columns = [Counter({value: n for (value,), n in column.items()}) for column in counted.columns]
    line.say("marginals", [dict(column) for column in columns])
    decision = Decision((), ())
    if (asked := start["policy"]) is not None:
        weights = asked["weights"] and tuple(asked["weights"])
        decision = decide(columns, len(counted.ledger.users), Policy(**asked | {"weights": weights}))
    line.say("decision", messages.write_decision(decision, this, curator.key))
    reporter.finish("curator")


def run_analyst(line: Line, start: dict[str, Any]) -> None:
    """Count the released rows."""
    analyst, reporter = Reader(), Reporter(line)
    line.say("keys", [key.hex() for key in analyst.keys])
    session = Session.from_json(line.expect("session"))
    second = messages.read_decision(line.expect("decision"), Round(session))
    if second is not None:
        counted = _count(line, analyst, second, reporter, start["patience"])
        line.say("rows", [[*row, n] for row, n in counted.columns[0].items()])
        reporter.finish("analyst")


def _count(line: Line, reader: Reader, this: Round, reporter: Reporter, patience: float) -> Counted:
    """Accept the shuffler's batch, ignoring other callers; publish the ledger."""

    def serve(file: BinaryIO, put: Put, keep: Keep) -> None:
        head = read_frame(file, messages.HEAD) or b""
        longest, widest = messages.batch_limits(messages.batch_size(head, this), this)
        keep()  # the shuffler signed the head: its batch may take long
        records = read_frame(file, longest) or b""
        batch = messages.Batch(
            head, records, tuple(read_frame(file, widest) or b"" for _ in range(this.slots))
        )
        messages.check_digest(batch)
        write_frame(file, this.sign(reader.key, "receipt", head))
        file.flush()
        put(batch)

    server = Server(serve, patience)
    line.say("ready", server.port)
    while True:
        event = server.events.get()
        if isinstance(event, RejectedError):
            reporter.incident(Incident(this.reader, event.kind, str(event)))
            continue
        try:
            opened = partial(reporter.progress, f"{this.reader} opens")
            counted = reader.count(event, this, reporter.incident, opened)
        except RejectedError as rejected:  # signed by the shuffler nevertheless
            raise ProtocolError(f"the {this.reader} refuses the shuffler's batch: {rejected}") from None
        server.close()
        line.say("ledger", counted.ledger.to_json(this, reader.key))
        return counted


RUNS = {"users": run_users, "shuffler": run_shuffler, "curator": run_curator, "analyst": run_analyst}


def main() -> None:
    """Run the party that the board asks for; stray prints of libraries go to the standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    line = Line(sys.stdin.buffer, out, MOST_ANNOUNCED)
    try:
        start = line.expect("start")
        RUNS[start["role"]](line, start)
    except (RejectedError, ProtocolError, InvalidInputError) as error:
        line.say("failed", str(error))
    except (EOFError, BrokenPipeError):
        pass  # the board has ended the run


if __name__ == "__main__":
    main()
