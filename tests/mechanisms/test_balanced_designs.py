import math

import numpy as np
import pytest

from ldpopt.measures.estimation_fidelity import balanced_phi, block_size, phi, phi_bound
from ldpopt.mechanisms import balanced_designs as designs
from ldpopt.mechanisms import finite_field


@pytest.mark.parametrize("k", range(2, 66))
def test_every_constructed_set_is_one(k: int) -> None:
    for design in designs.difference_sets(k):
        assert designs.is_difference_set(design), design.name
        assert math.prod(design.moduli) == k


def test_a_set_that_is_none() -> None:
    assert not designs.is_difference_set(designs.DifferenceSet("no", (7,), ((0,), (1,), (2,))))


@pytest.mark.parametrize(
    ("k", "m", "low", "high"),
    [
        (7, 3, 0, 0.602),
        (11, 5, 0, 0.371),
        (13, 4, 0.640, 1.007),
        (15, 7, 0, 0.269),
        (19, 9, 0, 0.212),
        (21, 5, 1.040, 1.305),
        (23, 11, 0, 0.175),
        (31, 6, 1.330, 1.538),
        (31, 15, 0, 0.129),
        (35, 17, 0, 0.115),
        (37, 9, 1.064, 1.211),
        (40, 13, 0.675, 0.789),
        (57, 8, 1.743, 1.889),
        (73, 9, 1.901, 2.028),
    ],
)
def test_where_cyclic_sets_are_exactly_optimal(k: int, m: int, low: float, high: float) -> None:
    """The set is constructed, and its circulant meets the bound there only."""
    design = next(d for d in designs.difference_sets(k, cyclic=True) if len(d.elements) == m)
    middle = (low + high) / 2
    circulant = designs.two_level(design.blocks(), middle)
    assert phi(circulant) == pytest.approx(phi_bound(k, middle), rel=1e-9)
    assert block_size(k, max(low, 1e-3) + 6e-4) == m == block_size(k, high - 6e-4)
    assert block_size(k, high + 6e-4) != m
    assert low == 0 or block_size(k, low - 6e-4) != m


def test_blocks_of_a_cyclic_set_are_circulant() -> None:
    blocks = next(designs.singer(13)).blocks()
    for x in range(13):
        np.testing.assert_array_equal(blocks[x], np.roll(blocks[0], x))


def test_noncyclic_sets_are_symmetric_designs_too() -> None:
    for k, m in ((16, 6), (27, 13), (64, 28)):
        design = next(d for d in designs.difference_sets(k) if len(d.elements) == m)
        assert len(design.moduli) > 1
        assert phi(designs.two_level(design.blocks(), 0.4)) == pytest.approx(balanced_phi(k, 0.4, m))


def test_complement() -> None:
    fano = next(designs.singer(7))
    assert fano.parameters == (7, 3, 1)
    assert fano.complement().parameters == (7, 4, 2)
    assert designs.is_difference_set(fano.complement())


@pytest.mark.parametrize("q", [2, 3, 4, 5, 8, 9, 27])
def test_fields(q: int) -> None:
    field = finite_field.Field.of(q)
    assert len(set(field.cycle)) == q - 1
    assert set(field.cycle) | {field.zero} == set(field.elements())
    assert len(field.powers(2)) == (q - 1 if q % 2 == 0 else (q - 1) // 2)


def test_mechanisms_are_private() -> None:
    assert designs.step_mechanism(4, 0.7).epsilon() == pytest.approx(0.7)
    assert designs.subset_selection(5, 0.7, 2).epsilon() == pytest.approx(0.7)
    assert designs.subset_selection(5, 0.7, 2).outputs[0] == (0, 1)
