"""After the search: what takes longer than the time left is done quickly; that is proven, and said."""

import json

import pytest
from alarms import time_is_over
from known import TABLE

from ldpopt import Status, solve, verify
from ldpopt.engine.certifying import HURRIED
from ldpopt.engine.solving import mechanism_for
from ldpopt.problems import (
    BroadFidelity,
    Fidelity,
    MinimaxFidelity,
    RobustOptimum,
    SetOptimum,
    SquareFidelity,
    Staircase,
    UEConditional,
)

BALL = {"kind": "total-variation", "p_hat": [[0.3, 0.2], [0.15, 0.35]], "radius": 0.02}


def overdue(*_):
    time_is_over()


@pytest.mark.parametrize(
    ("problem", "part", "kept"),
    [
        (SquareFidelity(1.0, 5), "claim", 1 - 1e-9),
        (BroadFidelity(1.0, 1000), "claim", 1 - 1e-9),
        (Fidelity(1.0, [0.5, 0.3, 0.2]), "claim", 1 - 1e-9),
        (Fidelity(1.0, [0.5, 0.3, 0.2], "tv"), "claim", 1 - 1e-9),
        (MinimaxFidelity(1.0, 5, 0.05, "mse"), "claim", 1 - 1e-9),
        (MinimaxFidelity(1.0, 4, 0.05, "f-divergence"), "claim", 1 - 1e-9),
        (UEConditional(1.0, TABLE, 1000, calibrate=True), "lift", 1 - 1e-6),
        (RobustOptimum(1.0, [[0.3, 0.2], [0.15, 0.35]], 1000), "lift", 0.8),
        (SetOptimum(1.0, BALL), "lift", 0.6),
    ],
)
def test_what_is_done_in_short_time_is_proven(monkeypatch, problem, part, kept):
    """The alarm rings while the answer is built or evaluated; it keeps a share of the value."""
    whole = solve(problem, gap=1e-3)
    slow, rung = getattr(type(problem), part), []

    def interrupted(self, *given):
        if rung:  # a quick way may end with the slow one where there is nothing to hurry
            return slow(self, *given)
        rung.append(part)
        time_is_over()

    monkeypatch.setattr(type(problem), part, interrupted)
    found = solve(problem, gap=1e-3, time_limit=1000.0)
    assert rung == [part]
    assert {"claim": "hurried_value", "lift": "hurried_repair"}[part] in found.stats
    assert not set(HURRIED) & set(whole.stats)
    better, worse = (found, whole) if problem.sense == "minimise" else (whole, found)
    assert kept * better.value <= worse.value <= better.value * (1 + 1e-9)
    assert verify(found)


def test_where_even_the_quick_way_takes_too_long_there_is_no_answer(monkeypatch):
    problem = UEConditional(1.0, TABLE, 1000)
    for part in ("lift", "lift_quickly"):
        monkeypatch.setattr(UEConditional, part, overdue)
    found = solve(problem, time_limit=1000.0)
    assert (found.status, found.value, found.answer) == (Status.LIMIT, None, None)
    assert set(HURRIED) & set(found.stats) == {"no_answer"}
    assert mechanism_for(problem, time_limit=1000.0) is None


def test_without_a_time_limit_nothing_is_hurried(monkeypatch):
    monkeypatch.setattr(SquareFidelity, "claim_quickly", overdue)
    assert not set(HURRIED) & set(solve(SquareFidelity(1.0, 4)).stats)


def test_the_command_says_what_was_hurried(monkeypatch, tmp_path, ldpopt):
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"problem": "square-fidelity", "params": {"inputs": 4, "epsilon": 1.0}}))
    assert "in short time" not in ldpopt("solve", str(spec)).out
    monkeypatch.setattr(SquareFidelity, "claim", overdue)
    said = " ".join(ldpopt("solve", str(spec), "--time-limit", "1000").out.split())
    assert f"in short time {HURRIED['hurried_value']}" in said


def test_a_mechanism_alone_is_not_evaluated(monkeypatch):
    problem = Staircase(1.0, prior=[0.4, 0.3, 0.2, 0.1])
    whole = solve(problem)
    for part in ("claim", "audit"):
        monkeypatch.setattr(type(problem), part, None)
    assert mechanism_for(problem, time_limit=1000.0) == whole.mechanism
    assert mechanism_for(BroadFidelity(1.0, 1000)) is None  # its answer is not a matrix
