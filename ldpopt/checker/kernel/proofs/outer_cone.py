"""A bound over every column that is private against a χ² set: members of the set, and a tree of boxes.

Statement. μ(w) = Σ_x p_x w_x log(w_x/q), q = p·w, for the centre p = p̂ of F, on the inputs x = (s, u).
A dual vector β is given; the claim is μ(w) ≤ β·w for every column w ≥ 0 that is private against F. Then
every mechanism W private against F has I(X; Y) = Σ_y μ(W_y) ≤ Σ_y β·W_y = Σ_x β_x, as its rows sum to 1.

Lemma 1 (:func:`cut_row`). If P ∈ F and s ≠ z, a private column has a·w ≥ 0, where a is E P_{U|z} on the
block of z, −P_{U|s} on that of s, and 0 elsewhere, for every E ≥ e^ε. Proof. Definition 1, and w ≥ 0. ∎
Entries rounded up keep it true.

Lemma 2 (:meth:`Outer.proven`). Let l_x ≤ w_x/q ≤ h_x for all x with p_x > 0 (a *box*), λ_i ≥ 0, ν real,
and put g = Σ_i λ_i a_i − β − ν p. If g_x ≤ 0 wherever p_x = 0, and

    ν + Σ_{x: p_x > 0} max_{t ∈ {l_x, h_x}} (p_x t log t + g_x t) ≤ 0,

then μ(w) ≤ β·w for every private w in the box, and for every private w with q = 0. Proof. Let q > 0.
Both sides are homogeneous, so let q = 1, w = t. By Lemma 1 and p·t = 1,

    μ(t) − β·t ≤ μ(t) − β·t + Σ λ_i a_i·t + ν (1 − p·t) = ν + Σ_x (p_x t_x log t_x + g_x t_x).

Terms with p_x = 0 are at most 0; each other one is convex in t_x, so it is largest at an end of
[l_x, h_x]. If q = 0, w vanishes where p_x > 0, so μ(w) = 0 and β·w ≥ β·w − Σ λ_i a_i·w = −g·w ≥ 0. ∎

Lemma 3 (:meth:`Outer.covers`). 0 ≤ w_x/q ≤ 1/p_x for every w with q > 0, as p_x w_x ≤ q. A box that is
cut at a ratio t_x = c is the union of its two parts. So if every leaf of a tree of such cuts is proven,
all private columns are: ``box_trees.py``. ∎

Arithmetic. λ, ν and c are the file's numbers rounded down to multiples of 2^−64: any such would do.
Everything else is rounded to the side that makes the proof harder, in whole multiples of 2^−128 (a, p),
2^−192 (β, g) and 2^−256 (sums).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from ..arithmetic import exp_above
from ..budget import UndecidedError, reserve
from ..claims import Claim
from ..fixed_point import BITS, units_down, units_up
from ..fixed_point_log import xlogx_above
from ..reading import UnreadableError
from ..schema import List, Number, Record, Whole
from ..section import Case
from .box_trees import Division
from .column_utilities import MOST_DUAL
from .confidence_set import RobustStatement
from .information_ceiling import cover_claims

Cut = tuple[Sequence[Sequence[Fraction]], int, int]
"""A member of F, and the two secrets that it compares."""
RATIO = 64
"""Bits of ratios, weights and prices."""
SHARE = 128
"""Bits of probabilities and of the entries of cuts."""
LEAST_SHARE = Fraction(1, 2**200)
"""A smaller positive probability would make ratios beyond the arithmetic."""


def ratio_down(number: Fraction) -> int:
    """Round down to a multiple of 2^−64."""
    return units_down(number, RATIO)


BOXES = Division("input", ("price", "cuts", "weights"), "certificate.proof.tree", ratio_down)


def cut_row(member: Sequence[Sequence[Fraction]], s: int, z: int, E: Fraction) -> list[int]:
    """Build a of Lemma 1, rounded up to multiples of 2^−128.

    Args:
        member: P; none of its rows is all zero.
        s: the secret whose outputs are to be rarer.
        z: the secret that it is compared with.
        E: a number not below e^ε.
    """
    row: list[int] = []
    for secret, block in enumerate(member):
        factor = (E if secret == z else Fraction(-1)) / sum(block, Fraction(0))
        row += [units_up(factor * p, SHARE) if secret in (s, z) else 0 for p in block]
    return row


class Outer:
    """The outer cone that members of F describe, and a dual vector.

    Args:
        question: the set and the level; p is its centre p̂.
        cuts: members of F, each with a pair (s, z) of secrets.
        dual: β.
    """

    def __init__(
        self,
        question: RobustStatement,
        cuts: Sequence[Cut],
        dual: Sequence[float],
    ) -> None:
        flat = [p for row in question.p_hat for p in row]
        if any(0 < p < LEAST_SHARE for p in flat):
            raise UndecidedError("a positive probability below 2^-200 is beyond the checker's means")
        reserve(len(cuts) * len(flat), "the cuts of the outer cone")
        E = exp_above(question.epsilon)
        self.rows = [cut_row(member, s, z, E) for member, s, z in cuts]
        self.below = [units_down(p, SHARE) for p in flat]
        self.above = [units_up(p, SHARE) for p in flat]
        self.top = [units_up(1 / p, RATIO) if p else 0 for p in flat]
        self.dual = [units_down(Fraction(b), BITS) for b in dual]
        self._own = cache(self._own_term)

    def proven(
        self, low: Sequence[int], high: Sequence[int], leaf: Sequence[tuple[int, int]], price: int
    ) -> bool:
        """Return whether Lemma 2 proves a box.

        Args:
            low: the lower ends l, in multiples of 2^−64.
            high: the upper ends h.
            leaf: pairs of a cut and its weight λ.
            price: ν.
        """
        pull = [-b for b in self.dual]
        for i, weight in leaf:
            for x, entry in enumerate(self.rows[i]):
                if entry:
                    pull[x] += weight * entry
        total = price << BITS
        for x, g in enumerate(pull):
            if not self.above[x]:
                if g > 0:
                    return False
                continue
            slope = g - price * (self.below[x] if price >= 0 else self.above[x])
            total += max(self._own(x, t) + slope * t for t in (low[x], high[x]))
        return total <= 0

    def _own_term(self, x: int, t: int) -> int:
        """Bound p_x t log t from above in units of 2^−256."""
        own = xlogx_above(t << BITS - RATIO)
        return -((-own * (self.above[x] if own >= 0 else self.below[x])) >> SHARE - RATIO)

    def covers(self, tree: Sequence[dict[str, Any]]) -> bool:
        """Return whether every leaf of the tree is proven; the lower part of a box comes first.

        Raises:
            UnreadableError: the list is not a tree of boxes, or a leaf names no cut of the file.
        """
        return all(
            self.proven(low, high, self._weights(leaf), ratio_down(Fraction(leaf["price"])))
            for leaf, low, high in BOXES.leaves(tree, [0] * len(self.top), self.top)
        )

    def _weights(self, leaf: dict[str, Any]) -> list[tuple[int, int]]:
        if len(leaf["cuts"]) != len(leaf["weights"]) or any(i >= len(self.rows) for i in leaf["cuts"]):
            raise UnreadableError("certificate.proof.tree must give a weight for each cut of a leaf")
        weights = (ratio_down(Fraction(weight)) for weight in leaf["weights"])
        return list(zip(leaf["cuts"], weights, strict=True))


def outer_claims(
    case: Case, cuts: Sequence[Cut], inside: Callable[[], bool | None], name: str = "the set"
) -> Iterator[Claim]:
    """Check that the members that cut out the outer cone lie in F, and the bound that the tree proves.

    Args:
        case: the file, with its dual vector and its tree.
        cuts: a table [s][u] that is to be a member, and two secrets, for each cut.
        inside: whether all of them are members.
        name: the name of the set F, in the claims.
    """
    robust = case.question.robust
    a1, a2 = len(robust.p_hat), len(robust.p_hat[0])
    if any((len(member), len(member[0])) != (a1, a2) for member, _, _ in cuts):
        raise UnreadableError(f"members of the set must be tables of {a1} × {a2} cells")
    if any(s == z or max(s, z) >= a1 for _, s, z in cuts):
        raise UnreadableError(f"a cut must name two of {a1} secrets")

    def covers() -> bool:
        return Outer(robust, cuts, case.proof["dual"]).covers(case.proof["tree"])

    words = f"the {len(cuts)} distributions that describe the outer cone lie in {name}"
    yield from cover_claims(case, words, inside, covers, name)


NODE = Record(
    {},
    {
        "input": Whole(0, 10**9),
        "at": Number(0, MOST_DUAL),
        "price": Number(-MOST_DUAL, MOST_DUAL),
        "cuts": List(Whole(0, 10**9)),
        "weights": List(Number(0, MOST_DUAL)),
    },
)
