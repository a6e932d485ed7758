"""What tests of every room use: the command line, a clock that they move, and hypothesis without one."""

import atexit
import contextlib
import gc
import io
import itertools
import os
import shutil
import signal
import sys
import tempfile
import time
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from ldpopt.cli import main
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS

# No test depends on the speed of the machine, or on what runs beside it.
settings.register_profile("ldpopt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ldpopt")

# What is imported and collected stays: searching it for garbage again and again is a fifth of the work.
gc.disable()


# Every test has ledgers of its own, and none is the user's.
LEDGERS = tempfile.mkdtemp(prefix="ldpopt-ledgers-")
atexit.register(shutil.rmtree, LEDGERS, ignore_errors=True)
NUMBERS = itertools.count()
os.environ["LDPOPT_LEDGERS"] = LEDGERS


@pytest.fixture(autouse=True)
def _ledgers(monkeypatch):
    monkeypatch.setenv("LDPOPT_LEDGERS", os.path.join(LEDGERS, str(next(NUMBERS))))


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


class Answer(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Clock:
    """The clock of all time limits, standing still until it is moved."""

    def __init__(self):
        self.now = 0.0

    def move(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    """Stop the clock that time limits are measured by."""
    stopped = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: stopped.now)
    return stopped


@pytest.fixture
def heard():
    """Let Ctrl-C reach the processes that a test starts: behind nohup they would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def ldpopt():
    """The command line in this process: ``ldpopt(*words, cwd=…)`` gives exit code, output and errors.

    Nothing is lost against a process of its own, but for signals and terminals: these need one.
    """
    return run_in_this_process


def run_in_this_process(*words, cwd="."):
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv, signal.getsignal(signal.SIGTERM)
    added = [(registry, registry._given.copy()) for registry in (PROBLEMS, SOLVERS)]
    paths = sys.path.copy()
    sys.argv = ["ldpopt", *map(str, words)]
    try:
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main()
    finally:
        sys.argv = before[0]
        signal.signal(signal.SIGTERM, before[1])
        for registry, known in added:  # a plugin is known to the command that names it
            registry._given = known
        forget_plugins(paths)
    return Answer(ended.value.code or 0, out.getvalue(), err.getvalue())


def forget_plugins(paths):
    """Forget the modules that lie in directories which plugins have put on the path."""
    added = tuple(os.path.join(path, "") for path in sys.path if path not in paths)
    sys.path[:] = paths
    for name, module in list(sys.modules.items()):
        if added and str(getattr(module, "__file__", None)).startswith(added):
            del sys.modules[name]


@pytest.fixture
def forgotten():
    """Forget, in the end, the plugins that a test has loaded."""
    paths = sys.path.copy()
    yield
    forget_plugins(paths)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium without a window."""
    from selenium import webdriver

    programs = shutil.which("chromium"), shutil.which("chromedriver")
    if None in programs:
        pytest.skip("no browser here: chromium and chromedriver are needed to open pages")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(programs[1]))
    yield driver
    driver.quit()
