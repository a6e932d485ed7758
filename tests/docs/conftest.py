"""What the pages and the README share: how a block of shell commands is run."""

import os
import random
import re
import shlex
import subprocess
import sys

import pytest

from ldpopt.report import tradeoff

PLAIN = re.compile(r"(ldpopt [^|<>&;$*\\\n]*\n)+")
"""Commands of ldpopt alone, without any syntax of the shell."""
FIXED = "import os, random; os.urandom = random.Random(1).randbytes; from ldpopt.cli import main; main()"
"""The command line with fixed random bits: an audit errs once in a hundred releases."""


@pytest.fixture
def follow(ldpopt, monkeypatch):
    """Run a block in a directory, all of whose commands must succeed; what they print.

    Where no shell is needed, ``ldpopt`` runs in this process, with fixed random bits too, and draws
    a short curve: the whole one is drawn by its own tests.
    """
    monkeypatch.setattr(tradeoff, "FACTORS", (1.0, 2.0))

    def run(code, directory):
        if not PLAIN.fullmatch(code):
            return run_in_a_shell(code, directory)
        said = []
        for line in code.splitlines():
            with monkeypatch.context() as patch:
                patch.setattr(os, "urandom", random.Random(1).randbytes)
                answer = ldpopt(*shlex.split(line)[1:], cwd=directory)
            assert answer.code == 0, f"{line}\n{answer.out}\n{answer.err}"
            said.append(answer.out)
        return "".join(said)

    return run


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
