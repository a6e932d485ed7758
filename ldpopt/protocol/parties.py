"""The two-round protocol without a trusted curator, as running processes.

Bravo-Hermsdorff et al. 2022, Section 5. Users, shuffler, curator and analyst are processes of their own
that talk over loopback sockets; each makes its keys itself and never shows a private one. Round 1: every
user seals each salted value for the curator and all of them for the shuffler; the shuffler opens its
layer and mixes the values of all users; the curator counts, so it learns the marginals only, and decides
what may be released (:class:`ldpopt.problems.FeatureRelease`). Round 2: every user seals one row of the
released features for the analyst, again through the shuffler.

What is noticed: a message dropped, duplicated, replayed or forged on its way to the shuffler (the users
sign), and notes dropped or duplicated by the shuffler (the readers count, and know every salt). What is
not: a shuffler that replaces notes by notes of its own, which would need anonymous credentials.

    python -m ldpopt.protocol --users 1000 --features 10
"""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import secrets
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ldpopt.core.errors import InvalidInputError, LdpoptError
from ldpopt.protocol.messages import (
    Incident,
    Reader,
    RejectedError,
    Session,
    envelope,
    note,
    open_envelope,
)
from ldpopt.protocol.sealing import Opener

Progress = Callable[[str, int, int], None]
FAULTS = ("drop", "duplicate", "replay", "forge", "shuffler-drop", "shuffler-duplicate")
_STEP = 500
"""Messages between two progress reports."""


class ProtocolError(LdpoptError, RuntimeError):
    """A party crashed or went silent."""


class Fault(NamedTuple):
    """Something that goes wrong on purpose, to show that it is noticed.

    "drop", "duplicate", "replay" and "forge" happen to the envelope of the user; "shuffler-drop" and
    "shuffler-duplicate" to the first note that a faulty shuffler sends.
    """

    kind: str
    round_number: int
    user: int = 0


@dataclass(frozen=True)
class Policy:
    """How the curator decides: see :class:`ldpopt.problems.FeatureRelease`."""

    threshold: float
    budget: float
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Outcome:
    """What everybody knows in the end, each by what it was told.

    Attributes:
        marginals: the curator's view: for every feature, how often each value occurs.
        released: the features that the curator lets through.
        rows: the analyst's view: how often each row of released values occurs.
        incidents: what was noticed.
        seconds: wall-clock time per stage.
    """

    marginals: dict[str, dict[str, int]]
    released: tuple[str, ...]
    rows: dict[tuple[str, ...], int]
    incidents: tuple[Incident, ...]
    seconds: dict[str, float] = field(default_factory=dict)


# ---------------------------------------------------------------- the wire

_LENGTH = struct.Struct(">I")


def _send(stream: socket.socket, frames: Iterator[bytes]) -> None:
    with stream, stream.makefile("wb", buffering=1 << 16) as file:
        for frame in frames:
            file.write(_LENGTH.pack(len(frame)) + frame)


def _receive(stream: socket.socket) -> Iterator[bytes]:
    with stream, stream.makefile("rb", buffering=1 << 16) as file:
        while header := file.read(_LENGTH.size):
            yield file.read(_LENGTH.unpack(header)[0])


def _listen() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=64)


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


# ---------------------------------------------------------------- the parties


class _Party:
    """A process's line to the bulletin board: public announcements and progress, nothing secret."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def announce(self, what: str, content: Any = None) -> None:
        self._line.send((what, content))

    def hear(self) -> Any:
        return self._line.recv()

    def count(self, stage: str, done: int, total: int) -> None:
        if done % _STEP == 0 or done == total:
            self.announce("progress", (stage, done, total))


def run_users(line: Connection, first: int, rows: list[list[str]], faults: list[Fault]) -> None:
    """Users ``first``, ``first + 1``, … : each with a key of its own and one row."""
    party = _Party(line)
    keys = [Ed25519PrivateKey.generate() for _ in rows]
    party.announce("keys", [key.public_key().public_bytes_raw() for key in keys])
    session, port = party.hear()

    def contents(row: list[str], released: tuple[int, ...] | None) -> list[Any]:
        return list(enumerate(row)) if released is None else [[row[j] for j in released]]

    released: tuple[int, ...] | None = None
    for round_number in (1, 2):
        if round_number == 2:
            released = party.hear()
            if not released:
                return

        def envelopes(number: int, chosen: tuple[int, ...] | None) -> Iterator[bytes]:
            for i, (row, key) in enumerate(zip(rows, keys, strict=True)):
                notes = [note(content, session) for content in contents(row, chosen)]
                sent = envelope(first + i, notes, number, session, key)
                yield from _with_faults(sent, first + i, number, faults)
                party.count(f"round {number}: users seal", i + 1, len(rows))

        _send(_connect(port), envelopes(round_number, released))


def _with_faults(sent: bytes, user: int, number: int, faults: list[Fault]) -> Iterator[bytes]:
    kinds = {fault.kind for fault in faults if (fault.round_number, fault.user) == (number, user)}
    if "forge" in kinds:
        yield sent[:-1] + bytes([sent[-1] ^ 1])
        return
    if "replay" in kinds:
        # an envelope of another session: it carries another name
        yield secrets.token_bytes(16) + sent[16:]
    if "drop" not in kinds:
        yield sent
    if "duplicate" in kinds:
        yield sent


def run_shuffler(line: Connection, connections: int, features: int, faults: list[Fault]) -> None:
    """Open the outer layer, mix, forward; remembers nothing and reads no note."""
    party, opener, server = _Party(line), Opener(), _listen()
    party.announce("key", (opener.public, server.getsockname()[1]))
    session, roster, ports = party.hear()
    for round_number, count in ((1, features), (2, 1)):
        if round_number == 2 and not party.hear():
            return
        notes: list[bytes] = []
        seen: set[int] = set()
        arrived = 0
        for message in _from_all(server, connections):
            arrived += 1
            try:
                user, sealed = open_envelope(message, round_number, session, opener, roster, count)
                if user in seen:
                    raise RejectedError("duplicated", f"user {user}: a second envelope")
            except RejectedError as rejected:
                party.announce("incident", Incident("shuffler", rejected.kind, str(rejected)))
                continue
            seen.add(user)
            notes += sealed
            party.count(f"round {round_number}: shuffler opens", arrived, len(roster))
        for user in sorted(set(range(len(roster))) - seen):
            party.announce("incident", Incident("shuffler", "dropped", f"user {user}: nothing accepted"))
        secrets.SystemRandom().shuffle(notes)
        kinds = {fault.kind for fault in faults if fault.round_number == round_number}
        extra = notes[:1] if "shuffler-duplicate" in kinds else []
        mixed = notes[1:] if "shuffler-drop" in kinds else notes + extra
        header = len(seen).to_bytes(4, "big")
        _send(_connect(ports[round_number - 1]), iter([header, *mixed]))


def _from_all(server: socket.socket, connections: int) -> Iterator[bytes]:
    """Frames of several connections, as they come."""
    frames: queue.Queue[bytes | None] = queue.Queue(maxsize=1000)

    def pump(stream: socket.socket) -> None:
        for frame in _receive(stream):
            frames.put(frame)
        frames.put(None)

    for _ in range(connections):
        threading.Thread(target=pump, args=(server.accept()[0],), daemon=True).start()
    ended = 0
    while ended < connections:
        frame = frames.get()
        if frame is None:
            ended += 1
        else:
            yield frame


def _read_all(
    party: _Party, name: str, server: socket.socket, reader: Reader, each: int
) -> Iterator[Any]:
    """The contents of all shuffled notes; reports what is wrong with the others."""
    frames = _receive(server.accept()[0])
    users = int.from_bytes(next(frames), "big")
    party.announce("progress", (f"{name} opens", 0, users * each))
    for done, sealed in enumerate(frames, start=1):
        try:
            yield reader.read(sealed)
        except RejectedError as rejected:
            party.announce("incident", Incident(name, rejected.kind, str(rejected)))
        party.count(f"{name} opens", done, users * each)
    yield users


def run_curator(line: Connection, policy: Policy) -> None:
    """Count the values of every feature, then decide which features are safe together."""
    party, opener, server = _Party(line), Opener(), _listen()
    party.announce("key", (opener.public, server.getsockname()[1]))
    session: Session = party.hear()
    counts: list[Counter[str]] = [Counter() for _ in session.features]
    reader = Reader(opener, session.context(1, "reader"))
    *contents, users = _read_all(party, "curator", server, reader, len(counts))
    for feature, value in contents:
        counts[feature][value] += 1
    for name, counter in zip(session.features, counts, strict=True):
        _report_missing(party, "curator", f"feature {name!r}", users, counter.total())
    party.announce("marginals", [dict(counter) for counter in counts])
    party.announce("released", decide(counts, policy))


def decide(counts: Sequence[Counter[str]], policy: Policy) -> tuple[int, ...]:
    """The heaviest set of features whose exposure, by the marginals alone, stays within the budget."""
    # only the curator needs solvers: the other processes start faster without
    from ldpopt.engine.solving import solve
    from ldpopt.problems.feature_release import FeatureRelease

    if not all(counts):
        return ()
    marginals = [[n / counter.total() for n in counter.values()] for counter in counts]
    problem = FeatureRelease(
        policy.threshold, policy.budget, marginals=marginals, weights=policy.weights
    )
    return tuple(solve(problem).answer["features"])


def run_analyst(line: Connection) -> None:
    """Count the released rows."""
    party, opener, server = _Party(line), Opener(), _listen()
    party.announce("key", (opener.public, server.getsockname()[1]))
    session: Session = party.hear()
    released = party.hear()
    rows: Counter[tuple[str, ...]] = Counter()
    if released:
        reader = Reader(opener, session.context(2, "reader"))
        *contents, users = _read_all(party, "analyst", server, reader, 1)
        rows.update(tuple(row) for row in contents)
        _report_missing(party, "analyst", "the table", users, rows.total())
    party.announce("rows", dict(rows))


def _report_missing(party: _Party, name: str, what: str, users: int, found: int) -> None:
    if found < users:
        detail = f"{what}: {found} notes of {users} users"
        party.announce("incident", Incident(name, "dropped", detail))


# ---------------------------------------------------------------- the bulletin board


class _Board:
    """Starts the parties and carries public announcements between them."""

    def __init__(self, progress: Progress | None) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._progress = progress
        self.incidents: list[Incident] = []
        self._processes: dict[Connection, Any] = {}
        self._heard: dict[Connection, list[tuple[str, Any]]] = {}
        self._stages: dict[str, dict[Connection, tuple[int, int]]] = {}

    def start(self, run: Callable[..., None], *args: Any) -> Connection:
        here, there = self._context.Pipe()
        process = self._context.Process(target=run, args=(there, *args), daemon=True)
        process.start()
        there.close()
        self._processes[here] = process
        self._heard[here] = []
        return here

    def expect(self, what: str, line: Connection) -> Any:
        """The next announcement on this line; meanwhile notes everybody's reports."""
        while not self._heard[line]:
            for ready in wait(list(self._processes)):
                assert isinstance(ready, Connection)
                self._listen_to(ready)
            if line not in self._processes and not self._heard[line]:
                raise ProtocolError(f"a party ended before it announced its {what}")
        kind, content = self._heard[line].pop(0)
        if kind != what:
            raise ProtocolError(f"a party announced its {kind} instead of its {what}")
        return content

    def hear_out(self) -> None:
        """Listen until every party has ended, so that no report is lost."""
        while self._processes:
            for ready in wait(list(self._processes)):
                assert isinstance(ready, Connection)
                self._listen_to(ready)

    def _listen_to(self, line: Connection) -> None:
        try:
            kind, content = line.recv()
        except EOFError:
            self._gone(line)
            return
        if kind == "incident":
            self.incidents.append(content)
        elif kind == "progress":
            self._show(line, *content)
        else:
            self._heard[line].append((kind, content))

    def _show(self, line: Connection, stage: str, done: int, total: int) -> None:
        """Several processes may work on a stage: show their sum."""
        parts = self._stages.setdefault(stage, {})
        parts[line] = (done, total)
        if self._progress is not None:
            self._progress(stage, sum(d for d, _ in parts.values()), sum(t for _, t in parts.values()))

    def _gone(self, line: Connection) -> None:
        process = self._processes.pop(line)
        process.join()
        if process.exitcode:
            raise ProtocolError(f"a party crashed (exit code {process.exitcode})")

    def close(self) -> None:
        for line, process in self._processes.items():
            line.close()
            process.join(timeout=2)
            if process.is_alive():
                process.terminate()
                process.join()


def run_protocol(
    rows: Sequence[Sequence[Any]],
    features: Sequence[str],
    policy: Policy,
    *,
    workers: int | None = None,
    faults: Sequence[Fault] = (),
    progress: Progress | None = None,
) -> Outcome:
    """Run both rounds with one process per party (the users share a few).

    Args:
        rows: the private row of every user; values become text.
        features: their names.
        policy: how the curator decides.
        workers: processes for the users; by default one per core.
        faults: what goes wrong on purpose.
        progress: called with (stage, finished, total).
    """
    users = _checked(rows, features, faults)
    workers = min(workers or os.cpu_count() or 1, len(users))
    board = _Board(progress)
    try:
        return _run(board, users, tuple(features), policy, workers, list(faults))
    finally:
        board.close()


def _run(
    board: _Board,
    users: list[list[str]],
    features: tuple[str, ...],
    policy: Policy,
    workers: int,
    faults: list[Fault],
) -> Outcome:
    clock = [time.perf_counter()]
    curator = board.start(run_curator, policy)
    analyst = board.start(run_analyst)
    shuffler = board.start(run_shuffler, workers, len(features), faults)
    cuts = [len(users) * i // workers for i in range(workers + 1)]
    groups = [board.start(run_users, a, users[a:b], faults) for a, b in pairwise(cuts)]
    keys = {name: board.expect("key", line) for name, line in _named(curator, analyst, shuffler)}
    roster = [key for group in groups for key in board.expect("keys", group)]
    length = _note_length(users)
    public = {name: key for name, (key, _) in keys.items()}
    session = Session(secrets.token_bytes(16), features, length=length, **public)
    curator.send(session)
    analyst.send(session)
    shuffler.send((session, roster, (keys["curator"][1], keys["analyst"][1])))
    for group in groups:
        group.send((session, keys["shuffler"][1]))
    clock.append(time.perf_counter())
    marginals = board.expect("marginals", curator)
    released = board.expect("released", curator)
    clock.append(time.perf_counter())
    for line in (shuffler, *groups, analyst):
        line.send(released)
    counted = board.expect("rows", analyst)
    board.hear_out()
    clock.append(time.perf_counter())
    stages = ("keys", "round 1", "round 2")
    return Outcome(
        marginals=dict(zip(features, marginals, strict=True)),
        released=tuple(features[j] for j in released),
        rows=counted,
        incidents=tuple(board.incidents),
        seconds={s: b - a for s, (a, b) in zip(stages, pairwise(clock), strict=True)},
    )


def _named(
    curator: Connection, analyst: Connection, shuffler: Connection
) -> list[tuple[str, Connection]]:
    return [("curator", curator), ("analyst", analyst), ("shuffler", shuffler)]


def _note_length(users: list[list[str]]) -> int:
    """Room for the longest content, whole rows included: the length of a note tells nothing."""
    return max(len(json.dumps([*row, len(row)]).encode()) for row in users)


def _checked(rows: Any, features: Sequence[str], faults: Sequence[Fault]) -> list[list[str]]:
    users = [[str(value) for value in row] for row in rows]
    if not users or not features:
        raise InvalidInputError("the protocol needs at least one user and one feature")
    for i, row in enumerate(users):
        if len(row) != len(features):
            raise InvalidInputError(f"user {i} has {len(row)} values for {len(features)} features")
    for fault in faults:
        if fault.kind not in FAULTS:
            raise InvalidInputError(f"a fault must be one of {', '.join(FAULTS)}, not {fault.kind!r}")
    return users


def main() -> None:
    """Run the protocol on random users and say what each party learnt."""
    import argparse

    import numpy as np
    from rich.progress import Progress as Bars

    parser = argparse.ArgumentParser(description="Run the two-round protocol on random users.")
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--features", type=int, default=10)
    chosen = parser.parse_args()
    values = np.random.default_rng(0).integers(0, 4, (chosen.users, chosen.features))
    names = [f"feature {j}" for j in range(chosen.features)]
    with Bars() as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        outcome = run_protocol(values.tolist(), names, Policy(1e-3, 0.1), progress=show)
    print(f"released: {', '.join(outcome.released)}")
    print(f"incidents: {len(outcome.incidents)}; different rows released: {len(outcome.rows)}")
    for stage, seconds in outcome.seconds.items():
        print(f"{stage}: {seconds:.1f} s")


if __name__ == "__main__":
    main()
