"""After the search: the answer is built and evaluated to the end, and an audit ends with the time."""

import json

import pytest
from alarms import time_is_over
from known import TABLE

from ldpopt import solve, verify
from ldpopt.checker.kernel import budget
from ldpopt.engine.result import NO_AUDIT
from ldpopt.engine.solving import answer_for
from ldpopt.problems import BroadFidelity, RobustOptimum, SquareFidelity, Staircase, UEConditional
from ldpopt.release.matrix_randomizer import released


@pytest.mark.parametrize(
    "problem",
    [
        SquareFidelity(1.0, 5),
        UEConditional(1.0, TABLE, 1000, calibrate=True),
        RobustOptimum(1.0, [[0.3, 0.2], [0.15, 0.35]], 1000),
    ],
)
def test_a_time_limit_interrupts_neither_repair_nor_exact_value(monkeypatch, problem):
    """A deadline may slip by one repair: no worse answer is taken for want of time."""
    whole, done = solve(problem, gap=1e-3), []

    def watched(part, work):
        def called(*given):
            assert budget.PENDING == []
            done.append(part)
            return work(*given)

        return called

    for part in ("lift", "claim"):
        monkeypatch.setattr(type(problem), part, watched(part, getattr(type(problem), part)))
    found = solve(problem, gap=1e-3, time_limit=1000.0)
    assert {"lift", "claim"} == set(done)
    assert found.value == whole.value
    assert verify(found)


def test_the_command_says_that_the_audit_was_left_out(monkeypatch, tmp_path, ldpopt):
    spec = tmp_path / "spec.json"
    params = {"epsilon": 1.0, "prior": [0.5, 0.3, 0.2]}
    spec.write_text(json.dumps({"problem": "staircase", "params": params}))
    assert "left out" not in ldpopt("solve", str(spec), "--time-limit", "1000").out
    monkeypatch.setattr(Staircase, "audit", lambda *_: time_is_over())
    assert "left out, as it took too long" in ldpopt("solve", str(spec), "--time-limit", "1000").out
    assert NO_AUDIT in solve(Staircase(**params), time_limit=1000.0).stats


def test_a_mechanism_alone_is_not_evaluated(monkeypatch):
    problem = Staircase(1.0, prior=[0.4, 0.3, 0.2, 0.1])
    whole = solve(problem)
    for part in ("claim", "audit"):
        monkeypatch.setattr(type(problem), part, None)
    assert answer_for(problem, time_limit=1000.0) == whole.mechanism
    wide = BroadFidelity(1.0, 1000)
    assert released(wide, answer_for(wide)) is None  # its answer is not a matrix
