"""Ctrl-C at a random moment of every command: an answer soon, one line, and no half file."""

import contextlib
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import NamedTuple

import joblib
import psutil
import pytest

from ldpopt.cli.terminal import tell
from ldpopt.core.registry import Registry
from ldpopt.core.workers import workers
from ldpopt.engine.plugins import load_object

pytestmark = pytest.mark.usefixtures("heard")
TABLE, MECHANISM, OUT = "adult:sex-race", "mechanism.json", "out.json"
SECRET = ["--secret", "sex", "--public", "race", "--epsilon", "1"]
COMMANDS = {
    "solve": ["solve", "spec.json", "--out", OUT],
    "verify": ["verify", MECHANISM],
    "list": ["list", "problems"],
    "show": ["show", "polyopt"],
    "experiment": ["experiment", "step-is-not-optimal", "--out", "out"],
    "experiment --jobs": ["experiment", "step-is-not-optimal", "--out", "out", "--jobs", "2"],
    "demo": ["demo"],
    "bench": ["bench", "staircase", "--sizes", "4,5", "--out", "out"],
    "design": ["design", TABLE, *SECRET, "-o", OUT],
    "design --compare": ["design", TABLE, *SECRET, "-o", OUT, "--compare"],
    "plan": ["plan", TABLE, *SECRET, "--target", "1%"],
    "privatize": ["privatize", "adult", "-m", MECHANISM, "-o", "out.csv"],
    "privatize --jobs": ["privatize", "parts", "-m", MECHANISM, "-o", "out", "--jobs", "2", "--force"],
    "export": ["export", MECHANISM, "--target", "python", "-o", "out.py"],
    "estimate": ["estimate", "released.csv", "-m", MECHANISM, "--plot", "out.svg"],
    "estimate --all": ["estimate", "released.csv", "-m", MECHANISM, "--all", "--plot", "out.png"],
    "estimate --jobs": ["estimate", "reports", "-m", MECHANISM, "--jobs", "2"],
    "audit": ["audit", MECHANISM, "--data", TABLE, "--released", "released.csv"],
    "report": ["report", MECHANISM, "-o", "out.html", "--curve-seconds", "2"],
    "exposure": ["exposure", "adult", "--threshold", "0.01", "--budget", "0.1", "-o", "out.html"],
}  # fmt: skip
"""Every command, on input of the size of a demonstration."""
SPEC = {"problem": "polyopt", "params": {"epsilon": 1, "counts": [[30, 20, 9, 7], [10, 40, 8, 9]]}}
TICK = 0.01
"""Seconds between two looks at the clock of another process's CPU time."""
PATIENCE = 2.0
"""Seconds of CPU time that an answer may take; the machine may be busy with others."""
DRAWN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\r\n\x1b]+)")
"""What a terminal gets: a sequence that moves or erases, the end of a line, or text."""

BESIDE = re.compile(
    r"note: |warning: |wrote |ldpopt: kept the |[a-z]+: (\S+ nats|its nats are not computed), "
)
"""What is there, told before the line that ends the command."""


WORKERS = re.compile(r'File "[^"]*/(joblib|multiprocessing|concurrent|distributed)/')
"""A line of a traceback that a process of --jobs left."""


class Ended(NamedTuple):
    """How a command ended after Ctrl-C."""

    code: int
    err: str
    cpu: float
    wall: float
    moment: float = 0.0

    @property
    def before_ldpopt(self):
        """Whether Python itself was still starting: no line of a command had run.

        Python dies silently before it handles signals; while it imports the module site and the few
        modules that come before ``main``, it answers with a traceback of its own. A command that has
        begun says its line or shows ``main`` in its traceback, and only such a one has workers.
        """
        if self.code not in (1, 130) or "ldpopt: " in self.err or WORKERS.search(self.err):
            return False
        frames = re.findall(r'File "([^"]+)", line \d+, in (\S+)', self.err)
        ours = {where for name, where in frames if "/ldpopt/" in name}
        silent = self.code == 130 and not self.err
        return silent or ("Traceback" in self.err and ours <= {"<module>"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ldpopt):
    folder = tmp_path_factory.mktemp("interruption")
    assert (
        ldpopt(
            "design", TABLE, *SECRET, "--method", "cr", "--robust", "chi2", "-o", MECHANISM, cwd=folder
        ).code
        == 0
    )
    assert ldpopt("privatize", TABLE, "-m", MECHANISM, "-o", "released.csv", cwd=folder).code == 0
    reports = (folder / "released.csv").read_text().splitlines(keepends=True)
    (folder / "reports").mkdir()
    (folder / "parts").mkdir()
    for part in range(4):
        (folder / "reports" / f"{part}.csv").write_text("".join(reports[:1] + reports[1 + part :: 4]))
        (folder / "parts" / f"{part}.csv").write_text("sex,race\n" + "Female,White\nMale,Black\n" * 500)
    (folder / "spec.json").write_text(json.dumps(SPEC))
    return folder


def run(words, cwd, moment=None, late=0.0, terminal=False):
    """Run a command; at a moment of its life, press Ctrl-C.

    Args:
        words: the command.
        cwd: where it runs.
        moment: seconds of CPU time, of all its processes; None to let it end by itself.
        late: seconds to wait beyond, as the clock ticks seldom.
        terminal: whether standard error is a terminal, on which progress is shown.
    """
    reading, writing = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "ldpopt", *words],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=writing,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(writing)
    os.set_blocking(reading, False)
    told = bytearray()
    watched, used = psutil.Process(process.pid), 0.0
    while moment is not None and watched.status() != psutil.STATUS_ZOMBIE and used < moment:
        time.sleep(TICK / 5)
        used = _cpu(watched)
        _drain(reading, told)
    start = time.monotonic()
    if moment is not None:
        time.sleep(late)
        os.killpg(process.pid, signal.SIGINT)
    while watched.status() != psutil.STATUS_ZOMBIE:
        time.sleep(TICK)
        _drain(reading, told)
    wall = time.monotonic() - start
    _drain(reading, told)
    os.close(reading)
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = 128 - code if code < 0 else code  # as a shell says it
    cpu = max(usage.ru_utime + usage.ru_stime - used, 0.0)
    return Ended(process.returncode, screen(told.decode()), cpu, wall, moment or 0.0)


def _cpu(process):
    """Return the seconds of CPU time of a process and of those that it started."""
    total = sum(process.cpu_times()[:4])
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(child.cpu_times()[:2])
    return total


def _drain(reading, told):
    """Read what is there, so that nobody waits for a reader."""
    with contextlib.suppress(OSError):  # nothing is there, or nobody writes to the terminal any more
        while part := os.read(reading, 65536):
            told += part


def screen(told):
    """Return what a terminal shows in the end: a progress bar draws over itself, then erases itself."""
    lines, at, column = [""], 0, 0
    for how, letter, end, text in DRAWN.findall(told):
        if letter == "A":
            at = max(at - int(how or 1), 0)
        elif letter == "K":
            lines[at] = ""
        elif end == "\n":
            at += 1
            lines += [""] * (at == len(lines))
        if end:
            column = 0
        lines[at] = lines[at][:column].ljust(column) + text + lines[at][column + len(text) :]
        column += len(text)
    return "\n".join(line.rstrip() for line in lines)


def half_written(cwd, before):
    """The new files that are drafts, or not whole."""
    ends = {
        ".html": b"</html>",
        ".svg": b"</svg>",
        ".png": b"IEND\xaeB`\x82",
        ".csv": b"\n",
        ".jsonl": b"\n",
    }
    for path in (path for path in cwd.rglob("*") if path not in before):
        if path.name.startswith("."):
            yield path
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".json":
                assert isinstance(json.loads(data), dict)
            elif path.suffix == ".py":
                compile(data, path.name, "exec")
            elif path.suffix in ends and ends[path.suffix] not in data[-9:]:
                yield path


def interrupted(name, folder, tmp_path, rng, count):
    """Interrupt a command so many times in its life, on a terminal and off it; return how it ended."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    known = set(tmp_path.rglob("*"))
    whole = run(COMMANDS[name], tmp_path)
    assert whole.code in (0, 1), whole.err
    for trial in range(count):
        for path in sorted(set(tmp_path.rglob("*")) - known, reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        end = run(
            COMMANDS[name], tmp_path, rng.random() * whole.cpu, rng.random() * TICK, trial % 2 == 1
        )
        assert list(half_written(tmp_path, known)) == [], (name, end)
        yield end


def faults(end):
    """What is wrong with how a command ended after Ctrl-C.

    An answer is one line and the exit code 130; a command that was quicker has ended as always.
    """
    said = [line for line in end.err.splitlines() if line.strip() and not BESIDE.match(line)]
    if end.before_ldpopt:
        return
    if "Traceback" in end.err or "Exception ignored" in end.err:
        yield "a traceback"
    if end.code not in (0, 1, 130):
        yield f"exit code {end.code}"
    if end.code == 130 and said != ["ldpopt: interrupted"]:
        yield f"{len(said)} lines"
    if end.code in (0, 1) and end.cpu >= PATIENCE / 2:
        yield "it went on"
    if end.cpu >= PATIENCE:
        yield f"{end.cpu:.1f} s of CPU time"


def judged(name, ended):
    """Fail with all that is wrong, each with what was told."""
    wrong = [(name, fault, end) for end in ended for fault in faults(end)]
    assert wrong == []


@pytest.mark.parametrize("name", ["list", "privatize"])
def test_ctrl_c_during_import_and_later(name, folder, tmp_path):
    ended = list(interrupted(name, folder, tmp_path, random.Random(name), 2))
    judged(name, ended)
    assert any(end.code == 130 for end in ended)


def test_ctrl_c_while_pandas_is_imported_is_heard(folder, tmp_path, monkeypatch):
    """pyarrow, which imports it unasked, would drop the interrupt."""
    (tmp_path / "pandas.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    end = run(["estimate", "released.csv", "-m", MECHANISM], folder)
    assert (end.code, end.err) == (130, "ldpopt: interrupted\n")


def signals(_):
    return signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("jobs", [1, 2])
def test_worker_processes_leave_ctrl_c_to_the_one_that_ends_them(jobs):
    with workers(jobs, None) as parallel:
        (blocked,) = parallel([joblib.delayed(signals)(0)])
    assert (signal.SIGINT in blocked) == (jobs > 1)
    assert signal.SIGINT not in signals(0)


def test_ctrl_c_does_not_come_between_a_line_and_its_end(monkeypatch):
    written = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append))
    tell("warning: one")
    assert written == ["warning: one\n"]


LEFT = """
import joblib
from joblib.externals.loky.backend import resource_tracker
from ldpopt.core.workers import workers
with workers(2, None) as parallel:
    assert list(parallel([joblib.delayed(abs)(-1)])) == [1]
resource_tracker.register("no/such/folder", "folder")
"""


def test_a_folder_that_is_gone_when_workers_end_is_no_line():
    """After Ctrl-C, two processes may remove it; one of them printed a warning in five lines."""
    found = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, text=True, check=True)
    assert found.stderr == ""


def test_a_terminal_shows_what_is_left_of_a_progress_bar():
    drawn = "first\r\nbar 1\r\x1b[2Kbar 2\r\x1b[2K\x1b[1A\x1b[1B"
    assert screen(drawn + "\r\nlast\r\n").split() == ["first", "last"]


def traced(*frames):
    lines = [f'  File "{name}", line 7, in {where}\n' for name, where in frames]
    return "".join(["Traceback (most recent call last):\n", *lines, "KeyboardInterrupt\n"])


def test_only_python_itself_may_end_in_a_traceback():
    start = traced(("<frozen site>", "main"), ("/usr/lib/python3.11/os.py", "<module>"))
    worker = traced(("<frozen runpy>", "_run_code"), ("/lib/joblib/externals/loky/process.py", "main"))
    begun = traced(("/lib/ldpopt/__main__.py", "<module>"), ("/lib/ldpopt/cli/__init__.py", "main"))
    assert Ended(130, start, 0, 0).before_ldpopt
    for err in (worker, begun, start + "ldpopt: interrupted\n"):
        assert "a traceback" in list(faults(Ended(130, err, 0, 0)))


def test_ctrl_c_while_a_solver_is_imported_is_no_broken_solver(tmp_path, monkeypatch):
    """Compiled modules answer it with an ImportError of their own."""
    (tmp_path / "compiled.py").write_text(
        "try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt as press:\n"
        "    raise ImportError('initialization failed') from press\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Registry("solver", "no.such.group", {"mine": "compiled:Mine"})["mine"]
    with pytest.raises(KeyboardInterrupt):
        load_object(f"{tmp_path / 'compiled.py'}:Mine")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_at_fifty_moments(name, folder, tmp_path, capsys):
    count = int(os.environ.get("LDPOPT_INTERRUPTIONS", "50"))
    ended = list(interrupted(name, folder, tmp_path, random.Random(name), count))
    early = [end for end in ended if end.before_ldpopt]
    answered = [end for end in ended if end.code == 130 and not end.before_ldpopt]
    cpu, wall = (max((getattr(end, key) for end in answered), default=0) for key in ("cpu", "wall"))
    with capsys.disabled():
        print(
            f"\n{name}: {len(answered)} of {count} interrupted, {len(early)} while Python started; "
            f"at most {cpu:.2f} s CPU, {wall:.1f} s"
        )
    judged(name, ended)
    assert len(answered) + len(early) > count // 3
