"""A lower bound on φ of mechanisms with as many outputs as inputs: a tree of boxes of all their columns.

Notation. W is a square ε-LDP mechanism on K inputs with φ(W) < ∞, w_y its columns, none of them 0. Let
w_y be a multiple of 1 + (E − 1) t_y, scaled so that the least entry of t_y is 0: t_y is in [0, 1]^K. All
K² entries t_yx together are a point; entry y K + x is t_yx.

Lemma 1 (order). Renaming inputs and outputs leaves φ as it is. So it is enough to look at points where
t_00 is a largest entry, t_10 ≥ … ≥ t_{K−1,0} and t_01 ≥ … ≥ t_{0,K−1}. ∎ Those whose entries other than
0 are all different are dense among them: move the entries; the inverse of the matrix of the columns
moves continuously, and with it their weights, which stay positive, and φ. So a bound on φ of these holds
for all. Such a point is in no box where an entry that is to be the larger one is nowhere larger than the
other (they would be equal, and not 0, as boxes have a width), and in none where a column has no entry
that can be 0.

Lemma 2 (leaf). Let y_1 … y_K sum to 0, and Σ_i (y_i·T)² ≤ (β·T)(1·T), β·T ≥ 0, for T = 1 + (E − 1) t, t
any corner of the box of any column. Then φ(W) − 1 ≥ (Σ_i y_ii)²/Σβ for all points in the box. Proof. H =
Σ_y w_y w_yᵀ/(1·w_y) has H1 = 1, and φ − 1 is the trace of its inverse on the vectors that sum to 0. By
Cauchy–Schwarz (Σ_i y_ii)² ≤ (φ − 1) Σ_i y_iᵀHy_i, and Σ_i y_iᵀHy_i ≤ Σβ by Lemma 1 of
``quadratic_forms.py``: the columns of W lie in the cone that all those corners generate. ∎

The leaves of a tree of cuts are the whole box [0, 1]^{K²} (``box_trees.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from ..budget import reserve
from ..fixed_point import units_down
from ..reading import UnreadableError
from ..schema import List, Number, Record, Whole
from .box_trees import Division
from .quadratic_forms import QuadraticForm, centred, count_vectors, raised

BOXES = Division("entry", ("Y", "beta"), "certificate.proof.boxes", Fraction)
NUMBERS = List(Number(-1e30, 1e30))
NODE = {"entry": Whole(0, 10_000), "at": Number(0, 1), "Y": List(NUMBERS), "beta": NUMBERS}
TREE = List(Record({}, NODE), 1)
"""The nodes of a tree: a cut of an entry at a number, or a leaf, empty where Lemma 1 sees no point."""


def square_phi_proven(k: int, E: Fraction, target: Fraction, tree: Sequence[dict[str, Any]]) -> bool:
    """Return whether the tree proves φ(W) ≥ ``target`` for all square mechanisms.

    Args:
        k: the number K of inputs and outputs.
        E: a rational just above e^ε.
        target: Φ, above 1.
        tree: the nodes.

    Raises:
        UnreadableError: the list is not a tree, or a leaf has not K rows of K entries and K of beta.
        UndecidedError: the leaves have too many corners.
    """
    reserve(4 * k * k, "the columns of a point")
    excess, visited, holds = raised(E) - 1, 0, True
    for leaf, low, high in BOXES.leaves(tree, [Fraction(0)] * k**2, [Fraction(1)] * k**2):
        Y, beta = leaf["Y"], leaf["beta"]
        if not Y and not beta:
            holds = holds and _outside(k, low, high)
            continue
        if {len(Y), len(beta), *map(len, Y)} != {k}:
            raise UnreadableError(
                f"a leaf of certificate.proof.boxes must have {k} rows of {k} entries as Y, and {k} of "
                "beta"
            )
        ranges = list(zip(low, high, strict=True))
        columns = {tuple(ranges[y : y + k]) for y in range(0, k * k, k)}
        visited += len(columns) << k
        count_vectors(visited)
        if holds:
            rows, paid = centred(Y), list(map(Fraction, beta))
            trace = sum(row[i] for i, row in enumerate(rows))
            form = QuadraticForm([Fraction(1)] * k, rows, paid)
            holds = 0 < (target - 1) * sum(paid) <= trace**2 and all(
                form.on_product([[(units_down(1 + excess * t),) for t in ends] for ends in column])
                for column in columns
            )
    return holds


def _outside(k: int, low: Sequence[Fraction], high: Sequence[Fraction]) -> bool:
    """Return whether no point of Lemma 1 with different entries is in the box."""
    unordered = any(high[a] <= low[b] for a, b in _ordered(k))
    return unordered or any(min(low[y : y + k]) > 0 for y in range(0, k * k, k))


def _ordered(k: int) -> Iterator[tuple[int, int]]:
    """Yield the entries of which the first must be at least the second."""
    yield from ((0, entry) for entry in range(1, k * k))
    yield from ((y * k, (y + 1) * k) for y in range(1, k - 1))
    yield from ((x, x + 1) for x in range(1, k - 1))
