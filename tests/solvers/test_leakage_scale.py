"""The scale that the methods for statistic maximal leakage reach, each against another in one run."""

import numpy as np
import pytest

from ldpopt import Status, solve, verify
from ldpopt.problems import StatisticLeakage


def instance(size: int, case: str, seed: int = 0) -> StatisticLeakage:
    found = StatisticLeakage.random(size, np.random.default_rng(seed))
    return next(problem for label, problem in found if label.startswith(case))


@pytest.mark.slow
def test_matching_and_flow_agree_at_scale() -> None:
    """How much faster matching is, ``ldpopt bench selection-program`` measures."""
    problem = instance(480, "deterministic")
    matched, flown = solve(problem, "matching"), solve(problem, "flow-networkx")
    assert matched.status is flown.status is Status.OPTIMAL
    assert matched.value == pytest.approx(flown.value, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_cuts_prove_a_small_gap(seed: int) -> None:
    """50 secrets × 20 parameters × 500 outputs."""
    problem = instance(1000, "dirichlet", seed)
    result = solve(problem, "cuts")
    assert problem.matrix.shape == (1000, 500)
    assert len(set(problem.secrets)) == 50
    assert result.bound - result.value <= 0.05
    assert verify(result)


def test_cuts_meet_the_full_program_where_both_finish() -> None:
    """The LP bound of the cuts is that of all variables at once (facility location)."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    from ldpopt.measures.row_selection_lp import PriceLP
    from ldpopt.solvers.row_selection_milp import FacilityModel

    for seed in range(3):
        form = instance(60, "dirichlet", seed).form
        model = FacilityModel(form)
        link, assign, choose = (constraint.A for constraint in model.constraints)
        limits = np.concatenate([np.zeros(link.shape[0]), np.ones(assign.shape[0])])
        upper = vstack([link, assign])
        full = linprog(model.cost, upper, limits, choose, np.ones(choose.shape[0]))
        assert PriceLP(form).solve().bound == pytest.approx(-full.fun, rel=1e-7)
