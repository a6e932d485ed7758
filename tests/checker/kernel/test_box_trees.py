"""The leaves of a tree of cuts: their parts are together the whole box, or the file is unreadable."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt.checker.kernel.proofs.box_trees import Division
from ldpopt.checker.kernel.reading import UnreadableError

BOXES = Division("input", ("price", "cuts"), "certificate.proof.tree", Fraction)
LEAF: dict[str, Any] = {"price": 0, "cuts": []}


def cut(i: int, at: float) -> dict[str, Any]:
    return {"input": i, "at": at}


@st.composite
def trees(draw: st.DrawFn, low: tuple[int, ...] = (0, 0), high: tuple[int, ...] = (8, 8)) -> list[Any]:
    """Draw a tree over the square from 0 to 8, cut at whole numbers."""
    places = [(i, c) for i in range(2) for c in range(low[i] + 1, high[i])]
    if not places or draw(st.booleans()):
        return [LEAF]
    i, c = draw(st.sampled_from(places))
    left = tuple(c if j == i else end for j, end in enumerate(high))
    right = tuple(c if j == i else end for j, end in enumerate(low))
    return [cut(i, c), *draw(trees(low, left)), *draw(trees(right, high))]


@given(trees())
def test_the_parts_of_the_leaves_are_the_whole_box(tree: list[Any]) -> None:
    parts = [(low, high) for _, low, high in BOXES.leaves(tree, [Fraction(0)] * 2, [Fraction(8)] * 2)]
    for x in range(8):
        for y in range(8):
            middle = Fraction(2 * x + 1, 2), Fraction(2 * y + 1, 2)
            inside = [
                all(a < m < b for a, m, b in zip(low, middle, high, strict=True)) for low, high in parts
            ]
            assert sum(inside) == 1


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([], "ends before its last leaf"),
        ([cut(0, 4), LEAF], "ends before its last leaf"),
        ([LEAF, LEAF], "goes on after its last leaf"),
        ([cut(0, 4), LEAF, LEAF, cut(0, 4)], "goes on after its last leaf"),
        ([cut(0, 0), LEAF, LEAF], "must cut each part inside"),
        ([cut(0, 8), LEAF, LEAF], "must cut each part inside"),
        ([cut(2, 4), LEAF, LEAF], "must cut each part inside"),
        ([cut(0, 4), cut(0, 5), LEAF, LEAF, LEAF], "must cut each part inside"),
        ([LEAF | {"at": 4}], "needs input and at, or price and cuts"),
        ([{"input": 0}], "needs input and at, or price and cuts"),
    ],
)
def test_a_list_that_is_not_a_tree_is_unreadable(tree: list[Any], message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        list(BOXES.leaves(tree, [Fraction(0)] * 2, [Fraction(8)] * 2))
