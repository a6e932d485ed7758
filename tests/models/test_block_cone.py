"""The cone of PolyOpt: its explicit generators against vertex enumeration, and the pricing."""

import numpy as np
import pytest
from scipy.special import xlogy

from ldpopt.core.errors import InvalidInputError
from ldpopt.models.block_cone import BlockCone, best_vertices, block_vertices
from ldpopt.models.sharp_polyopt_cone import FacetCone, outer_vertices
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation
from ldpopt.solvers._robust.block_pricing import BlockPricer, undominated


def random_cone(seed, a1=3, a2=3, epsilon=1.0, pairs="distinct"):
    p_hat = np.random.default_rng(seed).dirichlet(np.full(a1 * a2, 0.5)).reshape(a1, a2)
    F = Chi2Set(p_hat, 300, 0.05)
    return BlockCone(F.lower_conditionals(), epsilon, pairs), p_hat


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ratio", [1.2, 2.7, 50.0])
def test_block_vertices_against_cddlib(seed, ratio):
    import cdd

    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(5))[:4]
    y = (1 - p.sum()) * np.eye(4) + p
    rows = np.vstack(
        [np.hstack([np.zeros((4, 1)), np.eye(4)]), np.c_[-np.ones(4), y], np.c_[np.full(4, ratio), -y]]
    )
    matrix = cdd.matrix_from_array(rows.tolist(), rep_type=cdd.RepType.INEQUALITY)
    expected = np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array)[:, 1:]
    found = block_vertices(p, 1.0, ratio).T
    assert len(np.unique(found.round(9), axis=0)) == len(expected)
    for vertex in expected:
        assert np.abs(found - vertex).max(axis=1).min() < 1e-9


@pytest.mark.parametrize("pairs", ["distinct", "all"])
def test_generators_lie_in_the_cone(pairs):
    cone, _ = random_cone(0, pairs=pairs)
    rays = cone.rays()
    assert rays.shape[1] <= cone.size()
    assert cone.level(rays) <= cone.epsilon + 1e-9
    assert (cone.inequalities() @ rays).min() >= -1e-9


def test_without_lower_bounds_it_is_the_cone_of_all_distributions():
    from ldpopt.models.cones import SecretCone, joint_secrets

    cone, other = BlockCone(np.zeros((2, 3)), 0.7), SecretCone(joint_secrets((2, 3)), 0.7)
    rng = np.random.default_rng(0)
    for _ in range(50):
        matrix = rng.random((6, 4))
        assert cone.level(matrix) == pytest.approx(other.level(matrix))


@pytest.mark.parametrize("pairs", ["distinct", "all"])
@pytest.mark.parametrize("seed", range(4))
def test_pricing_is_exact(seed, pairs):
    """At a dual just above the best multiple of the prior the proof closes; just below it does not."""
    cone, p_hat = random_cone(seed, 3, 2, 0.8, pairs)
    prior, rays = p_hat.ravel(), cone.rays()
    best = (MutualInformation(prior)(rays) / (prior @ rays)).max()
    pricer = BlockPricer(cone, prior)
    assert pricer.at(best * (1 + 1e-7) * prior).prove(10)[0]
    proven, found = pricer.at(best * (1 - 1e-7) * prior).prove(10)
    assert not proven
    assert found
    assert max(pricer.at(best * (1 - 1e-7) * prior).value(T) for T in found) > 0


def test_of_points_that_are_alike_one_is_kept():
    """Rounding makes copies of a point rule each other out, in turn, unless one of them must stay."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        q, f = rng.uniform(0.1, 5, 3).repeat(6), rng.uniform(-1, 1, 3).repeat(6)
        q *= 1 + rng.integers(-2, 3, q.size) * 2.2e-16
        f += rng.integers(-2, 3, f.size) * 1.1e-16
        low, high = np.sort(rng.uniform(0, 3, 2))
        kept = undominated(q, f, low, high)
        for rest in np.linspace(low, high, 5):
            values = f - xlogy(q + rest, q + rest)
            assert values[kept].max() >= values.max() - 1e-13


def test_undominated_keeps_the_best_for_every_rest():
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, f = rng.random(40) * 3, rng.random(40)
        q[1], f[1] = q[0], f[0]  # twins: one of them must stay
        low, high = np.sort(rng.random(2)) * 2
        kept = undominated(q, f, low, high)
        for rest in np.linspace(low, high, 7):
            value = f - (q + rest) * np.log(q + rest)
            assert value[kept].max() == pytest.approx(value.max(), abs=1e-12)
        assert undominated(q[:2], f[:2], low, high).tolist() == [0]


def test_more_facets_give_a_larger_cone():
    p_hat = np.random.default_rng(3).dirichlet(np.ones(6)).reshape(2, 3)
    F, rng = Chi2Set(p_hat, 200, 0.05), np.random.default_rng(0)
    simple = BlockCone(F.lower_conditionals(), 1.0)
    sharper = [FacetCone(F, 1.0, "distinct", facets) for facets in (0, 3, 9)]
    for _ in range(30):
        matrix = rng.random((6, 3))
        levels = [cone.level(matrix) for cone in sharper]
        assert levels[0] == pytest.approx(simple.level(matrix))
        assert levels[0] >= levels[1] - 1e-12
        assert levels[1] >= levels[2] - 1e-12
    for ball in F.conditionals:
        assert len(outer_vertices(ball, 0)) == 3


def test_bad_input():
    with pytest.raises(InvalidInputError, match="pairs must be one of distinct, all"):
        BlockCone(np.zeros((2, 2)), 1.0, "some")
    with pytest.raises(InvalidInputError, match="must sum to less than 1, not 1"):
        BlockCone(np.full((2, 2), 0.5), 1.0)
    with pytest.raises(InvalidInputError, match="two secrets"):
        BlockCone(np.zeros((1, 2)), 1.0)


def test_the_best_vertex_is_that_of_the_list():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.dirichlet(np.ones(rng.integers(2, 6))) * rng.uniform(0.1, 0.99)
        p[0] *= rng.random() < 0.7
        high, c = 1 + rng.exponential(2), rng.normal(size=(3, len(p)))
        found = best_vertices(p, 1.0, high, c)
        assert (best_vertices(p, 1.0, high, 1e12 * c) == found).all()  # and no overflow where p is 0
        y = (1 - p.sum()) * found + (found @ p)[:, None]
        assert found.min() >= -1e-12
        assert 1 - 1e-9 <= y.min() <= y.max() <= high + 1e-9
        listed = (c @ block_vertices(p, 1.0, high)).max(axis=1)
        assert (c * found).sum(axis=1) == pytest.approx(listed, abs=1e-9)
