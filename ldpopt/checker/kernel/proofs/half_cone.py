"""A bound over every column private against a χ² set: half of the slack for each of two secrets.

Statement. As in ``outer_cone.py``: μ(w) = Σ_x p_x w_x log w_x − q log q, q = p·w, p = p̂ > 0, and a dual
vector β; the claim is μ(w) ≤ β·w for every column w ≥ 0 that is private against F. E ≥ e^ε.

Lemma 1 (:meth:`HalfCone.holds_corners`). For every s let C_s be a set of distributions R of u, its
*corners*, with √(Σ_u q_su²/R_u) ≤ 1 + t/(2 p̂_s), q_s = p̂_{U|s}. Then R·w_s ≤ E R'·w_z for every private
w, s ≠ z, R ∈ C_s, R' ∈ C_z. Proof. Let r_s, r_z be the two sums, P_{U|s} = R, P_{U|z} = R', and the
other conditional distributions those of p̂. With masses P_s ∝ p̂_s √r_s (r = 1 elsewhere), Σ p̂²/P =
(Σ_s p̂_s √r_s)² ≤ (1 + t)² = B + 1: P ∈ F, and Definition 1 is the claim. ∎ q_s has the sum 1: it is
always in C_s, listed or not.

Lemma 2 (:meth:`HalfCone.covers`). Let K_s(lo, hi) = {w_s ≥ 0 : lo ≤ R·w_s ≤ hi for all R ∈ C_s}. Every
private w ≠ 0 is, but for its scale, in K_{s*}(1, E ρ) × Π_{z≠s*} K_z(ρ, E) for some s* and ρ ∈ [1, E].
Proof. Let L_s and U_s be the least and the greatest R·w_s over C_s; U_s ≤ E L_z for s ≠ z. Let L_{s*} be
the least L. If it is 0, U_z = 0 for z ≠ s*, so that w_z = 0 (q_z > 0) and L_z = 0; then U_{s*} = 0 as
well, and w = 0. Else scale it to 1, and put ρ = min_{z≠s*} L_z ≥ 1; ρ ≤ U_z ≤ E, and U_{s*} ≤ E ρ. ∎
A *piece* has an s*, an interval [a, b] of ρ, and for every s an interval of m_s = q_s·w_s ∈ [L_s, U_s]:
it is the part of K_{s*}(1, E b) × Π K_z(a, E) with those m_s. At first 1 ≤ ρ ≤ E and 0 ≤ m_s ≤ E²; a
tree of cuts divides that, and if every leaf of the tree of every s* is proven, all private columns are.

Lemma 3 (:meth:`HalfCone._piece_holds`). For every κ, −q log q ≤ e^(κ−1) − κ q. So μ(w) ≤ β·w in a
product if e^(κ−1) + Σ_s max over K_s of c_s(w_s) ≤ 0, where c_s(w) = Σ_u p_su w_u log w_u −
(β_su + κ p_su) w_u. ∎

Lemma 4 (:meth:`HalfCone._most`). Let l ≤ w ≤ h be a box, λ_R real, and lo_R ≤ R·w ≤ hi_R; these are the
ends of K_s, and for R = q_s those of m_s where they are narrower. For w in the box

    c_s(w) ≤ Σ_R (hi_R λ_R⁺ − lo_R λ_R⁻) + Σ_u max_{t ∈ {l_u, h_u}} (p_su t log t + g_u t),
    g_u = −β_su − κ p_su − Σ_R λ_R R_u.

Proof. λ_R⁺ (hi_R − R·w) and λ_R⁻ (R·w − lo_R) are not negative; added to c_s they leave a sum of convex
functions of one w_u each, which are largest at the ends. ∎ As m_s ≤ hi, 0 ≤ w_u ≤ hi/q_su for the
hi of R = q_s: the first box. A tree of cuts divides it, and the greatest of its leaves bounds c_s.

Arithmetic. λ, κ and the places where boxes are cut are the file's numbers rounded down to multiples of
2^−64: any such would do. Pieces are cut at the file's own numbers. Everything else is rounded to the
side that makes the proof harder.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

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
PIECES = Division("interval", ("slope", "blocks"), TREE, Fraction)
BOXES = Division("input", ("corners", "weights", "centre"), TREE, ratio_down)
Ends = tuple[int, int]
Corners = Sequence[Sequence[Fraction]]


class HalfCone:
    """The cone that corners describe, and a dual vector.

    Args:
        question: the set and the level; p is its centre p̂, which must be positive.
        corners: C_s for every s, positive distributions.
        dual: β, an entry per input (s, u).
    """

    def __init__(
        self, question: RobustStatement, corners: Sequence[Corners], dual: Sequence[float]
    ) -> None:
        flat = [p for row in question.p_hat for p in row]
        if any(p < LEAST_SHARE for p in flat):
            raise UndecidedError("this proof needs cells of at least 2^-200, no smaller or empty cell")
        reserve(sum(len(own) for own in corners) * len(flat), "the corners of the cone")
        self.question = question
        self.corners = corners
        self.E = exp_above(question.epsilon)
        width = len(question.p_hat[0])
        self.dual = [
            [units_down(Fraction(b), BITS) for b in dual[s * width : (s + 1) * width]]
            for s in range(len(question.p_hat))
        ]
        self.below = [[units_down(p, SHARE) for p in row] for row in question.p_hat]
        self.above = [[units_up(p, SHARE) for p in row] for row in question.p_hat]
        self.rows = [
            [
                ([units_down(R, SHARE) for R in corner], [units_up(R, SHARE) for R in corner])
                for corner in own
            ]
            for own in ([given, *own] for given, own in zip(question.given, corners, strict=True))
        ]

    def holds_corners(self) -> bool | None:
        """Return whether Lemma 1 applies to all corners; None if one is too close to tell."""
        steps = uncertain(self.question).step
        found: list[bool | None] = []
        for own, row, step in zip(self.corners, self.question.p_hat, steps, strict=True):
            mass = sum(row, Fraction(0))
            root = enclose(1) + step / enclose(2)
            for corner in own:
                size = sum((p * p / R for p, R in zip(row, corner, strict=True)), Fraction(0))
                found.append(enclose(size / mass**2).at_most(root * root))
        return all_of(found)

    def covers(self, cover: Sequence[Sequence[dict[str, Any]]]) -> bool:
        """Return whether the trees of pieces, one for each s*, prove all private columns: Lemmas 2 to 4.

        Raises:
            UnreadableError: a tree is not one of pieces or boxes, or a leaf names no corner of the file.
        """
        if len(cover) != len(self.corners):
            raise UnreadableError("certificate.proof.cover needs a tree for each secret")
        return all(self._tree_holds(s, tree) for s, tree in enumerate(cover))

    def _tree_holds(self, s: int, tree: Sequence[dict[str, Any]]) -> bool:
        count = len(self.corners)
        low, high = [Fraction(1)] + [Fraction(0)] * count, [self.E] + [self.E**2] * count
        return all(self._piece_holds(piece, s, *part) for piece, *part in PIECES.leaves(tree, low, high))

    def _piece_holds(
        self, piece: dict[str, Any], s: int, low: Sequence[Fraction], high: Sequence[Fraction]
    ) -> bool:
        """Return whether Lemma 3 proves a piece, or it is empty.

        Args:
            piece: κ and a tree for each block.
            s: s*.
            low: the least ρ and m_1, m_2, ….
            high: the greatest.
        """
        ends = [
            (Fraction(1), self.E * high[0]) if z == s else (low[0], self.E)
            for z in range(len(self.corners))
        ]
        masses = [
            (max(lo, least), min(hi, most))
            for (lo, hi), least, most in zip(ends, low[1:], high[1:], strict=True)
        ]
        if any(least > most for least, most in masses):
            return True
        if len(piece["blocks"]) != len(ends):
            raise UnreadableError("a piece of certificate.proof.cover needs a tree for each secret")
        slope = ratio_down(Fraction(piece["slope"]))
        spent = units_up(exp_above(Fraction(slope, 1 << RATIO) - 1), BITS + RATIO)
        for z, tree in enumerate(piece["blocks"]):
            spent += self._most(z, ends[z], masses[z], slope, tree)
        return spent <= 0

    def _most(
        self,
        s: int,
        ends: tuple[Fraction, Fraction],
        mass: tuple[Fraction, Fraction],
        slope: int,
        tree: Sequence[dict[str, Any]],
    ) -> int:
        """Bound the greatest c_s over a block in units of 2^−256: Lemma 4.

        Args:
            s: the secret of the block.
            ends: lo and hi.
            mass: the ends of m_s.
            slope: κ, in multiples of 2^−64.
            tree: a tree of boxes; the lower part of a box comes first.
        """
        row = self.question.p_hat[s]
        total = sum(row, Fraction(0))
        limits = _outwards(mass), _outwards(ends)
        top = [units_up(mass[1] * total / p, RATIO) for p in row]
        return max(
            self._leaf(s, (low, high), limits, slope, self._weights(s, leaf))
            for leaf, low, high in BOXES.leaves(tree, [0] * len(top), top)
        )

    def _leaf(
        self,
        s: int,
        box: tuple[list[int], list[int]],
        limits: tuple[Ends, Ends],
        slope: int,
        weights: list[tuple[int, int]],
    ) -> int:
        """Bound c_s within a box, in units of 2^−256.

        Args:
            s: the secret of the block.
            box: l and h, in multiples of 2^−64.
            limits: the ends of m_s and of the corners, in multiples of 2^−192, rounded outwards.
            slope: κ, in multiples of 2^−64.
            weights: pairs of a corner and its λ; 0 is q_s.
        """
        pull = [-b for b in self.dual[s]]  # multiples of 2^−192
        spent = 0
        for i, weight in weights:
            low, high = limits[i > 0]
            spent += weight * (high if weight > 0 else low)
            for u, entry in enumerate(self.rows[s][i][0 if weight > 0 else 1]):
                pull[u] -= weight * entry
        for u, own in enumerate(pull):
            below, above = self.below[s][u], self.above[s][u]
            g = own - slope * (below if slope >= 0 else above)
            spent += max(_own(t, below, above) + g * t for t in (box[0][u], box[1][u]))
        return spent

    def _weights(self, s: int, leaf: dict[str, Any]) -> list[tuple[int, int]]:
        count = len(self.corners[s])
        if len(leaf["corners"]) != len(leaf["weights"]) or any(i >= count for i in leaf["corners"]):
            raise UnreadableError("certificate.proof.cover must give a weight for each corner of a leaf")
        weights = (ratio_down(Fraction(weight)) for weight in (leaf["centre"], *leaf["weights"]))
        return list(zip((0, *(1 + i for i in leaf["corners"])), weights, strict=True))


def _outwards(ends: tuple[Fraction, Fraction]) -> Ends:
    return units_down(ends[0], BITS), units_up(ends[1], BITS)


def _own(t: int, below: int, above: int) -> int:
    """Bound p t log t from above in units of 2^−256."""
    own = xlogx_above(t << BITS - RATIO)
    return -((-own * (above if own >= 0 else below)) >> SHARE - RATIO)
