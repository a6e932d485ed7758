"""How much the best selection of rows covers, exactly, and trees of prices that bound it.

Statement. Rows of floats are given, one per parameter θ, whose sums may be off by rounding. The
mechanism is W[θ, y] = row[y] / Σ row, the row divided by its exact sum; every claim is about this W. The
parameters of one secret form a *group* g. A *selection* takes one parameter θ_g of every group; it
covers C = Σ_y max_g W[θ_g, y]. The statistic maximal leakage is log C of the best selection.

Arithmetic. A row is whole numbers over one whole number (:class:`Row`), so entries are compared exactly.
Each row's share is then rounded to multiples of 1/:data:`UNIT`, down for the value and up for the bound.

Lemma 1 (value). Let every output y belong to a selected row with the largest entry (ties to the first).
C is the sum over the selected rows of (the sum of the parts of its outputs) / (the sum of its parts).
Rounding each term down (up) gives a number below (above) C. And C ≥ 1, as C is at least the sum of one
row. If all selected rows are equal, the first one owns every output, its term is exactly 1, and log 1 is
exactly 0. Decided by :func:`coverage`.

Lemma 2 (prices). For every v ≥ 0, no selection covers more than Σ_y v_y + Σ_g max_{θ in g} Σ_y
(W[θ, y] − v_y)⁺. Proof. max_g W[θ_g, y] ≤ v_y + max_g (W[θ_g, y] − v_y)⁺ ≤ v_y + Σ_g (W[θ_g, y] − v_y)⁺;
sum over y, and replace the selected row of each group by its best. Decided by :func:`price_bound`, every
term rounded up. For a deterministic mechanism v ∈ {0, 1} names a vertex cover of secrets and
outputs: König's theorem.

Lemma 3 (branching). Restrict a group to each of its rows in turn. Each selection belongs to exactly one
such restriction, so the largest of their bounds bounds all selections. Decided by :func:`tree_bound`.

The logarithm of a bound is enclosed and compared with the claimed number: :func:`log_at_most`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from ..arithmetic import Interval, between, enclose, log
from ..budget import tick
from ..fixed_point import dyadic, ratio_up
from ..reading import UnreadableError
from ..schema import SUM_TOLERANCE, List, Number, Record, Schema, Whole

MOST_PLACES = 10_000_000
"""The most rows and the most outputs of a mechanism."""
BITS = 1074
UNIT = 1 << BITS
"""Coverages and bounds are whole multiples of 1/UNIT, as floats are: nothing is rounded where every row
sums to exactly 1."""


class Row(NamedTuple):
    """The entries parts[i] / whole at the outputs columns[i], and 0 elsewhere."""

    columns: Sequence[int]
    parts: list[int]
    whole: int


class SelectionStatement(NamedTuple):
    """Maximise log Σ_y max_g W[θ_g, y] over one row θ_g of every group, in order of appearance."""

    rows: list[Row]
    columns: int
    groups: list[list[int]]


def by_secret(secrets: Sequence[Any]) -> list[list[int]]:
    """Group the places of equal secrets, in order of first appearance."""
    groups: dict[Any, list[int]] = {}
    for i, secret in enumerate(secrets):
        groups.setdefault(secret, []).append(i)
    return list(groups.values())


def released_row(columns: Sequence[int], entries: Sequence[float], number: int) -> Row:
    """Divide the entries of a row by their exact sum, which must be nearly 1.

    Args:
        columns: the outputs with an entry.
        entries: the entries, ≥ 0.
        number: the number of the row, for messages.
    """
    tick()
    parts, bits = dyadic(entries)
    whole = sum(parts)
    if abs(whole - (1 << bits)) * SUM_TOLERANCE.denominator > SUM_TOLERANCE.numerator << bits:
        raise UnreadableError(
            f"row {number} of the matrix must sum to 1 within 1e-9, but sums to {whole / (1 << bits)!r}"
        )
    return Row(columns, parts, whole)


def coverage(rows: Sequence[Row]) -> tuple[int, int]:
    """Enclose Σ_y max over the rows, in units: a number below and a number above (Lemma 1)."""
    owners: dict[int, tuple[int, int]] = {}
    for i, row in enumerate(rows):
        tick()
        for y, part in zip(row.columns, row.parts, strict=True):
            held = owners.get(y)
            if held is None or part * rows[held[0]].whole > held[1] * row.whole:
                owners[y] = (i, part)
    owned = [0] * len(rows)
    for i, part in owners.values():
        owned[i] += part
    shares = [(part << BITS, row.whole) for part, row in zip(owned, rows, strict=True)]
    return sum(top // bottom for top, bottom in shares), sum(ratio_up(*share) for share in shares)


def leakage(rows: Sequence[Row]) -> Interval:
    """Enclose log C, C ≥ 1 what the selected rows of a mechanism cover."""
    low, high = coverage(rows)
    found = between(max(low, UNIT), high, BITS).log()
    return Interval(max(found.low, Decimal(0)), found.high)


def selects(chosen: Sequence[int], groups: list[list[int]]) -> bool:
    """Decide whether there is one row of every group, in order."""
    fits = len(chosen) == len(groups)
    return fits and all(i in rows for i, rows in zip(chosen, groups, strict=True))


class Leaf(NamedTuple):
    """The prices of some outputs in whole multiples of 2^−bits; the other outputs have the price 0."""

    prices: dict[int, int]
    bits: int


class Branching(NamedTuple):
    """One branch for each row of a group."""

    group: int
    branches: list[Any]


Node = Leaf | Branching


class Tree(Schema):
    """A proof: {"outputs", "prices"} at a leaf, {"secret", "branches"} at a branching."""

    leaf = Record({"outputs": List(Whole(0, MOST_PLACES - 1)), "prices": List(Number(0))})
    branching = Record({"secret": Whole(0, MOST_PLACES - 1)})

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return "a leaf with outputs and their prices, or a secret with branches"

    def read(self, value: Any, where: str) -> Node:
        """Read the node with all below it."""
        if not isinstance(value, dict):
            raise self.refuse(value, where)
        if "branches" in value:
            rest = {key: entry for key, entry in value.items() if key != "branches"}
            group = self.branching.read(rest, where)["secret"]
            return Branching(group, List(self, 1).read(value["branches"], f"{where}.branches"))
        leaf = self.leaf.read(value, where)
        if not len(set(leaf["outputs"])) == len(leaf["outputs"]) == len(leaf["prices"]):
            raise UnreadableError(f"{where} must name different outputs, with one price each")
        prices, bits = dyadic(leaf["prices"])
        return Leaf(dict(zip(leaf["outputs"], prices, strict=True)), bits)


def tree_bound(tree: Node, question: SelectionStatement) -> int:
    """Bound what a selection covers, in units, rounded up (Lemmas 2 and 3)."""
    groups = [[question.rows[i] for i in places] for places in question.groups]
    return _tree_bound(tree, groups, question.columns)


def _tree_bound(node: Node, groups: list[list[Row]], columns: int) -> int:
    if isinstance(node, Leaf):
        if node.prices and max(node.prices) >= columns:
            raise UnreadableError(f"a leaf of the proof prices an output beyond the {columns} there are")
        return price_bound(groups, node)
    g = node.group
    if g >= len(groups) or len(node.branches) != len(groups[g]):
        raise UnreadableError("a branching of the proof must have one branch per row of a secret")
    own, bounds = groups[g], []
    for row, branch in zip(own, node.branches, strict=True):
        groups[g] = [row]
        bounds.append(_tree_bound(branch, groups, columns))
    groups[g] = own
    return max(bounds)


def price_bound(groups: Sequence[Sequence[Row]], leaf: Leaf) -> int:
    """Add Σ_y v_y + Σ_g max_{θ in g} Σ_y (W[θ,y] − v_y)⁺ in units, each term rounded up (Lemma 2)."""
    total = ratio_up(sum(leaf.prices.values()) << BITS, 1 << leaf.bits)
    return total + sum(max(_gain(row, leaf) for row in rows) for rows in groups)


def _gain(row: Row, leaf: Leaf) -> int:
    """Add Σ_y (parts_y / whole − v_y)⁺, rounded up: its terms are compared over whole · 2^bits."""
    tick()
    free = gained = 0
    bits, whole, price_of = leaf.bits, row.whole, leaf.prices.get
    for y, part in zip(row.columns, row.parts, strict=True):
        price = price_of(y)
        if price is None:
            free += part
        elif (gain := (part << bits) - price * whole) > 0:
            gained += gain
    return ratio_up((free << bits) + gained << BITS, whole << bits)


def log_at_most(total: int, limit: float) -> bool | None:
    """Decide whether log(total / UNIT) ≤ limit; None if the enclosure cannot tell."""
    return log(Fraction(total, UNIT)).at_most(enclose(limit))


def leaks_within(
    matrix: Sequence[Sequence[float]], groups: list[list[int]], leakage: float, tree: Node
) -> bool | None:
    """Decide whether a proof tree shows that a stochastic matrix leaks at most that much.

    Args:
        matrix: the mechanism, its rows summing to exactly 1.
        groups: the rows of each secret.
        leakage: the leakage allowed, in nats.
        tree: the proof: prices at its leaves.
    """
    rows = []
    for entries in matrix:
        tick()
        parts, bits = dyadic(entries)
        rows.append(Row(range(len(parts)), parts, 1 << bits))
    return log_at_most(tree_bound(tree, SelectionStatement(rows, len(matrix[0]), groups)), leakage)
