"""The budget holds for code that never asks for it, in every thread; without one nothing is limited."""

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from ldpopt.checker.kernel import budget
from ldpopt.checker.kernel.budget import UndecidedError, limited, tick


def here(work):
    work()


def elsewhere(work):
    """Do the work in another thread, and raise here what it raises."""
    raised = []

    def run():
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


@pytest.fixture(params=[here, elsewhere])
def thread(request):
    return request.param


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(budget, "LATE", 0.01)
    monkeypatch.setattr(budget, "LOOK", 0.01)


def test_code_that_never_ticks_is_interrupted(thread):
    def endless():
        with limited(0.01):
            while True:
                pass

    with pytest.raises(UndecidedError, match=r"not decided within 0\.01 seconds"):
        thread(endless)


def test_code_that_swallows_one_interruption_hears_another(thread):
    def stubborn():
        with limited(0.01):
            for _ in range(3):
                try:
                    while True:
                        pass
                except UndecidedError:
                    pass
            while True:
                pass

    with pytest.raises(UndecidedError):
        thread(stubborn)


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not say how much memory is in use"
)
def test_code_that_never_reserves_is_interrupted(thread):
    def growing():
        kept = []
        with limited(memory=30_000_000):
            while True:
                kept.append(bytearray(1000))

    with pytest.raises(UndecidedError, match="not decided within 30 MB of memory"):
        thread(growing)


def test_a_block_inside_another_ends_with_it(thread):
    def nested():
        with limited(0.01), limited(600):
            while True:
                pass

    with pytest.raises(UndecidedError, match=r"within 0\.01 seconds"):
        thread(nested)


def test_a_block_that_is_over_interrupts_nothing(thread):
    def work():
        for _ in range(50):
            with suppress(UndecidedError), limited(0):  # raised inside where the machine is slow
                pass
        before = threading.active_count()
        deadline = threading.Event()
        for _ in range(10):
            deadline.wait(0.01)
            tick()
        assert threading.active_count() <= before

    thread(work)
