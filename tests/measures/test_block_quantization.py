"""Quantisation of secrets on blocks: the sampler against the definition, and real sizes."""

import math

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures import leakage
from ldpopt.measures.block_quantization import BlockQuantization
from ldpopt.mechanisms.histograms import histograms


def gap(sums):
    """The difference of two rates, 0 where a group is empty (Wang et al. 2024, VI-D)."""
    first, second = sums[:, 0] + sums[:, 1], sums[:, 2] + sums[:, 3]
    return sums[:, 0] / np.maximum(first, 1) - sums[:, 2] / np.maximum(second, 1)


def example(interval: int) -> BlockQuantization:
    return BlockQuantization(3, [0, 1, 1, 2, 3], gap, [-0.6, -0.1, 0.1, 0.6], interval)


def definition(mechanism: BlockQuantization) -> tuple[np.ndarray, list[int], np.ndarray]:
    space = histograms(mechanism.tau, len(mechanism.blocks))
    cells = np.array([mechanism.cell(row) for row in space])
    rows = [cells == mechanism.released_cell(cell) for cell in cells]
    return np.array([row / row.sum() for row in rows]), cells.tolist(), space


@pytest.mark.parametrize("interval", [1, 2, 3, 5])
def test_leakage(interval: int) -> None:
    mechanism = example(interval)
    matrix, cells, _ = definition(mechanism)
    assert mechanism.cells == 5
    found = leakage.statistic_maximal_leakage(matrix, cells)
    assert found == pytest.approx((mechanism.sml(), mechanism.sml()), abs=1e-9)


@pytest.mark.parametrize("interval", [1, 2, 3])
@pytest.mark.parametrize("missed", [0, 1, 2])
def test_missed_categories(interval: int, missed: int) -> None:
    """From the definition: data are released over the known categories and those they fall into."""

    def share(sums):
        return sums[:, 1] / 4

    known = [0, 0, 1]
    aware = BlockQuantization(4, known + [0] * missed, share, [0.2, 0.4, 0.6, 0.8], interval)
    space = histograms(4, 3 + missed)
    cells = np.array([aware.cell(row) for row in space])
    rows = []
    for data, cell in zip(space, cells, strict=True):
        unseen = [j for j in range(3, 3 + missed) if data[j] == 0]
        row = (cells == aware.released_cell(cell)) & (space[:, unseen] == 0).all(axis=1)
        rows.append(row / row.sum())
    truth, proven = leakage.statistic_maximal_leakage(np.array(rows), cells.tolist())
    assert truth == proven
    found = BlockQuantization(4, known, share, [0.2, 0.4, 0.6, 0.8], interval).missed_bounds(missed)
    assert found.low - 1e-9 <= truth <= found.high + 1e-9
    assert found.high - found.low < 0.25
    if missed == 0:
        assert truth == pytest.approx(found.low) == pytest.approx(found.high)


def test_sampler_is_uniform() -> None:
    mechanism = example(2)
    matrix, _, space = definition(mechanism)
    data = 0
    index = {tuple(row): i for i, row in enumerate(space.tolist())}
    rng, draws = np.random.default_rng(3), 1_500
    seen = np.zeros(len(space))
    for _ in range(draws):
        seen[index[tuple(mechanism.release(space[data], rng).tolist())]] += 1
    expected = matrix[data]
    assert (seen[expected == 0] == 0).all()
    assert (np.abs(seen / draws - expected) <= 5 * np.sqrt(expected / draws)).all()


def test_census_size() -> None:
    blocks = np.arange(27_641) % 5 == 0
    grid = np.linspace(0, 1, 18)[1:-1]
    mechanism = BlockQuantization(48_842, blocks.astype(int), lambda sums: sums[:, 1] / 48_842, grid, 4)
    assert mechanism.cells == 17
    assert mechanism.sml() == math.log(5)
    data = np.zeros(27_641, int)
    data[0] = 48_842
    released = mechanism.release(data, np.random.default_rng(0))
    assert released.sum() == 48_842
    assert mechanism.cell(released) == mechanism.released_cell(mechanism.cell(data))


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="without a gap"):
        BlockQuantization(3, [0, 2], gap, [0.0], 1)
    with pytest.raises(InvalidInputError, match="must increase"):
        BlockQuantization(3, [0, 1], gap, [0.0, 0.0], 1)
    with pytest.raises(InvalidInputError, match="interval"):
        BlockQuantization(3, [0, 1], gap, [0.0], 0)
    with pytest.raises(InvalidInputError, match="cannot be listed"):
        BlockQuantization(10_000, [0, 1, 2, 3], gap, [0.0], 1).sml()
    with pytest.raises(InvalidInputError, match="missed must be a whole number >= 0, not -1"):
        example(1).missed_bounds(-1)
    with pytest.raises(InvalidInputError, match="that sum to 3"):
        example(1).release([1, 1, 1, 1, 1], np.random.default_rng(0))
