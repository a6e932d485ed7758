"""One rule for quadratic forms: it says what all corners, visited one by one in fractions, say."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ldpopt.checker.kernel.budget import UndecidedError
from ldpopt.checker.kernel.proofs.private_cone import boxes
from ldpopt.checker.kernel.proofs.quadratic_forms import QuadraticForm, centred
from ldpopt.checker.kernel.whole_matrix_products import product as matrix_product

E = Fraction(21, 8)


def corners(secrets):
    for box in boxes(secrets):
        yield from product(*({E**i, E**j} for i, j in zip(box.low, box.high, strict=True)))


def dot(a, v):
    return sum(x * y for x, y in zip(a, v, strict=True))


def largest(p, rows, weights, secrets):
    """The largest Σ C (y·v)²/(p·v)/(1·v) over the corners: β = this number everywhere just passes."""
    return max(
        sum(c * dot(y, v) ** 2 for c, y in zip(weights, rows, strict=True)) / dot(p, v) / sum(v)
        for v in corners(secrets)
    )


@pytest.mark.parametrize("secrets", [range(2), range(5), range(11), [0, 0, 1], [0, 1, 1, 0, 2]])
@pytest.mark.parametrize("weighed", [False, True])
def test_the_least_constant_that_passes(secrets, weighed):
    k = len(secrets)
    rng = np.random.default_rng(k)
    p = [Fraction(int(n), 64) for n in rng.integers(0, 9, k)]
    p[0] += 1 - sum(p)
    rows = centred(rng.normal(size=(3, k)).tolist())
    weights = [Fraction(1, 3), Fraction(5), Fraction(2, 7)] if weighed else [Fraction(1)] * 3
    best = largest(p, rows, weights, secrets)
    for factor, passes in ((1 + Fraction(1, 10**30), True), (1 - Fraction(1, 10**30), False)):
        form = QuadraticForm(p, rows, [factor * best] * k, weights if weighed else None)
        assert form.on_corners(secrets, E) is passes


def test_a_negative_price_of_a_corner_is_refused():
    """Both sides may be 0 at a corner where β·v < 0: the inequality alone would not tell."""
    form = QuadraticForm([Fraction(1), Fraction(0)], [[Fraction(0)] * 2], [Fraction(-1)] * 2)
    assert form.on_corners(range(2), E) is False
    assert QuadraticForm([Fraction(1), Fraction(0)], [[Fraction(0)] * 2], [Fraction(1)] * 2).on_corners(
        range(2), E
    )


def test_huge_and_tiny_numbers():
    """Scaling y by t and β by t² changes nothing."""
    p, rows = [Fraction(1, 4), Fraction(3, 4)], [[Fraction(1), Fraction(-1)]]
    best = largest(p, rows, [1], range(2))
    for t in (Fraction(10) ** 40, Fraction(1, 10**100)):
        scaled = [[t * y for y in rows[0]]]
        assert QuadraticForm(p, scaled, [t * t * best * 2] * 2).on_corners(range(2), E)
        assert not QuadraticForm(p, scaled, [t * t * best / 2] * 2).on_corners(range(2), E)


def test_too_many_corners():
    """Both sides of the limit: 2^21 are counted as allowed, 2^22 are not."""
    none = QuadraticForm([Fraction(0)] * 22, [[Fraction(0)] * 22], [Fraction(-1)] * 22)
    with pytest.raises(UndecidedError, match="4194304"):
        none.on_corners(range(22), E)
    few = QuadraticForm([Fraction(0)] * 21, [[Fraction(0)] * 21], [Fraction(-1)] * 21)
    assert few.on_corners(range(21), E) is False


def polar(p, C):
    """The rows of a proof by the singular values of C D^½ Π, rounded, in fractions that sum to 0."""
    A = (C - (C @ p)[:, None]) * np.sqrt(p)
    U, _, V = np.linalg.svd(A, full_matrices=False)
    return centred((U[:, : len(p) - 1] @ V[: len(p) - 1] * np.sqrt(p)).round(12).tolist())


@pytest.mark.parametrize("uniform", [True, False])
def test_one_number_for_all_corners(uniform):
    """It passes where β is just above τp, and nothing passes that some corner refutes."""
    rng = np.random.default_rng(5)
    for k in (2, 3, 6, 9):
        counts = [1] * k if uniform else rng.integers(1, 9, k).tolist()
        p = [Fraction(int(n), int(sum(counts))) for n in counts]
        rows = polar(np.array(counts) / sum(counts), np.tri(k))
        shares = [Fraction(m, k) for m in range(k + 1)] if uniform else [1 / (E + 1)]
        most = max(x * (1 - x) * (E - 1) ** 2 / (1 + x * (E - 1)) ** 2 for x in shares)
        for factor, passes in ((1 + Fraction(1, 10**8), True), (1 - Fraction(1, 10**8), False)):
            form = QuadraticForm(p, rows, [factor * most * x for x in p])
            assert form.on_spread(E) is passes
            assert not passes or form.on_corners(range(k), E)
            if uniform:  # some corner attains τ
                assert form.on_corners(range(k), E) is passes
        for _ in range(20):
            drawn = centred(rng.normal(size=(2, k)).tolist())
            price = [Fraction(x) for x in rng.exponential(4, k).tolist()]
            form = QuadraticForm(p, drawn, price)
            assert form.on_corners(range(k), E) or not form.on_spread(E)


def test_one_number_needs_its_assumptions():
    """Rows that do not sum to 0, an input without probability, weights, negative prices."""
    p, half = [Fraction(1, 2)] * 2, Fraction(1, 2)
    rows, price = [[Fraction(1), Fraction(-1)]], [Fraction(9)] * 2
    assert QuadraticForm(p, rows, price).on_spread(E)
    assert not QuadraticForm(p, [[Fraction(1), Fraction(0)]], price).on_spread(E)
    assert not QuadraticForm([Fraction(1), Fraction(0)], rows, price).on_spread(E)
    assert not QuadraticForm([half, half / 2], rows, price).on_spread(E)
    assert not QuadraticForm(p, rows, price, [half]).on_spread(E)
    assert not QuadraticForm(p, rows, [Fraction(-1), Fraction(100)]).on_spread(E)


def test_products_of_whole_numbers():
    rng = np.random.default_rng(0)
    for n, inner, m, bits in ((1, 1, 1, 1), (3, 5, 2, 8), (2, 3, 7, 200)):
        scale = 1 << bits
        A, B = (
            [[int(x * 1000) * scale // 7 for x in row] for row in rng.normal(size=shape)]
            for shape in ((n, inner), (m, inner))
        )
        assert matrix_product(A, B) == [[dot(a, b) for b in B] for a in A]
    assert matrix_product([[0, 0]], [[0, 0], [-1, 1]]) == [[0, 0]]
    assert matrix_product([[-4]], [[2], [-2]]) == [[-8, 8]]
