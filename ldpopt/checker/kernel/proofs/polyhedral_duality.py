"""Prove g(w) − Σ_j λ_j h_j(w) ≤ β·w on polyhedral cones, for the theorem of :mod:`.weak_duality`.

* :func:`by_multipliers` (g = max_i a_i·w). Let a cone be {w ≥ 0 : D w ≤ 0}, and h_j = max_l c_jl·w.
  If for each piece i and each cone there are ν ≥ 0 and η_jl ≥ 0 with Σ_l η_jl ≤ λ_j and, entry by entry,
  a_i − Σ_jl η_jl c_jl − Σ_m κ_m c_mi − Σ_r ν_r D_r ≤ β, then a_i·w ≤ β·w + Σ_j λ_j h_j(w) + Σ_m κ_m
  c_mi·w on the cone, as D w ≤ 0, c_jl·w ≤ h_j(w) and h_j(w) ≥ 0. The file holds the multipliers, so
  that nothing is searched for. ∎
* :func:`on_rays` (any g). With t_j for h_j, {(w, t) : w in the cone, t_j ≥ c_jl·w} is a polyhedral
  cone, and g(w) − λ·t − β·w is convex and positively homogeneous on it: its rays suffice
  (:mod:`extreme_rays`). ∎
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..arithmetic import enclose
from ..budget import tick
from ..claims import all_of
from ..fixed_point import dot
from ..reading import UnreadableError
from .differences import Budget, Difference
from .extreme_rays import extreme_rays
from .weak_duality import Proof, Question


class Multipliers(NamedTuple):
    """ν_r and η_jl of each piece i and cone c, where they are not 0."""

    rows: dict[tuple[int, int], list[tuple[int, Fraction]]]
    budgets: dict[tuple[int, int], list[tuple[int, int, Fraction]]]


def read_multipliers(plain: dict[str, Any]) -> Multipliers:
    """Read the multipliers of a file."""
    rows: dict[tuple[int, int], list[tuple[int, Fraction]]] = {}
    for i, c, r, times in _listed(plain, "rows"):
        rows.setdefault((i, c), []).append((r, Fraction(times)))
    budgets: dict[tuple[int, int], list[tuple[int, int, Fraction]]] = {}
    for i, c, j, part, times in _listed(plain, "budgets"):
        budgets.setdefault((i, c), []).append((j, part, Fraction(times)))
    return Multipliers(rows, budgets)


def _listed(plain: dict[str, Any], name: str) -> Iterator[tuple[Any, ...]]:
    """List the multipliers of one sort, which the file holds as columns of one length."""
    columns = list(plain.get(name, {}).values())
    if len({len(column) for column in columns}) > 1:
        raise UnreadableError(f"the lists of certificate.proof.{name} must have one length")
    return zip(*columns, strict=True)


def by_multipliers(proof: Proof, asked: Question) -> bool:
    """Return whether the multipliers of a file prove the inequality of the theorem."""
    return all(
        all(entry <= b for entry, b in zip(left, proof.dual, strict=True))
        and all(entry <= price for entry, price in zip(spent, proof.prices, strict=True))
        for left, spent in left_sides(proof, asked)
    )


def left_sides(proof: Proof, asked: Question) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
    """Compute, for each piece and cone, the vector that β must not be below, and the least prices.

    The vector is a_i − Σ_jl η_jl c_jl − Σ_m κ_m c_mi − Σ_r ν_r D_r; the least price of the budget j is
    Σ_l η_jl.
    """
    pieces, multipliers = asked.objective.pieces, proof.multipliers
    if pieces is None or multipliers is None:
        raise UnreadableError(
            f"multipliers prove nothing about {asked.objective.name}: it has no pieces"
        )
    budgets = [[piece.coefficients() for piece in budget.pieces] for budget in asked.budgets]
    for c, cone in enumerate(asked.cones()):
        rows = [difference.coefficients() for difference in cone]
        for i, piece in enumerate(pieces):
            tick()
            left, spent = [Fraction(0)] * asked.objective.inputs, [Fraction(0)] * len(budgets)
            _add(left, piece, Fraction(1))
            for condition, price in zip(asked.conditions, proof.costs, strict=True):
                _add(left, {x: row[i] for x, row in enumerate(condition.costs)}, -price)
            for r, times in multipliers.rows.get((i, c), ()):
                _add(left, rows[r], -times)
            for j, part, times in multipliers.budgets.get((i, c), ()):
                _add(left, budgets[j][part], -times)
                spent[j] += times
            yield left, spent


def _add(left: list[Fraction], vector: Mapping[int, Fraction], times: Fraction) -> None:
    if times:
        for x, entry in vector.items():
            left[x] += times * entry


def lifted_rows(
    cone: Sequence[Difference], budgets: Sequence[Budget], inputs: int
) -> list[dict[int, Fraction]]:
    """List the rows a with a·(w, t) ≥ 0 of {(w, t) : w in the cone, t_j ≥ c_jl·w}, e^ε rounded up.

    Args:
        cone: its differences.
        budgets: those that have a t_j.
        inputs: the number of entries of w.
    """
    rows = [{x: -entry for x, entry in difference.coefficients().items()} for difference in cone]
    for j, budget in enumerate(budgets):
        for piece in budget.pieces:
            row = {x: -entry for x, entry in piece.coefficients().items()}
            rows.append({**row, inputs + j: Fraction(1)})
    return rows


def on_rays(proof: Proof, asked: Question) -> bool | None:
    """Return whether the inequality holds on the rays; a budget without a price plays no part."""
    k, gain = asked.objective.inputs, asked.objective.tangent(proof.vectors)
    priced = [(b, price) for b, price in zip(asked.budgets, proof.prices, strict=True) if price]
    paid = [*proof.dual, *(price for _, price in priced)]

    def holds(ray: tuple[int, ...]) -> bool | None:
        tick()
        exact = list(map(Fraction, ray))
        return gain(exact[:k]).at_most(enclose(dot(paid, exact)))

    lifted = (lifted_rows(cone, [b for b, _ in priced], k) for cone in asked.cones())
    return all_of(holds(ray) for rows in lifted for ray in extreme_rays(rows, len(paid)))
