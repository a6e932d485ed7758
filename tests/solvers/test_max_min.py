"""The most information that is guaranteed for every distribution of a set."""

import numpy as np
import pytest

from ldpopt import problem, solve
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.measures.worst_information import worst_information
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.utilities import MutualInformation
from ldpopt.solvers.cdd import enumerate_rays
from ldpopt.solvers.guaranteed_information import Rays, max_min_information

TABLE = [[0.30, 0.20], [0.15, 0.35]]
KNOWN = 0.752882
"""The ceiling max I(S; Y) + H(U|S) of the table at ε = 1, which a known distribution reaches."""


def ball(radius):
    return ConvexSet("total-variation", p_hat=TABLE, radius=radius)


def test_a_known_distribution_reaches_the_ceiling():
    found = max_min_information(ConvexSet("known", p=TABLE), 1.0, gap=1e-6)
    assert found.low == pytest.approx(KNOWN, abs=1e-6) == found.high


@pytest.mark.parametrize(
    "kind", ["total-variation", "scenarios", pytest.param("chi-squared", marks=pytest.mark.slow)]
)
def test_the_guarantee_is_kept_and_beats_the_design_for_the_center(kind):
    F = {
        "total-variation": ball(0.02),
        "chi-squared": ConvexSet("chi-squared", p_hat=TABLE, n=1000),
        "scenarios": ConvexSet("scenarios", members=[TABLE, [[0.25, 0.25], [0.25, 0.25]]]),
    }[kind]
    found = max_min_information(F, 1.0, gap=1e-4)
    assert found.low <= found.high <= found.low + 1.1e-4
    assert rldp_level(found.mechanism, F).level <= 1 + 1e-9
    rng = np.random.default_rng(0)
    for _ in range(50):
        P = F.sample(rng)
        assert MutualInformation(P.ravel())(found.mechanism.matrix).sum() >= found.low - 1e-12
    center = solve(problem("set-optimum", epsilon=1.0, uncertainty=F))
    assert found.high <= center.bound + 1e-9
    assert worst_information(center.mechanism, F).low <= found.low + 1e-6


def test_a_larger_set_guarantees_less():
    small, large = (max_min_information(ball(radius), 1.0, gap=1e-4) for radius in (0.01, 0.02))
    assert large.high < small.low < KNOWN


def test_the_upper_end_holds_for_mechanisms_that_are_private_against_everybody():
    F = ball(0.02)
    high = max_min_information(F, 1.0, gap=1e-2).high
    mechanism = solve(problem("staircase", epsilon=1.0, prior=np.ravel(TABLE))).mechanism
    assert worst_information(mechanism, F).low <= high


@pytest.mark.parametrize("k", [3, 4, 5])
def test_all_extreme_rays_are_listed_and_all_listed_rays_lie_in_the_cone(k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(7, k))
    rows += 0.1 - rows.mean(axis=1, keepdims=True)  # the constant ray lies inside, as for privacy
    cone = Rays(k)
    cone.cut(rows)
    assert (rows @ cone.listed >= -1e-8).all()
    for ray in enumerate_rays(np.vstack([np.eye(k), rows])).T:
        assert abs(cone.listed - ray[:, None]).max(axis=0).min() < 1e-8


def test_larger_sets_are_refused():
    with pytest.raises(InvalidInputError, match="at most 6 cells, not 9"):
        max_min_information(ConvexSet("known", p=np.full((3, 3), 1 / 9)), 1.0)
