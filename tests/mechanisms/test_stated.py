"""Encodings stated by their parameters: their exact laws, samplers, moments and levels."""

import itertools
import math

import numpy as np
import pytest
from laws import law

from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms.randomizer import seeded_words
from ldpopt.mechanisms.stated import encoding

UNARY = {"kind": "unary", "inputs": 4, "own": 0.5, "other": 0.25}
SUBSET = {"kind": "subset", "inputs": 5, "own": 0.75, "size": 2}
HASHING = {"kind": "hashing", "inputs": 7, "own": 0.625, "buckets": 3}
HADAMARD = {"kind": "hashing", "inputs": 6, "own": 0.75, "buckets": 2}
ALL = [UNARY, SUBSET, HASHING, HADAMARD]


def expected(plain, x, value):
    return sum(chance * value(np.array(bits)) for _, bits, chance in law(plain, x))


@pytest.mark.parametrize("plain", ALL, ids=lambda plain: f"{plain['kind']}-{plain['inputs']}")
def test_laws_levels_and_moments(plain):
    """Probabilities, level, what is said of two inputs, and second moments, all against the law."""
    made, k = encoding(plain), plain["inputs"]
    laws = [list(law(plain, x)) for x in range(k)]
    assert all(sum(chance for *_, chance in found) == 1 for found in laws)
    ratios = [
        a[-1] / b[-1]
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
def test_reports_support_their_sets(plain):
    """Of all reports of the law; that the sampler draws them as often is shown where it is exported."""
    made = encoding(plain)
    texts, sets, _ = zip(*law(plain, 2), strict=True)
    packed = np.packbits(np.array(sets, dtype=bool), axis=1) if made.sets else np.array(texts, dtype=int)
    assert (made.supports(packed) == np.array(sets, dtype=bool)).all()
    assert (made.tallied(packed)[:-1] == np.sum(sets, axis=0)).all()
    x = np.arange(len(sets)) * 3 % made.inputs
    assert (made.supported(packed, x) == np.array(sets)[np.arange(len(sets)), x]).all()


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
        ({"kind": "other"}, "unknown encoding 'other'"),
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
