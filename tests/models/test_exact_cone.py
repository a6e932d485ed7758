"""The cone of all private columns: its oracle, its cuts, and what it contains."""

import math

import numpy as np
import pytest
from known import TABLE

from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.chi2_cone import ExactCone
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems import RobustOptimum
from ldpopt.problems._robust.exact_proof import exact_proof
from ldpopt.problems.table_problem import RobustPrivacy
from ldpopt.solvers._robust.column_search import ColumnSearch
from ldpopt.solvers._robust.outer_bound import BoundTree
from ldpopt.solvers._robust.outer_lp import OuterCone
from ldpopt.solvers.cutting_planes import _start

SETS = {
    "square": Chi2Set(TABLE, 1000),
    "small": Chi2Set([[0.3, 0.2], [0.15, 0.35]], 1000),
    "never": Chi2Set([[0.3, 0.2, 0.0], [0.15, 0.3, 0.05]], 1000),
    "few": Chi2Set([[0.3, 0.2], [0.15, 0.35]], 20),
}


def columns(F, count, seed=0):
    return np.random.default_rng(seed).random((F.p_hat.size, count)) ** 3


@pytest.mark.parametrize("name", SETS)
def test_the_excess_is_zero_at_the_exact_level(name):
    F = SETS[name]
    for column in columns(F, 6).T:
        level = rldp_level(column[:, None], F).level
        assert ExactCone(F, level).excess(column[:, None])[0].max() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_cuts_are_members_that_attain_the_excess(name):
    F = SETS[name]
    cone = ExactCone(F, 0.5)
    points = columns(F, 8, seed=1)
    excess, cuts = cone.cuts(points, 1e-9)
    assert any(cuts)
    for point, over, own in zip(points.T, excess.max(axis=1), cuts, strict=True):
        assert bool(own) == (over > 1e-9)
        for cut in own:
            assert F.contains(cut.member)
            given = cut.member / cut.member.sum(axis=1, keepdims=True)
            s, z = cut.secrets
            blocks = point.reshape(F.shape)
            told = given[s] @ blocks[s] - math.exp(0.5) * given[z] @ blocks[z]
            assert told == pytest.approx(-cut.row @ point, abs=1e-12)
        if own:
            assert max(-cut.row @ point for cut in own) == pytest.approx(over, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_no_member_tells_more_apart(name):
    """The oracle's excess is an upper bound over random members."""
    F = SETS[name]
    cone = ExactCone(F, 0.3)
    rng = np.random.default_rng(3)
    members = [F.sample(rng) for _ in range(200)]
    for point in columns(F, 4, seed=2).T:
        excess = cone.excess(point[:, None])[0].max()
        for P in members:
            told = (P * point.reshape(F.shape)).sum(axis=1) / P.sum(axis=1)
            assert told.max() - math.exp(0.3) * told.min() <= excess + 1e-12


@pytest.mark.parametrize("name", SETS)
def test_columns_moved_inside_are_private(name):
    F = SETS[name]
    cone = ExactCone(F, 0.4)
    points = columns(F, 6, seed=4)
    inside = cone.inside(points, cone.excess(points)[0])
    for column in inside.T:
        assert rldp_level(column[:, None], F).level <= 0.4 + 1e-9


@pytest.mark.parametrize("epsilon", [1e-6, 0.4, 30.0])
@pytest.mark.parametrize("name", SETS)
def test_columns_are_raised_by_no_more_than_one_constant_needs(name, epsilon):
    F = SETS[name]
    cone = ExactCone(F, epsilon)
    points = columns(F, 6, seed=4)
    excess = cone.excess(points)[0]
    inside = cone.inside(points, excess)
    rise = (inside - points).reshape(*F.shape, -1)
    most = np.maximum(excess.max(axis=1), 0) / math.expm1(epsilon)
    private = excess.max(axis=1) < 0
    assert (rise[:, :, private] <= 0).all()
    information = MutualInformation(F.p_hat.ravel())
    assert (information(inside) >= information(points) - 1e-12)[private].all()
    assert (rise <= most * (1 + 1e-9) + 1e-9).all()
    assert np.allclose(rise, rise[:, :1])  # alike for all values of a secret
    for pair, before, after in zip(cone.pairs, excess.T, cone.excess(inside)[0].T, strict=True):
        s, z = pair
        told = before + rise[s, 0] - math.exp(epsilon) * rise[z, 0]
        assert after == pytest.approx(told, abs=1e-9 * (1 + math.exp(epsilon)), rel=1e-9)
    assert (cone.excess(inside)[0] <= 1e-9 * inside.max(axis=0)[:, None]).all()


def test_one_secret_alone_is_raised():
    """A column that is constant given s says the same for every P: the least change is explicit."""
    cone = ExactCone(SETS["small"], 1.0)
    column = np.array([1.0, 1.0, 0.1, 0.1])[:, None]
    inside = cone.inside(column, cone.excess(column)[0])
    assert inside[:, 0] == pytest.approx([1, 1, 1 / math.e, 1 / math.e], abs=1e-9)


def test_columns_in_use_are_improved():
    form = next(iter(RobustOptimum(1, TABLE, 1000).forms()))
    search = ColumnSearch(form, Limits())
    search.begin(form.cone.plain_columns())
    first = search.optimum.value
    gains = [search.step(Limits()) for _ in range(4)]
    assert min(gains) >= -1e-12
    assert search.optimum.value == pytest.approx(first + sum(gains))
    assert search.optimum.value > 1.2 * first
    assert search.optimum.value < 0.9632  # the proven optimum


def test_wider_inner_cones_begin_beyond_the_inner_optimum():
    """Their columns are moved into the cone; PolyOpt's own optimum is 0.908081."""
    form = next(iter(RobustOptimum(1, TABLE, 1000).forms()))
    search = ColumnSearch(form, Limits())
    search.begin(_start(form, Limits()))
    assert 0.915 < search.optimum.value < 0.9632


def test_a_constant_within_a_column_is_taken_away():
    """A column of a lower level is worth more without its constant part, and then is at the edge."""
    cone = ExactCone(SETS["small"], 1.0)
    column = np.array([1.2, 1.0, 1.0, 0.9])[:, None]
    inside = cone.inside(column, cone.excess(column)[0])
    assert np.ptp(column - inside) == pytest.approx(0, abs=1e-12)
    assert cone.excess(inside)[0].max() == pytest.approx(0, abs=1e-9)
    assert (inside > 0).all()


@pytest.mark.parametrize("name", SETS)
def test_first_cuts_keep_columns_bounded(name):
    F = SETS[name]
    cone = ExactCone(F, 1.0)
    outer = OuterCone(F.p_hat.ravel(), cone.first_cuts())
    for cost in np.eye(cone.dimension):
        found = outer.maximum(cost, outer.low, outer.high, Limits())
        assert np.isfinite(found.point).all()
        assert F.p_hat.ravel() @ found.point == pytest.approx(1, abs=1e-8)


def test_an_empty_box_has_multipliers():
    """Its optimum pays the penalty, and nothing is raised."""
    F = SETS["small"]
    outer = OuterCone(F.p_hat.ravel(), ExactCone(F, 1.0).first_cuts())
    found = outer.maximum(np.zeros(4), np.array([3.0, 0.0, 0.0, 0.0]), outer.high, Limits())
    assert found.price < 0 or found.weights.any()


def test_no_time_is_no_program():
    F = SETS["small"]
    outer = OuterCone(F.p_hat.ravel(), ExactCone(F, 1.0).first_cuts())
    with pytest.raises(OutOfTime):
        outer.maximum(np.zeros(4), outer.low, outer.high, Limits(deadline=0.0))


def test_a_target_out_of_reach_ends():
    """Boxes are not cut narrower than floats tell apart, and what is there is a proof."""
    F = SETS["small"]
    [form] = RobustOptimum(1.0, F.p_hat, F.n).forms()
    search = ColumnSearch(form, Limits())
    for _ in range(3):
        search.step(Limits())
    tree = BoundTree(search)
    tree.open(Limits())
    steps = 0
    while tree.step(-1e-9, Limits()):
        steps += 1
        assert steps < 500
    assert 0 <= tree.bound - search.optimum.value < 1e-6
    question = RobustPrivacy.against(F, 1.0).question
    proof = exact_proof(tree.proof(1e-10), F, question)
    assert sum(proof["dual"]) - search.optimum.value < 1e-6
