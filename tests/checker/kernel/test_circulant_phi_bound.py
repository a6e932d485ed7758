"""φ of circulant mechanisms, proven by a tree of boxes: known values, grids, forgeries."""

import copy
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from forgeries.contradicting import judged
from second_checker import opinion

from ldpopt import Status, problem, solve, verify


@pytest.fixture(scope="module")
def five() -> dict[str, Any]:
    return json.loads(
        json.dumps(solve(problem("circulant-fidelity", inputs=5, epsilon=0.3), gap=1e-3).to_json())
    )


@pytest.mark.parametrize(
    ("k", "epsilon", "known"),
    [(4, 0.3, 464.752167325), (5, 0.3, 901.917904485), (6, 0.3, 1489.715990436), (7, 1.2, 97.822039863)],
)
def test_small_circulants_are_proven(k: int, epsilon: float, known: float) -> None:
    """Before, the gaps were 5, 17, 21 and 12 %."""
    result = solve(problem("circulant-fidelity", inputs=k, epsilon=epsilon), gap=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(known, rel=1e-9)
    assert result.bound >= known * (1 - 1e-6)
    assert verify(result)
    claim = next(claim for claim in verify(result).claims if claim.what == "bound")
    assert "circulant" in claim.statement


@pytest.mark.parametrize(
    ("k", "epsilon", "within"),
    [
        (8, 0.3, 0.01),
        pytest.param(9, 1.0, 1e-6, marks=pytest.mark.slow),
        pytest.param(12, 0.3, 0.01, marks=pytest.mark.slow),
    ],
)
def test_larger_circulants(k: int, epsilon: float, within: float) -> None:
    """A part of a box is proven at least as far as the box; the vector of the box does it if need be."""
    result = solve(problem("circulant-fidelity", inputs=k, epsilon=epsilon), gap=within / 10)
    assert result.value <= result.bound * (1 + within)
    assert verify(result)


@pytest.mark.parametrize(("k", "epsilon"), [(4, 0.7), (5, 0.11)])
def test_no_circulant_on_a_grid_is_below(k: int, epsilon: float) -> None:
    """All first rows with entries on nine levels, and their φ from the discrete Fourier transform."""
    result = solve(problem("circulant-fidelity", inputs=k, epsilon=epsilon), gap=1e-6)
    levels = np.linspace(1, math.exp(epsilon), 9)
    rows = np.array(list(itertools.product(levels, repeat=k)))
    power = np.abs(np.fft.fft(rows / rows.sum(axis=1, keepdims=True), axis=1)) ** 2
    with np.errstate(divide="ignore"):
        least = (1 / power).sum(axis=1).min()
    assert result.bound <= least * (1 + 1e-12)
    assert result.value <= least * (1 + 1e-9)


def test_both_checkers_and_forgeries(five: dict[str, Any]) -> None:
    assert five["certificate"]["proof"]["tree"]
    assert judged(five) == opinion(json.dumps(five)) == "verified"

    def said(change: Any) -> str:
        forged = copy.deepcopy(five)
        change(forged)
        first = judged(forged)
        assert first == opinion(json.dumps(forged))
        return first

    def tree(document: dict[str, Any]) -> list[dict[str, Any]]:
        return document["certificate"]["proof"]["tree"]

    leaf = next(i for i, node in enumerate(tree(five)) if node.get("vector"))

    def higher(document: dict[str, Any]) -> None:
        document["bound"] = document["value"] * (1 - 1e-6)
        document["gap"] = 1e-6

    assert said(higher) == "refuted"
    assert said(lambda d: tree(d)[leaf].update(vector=[])) == "refuted"
    for nothing in ([0.0] * 5, [1.0] * 5, [0.0, 1.0, -1.0, 1.0, -1.0]):
        assert said(lambda d, z=nothing: tree(d)[leaf].update(vector=z)) == "refuted"
    assert said(lambda d: tree(d)[leaf].update(vector=[1e30, -1e30, 1.0, 0.0, 0.0])) == "refuted"
    assert (
        said(lambda d: d["certificate"]["proof"].update(tree=[{"vector": [1.0, 0, 0, 0, 0]}]))
        == "refuted"
    )
    assert said(lambda d: tree(d).pop()) == "unreadable"
    assert said(lambda d: tree(d).append({"vector": []})) == "unreadable"
    assert said(lambda d: tree(d)[leaf].update(vector=[1.0] * 4)) == "unreadable"
    assert said(lambda d: tree(d)[leaf].update(vector=[1e31] * 5)) == "unreadable"
    assert said(lambda d: tree(d)[0].update(input=0)) == "unreadable"
    assert said(lambda d: tree(d)[0].update(input=5)) == "unreadable"
    assert said(lambda d: tree(d)[0].update(at=1.0)) == "unreadable"
    assert said(lambda d: tree(d)[0].update(vector=[])) == "unreadable"
    assert said(lambda d: d["certificate"]["proof"].update(tree=[])) == "unreadable"


def test_the_tree_is_not_one_of_squares(five: dict[str, Any]) -> None:
    forged = copy.deepcopy(five)
    forged["problem"] = "square-fidelity"
    assert judged(forged) == opinion(json.dumps(forged)) == "unreadable"
