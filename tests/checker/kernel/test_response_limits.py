"""Limits of randomised responses: the lines and bounds of the lemmas against mpmath."""

import random
from fractions import Fraction

import mpmath
import pytest

from ldpopt.checker import frame
from ldpopt.checker.kernel.fixed_point import UNIT, units_down
from ldpopt.checker.kernel.proofs.reporting_search import Search
from ldpopt.checker.kernel.proofs.response_limits import line, lowest, most, pair, pair_back, spread
from ldpopt.checker.kernel.proofs.unary_encoding import information

TABLE = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]


def units(x):
    return units_down(x)


def drawn(rng):
    """A limit of each kind, and an E."""
    k, E = rng.choice((2, 3, 7)), rng.choice((1.001, 1.6, 50.0, 4e8))
    b = rng.random() ** 3
    a = b + (1 - b) * rng.random() ** 3
    limits = [spread(k, units(2 * rng.random())), pair(k, units(a), units(b) + 1)]
    return k, E, [*limits, pair_back(k, units(a), units(b) + 1, units(E))]


def test_a_pair_limits_the_response_exactly():
    """The response at the limit has the ratio g; one that is right more often has more."""
    rng = random.Random(1)
    for _ in range(200):
        k, b, g = rng.choice((2, 3, 7)), rng.random(), 1 + rng.random()
        a = b + (1 - b) * rng.random()
        top, bottom = pair(k, units(a), units(b)).at(units(g))
        if a <= g * b * (1 + 1e-9):
            continue
        with mpmath.workdps(50):
            r = mpmath.mpf(top) / bottom
            w = (1 - r) / (k - 1)
            assert mpmath.almosteq((w + (r - w) * a) / (w + (r - w) * b), g, 1e-40)


def test_lines_lie_above_their_limits():
    rng, tried = random.Random(2), 0
    for _ in range(400):
        _, E, limits = drawn(rng)
        low, high = sorted(1 + (E - 1) * rng.random() ** rng.choice((1, 4)) for _ in range(2))
        ends = units(low), units(high)
        for limit in limits:
            found = line(limit, *ends)
            if found is None:
                continue
            tried += 1
            assert max(found) <= UNIT
            for i in range(9):
                g = ends[0] + (ends[1] - ends[0]) * i // 8
                top, bottom = limit.at(g)
                across = Fraction(g - ends[0], max(ends[1] - ends[0], 1))
                assert Fraction(top, bottom) * UNIT <= found[0] + (found[1] - found[0]) * across
    assert tried > 500


def test_lines_are_of_second_order():
    limit = pair(3, units(0.5), units(0.2))
    for width in (1e-2, 1e-3, 1e-4):
        left, right = line(limit, units(1.5), units(1.5 + width))
        middle = lowest([limit], *[units(1.5 + width / 2)] * 2)[0]
        assert abs((left + right) / 2 - middle) / UNIT < 2 * width**2


def truth(p, right):
    """I(X; Y) of randomised response, in mpmath."""
    k = len(p)
    wrong = (1 - right) / (k - 1)
    out = [(right - wrong) * x + wrong for x in p]
    entropy = [-x * mpmath.log(x) if x else mpmath.mpf(0) for x in (*out, right, *[wrong] * (k - 1))]
    return sum(entropy[:k]) - sum(entropy[k:])


def test_information_is_bounded_from_above_and_convex():
    rng = random.Random(3)
    with mpmath.workdps(60):
        for _ in range(100):
            k = rng.choice((2, 3, 5))
            p = [rng.random() ** 4 for _ in range(k)]
            p = [Fraction(x) / sum(map(Fraction, p)) for x in p]
            right = Fraction(1, k) + (1 - Fraction(1, k)) * Fraction(rng.random())
            exact = [mpmath.mpf(x.numerator) / x.denominator for x in p]
            r = mpmath.mpf(units_down(right)) / UNIT
            above = mpmath.mpf(information([units_down(x) for x in p], units_down(right))) / UNIT
            assert 0 <= above - truth(exact, r) < mpmath.mpf(10) ** -50
            step = (1 - r) / 3
            assert truth(exact, r) + truth(exact, r + 2 * step) >= 2 * truth(exact, r + step)


@pytest.mark.parametrize("protocol", ["independent-reporting", "grr-conditional"])
@pytest.mark.parametrize("calibrate", [False, True])
def test_a_range_is_bounded_by_what_it_contains(protocol, calibrate):
    """Every split of a range has at most the bound of the range, and the bound closes in."""
    params = {"epsilon": 1.5, "p_hat": TABLE, "n": 200.0, "calibrate": calibrate}
    question = frame.question(frame.statement(protocol, params))
    search, rng = Search(question, []), random.Random(4)
    for _ in range(40):
        low, high = sorted(UNIT + (search.top - UNIT) * rng.randrange(10**9) // 10**9 for _ in range(2))
        above = search.above([(low, high)])
        inside = low + (high - low) * rng.randrange(10**9) // 10**9
        exact = search.above([(inside, inside)])
        assert exact <= above
        tight = search.above([(inside, inside + UNIT // 10**6)])
        assert tight - exact < UNIT // 10**5


def test_the_bound_of_a_range_needs_its_middle():
    """A product of a falling and a rising line is largest inside."""

    def product(x, y):
        return x * y[0] // UNIT

    ends = UNIT, UNIT // 2
    assert most(product, ends, [ends[::-1]]) >= 9 * UNIT // 16
