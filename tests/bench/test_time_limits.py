"""A benchmark ends: instances too large to draw, solvers and checks that do not stop."""

import contextlib

import pytest
from alarms import time_is_over

from ldpopt import ColumnProgram, Solver
from ldpopt.bench import attempt, benchmark, instances
from ldpopt.core import limits as all_limits
from ldpopt.core.errors import InvalidInputError
from ldpopt.problems import Staircase

SPENT = [0.0]


@pytest.fixture(autouse=True)
def _processor(monkeypatch):
    """Let processor time stand still until somebody works for long."""
    monkeypatch.setattr(all_limits, "processor_time", lambda: SPENT[0])


def work_for_long():
    SPENT[0] += 1000.0
    time_is_over()


class Endless(Solver[ColumnProgram]):
    """Looks neither at the clock nor at errors."""

    name = "endless"

    def run(self, form, limits):
        while True:
            with contextlib.suppress(Exception):
                work_for_long()


def test_a_solver_that_ignores_its_limit_is_interrupted():
    found = benchmark.run("staircase", sizes=[3], solvers=["enumerate"], plugins=[Endless])
    rows = {row["solver"]: row for row in found.rows}
    assert rows["endless"]["status"] == "crashed"
    assert "did not end within 70 s, where its time limit is 60 s" in rows["endless"]["reason"]
    assert rows["enumerate"]["cpu"] is not None


def test_an_instance_that_takes_too_long_is_skipped(monkeypatch):
    drawn = Staircase.random.__func__

    def slow(cls, size, rng):
        if size == 5:
            work_for_long()
        if size == 6:
            raise MemoryError
        return drawn(cls, size, rng)

    monkeypatch.setattr(Staircase, "random", classmethod(slow))
    found = benchmark.run("staircase", sizes=[3, 5, 6], solvers=["enumerate"])
    assert {row["size"] for row in found.rows} == {3}
    assert found.skipped == (
        "no instance of staircase of size 5: drawing takes more than 60 s",
        "no instance of staircase of size 6: it does not fit into the memory",
    )
    with pytest.raises(InvalidInputError, match="no instance of staircase of size 5: drawing takes"):
        benchmark.run("staircase", sizes=[5], solvers=["enumerate"])


def test_the_command_says_what_was_skipped(monkeypatch, ldpopt):
    monkeypatch.setattr(instances, "_draw", lambda kind, size, seed, form: work_for_long())
    answer = ldpopt("bench", "staircase", "--sizes", 100000)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "no instance of staircase of size 100000: drawing takes more than 60 s" in answer.err


def test_a_check_that_does_not_end_is_no_verdict(monkeypatch):
    monkeypatch.setattr(attempt, "verify", lambda result, budget: work_for_long())
    found = benchmark.run("staircase", sizes=[3], solvers=["enumerate"])
    assert {row["verified"] for row in found.rows} == {None}
    assert "the checker did not decide it within 70 s" in found.rows[0]["reason"]


def test_sizes_below_one(ldpopt):
    answer = ldpopt("bench", "staircase", "--sizes=-3")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "sizes must be whole numbers >= 1, not -3" in answer.err
