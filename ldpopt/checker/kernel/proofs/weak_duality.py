"""Bound what a mechanism of some privacy gains: weak duality, by multipliers, on rays, or at corners.

Maximise Σ_y g(w_y) over mechanisms W ≥ 0 whose rows sum to 1, whose columns w_y each lie in one of the
cones of every part of privacy, and which keep the budgets Σ_y h_j(w_y) ≤ b_j of all parts.

Theorem (weak duality). Let β be a vector and λ ≥ 0. If g(w) − Σ_j λ_j h_j(w) ≤ β·w for every w of every
cone, each such W has Σ_y g(w_y) ≤ Σ_x β_x + Σ_j λ_j b_j. Proof. Add up over y; Σ_y w_y = 1. ∎

It is decided in one of three ways, with e^ε rounded up, which makes cones and budgets larger:

* over polyhedral cones by multipliers, or on their rays: :mod:`.polyhedral_duality`;
* secrets that are hidden at one level, and a utility of :mod:`.corners`: the corners of boxes suffice.

What is proven of more mechanisms holds of the private ones: where a notion is no list of inequalities,
cuts of the file list some of them (:func:`outer`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal, NamedTuple

from ..arithmetic import Interval, enclose, total
from ..reading import UnreadableError
from ..schema import Anything, List, Matrix, Number, Record, Whole
from . import corners
from .column_utilities import MOST_DUAL, UTILITIES
from .differences import Budget, Difference, Part, sparse_dot
from .objective_parts import Objective, Vectors


class Condition(NamedTuple):
    """Σ_i c_i·w_i ≤ most, where c[x][i] is what the report i costs at the input x."""

    words: str
    costs: list[list[Fraction]]
    most: Fraction


@dataclass(frozen=True)
class Question:
    """The composed question, read."""

    parts: Sequence[Part]
    objective: Objective
    sense: Literal["maximise", "minimise"]
    conditions: Sequence[Condition]
    two_reports: bool = False

    @property
    def budgets(self) -> list[Budget]:
        """The budgets of all parts."""
        return [budget for part in self.parts for budget in part.budgets]

    def cones(self) -> Iterator[tuple[Difference, ...]]:
        """List the cones of which a column lies in one: an intersection for each choice in all parts."""
        for chosen in product(*(part.cones() for part in self.parts)):
            yield tuple(difference for cone in chosen for difference in cone)

    @property
    def corners(self) -> Part | None:
        """The one part, where the corners of boxes prove a bound."""
        known = self.objective.name in UTILITIES and not (self.conditions or self.two_reports)
        return self.parts[0] if known and len(self.parts) == 1 and self.parts[0].secrets else None

    def gain(self, matrix: Sequence[Sequence[float]]) -> Interval:
        """Enclose what a mechanism is worth; a loss counts as negative."""
        if not self.conditions:
            return self.objective.worth(matrix)
        assert self.objective.pieces is not None
        columns = zip(*self.by_piece(matrix), strict=True)
        return total(
            enclose(sparse_dot(a, w)) for a, w in zip(self.objective.pieces, columns, strict=True)
        )

    def by_piece(self, matrix: Sequence[Sequence[float]]) -> list[list[Fraction]]:
        """Add up the reports of each linear piece: as many for each, those of the first piece first."""
        assert self.objective.pieces is not None
        count, columns = len(self.objective.pieces), len(matrix[0])
        if columns % count:
            raise UnreadableError(
                f"mechanism.matrix must have as many columns for each of {count} pieces, not {columns}"
            )
        each = columns // count
        starts = range(0, columns, each)
        return [[sum(map(Fraction, row[y : y + each]), Fraction(0)) for y in starts] for row in matrix]


# ---------------------------------------------------------------- the proof of a file


class Proof(NamedTuple):
    """β, λ, κ, the multipliers of an objective of linear pieces, and the vectors z_i of a design."""

    dual: Sequence[Fraction]
    prices: Sequence[Fraction]
    costs: Sequence[Fraction]
    multipliers: Any
    vectors: Vectors = ()


PRICE = Number(0, MOST_DUAL)
INDEX = List(Whole(0, 10**7))
ROWS = Record({"piece": INDEX, "cone": INDEX, "row": INDEX, "times": List(PRICE)})
BUDGETS = Record({"piece": INDEX, "cone": INDEX, "budget": INDEX, "part": INDEX, "times": List(PRICE)})
DUAL = List(Number(-MOST_DUAL, MOST_DUAL), 2)
PROOF = Record(
    {},
    {
        "dual": DUAL,
        "prices": List(PRICE),
        "costs": List(PRICE),
        "rows": ROWS,
        "budgets": BUDGETS,
        "vectors": Matrix(Number(-MOST_DUAL, MOST_DUAL), 1, 2),
        "cuts": List(Anything("null, or the cuts of a notion of privacy")),
        "privacy": List(Anything("null, or what shows that a notion of privacy is kept")),
    },
)


def outer(plain: dict[str, Any], asked: Question) -> Question:
    """Return the question about more mechanisms that the cuts of a proof describe, one for each part."""
    return _replaced(asked, plain, "cuts", lambda part, own, where: part.outer(own, where))


def shown(plain: dict[str, Any], asked: Question) -> Question:
    """Return the question with what a proof brings to show that each notion is kept."""
    return _replaced(asked, plain, "privacy", lambda part, own, where: part.shown(own, where))


def _replaced(
    asked: Question, plain: dict[str, Any], key: str, taken: Callable[[Part, Any, str], Part]
) -> Question:
    """Replace the parts for which a proof has something under a key, a list of an entry for each."""
    given = plain.get(key)
    if given is None:
        return asked
    where = f"certificate.proof.{key}"
    if len(given) != len(asked.parts):
        raise UnreadableError(f"{where} must have {len(asked.parts)} entries, one for each notion")
    parts = [
        part if own is None else taken(part, own, f"{where}[{i}]")
        for i, (part, own) in enumerate(zip(asked.parts, given, strict=True))
    ]
    return replace(asked, parts=parts)


def read_proof(plain: dict[str, Any], asked: Question) -> Proof:
    """Read β, λ, κ and the multipliers; prices that are left out are 0."""
    dual = list(map(Fraction, plain.get("dual", [])))
    prices = list(map(Fraction, plain.get("prices", [0] * len(asked.budgets))))
    costs = list(map(Fraction, plain.get("costs", [0] * len(asked.conditions))))
    for name, given, needed in (
        ("dual", dual, asked.objective.inputs),
        ("prices", prices, len(asked.budgets)),
        ("costs", costs, len(asked.conditions)),
    ):
        if len(given) != needed:
            raise UnreadableError(
                f"certificate.proof.{name} must have {needed} entries, not {len(given)}"
            )
    vectors, count = plain.get("vectors", []), asked.objective.vectors
    shape = (count, asked.objective.inputs if count else 0)
    if (len(vectors), len(vectors[0]) if vectors else 0) != shape:
        raise UnreadableError(
            f"certificate.proof.vectors must have {shape[0]} rows of {shape[1]} entries"
        )
    if "rows" not in plain and "budgets" not in plain:
        exact = [list(map(Fraction, z)) for z in vectors]
        return Proof(dual, prices, costs, None, exact)
    from .polyhedral_duality import read_multipliers

    return Proof(dual, prices, costs, read_multipliers(plain))


def proven_bound(proof: Proof, asked: Question) -> Fraction:
    """Compute Σβ + Σ λ_j b_j + Σ κ_m b_m and the offset of a design, rounded up."""
    paid = [price * budget.limit() for price, budget in zip(proof.prices, asked.budgets, strict=True)]
    paid += [price * one.most for price, one in zip(proof.costs, asked.conditions, strict=True)]
    return sum([*proof.dual, *paid], asked.objective.offset(proof.vectors))


# ---------------------------------------------------------------- the bound


def dominates(proof: Proof, asked: Question) -> bool | None:
    """Return whether g(w) − Σ_j λ_j h_j(w) ≤ β·w for every w of every cone: the theorem above."""
    if asked.corners is not None and proof.multipliers is None:
        return on_corners(proof.dual, asked)
    from . import polyhedral_duality

    if proof.multipliers is not None:
        return polyhedral_duality.by_multipliers(proof, asked)
    return False if asked.conditions else polyhedral_duality.on_rays(proof, asked)


def on_corners(dual: Sequence[float | Fraction], asked: Question) -> bool | None:
    """Return whether g(w) ≤ β·w for every w, where the corners of boxes suffice."""
    part, objective = asked.corners, asked.objective
    assert part is not None
    g = objective.distributions, objective.pieces, objective.divergence
    return corners.dominates(dual, part.secrets, part.epsilon, *g)
