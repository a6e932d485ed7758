"""Vertex enumeration in floats: a list that lost rays is refused, not solved."""

import numpy as np
import pytest

from ldpopt import solve
from ldpopt.core.errors import SolverError
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.solvers.cdd import _check, enumerate_rays

LOSING = [
    (2.0, [[2, 1, 29974], [19, 1, 1], [9, 1, 1]]),  # 1,569 rays, that leave out half of the directions
    (1.0, [[1, 54, 427], [18829, 1, 1], [10659, 21, 16]]),  # cddlib notices an inconsistency
]


@pytest.mark.parametrize(("epsilon", "counts"), LOSING)
def test_lost_rays_are_a_refusal(epsilon, counts):
    """Skewed tables; the list was solved before, or said to be infeasible."""
    problem = PolyOpt(epsilon, counts=counts)
    with pytest.raises(SolverError, match=r"cddlib.*; another solver may answer"):
        solve(problem, "cdd")
    assert solve(problem, "enumerate").value > 0


def test_a_whole_list_passes_and_a_part_does_not():
    cone = PolyOpt(1.0, counts=[[20, 30, 10], [15, 25, 40]]).cone
    A = cone.inequalities()
    A = A / np.abs(A).max(axis=1, keepdims=True)
    rays = enumerate_rays(A)
    explicit = cone.rays()
    explicit = explicit / explicit.mean(axis=0)
    directions = np.random.default_rng(1).normal(size=(2000, 6))
    assert (directions @ rays).max(axis=1) == pytest.approx((directions @ explicit).max(axis=1))
    for kept in (rays[:, ::2], rays[:, : rays.shape[1] * 9 // 10], rays + 0.1 * np.eye(6)[:, :1]):
        with pytest.raises(SolverError, match="lost rays"):
            _check(A, kept)
