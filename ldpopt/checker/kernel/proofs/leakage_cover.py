"""A bound on the utility under a floor on the average privacy: a tree of boxes of all private columns.

The price π ≥ 0 of the leakage ℓ and the slope g of the utility at a reference are those of
:mod:`asymptotic_utility`, D_v(a) = v_a − v_k:

    g(v) = Σ_i w_i D_vᵀ F⁰(p_i)⁻¹ D_v/(v·p_i)/(2k − 2).

The columns of the reference are any positive ones. If all α are equal, each stands for all its different
renamings, and g is the mean over the renamings of v.

Lemma 1 (columns). Let c ≥ e^ε − 1. Every column of an ε-LDP mechanism, but that of zeros, is a multiple
of one with an entry 1 and the others from 1 to 1 + c: of a point of one of k boxes. If all α are equal,
g and ℓ do not change under renaming, and it is enough to look at v_1 ≥ … ≥ v_k = 1: at one box, and in
it at parts whose lower ends do not increase with x, nor their upper ends (:func:`_ordered`). ∎

Lemma 2 (leaf). Let y be at most the derivative of ℓ at some u > 0, entry by entry. If g(v) ≤ (β + π y)·v
at the corners of a part of a box, then g(v) ≤ β·v + π ℓ(v) in all of it. Proof. g is convex, as every
D_vD_vᵀ/(v·p) is, so g(v) − (β + π y)·v is largest at a corner; and y·v ≤ ℓ(v) (lemma of the slopes in
:mod:`dirichlet_logarithms`), as v > 0. ∎

The leaves of the trees of cuts hold the boxes (``box_trees.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, product
from math import factorial, prod
from operator import le, mul
from typing import Any

from .. import fixed_point as units
from ..arithmetic import Interval, between
from ..budget import reserve, tick
from ..reading import UnreadableError
from ..schema import List, Number, Record, Whole
from .asymptotic_bound import bound_above
from .asymptotic_value import CONTRAST_BITS, DesignStatement, utility_of
from .box_trees import Division
from .dirichlet_logarithms import expected_entropy, leakage_slopes
from .dirichlet_points import BITS, UNIT, prior_points
from .fisher_information import WholeInverse, information

Column = tuple[int, ...]
"""A column v ≥ 1, in whole multiples of 2^−CONTRAST_BITS."""
PLACE = "certificate.proof.cover"
BOXES = Division("entry", ("tangent",), f"{PLACE}.trees", lambda at: int(at * (1 << CONTRAST_BITS)))
NODE = {"entry": Whole(0, 100), "at": Number(1, 1e14), "tangent": Whole(0, 10**6)}
COVER = Record(
    {"tangents": List(List(Number(1, 1e14)), 1), "trees": List(List(Record({}, NODE), 1), 1)},
)
"""Points u of tangents; a tree for every box, whose leaves name a tangent by its place."""
POSITIVE = Number(above=0, most=1e14)


def prior_entropy(question: DesignStatement) -> Interval:
    """Enclose H(X | P) under the prior."""
    return expected_entropy(list(map(Fraction, question.alpha)))


class Cover:
    """The reference and the leaves of a proof, for any β.

    Args:
        proof: "reference", "price" and "cover"; the leaves are read once.
        question: the utility to maximise, with a floor on the average privacy.

    Raises:
        UnreadableError: the trees are not of the boxes, or a leaf names no tangent.
    """

    def __init__(self, proof: dict[str, Any], question: DesignStatement) -> None:
        self.question, self.k = question, len(question.alpha)
        self.price = Fraction(proof["price"])
        self.reference = read_columns(proof["reference"], self.k)
        self.tangents = proof["cover"]["tangents"]
        if any(len(u) != self.k for u in self.tangents):
            raise UnreadableError(f"{PLACE}.tangents must be lists of {self.k} numbers")
        self.leaves = list(self._leaves(proof["cover"]["trees"]))
        self._known: dict[Column, int] = {}

    def _leaves(self, trees: list[list[dict[str, Any]]]) -> Iterator[tuple[int, list[Column]]]:
        """Yield the tangent and the corners of every leaf."""
        boxes = 1 if self.question.equal else self.k
        if len(trees) != boxes:
            raise UnreadableError(f"{PLACE}.trees must be {boxes}, not {len(trees)}")
        one = 1 << CONTRAST_BITS
        top = one + int(self.question.contrast * one)
        for least, tree in enumerate(trees, self.k - boxes):
            most = [top] * self.k
            most[least] = one
            for leaf, *ends in BOXES.leaves(tree, [one] * self.k, most):
                if leaf["tangent"] >= len(self.tangents):
                    raise UnreadableError(
                        f"a leaf of {PLACE}.trees must name one of {len(self.tangents)} tangents"
                    )
                low, high = _ordered(*ends) if self.question.equal else ends
                if all(map(le, low, high)):
                    corners = list(product(*({a, b} for a, b in zip(low, high, strict=True))))
                    reserve(2 * self.k * len(corners), "the corners of a part")
                    yield leaf["tangent"], corners

    @cached_property
    def _points(self) -> tuple[Interval, list[tuple[list[int], int, WholeInverse]]] | None:
        """Enclose Φ at the reference, and F⁰⁻¹ with each point; None if some F⁰ may be singular."""
        columns = [own for v in self.reference for own in self._renamed(v)]
        whole, common = units.whole(entry for column in columns for entry in column)
        rows = [whole[i : i + self.k] for i in range(0, len(whole), self.k)]
        low, high, found = 0, 0, []
        rule = prior_points(self.question.alpha, self.question.epsilon)
        for p, w in zip(rule.points, rule.weights, strict=True):
            tick()
            F = information(rows, common.bit_length() - 1, p, UNIT).trimmed().solved()
            if F is None:
                return None
            ends = F.log_determinant()
            low, high = low + w * ends[0], high + w * ends[1]
            found.append((p, w, F.inverse_above()))
        return utility_of(between(low, high, BITS + units.BITS), self.k), found

    @property
    def value(self) -> Interval | None:
        """Φ at the reference, enclosed; None if some F⁰ may be singular."""
        return self._points and self._points[0]

    def _renamed(self, column: tuple[Any, ...]) -> Sequence[tuple[Any, ...]]:
        """List the columns that one stands for."""
        return renamings(tuple(sorted(column))) if self.question.equal else [column]

    def _slope(self, v: Column) -> int:
        """Bound g(v) from above, in whole multiples of 2^−(BITS + CONTRAST_BITS)."""
        v = tuple(sorted(v)) if self.question.equal else v
        if v not in self._known:
            assert self._points is not None
            columns, found = self._renamed(v), 0
            for p, w, inverse in self._points[1]:
                tick()
                for own in columns:
                    D = [entry - own[-1] for entry in own[:-1]]
                    square = inverse.radius * sum(map(abs, D)) ** 2
                    for d, row in zip(D, inverse.entries, strict=True):
                        square += d * sum(map(mul, D, row))
                    found += w * square // sum(map(mul, own, p)) + 1
            self._known[v] = units.ratio_up(found, (2 * self.k - 2) * len(columns))
        return self._known[v]

    @cached_property
    def _derivatives(self) -> list[list[Fraction]]:
        """π y of every tangent."""
        exact = list(map(Fraction, self.question.alpha))
        if not self.price:
            return [[Fraction(0)] * self.k for _ in self.tangents]
        found = (leakage_slopes(list(map(Fraction, u)), exact) for u in self.tangents)
        return [[self.price * Fraction(y.low) for y in slopes] for slopes in found]

    def shortage(self, dual: Sequence[float]) -> Fraction:
        """Find by how much Σβ must be raised, alike for all inputs; at most 0 if all leaves hold.

        Args:
            dual: β, an entry per input; their sum if all α are equal.
        """
        exact = list(map(Fraction, dual))
        beta = [exact[0] / self.k] * self.k if self.question.equal else exact
        weights = [
            [units.units_down(b + y) for b, y in zip(beta, own, strict=True)]
            for own in self._derivatives
        ]
        worst = (
            Fraction(self._slope(v) - sum(map(mul, weights[tangent], v)), sum(v))
            for tangent, corners in self.leaves
            for v in corners
        )
        return self.k * max(worst, default=Fraction(0)) / units.UNIT

    def proven(self, dual: list[float]) -> Fraction | None:
        """Compute the largest utility that the proof allows with β, rounded up; None if it fails."""
        if self.value is None or self.shortage(dual) > 0:
            return None
        return self.bound(dual)

    def bound(self, dual: list[float]) -> Fraction:
        """Compute Φ(reference) − ½ + Σβ + π (1 − floor) H, rounded up.

        Args:
            dual: β, an entry per input; their sum if all α are equal.
        """
        assert self.value is not None
        assert self.question.floor is not None
        allowed = (1 - Fraction(self.question.floor)) * Fraction(prior_entropy(self.question).high)
        return bound_above(self.value, dual) + self.price * allowed


def _ordered(low: list[int], high: list[int]) -> tuple[list[int], list[int]]:
    """Cut off what of a part holds no v_1 ≥ … ≥ v_k; if it holds none, ends are the wrong way round."""
    return list(accumulate(reversed(low), max))[::-1], list(accumulate(high, min))


@lru_cache(maxsize=4096)
def renamings(column: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """List the different orders of the entries of a column."""
    counts = [column.count(x) for x in set(column)]
    reserve(factorial(len(column)) // prod(map(factorial, counts)) * len(column), "renamed columns")
    if len(column) == 1:
        return [column]
    found = []
    for x in sorted(set(column)):
        i = column.index(x)
        found += [(x, *rest) for rest in renamings(column[:i] + column[i + 1 :])]
    return found


def read_columns(pairs: list[Any], k: int) -> list[tuple[Fraction, ...]]:
    """Read the columns of a reference from pairs [column, weight], and multiply them."""
    found = []
    for i, (column, weight) in enumerate(pairs):
        where = f"certificate.proof.reference[{i}]"
        if not isinstance(column, tuple) or len(column) != k:
            raise UnreadableError(f"{where} must start with a column of {k} numbers")
        entries = [POSITIVE.read(entry, where) for entry in column]
        share = Fraction(POSITIVE.read(weight, where))
        found.append(tuple(share * Fraction(entry) for entry in entries))
    return found
