"""The exact robust optimum: known values, order, brute force over private columns, limits, bad input."""

from functools import cache

import numpy as np
import pytest
from known import TABLE
from scipy.optimize import linprog

from ldpopt import Status, solve, verify
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.highs import ColumnLP
from ldpopt.core.limits import Limits
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.chi2_cone import ExactCone
from ldpopt.models.cones import response_columns
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems import PolyOpt, RobustOptimum, robust_optimum
from ldpopt.problems.table_problem import RobustPrivacy

SMALL = [[0.3, 0.2], [0.15, 0.35]]
GAP = 1e-6


def test_one_exact_test_is_enough(monkeypatch):
    """With twelve secrets each test of a mechanism takes seconds, and many were made one by one."""
    asked, admits = [], RobustPrivacy.admits
    monkeypatch.setattr(
        RobustPrivacy, "admits", lambda self, rows: asked.append(1) or admits(self, rows)
    )
    problem = RobustOptimum(1.0, TABLE, 1000)
    (form,) = problem.forms()
    rows = np.repeat(np.eye(3), 3, axis=0)  # the secret itself, moved to the edge of the cone
    columns = form.cone.inside(rows, form.cone.excess(rows)[0])
    rays = np.hstack([columns, np.ones((9, 1))])
    lp = ColumnLP(9)
    lp.add(rays, MutualInformation(form.prior)(rays))
    found = lp.solve(Limits())
    level = problem.lift(form, FormSolution(Status.FEASIBLE, found.point, found.value)).matrix
    assert len(asked) == 1
    assert rldp_level(level, problem.uncertainty).level == pytest.approx(1, abs=1e-8)


@cache
def small(epsilon=1.0, objective="empirical"):
    return solve(RobustOptimum(epsilon, SMALL, 1000, objective=objective), gap=GAP)


def test_the_known_table():
    """PolyOpt has 0.712196 there and calibration 0.720988."""
    found = small()
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(0.722958722, abs=1e-6)
    assert found.bound - found.value <= 1e-6
    level = rldp_level(found.mechanism, found.problem.uncertainty).level
    assert 1 - 1e-8 <= level <= 1
    assert verify(found)


def check_order(table, n, epsilon, calibrated=True, seconds=None):
    given = {"epsilon": epsilon, "p_hat": table, "n": n}
    best = solve(RobustOptimum(**given), gap=GAP, time_limit=seconds)
    polyopt = solve(PolyOpt(**given), gap=GAP)
    assert polyopt.value <= best.value * (1 + GAP)
    ceiling = polyopt.certificate.proof["ceiling"]
    assert best.value <= best.bound <= ceiling * (1 + GAP)
    assert epsilon * (1 - 1e-6) <= exact_level(best) <= epsilon
    assert verify(best)
    if calibrated:
        wide = solve(PolyOpt(**given, calibrate=True), gap=GAP)
        assert polyopt.value * (1 - GAP) <= wide.value <= best.value * (1 + GAP)
        assert wide.value <= min(best.bound, wide.bound)
        assert epsilon * (1 - 1e-6) <= exact_level(wide) <= epsilon
        assert verify(wide)
    return best


def exact_level(found):
    return rldp_level(found.mechanism, found.problem.uncertainty).level


@pytest.mark.parametrize("seed", range(2))
def test_it_is_the_best(seed):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(4)).reshape(2, 2)
    assert check_order(table, 500, rng.uniform(0.5, 2)).status is Status.OPTIMAL


@pytest.mark.slow
def test_the_table_of_the_documentation():
    found = check_order(TABLE, 1000, 1.0)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(0.963141318, abs=1e-6)
    assert found.bound < 1.0338


def private_columns(F, epsilon, count):
    """Random private columns, by the audit alone: some inside the cone, most on its boundary."""
    rng = np.random.default_rng(5)
    cone = ExactCone(F, epsilon)
    points = rng.random((cone.dimension, count)) ** rng.uniform(0.5, 6, count)
    inside = cone.inside(points, cone.excess(points)[0])
    levels = [rldp_level(column[:, None], F).level for column in inside[:, :20].T]
    assert max(levels) <= epsilon + 1e-9
    return inside


def test_brute_force_over_random_private_columns():
    """Mechanisms of thousands of random private columns come close to the optimum and stay below."""
    found = small()
    F = found.problem.uncertainty
    columns = private_columns(F, 1.0, 4000)
    gains = MutualInformation(F.p_hat.ravel())(columns)
    best = -linprog(-gains, A_eq=columns, b_eq=np.ones(4)).fun
    assert 0.97 * found.value <= best <= found.bound
    dual = np.array(found.certificate.proof["dual"])
    assert (dual @ columns >= gains).all()


def test_the_robust_objective():
    """Its value is a guarantee; PolyOpt's robust optimum over the smaller cone is no better."""
    found = small(objective="robust")
    assert verify(found)
    assert found.value < small().value
    other = solve(PolyOpt(1.0, SMALL, 1000, objective="robust"), gap=GAP)
    assert other.value <= found.value <= found.bound
    rng = np.random.default_rng(0)
    F = found.problem.uncertainty
    for _ in range(50):
        P = F.sample(rng).ravel()
        assert found.value <= MutualInformation(P)(found.mechanism.matrix).sum() + 1e-12


def test_counts_are_a_table_and_the_seed_does_not_matter():
    counts = [[300, 200], [150, 350]]
    found = solve(RobustOptimum(1.0, counts=counts), gap=GAP, seed=7)
    assert found.value == pytest.approx(small().value, abs=1e-6)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"p_hat": None}, "needs 'p_hat' and 'n', or 'counts'"),
        ({"counts": [[1, 2], [3, 4]]}, "either 'p_hat' and 'n' or 'counts'"),
        ({"objective": "best"}, "objective"),
        ({"p_hat": [[0.5, 0.5]]}, "one secret"),
        ({"p_hat": [[0.5], [0.5]]}, "two or more public values"),
        ({"p_hat": [[0.5, 0.5], [0.0, 0.0]]}, "all zero"),
        ({"p_hat": np.full((13, 2), 1 / 26)}, "12 secrets"),
        ({"p_hat": np.full((5, 13), 1 / 65)}, "64 cells"),
        ({"alpha": 0.0}, "alpha"),
    ],
)
def test_bad_input_is_one_sentence(params, words):
    with pytest.raises(InvalidInputError, match=words):
        RobustOptimum(**{"epsilon": 1.0, "p_hat": SMALL, "n": 1000, **params})


def test_without_time_there_is_a_known_mechanism(clock):
    """Releases of x, s and u are moved into the cone before anything is searched."""
    table = np.random.default_rng(3).dirichlet(np.full(24, 0.5)).reshape(6, 4)
    seen = []

    def stop(value, _):
        seen.append(value)
        clock.move(1000 * (len(seen) == 2))

    found = solve(RobustOptimum(2.0, table, 1000), time_limit=60, progress=stop)
    secret = table.sum(axis=1)
    told = np.where(np.eye(6) > 0, np.exp(2.0), 1.0)
    response = float(MutualInformation(secret)(told / told.sum(axis=0)).sum())
    assert found.value >= response * (1 - 1e-9)
    assert verify(found)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_order_on_fifty_random_tables(block):
    """2 × 2, 2 × 3 and 3 × 3 tables: the optimum is at least the calibrated, that at least PolyOpt's."""
    rng = np.random.default_rng(block)
    for shape in [(2, 2)] * 4 + [(2, 3)] * 4 + [(3, 3)] * 2:
        table = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
        check_order(table, int(rng.integers(100, 5000)), rng.uniform(0.3, 2.5), seconds=600)


@pytest.mark.parametrize("kind", [RobustOptimum, PolyOpt])
def test_a_search_without_time_begins_with_randomised_response(kind, clock):
    """The time is over once something is kept: many secrets get an answer that says something."""
    p = np.random.default_rng(1).dirichlet(np.full(48, 0.5)).reshape(12, 4)
    seen = []

    def stop(value, _):
        seen.append(value)
        clock.move(1000)

    found = solve(kind(1.0, p, 1000), time_limit=60, progress=stop)
    response = response_columns(48, 1.0)[:, 1:]
    least = MutualInformation(p.ravel())(response / response.sum(axis=1)[0]).sum()
    assert seen[0] == pytest.approx(least)
    assert found.value >= least * (1 - 1e-6) > 0


def test_where_the_tree_is_not_proven_the_ceiling_is_the_bound(monkeypatch):
    """As with ε = 1e-6 and a secret of 1e-12: floats give multipliers that are too coarse."""

    def fails(*_):
        raise SolverError("not proven")

    monkeypatch.setattr(robust_optimum, "exact_proof", fails)
    found = solve(RobustOptimum(1.0, SMALL, 1000), gap=GAP)
    assert found.status is Status.GAP
    assert set(found.certificate.proof) == {"ceiling", "secret_dual"}
    assert verify(found)
