"""One clock: what is left of a time limit, for the checker too, and what ends work that forgets it."""

import re
import signal
import time
from pathlib import Path

import pytest
from alarms import time_is_over

from ldpopt.checker.kernel.budget import SECONDS
from ldpopt.core import limits
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.limits import LEAST_LEFT, Limits, OutOfTime, Overdue

MEASURING = re.compile(r"\bimport (time|signal)\b|\bfrom (time|signal) import\b")
OTHERS = {
    "checker": "its budget; it imports nothing of the package",
    "cli/terminal.py": "signals that end a process",
    "core/child_process.py": "a signal ends a process whose processor time is over",
    "core/ending.py": "signals that end a process",
    "core/supervising.py": "a library may keep a command from hearing its clock or a signal",
    "core/workers.py": "signals that end a process",
    "protocol": "silence between parties on a network",
}
"""Who measures time or hears signals besides the clock of all time limits, and why."""


def test_no_other_file_has_a_clock():
    house = Path(limits.__file__).parent.parent
    found = {
        path.relative_to(house).as_posix()
        for path in house.rglob("*.py")
        if MEASURING.search(path.read_text(encoding="utf-8"))
    }
    known = {name for name in found if name in OTHERS or name.split("/")[0] in OTHERS}
    assert found - known == {"core/limits.py"}
    assert all(any(name == one or name.startswith(f"{one}/") for name in found) for one in OTHERS)


def forever():
    while True:
        time.sleep(0.001)


@pytest.fixture
def begun(monkeypatch):
    """Build limits that began four seconds ago."""

    def build(seconds):
        found = Limits.within(seconds)
        monkeypatch.setattr(time, "monotonic", lambda: found.start + 4.0)
        return found

    return build


@pytest.mark.parametrize(("limit", "left"), [(10.0, 6.0), (3.0, LEAST_LEFT), (None, None)])
def test_what_is_left_of_a_time_limit(begun, limit, left):
    assert begun(limit).left() == (None if left is None else pytest.approx(left))


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), "soon"])
def test_a_time_limit_is_positive(limit):
    with pytest.raises(InvalidInputError, match="time_limit must be a finite number > 0"):
        Limits.within(limit)


@pytest.mark.parametrize("gap", [0, 1, -0.5, "small"])
def test_a_gap_is_between_0_and_1(gap):
    with pytest.raises(InvalidInputError, match="gap must lie between 0 and 1"):
        Limits.within(None, gap=gap)


@pytest.mark.parametrize(
    ("limit", "seconds"), [(None, SECONDS), (10.0, 8.5), (4.5, 2.45), (3.0, 1.0), (1e6, SECONDS)]
)
def test_the_checker_has_what_is_left_and_a_third_at_least(begun, limit, seconds):
    assert begun(limit).for_checker() == pytest.approx(seconds)


def test_work_that_forgets_the_clock_is_ended(monkeypatch):
    monkeypatch.setattr(limits, "LATE", 0.05)
    with pytest.raises(OutOfTime):
        Limits.within(0.01).in_time(forever)
    assert Limits.within(0.01).in_time(forever, lambda: "late") == "late"
    assert Limits.within(60.0).in_time(lambda: "done") == "done"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_work_that_swallows_the_first_interruption_hears_another(monkeypatch):
    monkeypatch.setattr(limits, "LATE", 0.05)

    def stubborn():
        try:
            forever()
        except Overdue:
            forever()

    with pytest.raises(OutOfTime):
        Limits.within(0.01).in_time(stubborn)


def test_work_inside_is_ended_by_the_clock_outside():
    """The inner clock does not take the outer one's interruption for its own."""
    went_on = []

    def outer():
        Limits.within(600.0).in_time(time_is_over, lambda: None, once_kept=True)
        went_on.append(True)

    with pytest.raises(OutOfTime):
        Limits.within(600.0).in_time(outer)
    assert not went_on


def test_where_both_clocks_are_over_the_outer_one_decides():
    inner = Limits.within(600.0)
    said = Limits.within(600.0).in_time(
        lambda: inner.in_time(time_is_over, lambda: "inner"), lambda: "outer"
    )
    assert said == "outer"


@pytest.mark.parametrize("kept", [None, FormSolution(Status.LIMIT)])
def test_work_that_has_kept_nothing_goes_on(kept):
    part = Limits.within(600.0).part(0.5, kept)

    def work():
        time_is_over()
        return "finished"

    done = "finished" if kept is None else "ended"
    assert part.in_time(work, lambda: "ended", once_kept=True) == done


def test_a_part_is_interrupted_at_the_end_of_the_whole():
    whole = Limits.within(600.0)
    part = whole.part(0.5).part(0.5)
    assert part.deadline < whole.deadline == part.end
    assert Limits().part(0.5).deadline is None


def test_work_that_was_put_aside_has_the_time_that_it_had():
    limits = Limits(deadline=10.0, end=12.0, start=0.0, clock=lambda: 100.0)
    resumed = limits.resumed(4.0)
    assert (resumed.elapsed(), resumed.remaining(), resumed.end) == (4.0, 6.0, 108.0)
    assert Limits(start=0.0, clock=lambda: 100.0).resumed(4.0).left() is None
