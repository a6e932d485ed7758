"""The board: groups of users that crash, are silent or talk nonsense are left out."""

import os
import sys

import pytest

from ldpopt.protocol.board import Board
from ldpopt.protocol.session import ProtocolError

SAY = """
import json, struct, sys, time
def say(content):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(content)) + content)
    sys.stdout.buffer.flush()
"""
HOSTILE = {
    "crashed": "sys.exit(3)",
    "not JSON": "say(b'\\xff' * 10)",
    "more than 1000": "sys.stdout.buffer.write(b'\\xff' * 10)",
    "a word and a content": "say(5)",
    "cut off": "sys.stdout.buffer.write(b'\\0\\0')",
    "something else": "say(['marginals', []])",
    "went silent": "time.sleep(1000)",
    "more than it was asked for": "[say(['sent', []]) for _ in range(10**6)]",
    "forged words \\x1b[2J": "say(['failed', 'forged words \\x1b[2J'])",
}


class Scripted(Board):
    """A board whose parties run a script."""

    script = ""

    def command(self, name):
        return [sys.executable, "-c", SAY + self.script]


@pytest.fixture
def board():
    board = Scripted(patience=600, progress=None)
    yield board
    board.close()


@pytest.mark.parametrize("words", HOSTILE)
def test_a_hostile_group_is_left_out(board, words):
    board.script = HOSTILE[words]
    if words == "went silent":
        board._patience = 0.1
    group = board.start("group 0", {}, users=range(5, 8), most=1000)
    while words == "more than it was asked for" and not group.gone:
        board._listen()  # as while the board waits for others
    assert board.gather([group], "keys") == {}
    (incident,) = board.incidents
    assert (incident.noticed_by, incident.kind) == ("board", "absent")
    assert incident.detail.startswith("users 5 to 7: ")
    assert words in incident.detail
    assert group.gone


@pytest.mark.parametrize("words", ["crashed", "not JSON", "went silent", "instead of its keys"])
def test_a_run_ends_without_shuffler_curator_or_analyst(board, words):
    board.script = HOSTILE.get(words, "say(['marginals', []])")
    if words == "went silent":
        board._deadline = 0
    with pytest.raises(ProtocolError, match=words):
        board.expect(board.start("curator", {}, most=1000), "keys")


def test_users_report_no_incidents_in_the_name_of_others(board):
    board.script = "say(['incident', ['shuffler', 'forged', 'user 1']]); say(['keys', []])"
    group = board.start("group 0", {}, users=range(3), most=1000)
    assert board.gather([group], "keys") == {}
    assert [i.kind for i in board.incidents] == ["absent"]


def test_odd_progress_is_ignored(board):
    board.script = "say(['progress', 5]); say(['progress', ['a', 'b', 'c']]); say(['keys', 1])"
    group = board.start("group 0", {}, users=range(3), most=1000)
    assert board.gather([group], "keys") == {group: 1}


def test_ctrl_c_of_a_terminal_reaches_the_board_alone(board):
    """A terminal sends it to all of a group of processes, and each would answer with a traceback."""
    board.script = "time.sleep(1000)"
    party = board.start("shuffler", {}, most=1000)
    assert os.getpgid(party.process.pid) == party.process.pid != os.getpgid(0)


def test_the_board_remembers_few_stages(board):
    board.script = "[say(['progress', [str(i), 0, 1]]) for i in range(500)]; say(['keys', 1])"
    group = board.start("group 0", {}, users=range(3), most=1000)
    assert board.gather([group], "keys") == {group: 1}
    assert len(board._stages) == 100


@pytest.mark.parametrize("content", [5, ["shuffler"], None])
def test_an_odd_incident_ends_the_run_in_words(board, content):
    board.script = f"say(['incident', {content!r}])"
    with pytest.raises(ProtocolError, match="curator: reported an incident in a way"):
        board.expect(board.start("curator", {}, most=1000), "keys")
