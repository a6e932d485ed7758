"""The bulletin board: starts the parties as processes and carries public announcements between them.

It is trusted to list keys as they were registered and to pass announcements on; it is not trusted with
anything secret. A group of users that crashes, goes silent or talks nonsense is left out; without
shuffler, curator or analyst the run ends.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, cast

from ldpopt.core import children
from ldpopt.core.exact import printable
from ldpopt.protocol.session import Incident, ProtocolError, RejectedError
from ldpopt.protocol.wire import Line

Progress = Callable[[str, int, int], None]
MOST_STAGES = 100
"""The most stages whose progress is shown, so that no party can fill the board's memory."""
MOST_SHOWN = 200
"""Characters of an announced text that are kept."""


class Party:
    """A process and what it announced that nobody has asked for yet."""

    def __init__(self, name: str, users: range, process: subprocess.Popen[bytes], most: int) -> None:
        self.name = name
        self.users = users
        self.process = process
        self.line = Line(cast(BinaryIO, process.stdout), cast(BinaryIO, process.stdin), most)
        self.heard: list[tuple[str, Any]] = []
        self.gone = False

    def tell(self, what: str, content: Any) -> None:
        """Announce something to the party, if it is still there."""
        # the end of a party is noticed when the board listens to it
        with contextlib.suppress(OSError, ValueError):
            self.line.say(what, content)


class Board:
    """Collect what all parties announce in one queue; give up on parties that fall silent.

    Args:
        patience: seconds without a message of shuffler, curator or analyst after which the parties
            that the board waits for are given up. Messages of users do not extend it.
        progress: called with (stage, finished, total).
    """

    def __init__(self, patience: float, progress: Progress | None) -> None:
        self._patience = patience
        self._progress = progress
        self._queue: queue.Queue[tuple[Party, Any]] = queue.Queue(maxsize=1000)
        self._stages: dict[str, dict[str, tuple[int, int]]] = {}
        self._deadline = time.monotonic() + patience
        self.parties: list[Party] = []
        self.incidents: list[Incident] = []

    def start(self, name: str, content: dict[str, Any], *, users: range = range(0), most: int) -> Party:
        """Start a party as a process.

        Args:
            name: the role, or the name of a group of users.
            content: the first announcement that the party gets.
            users: the numbers of the users that the process runs; empty for shuffler, curator and
                analyst.
            most: the most bytes of one announcement of the party.
        """
        process = subprocess.Popen(
            self.command(name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **children.environment()},
            process_group=0,  # Ctrl-C of a terminal is for this process, which ends the others
        )
        party = Party(name, users, process, most)
        self.parties.append(party)
        threading.Thread(target=self._hear, args=(party,), daemon=True).start()
        party.tell("start", {"role": "users" if users else name, **content})
        return party

    def command(self, name: str) -> list[str]:
        """Return the command to run for a party."""
        return children.command("from ldpopt.protocol.parties import main; main()")

    def _hear(self, party: Party) -> None:
        while True:
            try:
                heard: Any = party.line.listen()
            except RejectedError as rejected:
                heard = rejected
            except (OSError, ValueError):
                heard = None
            self._queue.put((party, heard))
            if not isinstance(heard, tuple):
                return

    # ------------------------------------------------------------ listening

    def expect(self, party: Party, what: str) -> Any:
        """Return what shuffler, curator or analyst announces next."""
        while not party.heard:
            if party.gone or not self._listen():
                raise ProtocolError(f"the {party.name} went silent before it announced its {what}")
        kind, content = party.heard.pop(0)
        if kind != what:
            raise ProtocolError(f"the {party.name} announced its {kind!r:.40} instead of its {what}")
        return content

    def gather(self, parties: Iterable[Party], what: str) -> dict[Party, Any]:
        """Return what groups of users announce next; who does not answer in time is left out."""
        waiting, answers = [p for p in parties if not p.gone], {}
        self._deadline = time.monotonic() + self._patience
        while waiting := [p for p in waiting if not p.gone and p not in answers]:
            for party in waiting:
                if party.heard:
                    kind, content = party.heard.pop(0)
                    if kind == what:
                        answers[party] = content
                    else:
                        self.leave_out(party, f"announced something else than its {what}")
            if any(p not in answers and not p.gone for p in waiting) and not self._listen():
                for party in waiting:
                    if party not in answers:
                        self.leave_out(party, f"went silent before it announced its {what}")
        return answers

    def _listen(self) -> bool:
        """Take the next announcement of any party; return False when the patience is exhausted."""
        try:
            party, heard = self._queue.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            return False
        if not party.users:
            self._deadline = time.monotonic() + self._patience
        if party.gone:
            return True
        if heard is None:
            code = party.process.wait()
            if code:
                self._fail(party, f"crashed (exit code {code})")
            party.gone = True
        elif isinstance(heard, RejectedError):
            self._fail(party, str(heard))
        elif heard[0] == "failed":
            self._fail(party, plain(heard[1]))
        elif heard[0] == "progress":
            self._show(party, heard[1])
        elif heard[0] == "incident" and not party.users:
            # write down an incident that shuffler, curator or analyst noticed
            try:
                self.incidents.append(Incident(*map(plain, heard[1])))
            except TypeError:
                self._fail(party, "reported an incident in a way that is not understood")
        elif party.users and party.heard:  # users answer one question at a time
            self.leave_out(party, "announced more than it was asked for")
        else:
            party.heard.append(heard)
        return True

    def _fail(self, party: Party, why: str) -> None:
        if party.users:
            self.leave_out(party, why)
        else:
            raise ProtocolError(f"{party.name}: {why}")

    def leave_out(self, party: Party, why: str) -> None:
        """Go on without a group of users."""
        party.gone = True
        party.process.kill()
        detail = f"users {party.users[0]} to {party.users[-1]}: {why}"
        self.incidents.append(Incident("board", "absent", detail))

    def _show(self, party: Party, content: Any) -> None:
        """Show the sum over the processes that work on a stage."""
        try:
            stage, done, total = content
            counts = int(done), int(total)
        except (TypeError, ValueError, OverflowError):
            return
        if len(self._stages) >= MOST_STAGES and plain(stage) not in self._stages:
            return
        parts = self._stages.setdefault(plain(stage), {})
        parts[party.name] = counts
        if self._progress is not None:
            done, total = (sum(part) for part in zip(*parts.values(), strict=True))
            self._progress(plain(stage), done, total)

    # ------------------------------------------------------------ the end

    def hear_out(self) -> None:
        """Listen until every party has ended, so that no announcement is lost."""
        while not all(party.gone for party in self.parties):
            if not self._listen():
                return

    def close(self) -> None:
        """End the processes that still run."""
        for party in self.parties:
            if party.process.poll() is None and not party.gone:
                party.process.kill()
        for party in self.parties:
            party.process.wait()
            party.line.close()


def plain(text: Any) -> str:
    """Escape an announced text so that it may be shown: printable, not too long.

    >>> plain("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    return printable(str(text)[:MOST_SHOWN])[:MOST_SHOWN]
