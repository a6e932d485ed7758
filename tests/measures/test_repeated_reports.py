"""Several reports about one person: brute force on the product, witnesses, composition, sizes."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import Mechanism, solve
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures import repeated_reports
from ldpopt.measures.repeated_reports import (
    composed_level,
    least_composed_level,
    repeated_level,
    together,
)
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.mechanisms import secret_randomized_response
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set, Single
from ldpopt.problems import GRRConditional, PolyOpt

TABLE = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]


def random_case(seed, outputs=4):
    rng = np.random.default_rng(seed)
    a1, a2 = (int(x) for x in rng.integers(2, 4, size=2))
    F = Chi2Set(rng.dirichlet(np.ones(a1 * a2)).reshape(a1, a2), float(10 ** rng.uniform(1, 4)))
    return Mechanism(rng.dirichlet(np.ones(outputs), size=a1 * a2)), F, rng


def test_two_reports_of_polyopt_have_no_level_and_those_of_conditional_reporting_more_than_twice():
    problem = PolyOpt(1.0, TABLE, 1000)
    F, certified = problem.uncertainty, solve(problem, "column-generation").mechanism
    assert rldp_level(certified, F).level < 1
    assert repeated_level(certified, F, 2).level > 30  # the repair may lift zeros to about 1e-15
    rows = np.where(certified.matrix > 1e-9, certified.matrix, 0)
    mechanism = Mechanism(rows / rows.sum(axis=1, keepdims=True))
    found = repeated_level(mechanism, F, 2)
    assert found.level == math.inf
    column = np.prod([mechanism.matrix[:, y] for y in found.outputs], axis=0).reshape(F.shape)
    assert (column[found.other] == 0).all()
    assert (column[found.s] * found.witness[found.s]).sum() > 0
    grr = solve(GRRConditional(1.0, TABLE, 1000)).mechanism
    assert repeated_level(grr, F, 2).level == pytest.approx(2.3114849, abs=1e-6)


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_level_is_that_of_the_product(seed, reports):
    mechanism, F, _ = random_case(seed)
    product = reduce(Mechanism.product, [mechanism] * reports)
    for uncertainty in (F, Single(F.p_hat), AllDistributions(*F.shape)):
        expected = rldp_level(product, uncertainty).level
        found = repeated_level(mechanism, uncertainty, reports)
        assert found.level == pytest.approx(expected, abs=1e-8)
        assert uncertainty.contains(found.witness)


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_mixed_use_is_the_product_and_the_witness_attains_it(seed):
    first, F, rng = random_case(seed)
    second = Mechanism(rng.dirichlet(np.ones(3), size=first.shape[0]))
    found = composed_level([first, second, first], F)
    expected = rldp_level(first.product(first).product(second), F).level
    assert found.level == pytest.approx(expected, abs=1e-8)
    y1, y2, z = found.outputs
    column = first.matrix[:, y1] * first.matrix[:, y2] * second.matrix[:, z]
    likely = (found.witness * column.reshape(F.shape)).sum(axis=1) / found.witness.sum(axis=1)
    assert math.log(likely[found.s] / likely[found.other]) == pytest.approx(found.level, abs=1e-8)
    assert F.contains(found.witness)
    assert least_composed_level([first, second, first], F).level <= found.level


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_against_all_distributions_levels_add_up(seed):
    first, F, rng = random_case(seed)
    second = Mechanism(rng.dirichlet(np.ones(3), size=first.shape[0]))
    everything = AllDistributions(*F.shape)
    one, two = (rldp_level(m, everything).level for m in (first, second))
    assert repeated_level(first, everything, 5).level == pytest.approx(5 * one)
    assert composed_level([first, second], everything).level <= one + two + 1e-9


def test_thirty_reports_of_thirty_inputs_three_times():
    rng = np.random.default_rng(0)
    mechanism = Mechanism(rng.dirichlet(np.full(30, 2.0), size=30))
    F = Chi2Set(rng.dirichlet(np.ones(30)).reshape(3, 10), 10_000)
    found = repeated_level(mechanism, F, 3)  # 4,960 collections instead of 27,000 columns
    product = mechanism.matrix[:, list(found.outputs)].prod(axis=1, keepdims=True)
    assert rldp_level(product, F).level == pytest.approx(found.level, abs=1e-9)
    samples = rng.integers(30, size=(3, 300))
    columns = mechanism.matrix[:, samples].prod(axis=1)
    assert rldp_level(columns, F).level <= found.level + 1e-9


def test_more_reports_than_can_be_listed_have_no_less_than_fewer(monkeypatch):
    """Of five reports pairs are listed; one output five times tells less than four different ones."""
    rng = np.random.default_rng(1)
    F = Chi2Set(rng.dirichlet(np.ones(6)).reshape(2, 3), 500)
    mechanism = Mechanism(rng.dirichlet(np.full(9, 0.3), 6))
    two, five = (repeated_level(mechanism, F, r).level for r in (2, 5))
    alone = least_composed_level([mechanism] * 5, F).level
    monkeypatch.setattr(repeated_reports, "FEW", 100)
    monkeypatch.setattr(repeated_reports, "MOST_COLUMNS", 100)
    many = together(mechanism, F, 5)
    assert not many.exact
    assert max(alone, two) + 5 < many.found.level <= five + 1e-9
    product = mechanism.matrix[:, list(many.found.outputs)].prod(axis=1, keepdims=True)
    assert rldp_level(product, F).level == pytest.approx(many.found.level, abs=1e-9)


def test_what_cannot_be_listed_or_counted_is_refused():
    flip = secret_randomized_response(2, 2, 1.0)
    F = Chi2Set(np.full((2, 2), 0.25), 100)
    with pytest.raises(InvalidInputError, match="reports must be a whole number >= 1, not 0"):
        repeated_level(flip, F, 0)
    with pytest.raises(InvalidInputError, match="at least one report"):
        composed_level([], F)
    wide = Mechanism(np.random.default_rng(0).dirichlet(np.ones(300), size=4))
    with pytest.raises(InvalidInputError, match="4,545,100 different collections"):
        repeated_level(wide, F, 3)


def test_levels_of_very_many_reports_are_not_infinite():
    """Products of a thousand entries are below the least float, but a level is ∞ only for entries 0."""
    flip, F = secret_randomized_response(2, 2, 1.0), Chi2Set([[0.4, 0.1], [0.1, 0.4]], 1000)
    assert repeated_level(flip, AllDistributions(2, 2), 1000).level == pytest.approx(1000)
    assert together(flip, AllDistributions(2, 2), 1000).exact
    many = together(flip, F, 2000)
    assert not many.exact
    assert 600 < many.found.level < math.inf
    some = repeated_level(Mechanism([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6], [0.5, 0.5]]), F, 400)
    assert 0 < some.level < 600
    with pytest.raises(InvalidInputError, match="above 600 nats, too high for floats"):
        repeated_level(Mechanism([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]]), F, 1000)


def test_a_level_over_a_ball_is_not_called_exact():
    """A climb finds the worst member of a ball: the level of two reports is at least what it finds."""
    p_hat = [[0.3, 0.2], [0.15, 0.35]]
    ball = ConvexSet("total-variation", p_hat=p_hat, radius=0.05)
    flip = Mechanism(np.array([[0.7, 0.3], [0.4, 0.6], [0.6, 0.4], [0.3, 0.7]]))
    assert not together(flip, ball, 2).exact
    assert together(flip, Single(p_hat), 2).exact


def test_where_listing_takes_long_a_lower_bound_is_given_and_called_so(monkeypatch):
    rng = np.random.default_rng(3)
    F = Chi2Set(rng.dirichlet(np.full(6, 3.0)).reshape(2, 3), 500)
    mechanism = Mechanism(rng.dirichlet(np.full(4, 3.0), 6))
    exact = together(mechanism, F, 2)
    assert exact.exact
    monkeypatch.setattr(repeated_reports, "MOST_ENTRIES", 10 * 6)  # two reports of four: ten collections
    assert together(mechanism, F, 2).exact
    monkeypatch.setattr(repeated_reports, "MOST_ENTRIES", 10 * 6 - 1)
    least = together(mechanism, F, 2)
    assert not least.exact
    assert together(mechanism, F, 1).found.level <= least.found.level <= exact.found.level
