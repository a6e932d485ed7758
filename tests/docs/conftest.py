"""What the pages and the README share: how a block of shell commands is run."""

import os
import random
import re
import shlex
import subprocess
import sys

import pytest

from ldpopt.problems._robust import calibration
from ldpopt.report import tradeoff

COMMAND = re.compile(r"[^\n]*<<'END'\n.*?^END\n|(?:[^\n]*\\\n)*[^\n]*\n", flags=re.DOTALL | re.MULTILINE)
"""One command of a block: a line, with the lines that continue it or that it reads."""
FIXED = "import os, random; os.urandom = random.Random(1).randbytes; from ldpopt.cli import main; main()"
"""The command line with fixed random bits: an audit errs once in a hundred releases."""


@pytest.fixture
def follow(ldpopt, monkeypatch):
    """Run a block in a directory, all of whose commands must succeed; what they print.

    Where no shell is needed, ``ldpopt`` runs in this process, with fixed random bits too. It draws a
    short curve and calibrates with few cones: the tests of both draw and solve all of them.
    """
    monkeypatch.setattr(tradeoff, "FACTORS", (1.0, 2.0))

    def in_this_process(command, directory):
        with monkeypatch.context() as patch:
            patch.setattr(os, "urandom", random.Random(1).randbytes)
            patch.setattr(calibration, "SCAN", 1)
            patch.setattr(calibration, "ROUNDS", 1)
            words = shlex.split(command.replace("\\\n", " "))[1:]
            if words[0] == "audit" and "--confidence" not in words:
                words += ["--confidence", "0.999999"]  # no page fails by chance
            answer = ldpopt(*words, cwd=directory)
        assert answer.code == 0, f"{command}\n{answer.out}\n{answer.err}"
        return answer.out

    def run(code, directory):
        said = []
        for command in COMMAND.findall(code):
            place = run_in_a_shell if needs_a_shell(command) else in_this_process
            said.append(place(command, directory))
        return "".join(said)

    return run


def needs_a_shell(command):
    """Return whether a command is more than ``ldpopt`` with its words."""
    lexer = shlex.shlex(command.replace("\\\n", " "), punctuation_chars=True)
    lexer.whitespace_split = True
    first, *rest = lexer  # words keep their quotes here: ';' is a word, a bare semicolon is not
    return first != "ldpopt" or any(not set(word) - set("();<>|&") or "$" in word for word in rest)


def run_in_a_shell(code, directory):
    """The commands ``ldpopt`` and ``python`` are those of this environment."""
    commands = directory / ".bin"
    commands.mkdir(exist_ok=True)
    for command, arguments in {"ldpopt": f'-c "{FIXED}"', "python": ""}.items():
        script = commands / command
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        script.chmod(0o755)
    paths = [str(directory), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    extra = {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(p for p in paths if p),
    }
    done = subprocess.run(
        ["sh", "-ec", code],
        cwd=directory,
        env=os.environ | extra,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout
