"""A command whose library hears nothing ends by its time limit and by signals, with its exit code."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from ldpopt.core.supervising import supervise

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="Linux alone")
START = """
import ctypes, os, signal, sys
from ldpopt.core import supervising
supervising.LATEST, supervising.GRACE, supervising.ANSWER, supervising.IDLE = 1, 0, 0.2, 4
for asked in (signal.SIGTERM, signal.SIGINT):  # heard before the library begins, it does nothing
    signal.signal(asked, lambda *_: None)
supervising.supervise({seconds})
print(os.getpid(), flush=True)
"""
WAITS = """
lock, libc = ctypes.create_string_buffer(64), ctypes.PyDLL(None)  # a PyDLL lets no other thread run
libc.pthread_mutex_lock(lock)
libc.pthread_mutex_lock(lock)
"""


@pytest.fixture
def started(tmp_path):
    with contextlib.ExitStack() as running:

        def start(body, seconds):
            program = tmp_path / "ldpopt"
            program.write_text(START.format(seconds=seconds) + body)
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            return running.enter_context(subprocess.Popen([sys.executable, program], **pipes))

        yield start


def test_a_library_that_waits_for_ever_ends_at_the_time_limit(started):
    process = started(WAITS, 0.5)
    out, said = process.communicate(timeout=300)
    assert process.returncode == 3
    assert said == "ldpopt: not done within the time limit, nor heard of; allow more memory\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(out), 0)


@pytest.mark.parametrize(("asked", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_library_that_hears_no_signal_is_ended(started, asked, code):
    process = started(WAITS, 1000)
    process.stdout.readline()
    process.send_signal(asked)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (code, "ldpopt: ended, as it heard no signal\n")


def test_a_signal_that_is_heard_is_answered_by_the_command(started):
    body = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); print(flush=True); signal.pause()"
    process = started(body, 1000)
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=300) == 5


@pytest.mark.parametrize(("body", "code"), [("sys.exit(7)", 7), ("os.abort()", 134), ("", 0)])
def test_the_exit_code_is_that_of_the_command(started, body, code):
    process = started(body, 1000)
    process.communicate(timeout=300)
    assert process.returncode == code


def test_a_process_that_does_other_work_goes_on_by_itself():
    before = os.getpid()
    supervise(1e-9)
    assert os.getpid() == before
