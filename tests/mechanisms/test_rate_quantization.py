"""Quantisation of a difference of two rates against the list of all histograms."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import comb, logsumexp

from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms.rate_quantization import RateQuantization

BLOCKS = [0, 1, 1, 2, 3, 3, 3]


def listed(tau, cells):
    """Every vector of four counts, with its number of histograms, by its cell (in exact fractions)."""
    mechanism = RateQuantization(tau, BLOCKS, cells, 1)
    found = {}
    for counts in itertools.product(range(tau + 1), repeat=4):
        if sum(counts) == tau:
            histogram = [counts[0], counts[1], 0, counts[2], counts[3], 0, 0]
            ways = math.prod(
                comb(n + m - 1, m - 1, exact=True) for n, m in zip(counts, (1, 2, 1, 3), strict=True)
            )
            found.setdefault(mechanism.cell(histogram), {})[counts] = ways
    return found


@pytest.mark.parametrize(("tau", "cells"), [(8, 3), (9, 4), (12, 5)])
def test_the_weights_are_those_of_the_list(tau, cells):
    mechanism = RateQuantization(tau, BLOCKS, cells, 1)
    every = listed(tau, cells)
    assert sorted(every) == list(range(cells))
    for cell, counted in every.items():
        sizes, weights = mechanism._group_sizes(cell)
        assert logsumexp(weights) == pytest.approx(math.log(sum(counted.values())), abs=1e-9)
        for inside, weight in zip(sizes.tolist(), weights, strict=True):
            mine = {c: w for c, w in counted.items() if c[0] + c[1] == inside}
            assert math.exp(weight) == pytest.approx(sum(mine.values()), rel=1e-9)
            marked, (first, last) = mechanism._marked(inside, cell)
            for a in range(inside + 1):
                assert math.exp(marked[a]) == pytest.approx(
                    sum(w for c, w in mine.items() if c[0] == a), rel=1e-9, abs=1e-9
                )
                within = {c[2] for c in mine if c[0] == a}
                assert within == set(range(int(first[a]), int(last[a]) + 1))


def test_the_draws_follow_the_weights():
    mechanism, rng = RateQuantization(8, BLOCKS, 3, 1), np.random.default_rng(0)
    counted = listed(8, 3)[1]
    total, draws = sum(counted.values()), 4000
    seen = Counter(tuple(mechanism.draw_counts(1, rng)) for _ in range(draws))
    assert set(seen) <= set(counted)
    chi = sum((seen[c] - draws * w / total) ** 2 / (draws * w / total) for c, w in counted.items())
    assert chi < len(counted) + 5 * math.sqrt(2 * len(counted))


def test_a_release_has_the_middle_cell_of_the_bin():
    mechanism, rng = RateQuantization(30, BLOCKS, 7, 3), np.random.default_rng(1)
    histogram = [10, 5, 0, 3, 12, 0, 0]
    assert mechanism.cell(histogram) == 5  # 10/15 − 3/15 = 7/15, (7/15 + 1)·7/2 = 5.1
    assert (mechanism.released_cell(5), mechanism.released_cell(6)) == (4, 6)
    assert math.exp(mechanism.sml()) == pytest.approx(3)
    for _ in range(20):
        released = mechanism.release(histogram, rng)
        assert released.sum() == 30
        assert mechanism.cell(released) == 4


def test_far_cells_of_many_records_keep_their_weight():
    """In the outermost cells prefix sums of plain numbers would be lost below the largest ones."""
    blocks = np.repeat([0, 1, 2, 3], [30, 60, 20, 80])
    mechanism, rng = RateQuantization(400, blocks, 9, 1), np.random.default_rng(2)
    for cell in (0, 8):
        histogram = np.zeros(len(blocks), int)
        histogram[[0, 30, 90, 110]] = mechanism.draw_counts(cell, rng)  # the first of each block
        assert mechanism.cell(histogram) == cell


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"blocks": [0, 1, 2]}, "each at least once"),
        ({"cells": 5}, "at most tau/2 = 4"),
        ({"interval": 0}, "interval"),
    ],
)
def test_bad_parameters(changed, told):
    with pytest.raises(InvalidInputError, match=told):
        RateQuantization(**({"tau": 8, "blocks": BLOCKS, "cells": 3, "interval": 1} | changed))


def test_a_histogram_of_another_size():
    with pytest.raises(InvalidInputError, match="that sum to 8"):
        RateQuantization(8, BLOCKS, 3, 1).cell([1, 0, 0, 0, 0, 0, 0])
