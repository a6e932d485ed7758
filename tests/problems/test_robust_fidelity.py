import itertools
import math

import numpy as np
import pytest
from known import TABLE

from ldpopt import Program, Status, objective, privacy, problem, solve, verify
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.mechanisms import randomized_response
from ldpopt.mechanisms.balanced_designs import subset_selection
from ldpopt.problems.robust_fidelity import query_error
from ldpopt.solvers._query_columns import Climbed
from ldpopt.solvers._query_interior import QueryInterior
from ldpopt.solvers.query_climb import OUTPUTS, _fewer, best_climbed

SQUARE = [[0.3, 0.2], [0.1, 0.4]]
MARGINS = [[1, 1, 0, 0], [1, 0, 1, 0]]


def by_cvxpy(p, queries, rays):
    """The least Σ t_i with t_i ≥ c_iᵀΣc_i: linear matrix inequalities, by another solver."""
    cvxpy = pytest.importorskip("cvxpy")
    k, rays = len(p), rays / rays.max(axis=0)
    weights = cvxpy.Variable(rays.shape[1], nonneg=True)
    basis = np.linalg.svd(np.ones((1, k)))[2][1:].T
    x = basis.T @ rays / np.sqrt(p @ rays)
    J = sum(weights[j] * np.outer(x[:, j], x[:, j]) for j in range(x.shape[1]))
    bounds = cvxpy.Variable(len(queries))
    limits = [rays @ weights == 1]
    for i, c in enumerate(np.array(queries, float)):
        side = (basis.T @ c)[:, None]
        limits.append(cvxpy.bmat([[J, side], [side.T, cvxpy.reshape(bounds[i], (1, 1), "C")]]) >> 0)
    return float(cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(bounds)), limits).solve(solver="CLARABEL"))


@pytest.mark.parametrize(
    "params",
    [
        {"prior": [[0.5], [0.3], [0.2]]},
        {"prior": SQUARE, "queries": MARGINS},
        {"prior": SQUARE, "queries": [[2, -1, 0.5, 3]]},
        {"p_hat": SQUARE, "n": 100, "queries": MARGINS},
        {"counts": [[30, 20], [10, 40]]},
    ],
)
def test_the_optimum_is_that_of_another_solver(params):
    asked = problem("robust-fidelity", epsilon=1.0, **params)
    result = solve(asked, gap=1e-7)
    assert result.status is Status.OPTIMAL
    assert verify(result)
    other = by_cvxpy(asked.table.ravel(), asked.queries, asked.cone.rays())
    assert result.value == pytest.approx(other, rel=1e-6)


def test_one_query_leaves_the_rest_open():
    """The best information is singular: its value was 3.6 % too high, and the bound 22 % too low."""
    table, query = [[0.3, 0.2, 0.1], [0.15, 0.15, 0.1]], [[1, 0, 0, 0, 0, 0]]
    hidden = solve(problem("robust-fidelity", epsilon=0.5, prior=table, queries=query))
    composed = solve(
        Program(privacy.Secret(0.5, [0, 0, 0, 1, 1, 1]), objective.Queries(query, np.ravel(table)))
    )
    for result in (hidden, composed):
        assert result.status is Status.OPTIMAL
        assert result.value == pytest.approx(4.036806295, rel=1e-9)
        assert verify(result)


def test_few_queries_of_random_tables_are_proven():
    """One to three queries: many best designs are singular, some nearly so."""
    rng = np.random.default_rng(15)
    for shape in [(8, 1), (4, 1), (6, 1), (2, 4), (2, 3), (4, 2), (3, 2), (6, 1)]:
        k, r = math.prod(shape), rng.integers(1, 4)
        rows = rng.normal(size=(r, k)) if rng.random() < 0.5 else np.eye(k)[:r]
        prior = rng.dirichlet(np.full(k, 2.0))
        epsilon = float(rng.choice([0.2, 0.5, 1, 2, 4]))
        asked = problem("robust-fidelity", epsilon=epsilon, prior=prior.reshape(shape), queries=rows)
        result = solve(asked)
        assert result.status is Status.OPTIMAL, (shape, r, epsilon, result.gap)
        assert verify(result)
        other = by_cvxpy(prior, rows, asked.cone.rays())
        assert result.value == pytest.approx(other, rel=1e-6)


def test_a_thousand_queries_count_as_one_for_each_input():
    """Only Σ c cᵀ matters: three copies of a query are one that is √3 times as large."""
    table, query = [[0.3, 0.2, 0.1], [0.15, 0.15, 0.1]], np.array([[1.0, 0, 0, 0, 0, 0]])
    often = solve(problem("robust-fidelity", epsilon=0.5, prior=table, queries=np.tile(query, (3, 1))))
    assert often.status is Status.OPTIMAL
    assert often.value == pytest.approx(3 * 4.036806295, rel=1e-9)
    assert verify(often)


def test_more_time_is_never_worse():
    """A run that ends after any round has kept a mechanism and a proof no better than the next."""
    rows = np.eye(8)[:2]
    asked = problem("robust-fidelity", epsilon=1.0, prior=np.full((4, 2), 1 / 8), queries=rows)
    told = []
    solve(asked, progress=lambda value, bound: told.append((value, bound)))
    values, bounds = map(list, zip(*told, strict=True))
    assert len(told) > 1
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)


def test_unit_queries_of_one_column_are_the_mean_squared_error():
    p = [0.5, 0.3, 0.2]
    known = solve(problem("fidelity", prior=p, epsilon=0.7, loss="mse")).value
    here = solve(problem("robust-fidelity", epsilon=0.7, prior=[[x] for x in p])).value
    assert here == pytest.approx(known * (1 - np.dot(p, p)), rel=1e-8)


def test_a_confidence_set_costs_less_than_all_distributions():
    """More samples, a smaller set, a smaller error; each mechanism keeps its level against its set."""
    values = []
    for n in (100, 10_000):
        asked = problem("robust-fidelity", epsilon=1.0, p_hat=SQUARE, n=n, queries=MARGINS)
        result = solve(asked)
        assert verify(result)
        assert rldp_level(result.mechanism, asked.uncertainty).level <= 1 + 1e-9
        values.append(result.value)
    every = solve(problem("robust-fidelity", epsilon=1.0, prior=SQUARE, queries=MARGINS)).value
    assert values[1] < values[0] < every


def test_no_private_mechanism_is_below_the_bound():
    result = solve(problem("robust-fidelity", epsilon=1.0, prior=SQUARE, queries=MARGINS))
    rng, p = np.random.default_rng(0), np.ravel(SQUARE)
    assert query_error(randomized_response(4, 1.0).matrix, p, np.array(MARGINS)) >= result.bound
    for _ in range(100):
        columns = np.exp(rng.integers(0, 2, (4, 12)))
        W = columns @ np.diag(rng.random(12))
        rest = W.sum(axis=1).max() * 1.5 - W.sum(axis=1)
        W = np.hstack([W, np.full((4, 1), rest.min()), np.diag(rest - rest.min()) + 0])
        W = W / W.sum(axis=1, keepdims=True)
        ratios = [W[i] / W[j] for i, j in itertools.permutations(range(4), 2) if (W[j] > 0).all()]
        if ratios and max(map(np.max, ratios)) <= math.e:
            assert query_error(W, p, np.array(MARGINS)) >= result.bound


def test_three_by_three_tables_are_proven():
    """Singular information at the optimum: two columns' frequencies leave the joint ones open."""
    rows = np.vstack([np.repeat(np.eye(3), 3, axis=1), np.tile(np.eye(3), 3)])
    result = solve(problem("robust-fidelity", epsilon=1.0, prior=TABLE, queries=rows))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(20.05475222, rel=1e-7)
    assert verify(result)


@pytest.mark.slow
def test_three_by_three_tables_and_a_confidence_set():
    result = solve(problem("robust-fidelity", epsilon=1.0, p_hat=TABLE, n=1000), gap=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(7.08417082, rel=1e-6)
    assert verify(result)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": [[0.5, 0.5]]}, "prior must be a list of 2 or more entries"),
        ({"prior": SQUARE, "queries": [[1, 1, 1, 1]]}, "two different entries"),
        ({"prior": SQUARE, "queries": [[1, 0, 1]]}, "must have 4 entries"),
        ({"prior": SQUARE, "n": 10}, "a prior stands for all distributions"),
        ({"p_hat": SQUARE}, "needs 'p_hat' and 'n', or 'counts', or 'prior'"),
        ({"prior": SQUARE, "queries": [[1e9, 0, 1, 1]]}, "queries"),
    ],
)
def test_bad_questions_are_refused(params, message):
    with pytest.raises(InvalidInputError, match=message):
        problem("robust-fidelity", epsilon=1.0, **params)


def test_climbing_comes_near_the_optimum():
    """Where the rays are too many to list: within two per cent of what the list gives."""
    asked = problem("robust-fidelity", epsilon=1.0, prior=TABLE)
    [form] = asked.forms()
    known = solve(asked, gap=1e-3).value
    columns = Climbed(form.cone, form.prior, form.queries, 1.0, np.random.default_rng(0))
    found = best_climbed(form.prior, form.queries, 1.0, columns, lambda: False, lambda _: None)
    assert known * (1 - 1e-3) <= found.value <= known * 1.02
    assert query_error(found.matrix, form.prior, form.queries) == pytest.approx(found.value, rel=1e-3)


def test_bins_without_rows_and_bins_with_all_leave_the_climb_its_columns():
    """Their queries are the same on all inputs: a climb from the column 0 would divide 0 by 0."""
    counts = np.random.default_rng(0).integers(0, 9, (4, 5))
    rows = np.vstack([np.repeat(np.eye(4), 5, axis=1), np.zeros((3, 20)), np.ones((1, 20))])
    asked = problem("robust-fidelity", epsilon=1.0, counts=counts.tolist(), queries=rows)
    [form] = asked.forms()
    columns = Climbed(form.cone, form.prior, form.queries, 1.0, np.random.default_rng(0))
    assert (columns._random(1000).max(axis=1) >= 1).all()
    found = best_climbed(form.prior, rows, 1.0, columns, lambda: False, lambda _: None)
    assert np.isfinite(found.value)


def test_the_first_round_is_as_good_as_subset_selection():
    """Half of the reports about s, half about u: what is drawn first has no larger error."""
    rng, epsilon = np.random.default_rng(2), 1.0
    counts = rng.integers(50, 500, (6, 5))
    rows = np.vstack([np.repeat(np.eye(6), 5, axis=1), np.tile(np.eye(5), 6)])
    asked = problem("robust-fidelity", epsilon=epsilon, counts=counts.tolist(), queries=rows)
    [form] = asked.forms()
    columns = Climbed(form.cone, form.prior, form.queries, epsilon, rng)
    found = best_climbed(form.prior, rows, epsilon, columns, lambda: True, lambda _: None)
    selections = [subset_selection(k, epsilon, round(k / (1 + math.e))).matrix for k in (6, 5)]
    halves = [np.repeat(selections[0], 5, axis=0), np.tile(selections[1], (6, 1))]
    assert found.value < query_error(np.hstack(halves) / 2, form.prior, rows)


def test_wide_tables_have_the_bound_of_the_data_as_they_are():
    rng = np.random.default_rng(1)
    counts = rng.integers(50, 500, (4, 5))
    rows = np.vstack([np.repeat(np.eye(4), 5, axis=1), np.tile(np.eye(5), 4)])
    result = solve(problem("robust-fidelity", epsilon=1.0, counts=counts.tolist(), queries=rows))
    assert result.status is Status.GAP
    p = counts.ravel() / counts.sum()
    assert result.bound == pytest.approx((rows**2 @ p - (rows @ p) ** 2).sum())
    assert result.value < query_error(randomized_response(20, 1.0).matrix, p, rows) / 4
    assert verify(result)


def test_the_heaviest_columns_are_kept_only_if_they_leave_no_query_open():
    """Constant columns may weigh most and tell nothing: then all columns stay."""
    response = np.eye(3) + 0.5
    columns = np.vstack([response / response.max(), np.ones((OUTPUTS * 3, 3))])
    program = QueryInterior(np.full(3, 1 / 3), np.eye(3))
    everything = program.solve(columns, 1e-3, lambda: False)
    heavy = everything._replace(weights=np.r_[np.full(3, 1e-3), np.ones(OUTPUTS * 3)])
    kept, found = _fewer(program, columns, heavy)
    assert kept is columns
    assert found is heavy
