"""The time limit of a command counts from its first line, and grows no longer on a busy machine."""

import time

import pytest

from ldpopt.checker.kernel.budget import SECONDS
from ldpopt.cli.clock import LEAST_LEFT, Clock
from ldpopt.core.errors import InvalidInputError


@pytest.fixture
def clock(monkeypatch):
    """A clock that began four seconds ago, in which its process got one second of CPU time."""
    begun = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: begun.start + 4.0)
    monkeypatch.setattr(time, "process_time", lambda: begun.cpu + 1.0)
    return begun


def test_what_is_left_of_a_time_limit(clock):
    assert clock.left(10.0) == pytest.approx(6.0)
    assert clock.left(3.0) == LEAST_LEFT


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), "soon"])
def test_a_time_limit_is_positive(clock, limit):
    with pytest.raises(InvalidInputError, match="time_limit must be"):
        clock.left(limit)


def test_work_takes_longer_on_a_busy_machine(clock, monkeypatch):
    assert clock.stretched(3.0) == pytest.approx(12.0)
    monkeypatch.setattr(time, "process_time", lambda: clock.cpu + 8.0)  # several threads
    assert clock.stretched(3.0) == 3.0
    monkeypatch.setattr(time, "process_time", lambda: clock.cpu)
    assert clock.stretched(3.0) == 3.0


def test_the_checker_has_what_is_left_and_a_third_at_least(clock):
    assert clock.checker_seconds(None) == SECONDS
    assert clock.checker_seconds(10.0) == pytest.approx(11 + 1.5 - 4)
    assert clock.checker_seconds(4.5) == pytest.approx(2.45)
    assert clock.checker_seconds(3.0) == 1.0
    assert clock.checker_seconds(1e6) == SECONDS
