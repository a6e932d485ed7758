"""Ctrl-C at a random moment of every command: an answer soon, one line, and no half file."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import psutil
import pytest

pytestmark = pytest.mark.usefixtures("heard")
TABLE, MECHANISM, OUT = "adult:sex-race", "mechanism.json", "out.json"
COMMANDS = {
    "solve": ["solve", "spec.json", "--out", "out.json"],
    "verify": ["verify", MECHANISM],
    "list": ["list", "problems"],
    "show": ["show", "polyopt"],
    "experiment": ["experiment", "step-is-not-optimal", "--out", "out"],
    "demo": ["demo"],
    "bench": ["bench", "column-program", "--sizes", "4", "--solvers", "column-generation"],
    "design": ["design", TABLE, "--secret", "sex", "--public", "race", "--epsilon", "1", "-o", OUT],
    "plan": ["plan", TABLE, "--secret", "sex", "--public", "race", "--epsilon", "1", "--target", "1%"],
    "privatize": ["privatize", "adult", "-m", MECHANISM, "-o", "out.csv"],
    "export": ["export", MECHANISM, "--target", "python", "-o", "out.py"],
    "estimate": ["estimate", "released.csv", "-m", MECHANISM, "--plot", "out.svg"],
    "audit": ["audit", MECHANISM],
    "report": ["report", MECHANISM, "-o", "out.html", "--curve-seconds", "2"],
    "exposure": ["exposure", "adult", "--threshold", "0.01", "--budget", "0.1", "-o", "out.html"],
}  # fmt: skip
SPEC = {"problem": "polyopt", "params": {"epsilon": 1, "counts": [[30, 20, 9, 7], [10, 40, 8, 9]]}}
STARTUP = 0.1
"""Seconds of CPU time in which Python itself starts; nothing of ldpopt runs before."""
PATIENCE = 2.0
"""Seconds of CPU time that an answer may take; the machine may be busy with others."""


class Ended(NamedTuple):
    """How a command ended after Ctrl-C."""

    code: int
    err: str
    cpu: float
    wall: float


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ldpopt):
    folder = tmp_path_factory.mktemp("interruption")
    words = [TABLE, "--secret", "sex", "--public", "race", "--epsilon", "1", "--method", "cr"]
    assert ldpopt("design", *words, "-o", MECHANISM, cwd=folder).code == 0
    assert ldpopt("privatize", TABLE, "-m", MECHANISM, "-o", "released.csv", cwd=folder).code == 0
    (folder / "spec.json").write_text(json.dumps(SPEC))
    return folder


def run(words, cwd, cpu=None):
    """Run a command; at so many seconds of its CPU time, press Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ldpopt", *words],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    used, start = 0.0, time.monotonic()
    if cpu is not None:
        watched = psutil.Process(process.pid)
        while watched.status() != psutil.STATUS_ZOMBIE and used < cpu:
            time.sleep(0.002)
            used = sum(watched.cpu_times()[:2])
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
    with process.stderr:
        err = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = 128 - code if code < 0 else code  # as a shell says it
    total = usage.ru_utime + usage.ru_stime
    return Ended(process.returncode, err, max(total - used, 0.0), time.monotonic() - start)


def half_written(cwd, before):
    """The new files that are drafts, or not whole."""
    for path in (path for path in cwd.rglob("*") if path.is_file() and path not in before):
        text = path.read_text(errors="replace")
        whole = not path.name.startswith(".")
        if path.suffix == ".json":
            whole = whole and isinstance(json.loads(text), dict)
        if path.suffix in (".html", ".svg"):
            whole = whole and text.rstrip().endswith(f"</{path.suffix[1:]}>")
        if not whole:
            yield path


def interrupted(name, folder, tmp_path, moments):
    """Interrupt a command at some moments, as shares of its CPU time; returns how it ended each time."""
    for path in folder.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    ended = []
    known = set(tmp_path.rglob("*"))
    whole = run([*COMMANDS[name]], tmp_path)
    assert whole.code in (0, 1), whole.err
    for moment in moments:
        for path in sorted(set(tmp_path.rglob("*")) - known, reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        end = run(COMMANDS[name], tmp_path, STARTUP + moment * max(whole.cpu - STARTUP, 0))
        assert list(half_written(tmp_path, known)) == [], (name, moment)
        ended.append(end)
    return ended


def check(name, ended):
    """An answer is one line and the exit code 130; who was quicker than Ctrl-C has ended as always."""
    beside = ("note:", "warning:", "ldpopt: kept the")  # what is there, before the line
    for end in ended:
        assert "Traceback" not in end.err, (name, end.err)
        assert "Exception ignored" not in end.err, (name, end.err)
        assert end.code in (0, 1, 130), (name, end)
        if end.code == 130:
            said = [line for line in end.err.splitlines() if not line.startswith(beside)]
            assert said[-1:] == ["ldpopt: interrupted"], (name, end.err)
            assert len(said) == 1, (name, end.err)
        assert end.cpu < PATIENCE, (name, end)


@pytest.mark.parametrize("name", ["list", "privatize"])
def test_ctrl_c_during_import_and_later(name, folder, tmp_path):
    ended = interrupted(name, folder, tmp_path, [0.05, 0.3, 0.7])
    check(name, ended)
    assert any(end.code == 130 for end in ended)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_at_fifty_moments(name, folder, tmp_path, capsys):
    rng = random.Random(name)
    count = int(os.environ.get("LDPOPT_INTERRUPTIONS", "50"))
    ended = interrupted(name, folder, tmp_path, [rng.random() for _ in range(count)])
    with capsys.disabled():
        answered = [end for end in ended if end.code == 130]
        cpu, wall = (max((getattr(end, key) for end in answered), default=0) for key in ("cpu", "wall"))
        print(f"\n{name}: {len(answered)} of {count} interrupted, at most {cpu:.2f} s CPU, {wall:.1f} s")
    check(name, ended)
    assert sum(end.code == 130 for end in ended) > count // 2
