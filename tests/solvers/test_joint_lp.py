"""The worst joint of very many cells between two ends: they hold, and lie near each other."""

from dataclasses import replace

import numpy as np
import pytest

from ldpopt import FormSolution, Status, solve, verify
from ldpopt.checker import frame
from ldpopt.core.forms.joint_program import JointProgram
from ldpopt.problems import CompositionBound
from ldpopt.solvers.joint_lp import JointLp
from ldpopt.solvers.joint_milp import JointMilp


@pytest.mark.parametrize("seed", range(4))
def test_the_ends_enclose_the_optimum(seed):
    rng = np.random.default_rng(seed)
    marginals = [rng.dirichlet(np.ones(k)).tolist() for k in (4, 3)]
    case = CompositionBound(marginals, 0.03, "worst-joint")
    best, ends = solve(case), solve(case, "joint-lp")
    assert best.status is Status.OPTIMAL
    assert ends.value <= best.value * (1 + 1e-6) + 1e-12
    assert best.value <= ends.bound + 1e-12
    assert verify(ends)


def test_more_cells_than_the_search_takes():
    """20 × 16 × 16 = 5120 cells, within t times the number of values."""
    rng = np.random.default_rng(0)
    marginals = [rng.dirichlet(np.ones(k)).tolist() for k in (20, 16, 16)]
    result = solve(CompositionBound(marginals, 1e-4, "worst-joint"))
    assert result.solver == "joint-lp"
    assert 0 <= result.bound - result.value <= 1e-4 * 52
    assert verify(result)
    rule = solve(CompositionBound(marginals, 1e-4, "theorem-3"))
    assert result.bound < rule.value


def test_the_best_bound_of_many_cells_is_proven_too():
    """Eight marginals of three values, 6561 cells: the least bound, and a joint that comes close."""
    marginals = np.random.default_rng(0).dirichlet(np.ones(3), size=8).tolist()
    result = solve(CompositionBound(marginals, 1e-3, "best"))
    assert result.status is Status.GAP
    assert 0 <= result.value - result.bound <= 1e-3 * 24
    assert verify(result)
    document = result.to_json()
    document["bound"] += 0.01
    assert not all(claim.holds for claim in frame.check(document))


def test_a_forged_joint_or_bound_is_refuted():
    marginals = [[0.6, 0.3, 0.1], [0.9, 0.1]]
    result = solve(CompositionBound(marginals, 0.05, "worst-joint"), "joint-lp")
    for change in ({"value": result.value + 0.01}, {"bound": result.value / 2}):
        assert not all(claim.holds for claim in frame.check(result.to_json() | change))


def test_what_is_too_large_is_refused():
    many = JointProgram(tuple(np.full(k, 1 / k) for k in (500, 500)), 1e-4)
    assert "at most 200000 are allowed" in JointLp().accepts(many)
    assert "below" in JointLp().accepts(JointProgram((np.array([1.0]),), 1e-11))


@pytest.mark.parametrize("joints", [0, 1])
def test_the_best_bound_when_the_time_ends_before_a_joint(monkeypatch, joints):
    """Without any joint the rules alone are the answer; one that was found before is still used."""
    run, calls = JointMilp.run, []

    def short(self, form, limits):
        calls.append(form.threshold)
        if len(calls) > joints:
            return FormSolution(Status.LIMIT)
        return replace(run(self, form, limits), value=2.0)  # above the rules: a second try follows

    monkeypatch.setattr(JointMilp, "run", short)
    result = solve(CompositionBound([[0.6, 0.3, 0.1], [0.9, 0.1]], 0.01, "best"), "best-of-all")
    assert len(calls) == joints + 1
    assert (result.bound is None) == (joints == 0)
    assert verify(result)
