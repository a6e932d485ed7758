"""The double description method against brute force: every ray is tight in k − 1 independent rows."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt.checker.kernel.budget import UndecidedError
from ldpopt.checker.kernel.proofs import extreme_rays as module
from ldpopt.checker.kernel.proofs.extreme_rays import extreme_rays


def normalised(ray):
    total = sum(ray)
    return tuple(Fraction(entry) / total for entry in ray)


def null_vector(rows):
    """The vector orthogonal to k − 1 rows of length k, by cofactors; None if they are dependent."""
    k = len(rows[0])
    found = []
    for x in range(k):
        minor = [[row[z] for z in range(k) if z != x] for row in rows]
        found.append((-1) ** x * determinant(minor))
    return found if any(found) else None


def determinant(rows):
    if not rows:
        return Fraction(1)
    return sum(
        (-1) ** j * rows[0][j] * determinant([row[:j] + row[j + 1 :] for row in rows[1:]])
        for j in range(len(rows))
    )


def brute_force(matrix, k):
    """All feasible directions that k − 1 of the constraints fix."""
    unit = [[Fraction(int(x == z)) for z in range(k)] for x in range(k)]
    rows = [*unit, *matrix]
    found = set()
    for chosen in combinations(rows, k - 1):
        vector = null_vector(chosen)
        for sign in (1, -1) if vector is not None else ():
            ray = [sign * entry for entry in vector]
            if all(sum(a * w for a, w in zip(row, ray, strict=True)) >= 0 for row in rows):
                found.add(normalised(ray))
    return found


def row(k):
    return st.lists(st.integers(-3, 3).map(Fraction), min_size=k, max_size=k)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4).flatmap(lambda k: st.lists(row(k), max_size=4)))
def test_all_rays_and_no_other(matrix):
    matrix = [row for row in matrix if any(row)]
    k = len(matrix[0]) if matrix else 3
    listed = extreme_rays([{x: a for x, a in enumerate(row) if a} for row in matrix], k)
    assert {normalised(ray) for ray in listed} == brute_force(matrix, k)
    assert len({normalised(ray) for ray in listed}) == len(listed)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_the_rays_of_ldp_are_the_staircase(k):
    E = Fraction(3)
    listed = extreme_rays([{x: Fraction(-1), z: E} for x, z in permutations(range(k), 2)], k)
    corners = {normalised(np.where([s >> x & 1 for x in range(k)], 3, 1).tolist()) for s in range(2**k)}
    constant = normalised([1] * k)
    assert {normalised(ray) for ray in listed} == corners - {constant}


def test_an_empty_cone_has_no_rays():
    assert extreme_rays([{0: Fraction(-1)}, {1: Fraction(-1)}], 2) == []


def test_a_list_that_is_too_long_is_left_undecided(monkeypatch):
    monkeypatch.setattr(module, "MOST_RAYS", 10)
    with pytest.raises(UndecidedError, match="more than 10 rays"):
        extreme_rays([{x: Fraction(-1), z: Fraction(2)} for x, z in permutations(range(5), 2)], 5)


def test_groups_of_constraints_that_share_no_entry_are_listed_one_by_one():
    rows = [{0: Fraction(3), 2: Fraction(-1)}, {2: Fraction(3), 0: Fraction(-1)}]
    rows += [{1: Fraction(2), 4: Fraction(-1)}]
    together = extreme_rays([*rows, {x: Fraction(1) for x in range(5)}], 5)  # w ≥ 0 implies the last
    assert sorted(extreme_rays(rows, 5)) == sorted(together)
    assert len(together) == 5
