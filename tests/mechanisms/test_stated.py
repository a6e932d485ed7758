"""Encodings stated by their parameters: their exact laws, samplers, moments and levels."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms.stated import encoding
from ldpopt.release.sampling import seeded_words

UNARY = {"kind": "unary", "inputs": 4, "own": 0.5, "other": 0.25}
SUBSET = {"kind": "subset", "inputs": 5, "own": 0.75, "size": 2}
HASHING = {"kind": "hashing", "inputs": 7, "own": 0.625, "buckets": 3}
HADAMARD = {"kind": "hashing", "inputs": 6, "own": 0.75, "buckets": 2}
ALL = [UNARY, SUBSET, HASHING, HADAMARD]


def law(plain, x):
    """Every report's supported set and probability for the input x, by the definitions."""
    k, p = plain["inputs"], Fraction(plain["own"])
    if plain["kind"] == "unary":
        q = Fraction(plain["other"])
        for bits in itertools.product((0, 1), repeat=k):
            chances = [p if z == x else q for z in range(k)]
            yield bits, math.prod(c if b else 1 - c for b, c in zip(bits, chances, strict=True))
    elif plain["kind"] == "subset":
        m = plain["size"]
        for chosen in itertools.combinations(range(k), m):
            inside = p / math.comb(k - 1, m - 1), (1 - p) / math.comb(k - 1, m)
            yield tuple(int(z in chosen) for z in range(k)), inside[0 if x in chosen else 1]
    else:
        g = plain["buckets"]
        size = next(d for d in itertools.count(1) if g**d >= k)
        digits = [[z // g**i % g for i in range(size)] for z in range(k)]
        points = digits if g == 2 else [[*d, *(v * v for v in d)] for d in digits]
        for seed in itertools.product(range(g), repeat=len(points[0])):
            buckets = [sum(a * v for a, v in zip(seed, point, strict=True)) % g for point in points]
            for told in range(g):
                chance = p if told == buckets[x] else (1 - p) / (g - 1)
                yield tuple(int(b == told) for b in buckets), chance / g ** len(seed)


def expected(plain, x, value):
    return sum(chance * value(np.array(bits)) for bits, chance in law(plain, x))


@pytest.mark.parametrize("plain", ALL, ids=lambda plain: f"{plain['kind']}-{plain['inputs']}")
def test_laws_levels_and_moments(plain):
    """Probabilities, level, what is said of two inputs, and second moments, all against the law."""
    made, k = encoding(plain), plain["inputs"]
    laws = [list(law(plain, x)) for x in range(k)]
    assert all(sum(chance for _, chance in found) == 1 for found in laws)
    ratios = [
        a[1] / b[1]
        for x, z in itertools.permutations(range(k), 2)
        for a, b in zip(laws[x], laws[z], strict=True)
    ]
    assert max(ratios) == made.exact.ratio
    for x, z in itertools.permutations(range(min(k, 4)), 2):
        assert expected(plain, x, lambda bits, x=x: int(bits[x])) == made.exact.own
        assert expected(plain, x, lambda bits, z=z: int(bits[z])) == made.exact.other
    pair = [
        [float(expected(plain, x, lambda bits, y=y: int(bits[0] + 2 * bits[1] == y))) for y in range(4)]
        for x in (0, 1)
    ]
    assert np.allclose(pair, made.pair.matrix, atol=1e-15)
    for size in (1, 2, 3, k):
        inside, outside = made.squares(np.array([float(size)]))
        gain, shift = made.exact.own - made.exact.other, size * made.exact.other

        def square(bits, size=size, shift=shift, gain=gain):
            return ((int(bits[:size].sum()) - shift) / gain) ** 2

        assert math.isclose(inside[0], expected(plain, 0, square), rel_tol=1e-12)
        if size < k:
            assert math.isclose(outside[0], expected(plain, k - 1, square), rel_tol=1e-12)


@pytest.mark.parametrize("plain", ALL, ids=lambda plain: f"{plain['kind']}-{plain['inputs']}")
def test_the_sampler_draws_the_law(plain):
    """A χ² test of 40,000 reports of one input; reports are read as sets by ``supports``."""
    made, n = encoding(plain), 40_000
    reports = made.sample(np.full(n, 2), seeded_words(1))
    sets = made.supports(reports)
    assert (made.counted(reports) == sets.sum(axis=0)).all()
    assert (made.supports(reports, [3, 1]) == sets[:, [3, 1]]).all()
    chances = {}
    for bits, chance in law(plain, 2):
        chances[bits] = chances.get(bits, 0) + chance
    seen, times = np.unique(sets.astype(int), axis=0, return_counts=True)
    found = {tuple(row): count for row, count in zip(seen.tolist(), times.tolist(), strict=True)}
    assert set(found) <= {bits for bits, chance in chances.items() if chance}
    statistic = sum((found.get(b, 0) - n * c) ** 2 / (n * c) for b, c in chances.items())
    assert statistic < len(chances) + 5 * math.sqrt(2 * len(chances))


@pytest.mark.parametrize("plain", ALL, ids=lambda plain: f"{plain['kind']}-{plain['inputs']}")
def test_a_part_of_the_rows_has_the_same_reports(plain):
    """Each report takes the same number of words, so that later ones can be drawn alone."""
    made, x = encoding(plain), np.arange(50) % plain["inputs"]
    whole = made.sample(x, seeded_words(3))
    assert (whole[20:] == made.sample(x[20:], seeded_words(3, 20 * made.words))).all()


def test_words_that_would_favour_some_are_drawn_again():
    """The largest words are refused where g does not divide 2^64, and tied keys are drawn again."""
    ones = np.full(6, 2**64 - 1, dtype=np.uint64)
    given = [ones]

    def words(count):
        return given.pop() if given else seeded_words(0)(count)

    assert encoding(HASHING).sample(np.array([0]), words).shape == (1,)
    assert not given
    given.append(np.zeros(6, dtype=np.uint64))
    sets = encoding(SUBSET)
    assert sets.supports(sets.sample(np.array([4]), words)).sum() == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"own": 0.3}, "multiple of 2\\^-52"),
        ({"other": 0.1}, "multiple of 2\\^-52"),
        ({"own": 0.25}, "more often"),
        ({"kind": "other"}, "one of unary, subset, hashing"),
        ({"size": 2}, "no key 'size'"),
    ],
)
def test_bad_parameters(change, said):
    with pytest.raises(InvalidInputError, match=said):
        encoding({**UNARY, **change})


def test_buckets_must_be_prime():
    with pytest.raises(InvalidInputError, match="prime, not 4"):
        encoding({**HASHING, "buckets": 4})
    with pytest.raises(InvalidInputError, match="below the 5 inputs, not 5"):
        encoding({**SUBSET, "size": 5})
