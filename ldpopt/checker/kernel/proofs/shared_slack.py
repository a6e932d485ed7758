"""A bound over every column private against a χ² set: two secrets share the slack of the set.

Statement. As in ``outer_cone.py``: μ(w) = Σ_x p_x w_x log w_x − q log q, q = p·w, p = p̂ > 0, and a
dual vector β; the claim is μ(w) ≤ β·w for every column w ≥ 0 that is private against F. E ≥ e^ε.

Lemma 1 (:meth:`SharedSlack.holds_corners`). For every s let C_s be a list of distributions R of u, its
*corners*, each with a *share* x ∈ [0, 1] and √(Σ_u q_su²/R_u) ≤ 1 + x t/p̂_s, q_s = p̂_{U|s}. If R ∈
C_s and R' ∈ C_z, s ≠ z, have shares whose sum is at most 1, then R·w_s ≤ E R'·w_z for every private w.
Proof. Let r_s, r_z be the two sums, P_{U|s} = R, P_{U|z} = R', and the other conditional distributions
those of p̂. With masses P_s ∝ p̂_s √r_s (r = 1 elsewhere), Σ p̂²/P = (Σ_s p̂_s √r_s)² ≤ (1 + t)² = B +
1: P ∈ F, and Definition 1 is the claim. ∎ q_s has the sum 1: it is in C_s, with the share 0 and the
number 0, without being listed. C_s(x) holds the corners of a share of at most x.

Lemma 2 (:meth:`SharedSlack.root`). Every private w ≠ 0 is, but for its scale, one with 1 ≤ R·w_{s*} ≤
E² on C_{s*}(½) and 1 ≤ R·w_z ≤ E on C_z(½) for some s* and all z ≠ s*, and 0 ≤ R·w_s ≤ E³ on all C_s.
Proof. Let L_s and U_s be the least and the greatest R·w_s on C_s(½); U_s ≤ E L_z for s ≠ z. Let L_{s*}
be the least L. If it is 0, U_z = 0 for z ≠ s*, so that w_z = 0 (q_z > 0) and L_z = 0; then U_{s*} = 0
as well, and w = 0. Else scale it to 1: L_z ≥ 1, U_z ≤ E, and U_{s*} ≤ E L_z ≤ E². R·w_s ≤ E q_z·w_z ≤
E³ for every R. ∎

Lemma 3 (:meth:`Thresholds.parts`). A part gives the R·w_s of every corner two ends. For a number v, a
secret s and a share x, the private w of the part with R·w_s ≤ v on all of C_s(x) have R·w_z ≤ E v on
C_z for z ≠ s; all others have R·w_z ≥ v/E on C_z(1−x), and q_s·w_s ≥ v if x = 0. With *least* for
*most*: those with R·w_s ≥ v on C_s(x) have R·w_z ≥ v/E on C_z; all others have R·w_z ≤ E v on
C_z(1−x), and q_s·w_s ≤ v if x = 0. Proof. q_s ∈ C_s(x), and the shares of q_s and of any corner of z
have a sum of at most 1. For the others, one R ∈ C_s(x) has R·w_s > v, and its share and one of at most
1 − x have a sum of at most 1; if x = 0, then R = q_s. *Least* is alike. ∎

Lemma 4 (:meth:`SharedSlack._part_holds`). For λ ≥ 0 on pairs (R, R') as in Lemma 1, put G_s = Σ λ R
over the pairs that begin at s, minus E Σ λ R' over those that end there. Then Σ_s G_s·w_s ≤ 0. As −q
log q ≤ e^(κ−1) − κ q for every κ, μ(w) ≤ β·w in a part if e^(κ−1) + Σ_s max over K_s of c_s(w_s) ≤ 0,
where K_s is the set of all w_s ≥ 0 within the ends, and c_s(w) = Σ_u p_su w_u log w_u − (β_su + κ p_su
+ G_su) w_u. ∎ A part in which the ends of a q_s have crossed is empty.

Lemma 5 (:meth:`SharedSlack._most`). Let l ≤ w ≤ h be a box, λ_R real, and lo_R ≤ R·w ≤ hi_R. In the box

    c_s(w) ≤ Σ_R (hi_R λ_R⁺ − lo_R λ_R⁻) + Σ_u max_{t ∈ {l_u, h_u}} (p_su t log t + g_u t),
    g_u = −β_su − κ p_su − G_su − Σ_R λ_R R_u.

Proof. λ_R⁺ (hi_R − R·w) and λ_R⁻ (R·w − lo_R) are not negative; added to c_s they leave a sum of
convex functions of one w_u each, which are largest at the ends. ∎ As q_s·w ≤ hi, 0 ≤ w_u ≤ hi/q_su for
the hi of q_s: the first box. A tree of cuts divides it, and the greatest of its leaves bounds c_s.

Arithmetic. λ, κ and the places where boxes are cut are the file's numbers rounded down to multiples of
2^−64: any such would do. Everything else is rounded to the side that makes the proof harder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from ..arithmetic import enclose, exp_above
from ..budget import UndecidedError, reserve
from ..claims import all_of
from ..fixed_point import BITS, units_down, units_up
from ..fixed_point_log import xlogx_above
from ..reading import UnreadableError
from .box_trees import Division
from .confidence_set import RobustStatement, uncertain
from .outer_cone import LEAST_SHARE, RATIO, SHARE, ratio_down

TREE = "a tree of certificate.proof.cover"
BOXES = Division("input", ("corners", "weights"), TREE, ratio_down)
Ends = tuple[list[int], list[int]]
"""Lower and upper ends of a box: of R·w_s in multiples of 2^−192, of w_u in multiples of 2^−64."""


class Corner(NamedTuple):
    """A corner: its distribution, its share of the slack, and its secret."""

    R: Sequence[Fraction]
    share: Fraction
    secret: int


@dataclass(frozen=True)
class Thresholds(Division[int]):
    """The cuts of Lemma 3, of all corners of all secrets in one list, and E."""

    corners: Sequence[Corner]
    E: Fraction

    @property
    def cut(self) -> Sequence[str]:
        """The keys of a cut."""
        return self.axis, "share", "side", "at"

    def parts(self, node: dict[str, Any], low: list[int], high: list[int]) -> tuple[Ends, Ends]:
        """Cut by what the corners of a secret, up to a share, have at most or at least.

        Args:
            node: the cut.
            low: the lower ends of all corners.
            high: the upper ends.
        """
        s, x, v = node[self.axis], Fraction(node["share"]), Fraction(node["at"])
        if s > self.corners[-1].secret:
            raise UnreadableError(f"{self.place} names a secret that the table does not have")
        most = node["side"] == "most"
        own, loose, tight = (v, v * self.E, v / self.E) if most else (v, v / self.E, v * self.E)
        near, far = (units_up, units_down) if most else (units_down, units_up)
        kept, others = near(own, BITS), near(loose, BITS)
        broken, tightened = far(own, BITS), far(tight, BITS)
        keeps: list[int | None] = []
        breaks: list[int | None] = []
        for corner in self.corners:
            mine = corner.secret == s
            keeps.append(others if not mine else kept if corner.share <= x else None)
            breaks.append(broken if mine and x == corner.share == 0 else None)
            if not mine and corner.share <= 1 - x:
                breaks[-1] = tightened
        return _narrowed(low, high, keeps, raised=not most), _narrowed(low, high, breaks, raised=most)


def _narrowed(low: list[int], high: list[int], ends: Sequence[int | None], *, raised: bool) -> Ends:
    """Raise the lower ends to some numbers, or lower the upper ones.

    Args:
        low: the lower ends.
        high: the upper ends.
        ends: a number for each corner, rounded to its own side; None leaves its ends as they are.
        raised: whether the lower ends are meant.
    """
    if raised:
        return [a if v is None else max(a, v) for a, v in zip(low, ends, strict=True)], high
    return low, [a if v is None else min(a, v) for a, v in zip(high, ends, strict=True)]


class SharedSlack:
    """The corners of all secrets, and a dual vector.

    Args:
        question: the set and the level; p is its centre p̂, which must be positive.
        corners: C_s for every s, positive distributions with their shares.
        dual: β, an entry per input (s, u).
    """

    def __init__(
        self,
        question: RobustStatement,
        corners: Sequence[Sequence[tuple[Sequence[Fraction], Fraction]]],
        dual: Sequence[float],
    ) -> None:
        flat = [p for row in question.p_hat for p in row]
        if any(p < LEAST_SHARE for p in flat):
            raise UndecidedError("this proof needs cells of at least 2^-200, no smaller or empty cell")
        reserve(sum(len(own) for own in corners) * len(flat), "the corners of the cone")
        self.question, self.E = question, exp_above(question.epsilon)
        width = len(question.p_hat[0])
        self.dual = [
            [units_down(Fraction(b), BITS) for b in dual[s * width : (s + 1) * width]]
            for s in range(len(question.p_hat))
        ]
        self.below = [[units_down(p, SHARE) for p in row] for row in question.p_hat]
        self.above = [[units_up(p, SHARE) for p in row] for row in question.p_hat]
        self.corners = [
            Corner(R, share, s)
            for s, (given, own) in enumerate(zip(question.given, corners, strict=True))
            for R, share in [(given, Fraction(0)), *own]
        ]
        self.first = [0, *accumulate(1 + len(own) for own in corners)]
        self.rows = [
            ([units_down(a, SHARE) for a in corner.R], [units_up(a, SHARE) for a in corner.R])
            for corner in self.corners
        ]
        self.raised = [[units_up(self.E * a, SHARE) for a in corner.R] for corner in self.corners]
        self.cuts = Thresholds(
            "secret", ("slope", "pairs", "weights", "blocks"), TREE, ratio_down, self.corners, self.E
        )

    def holds_corners(self) -> bool | None:
        """Return whether Lemma 1 applies to all corners; None if one is too close to tell."""
        steps = uncertain(self.question).step
        found: list[bool | None] = []
        given = self.question.given
        for corner in self.corners:
            q = given[corner.secret]
            if corner.share == 0 and corner.R == q:
                continue
            root = enclose(1) + enclose(corner.share) * steps[corner.secret]
            size = sum((p * p / R for p, R in zip(q, corner.R, strict=True)), Fraction(0))
            found.append(enclose(size).at_most(root * root))
        return all_of(found)

    def covers(self, cover: Sequence[Sequence[dict[str, Any]]]) -> bool:
        """Return whether the trees, one for each s*, prove all private columns: Lemmas 2 to 5.

        Raises:
            UnreadableError: a tree is not one of parts or boxes, or a leaf names no corner of the file.
        """
        if len(cover) != len(self.dual):
            raise UnreadableError("certificate.proof.cover needs a tree for each secret")
        return all(
            self._part_holds(*part)
            for s, tree in enumerate(cover)
            for part in self.cuts.leaves(tree, *self.root(s))
        )

    def root(self, star: int) -> Ends:
        """Return the ends of Lemma 2."""
        low, high = [], []
        for corner in self.corners:
            inner = corner.share <= Fraction(1, 2)
            most = self.E ** (2 if corner.secret == star else 1) if inner else self.E**3
            low.append(1 << BITS if inner else 0)
            high.append(units_up(most, BITS))
        return low, high

    def _part_holds(self, leaf: dict[str, Any], low: list[int], high: list[int]) -> bool:
        """Return whether Lemma 4 proves a part, or it is empty.

        Args:
            leaf: κ, pairs of corners with their λ, and a tree for each block.
            low: the lower ends of the corners.
            high: the upper ends.
        """
        if any(low[i] > high[i] for i in self.first[:-1]):
            return True
        if len(leaf["blocks"]) != len(self.dual):
            raise UnreadableError("a leaf of certificate.proof.cover needs a tree for each secret")
        pull = self._pull(leaf)
        slope = ratio_down(Fraction(leaf["slope"]))
        spent = units_up(exp_above(Fraction(slope, 1 << RATIO) - 1), BITS + RATIO)
        for s, tree in enumerate(leaf["blocks"]):
            for u, (below, above) in enumerate(zip(self.below[s], self.above[s], strict=True)):
                pull[s][u] -= slope * (below if slope >= 0 else above)
            spent += self._most(s, (low, high), pull[s], tree)
        return spent <= 0

    def _pull(self, leaf: dict[str, Any]) -> list[list[int]]:
        """Compute −β − G, rounded up, in multiples of 2^−192.

        Raises:
            UnreadableError: a pair is not one of Lemma 1.
        """
        pull = [[-b for b in row] for row in self.dual]
        if len(leaf["pairs"]) != len(leaf["weights"]):
            raise UnreadableError("certificate.proof.cover must give a weight for each pair of a leaf")
        for (s, i, z, j), weight in zip(leaf["pairs"], leaf["weights"], strict=True):
            first, second = self._place(s, i), self._place(z, j)
            if s == z or self.corners[first].share + self.corners[second].share > 1:
                raise UnreadableError(
                    "a pair of certificate.proof.cover needs two secrets, and shares of at most 1 in all"
                )
            factor = ratio_down(Fraction(weight))
            for u, (own, other) in enumerate(zip(self.rows[first][0], self.raised[second], strict=True)):
                pull[s][u] -= factor * own
                pull[z][u] += factor * other
        return pull

    def _place(self, s: int, i: int) -> int:
        """Return where a corner of a secret stands in the list of all."""
        if s >= len(self.dual) or i >= self.first[s + 1] - self.first[s]:
            raise UnreadableError("certificate.proof.cover names a corner that the file does not have")
        return self.first[s] + i

    def _most(self, s: int, ends: Ends, pull: list[int], tree: Sequence[dict[str, Any]]) -> int:
        """Bound the greatest c_s over a block in units of 2^−256: Lemma 5.

        Args:
            s: the secret of the block.
            ends: the ends of all corners.
            pull: −β − κ p − G, rounded up, in multiples of 2^−192.
            tree: a tree of boxes; the lower part of a box comes first.
        """
        most = Fraction(ends[1][self.first[s]], 1 << BITS)
        top = [units_up(most / q, RATIO) for q in self.question.given[s]]
        return max(
            self._leaf(s, (low, high), ends, pull, self._weights(s, leaf))
            for leaf, low, high in BOXES.leaves(tree, [0] * len(top), top)
        )

    def _leaf(
        self, s: int, box: Ends, ends: Ends, pull: list[int], weights: list[tuple[int, int]]
    ) -> int:
        """Bound c_s within a box, in units of 2^−256.

        Args:
            s: the secret of the block.
            box: l and h, in multiples of 2^−64.
            ends: the ends of all corners.
            pull: −β − κ p − G, rounded up, in multiples of 2^−192.
            weights: pairs of a corner, by its place in the list of all, and its λ.
        """
        pull, spent = list(pull), 0
        for i, weight in weights:
            spent += weight * ends[weight > 0][i]
            for u, entry in enumerate(self.rows[i][0 if weight > 0 else 1]):
                pull[u] -= weight * entry
        for u, g in enumerate(pull):
            below, above = self.below[s][u], self.above[s][u]
            spent += max(_own(t, below, above) + g * t for t in (box[0][u], box[1][u]))
        return spent

    def _weights(self, s: int, leaf: dict[str, Any]) -> list[tuple[int, int]]:
        if len(leaf["corners"]) != len(leaf["weights"]):
            raise UnreadableError("certificate.proof.cover must give a weight for each corner of a leaf")
        places = [self._place(s, i) for i in leaf["corners"]]
        return list(
            zip(places, (ratio_down(Fraction(weight)) for weight in leaf["weights"]), strict=True)
        )


def _own(t: int, below: int, above: int) -> int:
    """Bound p t log t from above in units of 2^−256."""
    own = xlogx_above(t << BITS - RATIO)
    return -((-own * (above if own >= 0 else below)) >> SHARE - RATIO)
