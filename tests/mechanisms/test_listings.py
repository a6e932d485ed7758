"""Every composition once, in lexicographic order."""

import math
from itertools import product

import pytest

from ldpopt.mechanisms.listings import compositions


@pytest.mark.parametrize(("n", "parts"), [(0, 1), (5, 1), (0, 3), (4, 2), (6, 4), (3, 5)])
def test_against_all_tuples(n: int, parts: int) -> None:
    expected = [row for row in product(range(n + 1), repeat=parts) if sum(row) == n]
    assert compositions(n, parts).tolist() == [list(row) for row in expected]
    assert len(expected) == math.comb(n + parts - 1, parts - 1)
