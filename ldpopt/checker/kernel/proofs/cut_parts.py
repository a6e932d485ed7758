"""Notions of privacy that no list of linear inequalities exhausts, and the cuts that a proof brings.

A mechanism is decided by a test of the notion's own. A bound is proven for more mechanisms than are
private: those of an *outer* part, of the cones and budgets that the file's cuts describe.

Lemma 1 (:class:`Robust`). F is a set of distributions P of inputs (s, u). If P(y|s) ≤ e^ε P(y|z) for all
P ∈ F, reports y and s ≠ z, then for the member P of each cut every column w has Σ_u P(u|s) w_su ≤ e^ε
Σ_u P(u|z) w_zu. Proof. P(y|s) = Σ_u P(u|s) w_su. ∎ A witness that is not shown to be a member counts for
nothing: its cut is 0 ≤ 0.

Lemma 2 (:class:`Renyi`). The Rényi divergence of order a > 1 of the rows x and z of W is at most ε if
and only if Σ_y h(w_y) ≤ e^((a−1)ε) for h(w) = w_x^a w_z^(1−a), which is 0 where w_x = 0 and infinite
where only w_z = 0. For every r > 0, h(w) ≥ a r^(a−1) w_x − (a − 1) r^a w_z, and h ≥ 0; so private
mechanisms keep the budget of the largest of such tangents. Proof. Let w_z > 0 and t = w_x/w_z: t^a is
convex, and not below its tangent at r. Where w_z = 0 < w_x, h is infinite. ∎ Both sides of a budget are
divided by e^((a−1)ε); then the first coefficient is rounded down, the second up, which makes a tangent
smaller.

Lemma 3 (:class:`Selections`). A *selection* takes an input x_g of every secret g. The maximal leakage
about the secret is at most L if and only if Σ_y max_g w_(x_g) ≤ e^L for all selections. Where they are
few, each is a budget. Else a tree of prices in the file bounds them all at once (Lemmas 2 and 3 of
:mod:`selection_trees`), and for a bound any of them are budgets that private mechanisms keep. Proof. The
condition names every selection, so also those of the file. ∎ A tree that does not show it leaves the
claim open: another one may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from math import prod
from typing import Any

from ..arithmetic import Interval, enclose, exp, log, total
from ..budget import tick
from ..claims import all_of
from ..fixed_point import UNIT, Vector, units_down, units_up
from ..labels import Labels
from ..reading import UnreadableError
from ..schema import EPSILON, Anything, List, Number, Record, Whole
from .differences import Budget, Difference, Part
from .hidden_parts import one, several
from .privacy_parts import LEAKAGE
from .private_rows import Rows, is_stochastic
from .selection_trees import Node, Tree, by_secret, leaks_within, selects
from .set_privacy import is_set_private
from .stated_sets import UNCERTAINTY, read_set
from .uncertainty_sets import UncertaintySet

PLACE = List(Whole(0, 10**9), 2, 2)
MEMBERS = List(Record({"witness": Anything(), "secrets": PLACE}))
LARGEST_RATIO = 1e9
MOST_SELECTIONS = 4096
"""The most selections that are listed."""
SELECTIONS = List(List(Whole(0, 10**9), 2))
TANGENTS = List(Record({"pair": PLACE, "ratio": Number(1 / LARGEST_RATIO, LARGEST_RATIO)}))


@dataclass(frozen=True, kw_only=True)
class Robust(Part):
    """Hide s from whoever knows P, for every member P of an uncertainty set: Lemma 1."""

    members: UncertaintySet

    def holds(self, matrix: Rows) -> bool | None:
        """Return whether a mechanism is shown to be private against all members."""
        columns = [list(map(Fraction, column)) for column in zip(*matrix, strict=True)]
        return is_set_private(columns, self.members, Fraction(self.epsilon))

    def outer(self, cuts: Any, where: str) -> Part:
        """See :meth:`Part.outer`: {"witness", "secrets"} for each member and pair (s, z)."""
        cone = tuple(self._rows(MEMBERS.read(cuts, where), where))
        return replace(self, cones=lambda: (cone,))

    def _rows(self, cuts: list[dict[str, Any]], where: str) -> Iterator[Difference]:
        a1, a2 = self.members.shape
        for i, cut in enumerate(cuts):
            tick()
            s, z = cut["secrets"]
            if s == z or max(s, z) >= a1:
                raise UnreadableError(f"{where}[{i}].secrets must be two of {a1} secrets")
            P, inside = self.members.member(cut["witness"], f"{where}[{i}].witness")
            if inside is True:
                yield Difference(_given(P, s, a2), _given(P, z, a2), Fraction(self.epsilon))
            else:
                yield Difference({}, {})


def _given(P: list[Fraction], s: int, width: int) -> Vector:
    """Return P(u|s) as a vector over the inputs (s, u)."""
    own = P[s * width : (s + 1) * width]
    mass = sum(own, Fraction(0))
    return {s * width + u: p / mass for u, p in enumerate(own) if p}


@dataclass(frozen=True, kw_only=True)
class Renyi(Part):
    """Bound the Rényi divergence of the rows of any two inputs: Lemma 2."""

    inputs: int
    order: Fraction

    @property
    def limit(self) -> Fraction:
        """(a − 1) ε."""
        return (self.order - 1) * Fraction(self.epsilon)

    def holds(self, matrix: Rows) -> bool | None:
        """Return whether all divergences are at most ε; None where the digits do not tell."""
        most = exp(self.limit)
        return all_of(self._kept(row, other, most) for row, other in permutations(matrix, 2))

    def _kept(self, row: list[float], other: list[float], most: Interval) -> bool | None:
        tick()
        pairs = [(Fraction(p), Fraction(q)) for p, q in zip(row, other, strict=True) if p]
        if not all(q for _, q in pairs):
            return False
        terms = (enclose(p) * (enclose(self.order - 1) * log(p / q)).exp() for p, q in pairs)
        return total(terms).at_most(most)

    def outer(self, cuts: Any, where: str) -> Part:
        """See :meth:`Part.outer`: {"pair", "ratio"} for each tangent; a budget for each pair."""
        pieces: dict[tuple[int, int], list[Difference]] = {}
        for i, cut in enumerate(TANGENTS.read(cuts, where)):
            tick()
            x, z = cut["pair"]
            if x == z or max(x, z) >= self.inputs:
                raise UnreadableError(f"{where}[{i}].pair must be two of {self.inputs} inputs")
            pieces.setdefault((x, z), []).append(self._tangent(x, z, Fraction(cut["ratio"])))
        budgets = [Budget(tuple(own), Fraction(1)) for own in pieces.values()]
        return replace(self, budgets=budgets)

    def _tangent(self, x: int, z: int, r: Fraction) -> Difference:
        power = (enclose(self.order - 1) * log(r) - enclose(self.limit)).exp()
        down = units_down((enclose(self.order) * power).low)
        up = units_up((enclose(self.order - 1) * power * enclose(r)).high)
        return Difference({x: Fraction(down, UNIT)}, {z: Fraction(up, UNIT)})


@dataclass(frozen=True, kw_only=True)
class Selections(Part):
    """Bound the maximal leakage about a secret, of more selections than are listed: Lemma 3."""

    groups: list[list[int]]
    leakage: float
    tree: Node | None = None

    def holds(self, matrix: Rows) -> bool | None:
        """Return whether the tree shows that no selection covers more; None if it does not."""
        if self.tree is None or not is_stochastic(matrix):
            return None
        return leaks_within(matrix, self.groups, self.leakage, self.tree) or None

    def shown(self, plain: Any, where: str) -> Part:
        """See :meth:`Part.shown`: a tree of prices."""
        return replace(self, tree=Tree().read(plain, where))

    def outer(self, cuts: Any, where: str) -> Part:
        """See :meth:`Part.outer`: selections, each an input of every secret in order of appearance."""
        chosen = SELECTIONS.read(cuts, where)
        for i, selection in enumerate(chosen):
            tick()
            if not selects(selection, self.groups):
                raise UnreadableError(f"{where}[{i}] must be an input of each secret, in order")
        return replace(self, budgets=[_covered(selection, self.leakage) for selection in chosen])


def _covered(selection: Sequence[int], leakage: float) -> Budget:
    """Say Σ_y max_g w_(x_g) ≤ e^leakage."""
    return Budget(tuple(Difference(one(x), {}) for x in selection), Fraction(1), Fraction(leakage))


def _robust(part: dict[str, Any], k: int) -> Part:
    F, epsilon = read_set(part["uncertainty"]), part["epsilon"]
    if (cells := F.shape[0] * F.shape[1]) != k:
        raise UnreadableError(
            f"the cells of the uncertainty set must be {k}, the number of inputs, not {cells}"
        )
    words = (
        f"no report is more than a factor e^{epsilon!r} likelier given one s than given another, for "
        f"every distribution of (s, u) in {F.name}"
    )
    return Robust(words, epsilon=epsilon, widths=[F.shape[1]], members=F)


def _renyi(part: dict[str, Any], k: int) -> Part:
    epsilon, order = part["epsilon"], part["order"]
    words = (
        f"the Rényi divergence of order {order!r} of its rows for any two inputs is at most {epsilon!r}"
    )
    return Renyi(words, epsilon=epsilon, inputs=k, order=Fraction(order))


def _statistic_leakage(part: dict[str, Any], k: int) -> Part:
    leakage, secrets = part["leakage"], part["secrets"]
    several(secrets, k)
    words = (
        f"its maximal leakage about the secret is at most {leakage!r} nats, whatever the distribution"
    )
    groups = by_secret(secrets)
    if prod(map(len, groups)) > MOST_SELECTIONS:
        return Selections(words, groups=groups, leakage=leakage)
    return Part(words, budgets=[_covered(selection, leakage) for selection in product(*groups)])


PARTS = {
    "robust": (Record({"epsilon": EPSILON, "uncertainty": UNCERTAINTY}), _robust),
    "statistic-leakage": (Record({"leakage": LEAKAGE, "secrets": Labels(2)}), _statistic_leakage),
    "renyi": (Record({"epsilon": EPSILON, "order": Number(above=1, most=60)}), _renyi),
}
"""What each part may say, and what it means for so many inputs."""
