"""Alarms nest: one inside does not silence one outside."""

import signal
import sys
import threading
import time

import pytest
from alarms import time_is_over

from ldpopt.checker.kernel import budget
from ldpopt.core.limits import Limits, OutOfTime


class RangError(Exception):
    """What an alarm of these tests raises."""


def ringing(name, seconds, *, heard=True):
    def ring():
        if heard:
            raise RangError(name)

    return budget.alarmed(time.monotonic() + seconds, 0.01, ring)


def forever():
    while True:
        time.sleep(0.001)


def test_an_alarm_ends_what_runs_inside():
    with pytest.raises(RangError, match="one"), ringing("one", 0.01):
        forever()
    assert budget.PENDING == []
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_inner_alarm_that_does_nothing_leaves_the_outer_one_set():
    inner = ringing("inner", 0.0, heard=False)
    with pytest.raises(RangError, match="outer"), ringing("outer", 0.05), inner:
        forever()


def test_an_inner_alarm_that_is_over_leaves_the_outer_one_set():
    def work():
        with ringing("inner", 60):
            pass
        forever()

    with pytest.raises(RangError, match="outer"), ringing("outer", 0.01):
        work()


def test_the_inner_alarm_rings_where_the_outer_one_is_far():
    with ringing("outer", 60):
        with pytest.raises(RangError, match="inner"), ringing("inner", 0.01):
            forever()
        assert len(budget.PENDING) == 1
    assert budget.PENDING == []


def test_what_swallows_the_first_ring_hears_another():
    def stubborn():
        try:
            forever()
        except RangError:
            forever()

    with pytest.raises(RangError), ringing("one", 0.01):
        stubborn()


def test_an_alarm_whose_end_was_cut_short_ends_with_the_one_around_it():
    inner = ringing("inner", 60)
    with ringing("outer", 60):
        inner.__enter__()
        assert len(budget.PENDING) == 2
    assert budget.PENDING == []
    with ringing("next", 60):
        inner.__exit__(None, None, None)
        assert len(budget.PENDING) == 1
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0


class Closing:
    """Its destructor takes so long that the time is over in it."""

    def __del__(self):
        time_is_over()


def test_an_alarm_that_is_lost_in_a_destructor_is_silent_and_rings_again(capsys):
    limits = Limits.within(600.0)
    before = sys.unraisablehook

    def lost_then_heard():
        Closing()
        time_is_over()

    with pytest.raises(OutOfTime):
        limits.in_time(lost_then_heard)
    assert sys.unraisablehook is before
    assert capsys.readouterr().err == ""


def test_a_ring_at_the_very_end_of_a_block_is_not_heard_after_it():
    """The ring waits until the other thread is at the end of its block, and raises there then."""
    found = []

    def ended(thread):
        frame = sys._current_frames()[thread]
        while frame is not None and frame.f_locals.get("ended") is not True:
            frame = frame.f_back
        return frame is not None

    def work():
        thread, rung = threading.get_ident(), threading.Event()

        def ring():
            rung.set()
            while not ended(thread):
                time.sleep(0)
            raise RangError

        try:
            with budget.alarmed(time.monotonic(), 0.001, ring):
                rung.wait()
            for i in range(10_000):
                found.append(i)
        except RangError:
            found.append("interrupted")

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == list(range(10_000)) * 3
