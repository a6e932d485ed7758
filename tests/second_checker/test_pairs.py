"""Two secrets told apart over the χ² set: what is not proven private is told apart by a member."""

import random
from fractions import Fraction

import pytest
from mpmath import iv

from second_checker.confidence import Robust
from second_checker.intervals import interval, top
from second_checker.pairs import Pair, two_thirds

TABLES = {
    "plain": ([[0.3, 0.2], [0.1, 0.4]], 1000),
    "with an empty cell": ([[0.3, 0.0, 0.2], [0.1, 0.3, 0.1]], 50),
    "all but known": ([[0.3, 0.2], [0.1, 0.4]], 1e12),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_level_of_a_pair(name):
    """The least level that is proven, and the largest that a member breaks, are the same to 1e-7."""
    table, n = TABLES[name]
    robust, draw = Robust({"epsilon": 1.0, "p_hat": table, "n": n}), random.Random(name)
    for flat in (False, True):
        column = [Fraction(draw.randint(1, 64), 64) for _ in range(robust.cells)]
        if flat:  # nothing moves the second secret
            column[len(table[0]) :] = [column[-1]] * len(table[0])
        low, high = Fraction(-5), Fraction(5)
        while high - low > 1e-7:
            middle = (low + high) / 2
            holds = Pair(robust, 0, 1, column, iv.exp(interval(middle))).holds()
            assert holds is not None or high - low < 1e-5
            low, high = (low, middle) if holds else (middle, high)
        assert Pair(robust, 0, 1, column, iv.exp(interval(low - Fraction(1, 10**7)))).holds() is False


def test_an_output_that_a_secret_never_has():
    robust = Robust({"epsilon": 1.0, "p_hat": TABLES["plain"][0], "n": 1000})
    E = iv.exp(interval(1))
    assert Pair(robust, 0, 1, [1, 1, 0, 0], E).holds() is False
    assert Pair(robust, 1, 0, [1, 1, 0, 0], E).holds() is True


def test_powers():
    assert top(two_thirds(interval(8))) - 4 < 1e-50
    assert two_thirds(iv.mpf([0, 8])).a == 0
