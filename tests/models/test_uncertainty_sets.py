"""Uncertainty sets: Lemmas 8 and 9, Proposition 10, support functions, members, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known import TABLE
from scipy.optimize import minimize

from ldpopt.core.errors import InvalidInputError
from ldpopt.models.chi2_ball import Chi2Ball
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set, Single


def random_ball(seed, zero=False):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    q = rng.dirichlet(np.ones(k))
    if zero and k > 2:
        q[0] = 0
        q /= q.sum()
    return Chi2Ball(q, float(10 ** rng.uniform(-3, 1))), rng


def test_the_bound_of_the_paper():
    assert Chi2Set(TABLE, 1000, 0.05).bound == pytest.approx(0.015507313056, abs=1e-12)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.booleans())
def test_support_functions_are_attained_and_never_exceeded(seed, zero):
    ball, rng = random_ball(seed, zero)
    c = rng.normal(size=len(ball.center))
    high, at_high = ball.maximum(c)
    low, at_low = ball.minimum(c)
    assert ball.contains(at_high)
    assert ball.contains(at_low)
    assert c @ at_high == pytest.approx(high)
    assert c @ at_low == pytest.approx(low)
    for _ in range(15):
        member = ball.sample(rng)
        assert ball.contains(member)
        assert low - 1e-9 <= c @ member <= high + 1e-9


def test_support_function_against_a_general_optimiser():
    for seed in range(8):
        ball, rng = random_ball(seed)
        c = rng.normal(size=len(ball.center))
        constraints = [
            {"type": "eq", "fun": lambda R: R.sum() - 1},
            {"type": "ineq", "fun": lambda R, b=ball: b.bound + 1 - (b.center**2 / R).sum()},
        ]
        found = minimize(
            lambda R, c=c: -c @ R,
            ball.center,
            method="SLSQP",
            bounds=[(1e-9, 1)] * len(c),
            constraints=constraints,
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert ball.maximum(c)[0] == pytest.approx(-found.fun, abs=2e-6)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.booleans())
def test_coordinate_ranges_are_support_functions(seed, zero):
    ball, _ = random_ball(seed, zero)
    for u, unit in enumerate(np.eye(len(ball.center))):
        assert ball.minimum(unit)[0] == pytest.approx(ball.lower()[u], abs=1e-9)
        assert ball.maximum(unit)[0] == pytest.approx(ball.upper()[u], abs=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.booleans())
def test_l1_radius_is_the_largest_distance(seed, zero):
    """The exact radius is a maximum of support functions over signs; √B is only its envelope."""
    ball, _ = random_ball(seed, zero)
    k = len(ball.center)
    signs = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1) * 2 - 1
    exact = max(ball.maximum(sign)[0] - sign @ ball.center for sign in signs)
    assert ball.l1_radius() == pytest.approx(exact, abs=1e-7)
    assert ball.l1_radius() <= ball.l1_bound() + 1e-12


def test_the_printed_radius_is_not_attained_below_one():
    ball = Chi2Ball([0.5, 0.5], 0.25)
    assert ball.l1_radius() < ball.l1_bound() - 1e-2


def test_conditionals_are_projections():
    F, rng = Chi2Set(TABLE, 100, 0.05), np.random.default_rng(0)
    for _ in range(200):
        P = F.sample(rng)
        assert F.contains(P)
        for s, ball in enumerate(F.conditionals):
            assert ball.contains(P[s] / P[s].sum())
    # (31): every member of a conditional set is reached
    for s, ball in enumerate(F.conditionals):
        R = ball.maximum(rng.normal(size=3))[1]
        P = F.p_hat / np.sqrt(F.bound + 1)
        P[s] = R * (1 - (1 - F.secrets[s]) / np.sqrt(F.bound + 1))
        assert F.contains(P)


def test_counts_with_zero_cells_and_few_samples():
    F = Chi2Set.from_counts([[1, 0], [0, 2]], 0.05)
    assert F.n == 3
    assert np.isfinite(F.lower_conditionals()).all()
    assert (F.lower_conditionals().sum(axis=1) < 1).all()


def test_merging_keeps_members():
    F, rng = Chi2Set(TABLE, 200, 0.05), np.random.default_rng(1)
    groups = np.array([0, 1, 0])
    merged = F.merged(groups)
    assert merged.bound == F.bound
    for _ in range(100):
        P, joined = F.sample(rng), np.zeros((3, 2))
        np.add.at(joined.T, groups, P.T)
        assert merged.contains(joined)


def test_the_other_sets():
    rng = np.random.default_rng(0)
    everything, one = AllDistributions(2, 3), Single([[0.5, 0.1], [0.2, 0.2]])
    assert everything.contains(everything.sample(rng))
    assert not everything.contains(np.ones((2, 3)))
    assert one.contains(one.sample(rng))
    assert not one.contains([[0.4, 0.2], [0.2, 0.2]])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Chi2Set([[0.5, 0.5], [0, 0]], 10, 0.05), r"p_hat\[1\] is all zero"),
        (lambda: Chi2Set(TABLE, 0, 0.05), "n must be a finite number > 0, not 0"),
        (
            lambda: Chi2Set(TABLE, 10, 1.5),
            "from 1e-12 to 0.999999999999, not 1.5",
        ),
        (lambda: Chi2Set(TABLE, 10, 1e-300), "from 1e-12 to 0.999999999999, not 1e-300"),
        (lambda: Chi2Set([[0.5, 0.6]], 10, 0.05), "must sum to 1"),
        (lambda: Chi2Set.from_counts([[1.5, 1], [1, 1]], 0.05), "whole numbers >= 0, not 1.5"),
        (lambda: Chi2Set.from_counts([[0, 0], [0, 0]], 0.05), "all zero"),
        (lambda: Chi2Ball([0.5, 0.5], -1), "must be >= 0, not -1"),
    ],
)
def test_bad_input(build, words):
    with pytest.raises(InvalidInputError, match=words):
        build()


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.booleans())
def test_many_minima_at_once(seed, zero):
    ball, rng = random_ball(seed, zero)
    columns = rng.normal(size=(len(ball.center), 7))
    columns[:, 0] = 1.0
    tight = Chi2Ball(ball.center, ball.bound * 1e-12)
    for each in (ball, tight):
        expected = [each.minimum(c)[0] for c in columns.T]
        assert each.minima(columns) == pytest.approx(expected, abs=1e-7)


def test_a_cell_of_next_to_nothing_may_take_most_of_the_mass():
    ball = Chi2Ball([0.6, 0.4, 8e-18], 500.0)
    for c in ([0.0, 0.0, -1.0], [1.0, 1.0, 0.0]):
        value, R = ball.minimum(c)
        assert R[2] == pytest.approx(ball.upper()[2], rel=1e-9)
        assert ball.contains(R)
        assert ball.minima(np.array(c)[:, None])[0] == pytest.approx(value, abs=1e-9)
